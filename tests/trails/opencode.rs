//! OpenCode rows.
