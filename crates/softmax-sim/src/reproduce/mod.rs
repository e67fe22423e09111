//! The findings of the paper as experiments: a claim, a target fixed beforehand, seeds, figures, a verdict.
//!
//! | module | answers |
//! |---|---|
//! | [`finding`], [`words`] | which findings there are; each is a page of code and a section of `findings.toml` |
//! | [`outcome`], [`measure`], [`table`] | what an experiment hands back |
//! | [`seeds`], [`charts`] | means, intervals and curves over seeds; charts of them |
//! | [`run`](mod@run), [`store`], [`progress`] | running them, once each, and keeping the results |
//! | [`run_cache`] | training runs that findings share |
//! | [`page`], [`document`] | the report, `docs/reproduce.md` |
//!
//! A finding is a [`Finding`] in [`FINDINGS`]: a name, what is claimed and wanted in words, and a function from
//! a [`Setting`] to an [`ExperimentResult`]. It returns [`Measure`]s with one value a seed; the frame computes intervals,
//! verdict and reason, adds the notes, draws and stores.

#![expect(
    clippy::format_push_string,
    reason = "a page is built once: `write!` with results to discard would only be harder to read"
)]

pub mod charts;
pub mod document;
mod engine;
mod experiment;
pub mod finding;
pub mod measure;
pub mod outcome;
pub mod page;
pub mod progress;
pub mod run;
pub mod run_cache;
pub mod seeds;
mod setting;
pub mod store;
pub mod table;
pub mod words;

pub use engine::{ENGINE, LATER};
pub use experiment::{Finding, digest};
pub use finding::FINDINGS;
pub use measure::{Measure, Target};
pub use outcome::{ExperimentResult, Verdict};
pub use progress::Progress;
pub use setting::{Scale, Setting};
pub use table::{Cell, Table};
