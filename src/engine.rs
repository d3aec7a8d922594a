//! The engine: what runs delegations. Its memory is [`book`], its judgement [`kernel`].

pub mod book;
pub mod door;
pub mod driver;
pub mod foresee;
pub mod kernel;
