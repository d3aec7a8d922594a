//! What is drawn: panels that read the model, and the theme that gives them their styles.

pub mod theme;
