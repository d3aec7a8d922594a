//! The live dashboard: what a person sees and does.

pub mod input;
pub mod view;
