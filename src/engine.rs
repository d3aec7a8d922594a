//! The engine: what runs delegations. So far its memory, [`book`], which everything else will write to.

pub mod book;
