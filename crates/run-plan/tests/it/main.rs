//! Plans and preflights, through the public interface.

mod choice;
mod documents;
mod offload;
mod plan;
mod preflight;
mod time;
