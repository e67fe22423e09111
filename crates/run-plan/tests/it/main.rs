//! Plans and preflights, through the public interface.

mod documents;
mod plan;
mod preflight;
