//! What a person sees of a run, and of an evaluation.
//!
//! | module | holds |
//! |---|---|
//! | [`run_view`], [`run_law`] | a run as its folder shows it, and what its reward cost in entropy |
//! | [`report`] | one HTML page |
//! | [`inspect`] | the samples, on a terminal |
//! | [`tensorboard`], [`export`] | event files, and CSV |
//! | [`evaluation`] | how often a model is right, how sure that is, and how varied its responses are |

pub mod evaluation;
pub mod export;
pub mod inspect;
pub mod report;
pub mod run_law;
pub mod run_view;
pub mod tensorboard;
