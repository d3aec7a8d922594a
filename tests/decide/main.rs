//! Decisions, plans and rules: they agree with the reference results, and hold for any text.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::float_cmp,
    reason = "a test fails where something is not there, and factors are whole numbers"
)]

mod cli;
mod patterns;
mod plan;
mod props;
mod vectors;

use quarterdeck::model::time::Stamp;

/// A moment for tests.
fn now() -> Stamp {
    Stamp::from_millis(1_790_000_000_000)
}
