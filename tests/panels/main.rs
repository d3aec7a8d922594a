//! The panels beside the tree: what each shows of a node, at every width, in every state, and of any text.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "helpers of tests are not marked as tests")]

mod hostile;
mod kept;
mod shown;
mod silent;
mod world;
