//! Keys to actions: what a terminal sends, what it means, and what the user's keymap makes of it.
//!
//! Pure. What an action does is the app's affair; text that is typed into a field never comes here, except
//! through [`key::Key::typed`].

pub mod action;
pub mod key;
pub mod keymap;

pub use action::{Action, Group};
pub use key::Key;
pub use keymap::{Context, Keymap, Pressed};
