//! Views of a run and of an evaluation for people.
//!
//! | module | holds |
//! |---|---|
//! | [`run_view`], [`run_law`] | a run read from its folder, and its law of reward and entropy |
//! | [`report`] | one HTML page |
//! | [`inspect`] | samples, on a terminal |
//! | [`tensorboard`], [`export`] | event files, and CSV |
//! | [`study`] | the paper's findings in runs of several methods and seeds |
//! | [`evaluation`] | accuracy of a model, its intervals, and the diversity of responses |

pub mod evaluation;
pub mod export;
pub mod inspect;
pub mod report;
pub mod run_law;
pub mod run_view;
pub mod study;
pub mod tensorboard;
