//! Markdown to lines.
