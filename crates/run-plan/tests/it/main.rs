//! Plans and preflights, through the public interface.

mod choice;
mod documents;
mod plan;
mod preflight;
