//! The model for people and programs: as a readable tree, and as the one JSON shape of status, API, exports
//! and scripts. Pure: what is shown depends on the model, the selection and `now` only.

pub mod cells;
pub mod csv;
pub mod dissent;
pub mod elapsed;
pub mod json;
pub mod markdown;
pub mod measure;
pub mod place;
pub mod select;
pub mod stale;
pub mod table;
pub mod text;
