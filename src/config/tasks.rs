//! `tasks.json`.
