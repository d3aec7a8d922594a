//! Work trees against the real git: what a step sees, what comes back, and what stays untouched.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails where something is not there"
)]

mod cut;
mod merged;
mod place;
mod props;
mod seen;
mod undone;
mod undone_props;
