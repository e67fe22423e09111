//! Bootstrap intervals: means over resampled problems.

use counter_rng::{NoiseKey, Purpose, purpose_seed, uniform};
use entropy_core::{Interval, quantile};
use figures::moving_average::mean;
use model_files::section;
use serde::{Deserialize, Serialize};

section! {
    /// Settings of the bootstrap.
    #[derive(Copy)]
    pub struct Bootstrap {
        /// Number of resamples.
        pub resamples: usize = 10_000,
        /// Coverage of an interval, a fraction.
        pub level: f64 = 0.95,
        /// Seed of the resamples.
        pub seed: u64 = 0,
    }
}

/// A number with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// Mean over the problems.
    pub value: f64,
    /// Percentile interval of the means over resampled problems.
    pub interval: Interval,
}

/// A mean over problems, and the mean of every resample.
#[derive(Debug, Clone, PartialEq)]
pub struct Resampled {
    /// Mean over the problems.
    pub value: f64,
    /// Mean over each resample of the problems, `[resamples]`.
    pub means: Vec<f64>,
}

impl Bootstrap {
    /// Returns the first setting that is out of range, and what was expected; `None` if all are valid.
    pub fn fault(&self) -> Option<String> {
        if self.resamples == 0 {
            return Some("bootstrap.resamples is 0, expected at least 1".to_owned());
        }
        let inside = self.level > 0.0 && self.level < 1.0;
        (!inside)
            .then(|| format!("bootstrap.level is {}, expected above 0 and below 1", self.level))
    }

    /// Resamples the problems with replacement, as many as there are, and returns the means of columns with one value per problem.
    ///
    /// All columns share the resamples. `stream` separates the draws of one set from another's.
    ///
    /// The draws are a pure function of (seed, stream, resample, index). They do not change with a longer column, another order
    /// of columns or more threads.
    ///
    /// Source: Efron and Tibshirani 1993, *An introduction to the bootstrap*, Ch. 13, the percentile interval.
    ///
    /// # Panics
    ///
    /// If the columns are empty or differ in length.
    pub fn resample(&self, columns: &[&[f64]], stream: u64) -> Vec<Resampled> {
        let problems = columns.first().map_or(0, |column| column.len());
        assert!(
            columns.iter().all(|column| column.len() == problems && problems > 0),
            "columns of one length, and at least one problem"
        );
        let seed = purpose_seed(self.seed, Purpose::Bootstrap);
        let mut means = vec![Vec::with_capacity(self.resamples); columns.len()];
        let mut drawn = vec![0; problems];
        for resample in 0..self.resamples as u64 {
            for (sample, drawn) in (0..).zip(&mut drawn) {
                let key = NoiseKey { seed, step: stream, prompt: resample, sample, position: 0 };
                *drawn = index_below(problems, uniform(key));
            }
            for (column, means) in columns.iter().zip(&mut means) {
                let sum: f64 = drawn.iter().map(|&problem| column[problem]).sum();
                means.push(sum / problems as f64);
            }
        }
        let resampled = |(column, means): (&&[f64], _)| Resampled { value: mean(column), means };
        columns.iter().zip(means).map(resampled).collect()
    }

    /// Returns the percentile interval of resampled means.
    pub fn estimate(&self, resampled: &Resampled) -> Estimate {
        let mut means = resampled.means.clone();
        means.sort_by(f64::total_cmp);
        let tail = 0.5 - 0.5 * self.level;
        let interval = Interval { low: quantile(&means, tail), high: quantile(&means, 1.0 - tail) };
        Estimate { value: resampled.value, interval }
    }
}

impl Resampled {
    /// Returns the plain mean of several sets' means; each set is resampled by itself.
    ///
    /// # Panics
    ///
    /// If there is no set, or they were not resampled equally often.
    pub fn plain_mean(sets: &[&Self]) -> Self {
        let count = sets.first().expect("at least one set").means.len();
        assert!(sets.iter().all(|set| set.means.len() == count), "equally many resamples");
        let mean_of = |number: &dyn Fn(&Self) -> f64| {
            sets.iter().map(|set| number(set)).sum::<f64>() / sets.len() as f64
        };
        let means = (0..count).map(|resample| mean_of(&|set| set.means[resample])).collect();
        Self { value: mean_of(&|set| set.value), means }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of [0, 1) times a count is an index"
)]
fn index_below(count: usize, uniform: f64) -> usize {
    ((uniform * count as f64) as usize).min(count - 1)
}
