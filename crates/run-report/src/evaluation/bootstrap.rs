//! Bootstrap intervals: means over resampled problems.

use counter_rng::{NoiseKey, Purpose, purpose_seed, uniform};
use entropy_core::{Interval, quantile};
use serde::{Deserialize, Serialize};

/// Settings of the bootstrap.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bootstrap {
    /// Number of resamples.
    pub resamples: usize,
    /// Coverage of an interval, a fraction.
    pub level: f64,
    /// Seed of the resamples.
    pub seed: u64,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self { resamples: 10_000, level: 0.95, seed: 0 }
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
            for (place, drawn) in (0..).zip(&mut drawn) {
                let key =
                    NoiseKey { seed, step: stream, prompt: resample, sample: place, position: 0 };
                *drawn = index_below(problems, uniform(key));
            }
            for (column, means) in columns.iter().zip(&mut means) {
                means.push(
                    drawn.iter().map(|&problem| column[problem]).sum::<f64>() / problems as f64,
                );
            }
        }
        let mean = |column: &[f64]| column.iter().sum::<f64>() / problems as f64;
        columns
            .iter()
            .zip(means)
            .map(|(column, means)| Resampled { value: mean(column), means })
            .collect()
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
        let count = sets.len() as f64;
        let first = sets.first().expect("at least one set");
        assert!(
            sets.iter().all(|set| set.means.len() == first.means.len()),
            "equally many resamples"
        );
        let means = (0..first.means.len())
            .map(|resample| sets.iter().map(|set| set.means[resample]).sum::<f64>() / count)
            .collect();
        Self { value: sets.iter().map(|set| set.value).sum::<f64>() / count, means }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn bootstrap(resamples: usize) -> Bootstrap {
        Bootstrap { resamples, ..Bootstrap::default() }
    }

    /// The interval of a mean of n values is nearly that of the normal law: mean ± 1.96 σ / √n.
    #[test]
    fn an_interval_of_many_problems_is_that_of_the_normal_law() {
        let values: Vec<f64> = (0..400).map(|i| f64::from(i % 5 == 0)).collect();
        let settings = bootstrap(20_000);
        let estimate = settings.estimate(&settings.resample(&[&values], 0)[0]);
        assert!((estimate.value - 0.2).abs() < 1e-15);
        let half = 1.959_964 * (0.2f64 * 0.8 / 400.0).sqrt();
        // The quantile of 20 000 draws errs by some 0.0004, the lattice of the mean by 0.00125.
        assert!((estimate.interval.low - (0.2 - half)).abs() < 3e-3, "{estimate:?}");
        assert!((estimate.interval.high - (0.2 + half)).abs() < 3e-3, "{estimate:?}");
    }

    /// Two problems, 0 and 1: the mean is 0, ½ or 1 with chances ¼, ½, ¼.
    #[test]
    fn the_distribution_of_two_problems_is_the_binomial() {
        let resampled = bootstrap(40_000).resample(&[&[0.0, 1.0]], 3).remove(0);
        let share = |mean: f64| {
            let equal = resampled.means.iter().filter(|&&found| (found - mean).abs() < 1e-12);
            equal.count() as f64 / 40_000.0
        };
        // Five standard errors.
        for (mean, chance) in [(0.0, 0.25), (0.5, 0.5), (1.0, 0.25)] {
            assert!((share(mean) - chance).abs() < 5.0 * (chance * (1.0 - chance) / 4e4).sqrt());
        }
    }

    #[test]
    fn draws_depend_on_seed_and_stream_and_not_on_the_company() {
        let (first, second) = ([0.0, 1.0, 0.0, 0.5], [1.0, 0.0, 0.0, 0.25]);
        let alone = bootstrap(50).resample(&[&first], 1);
        assert_eq!(alone[0], bootstrap(50).resample(&[&second, &first], 1)[1]);
        assert_ne!(alone[0], bootstrap(50).resample(&[&first], 2)[0]);
        assert_ne!(alone[0], Bootstrap { seed: 9, ..bootstrap(50) }.resample(&[&first], 1)[0]);
    }

    #[test]
    fn the_plain_mean_weighs_sets_equally() {
        let settings = bootstrap(100);
        let large = settings.resample(&[&[1.0; 100]], 0).remove(0);
        let small = settings.resample(&[&[0.0; 2]], 1).remove(0);
        let both = Resampled::plain_mean(&[&large, &small]);
        assert!((both.value - 0.5).abs() < 1e-15);
        assert!(both.means.iter().all(|mean| (mean - 0.5).abs() < 1e-15));
    }

    #[test]
    fn settings_out_of_range_are_named() {
        assert_eq!(Bootstrap::default().fault(), None);
        let none = bootstrap(0).fault().unwrap();
        assert_eq!(none, "bootstrap.resamples is 0, expected at least 1");
        let sure = Bootstrap { level: 1.0, ..Bootstrap::default() }.fault().unwrap();
        assert_eq!(sure, "bootstrap.level is 1, expected above 0 and below 1");
    }
}
