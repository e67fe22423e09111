//! The findings of the paper as experiments: a claim, a target fixed beforehand, seeds, figures, a verdict.
//!
//! | module | answers |
//! |---|---|
//! | [`finding`] | which findings there are; each is a page of code |
//! | [`outcome`], [`measure`], [`table`] | what an experiment hands back |
//! | [`seeds`] | means, intervals and curves over seeds |
//! | [`run`](mod@run), [`store`], [`progress`] | running them, once each, and keeping the results |
//! | [`kept`], [`revision`](mod@revision) | training runs that findings share; when a result is out of date |
//! | [`page`], [`raster`], [`document`] | the report, its figures as PNG, `docs/reproduce.md` |
//!
//! A finding is a [`Finding`] in [`FINDINGS`]: a name, what is claimed and wanted in words, and a function from
//! a [`Setting`] to an [`Outcome`]. It returns [`Measure`]s with one value a seed; the frame computes intervals,
//! verdict and reason, draws and stores.

#![expect(
    clippy::format_push_string,
    reason = "a page is built once: `write!` with results to discard would only be harder to read"
)]

pub mod document;
pub mod finding;
pub mod kept;
pub mod measure;
mod number;
pub mod outcome;
pub mod page;
pub mod progress;
pub mod raster;
pub mod revision;
pub mod run;
pub mod seeds;
pub mod store;
pub mod table;

pub use finding::FINDINGS;
pub use measure::{Measure, Target};
pub use outcome::{Outcome, Verdict};
pub use progress::Progress;
pub use table::{Cell, Table};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// An experiment that tests one statement of the paper.
#[derive(Debug, Clone, Copy)]
pub struct Finding {
    /// Name on the command line and of its files: kebab-case.
    pub name: &'static str,
    /// Heading, plain text without a full stop.
    pub title: &'static str,
    /// What the paper says, and where: sentences that end with the figure, table or equation.
    pub claim: &'static str,
    /// What is run and how it is measured: environment, settings, formulas in words.
    pub method: &'static str,
    /// What was fixed beforehand as a reproduction, in words.
    pub target: &'static str,
    /// Anchors of `docs/theory.md` that derive it: `lemma-1`.
    pub theory: &'static [&'static str],
    /// Its page of code: `include_str!` of the file itself.
    pub source: &'static str,
    /// The experiment. Its result depends on the setting alone, never on the number of threads.
    pub run: fn(&Setting, &Progress) -> Outcome,
}

/// How large an experiment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Seconds: shows that it runs and which way it points.
    Quick,
    /// Minutes: the one the targets are meant for.
    Full,
}

/// What the outcome of an experiment depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// How large.
    pub scale: Scale,
    /// The first seed.
    pub seed: u64,
    /// How many seeds, one after another from the first; at least 3.
    pub seeds: usize,
}

impl Setting {
    /// The first seed, unless another is asked for.
    pub const DEFAULT_SEED: u64 = 0;
    /// How many seeds, unless more are asked for.
    pub const DEFAULT_SEEDS: usize = 3;

    /// In words: `full size, seeds 0 to 2`.
    pub fn text(&self) -> String {
        let last = self.seed + self.seeds.saturating_sub(1) as u64;
        format!("{} size, seeds {} to {last}", self.pick("quick", "full"), self.seed)
    }

    /// `quick` or `full`, whichever the scale is.
    pub fn pick<T>(&self, quick: T, full: T) -> T {
        match self.scale {
            Scale::Quick => quick,
            Scale::Full => full,
        }
    }

    /// Every seed.
    pub fn all_seeds(&self) -> impl Iterator<Item = u64> + use<> {
        let first = self.seed;
        (0..self.seeds as u64).map(move |index| first + index)
    }

    /// Runs `experiment` once a seed, on as many threads as there are; results in the order of the seeds.
    pub fn over_seeds<T: Send>(&self, experiment: impl Fn(u64) -> T + Sync) -> Vec<T> {
        let seeds: Vec<u64> = self.all_seeds().collect();
        seeds.into_par_iter().map(&experiment).collect()
    }
}
