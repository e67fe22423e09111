use serde::{Deserialize, Serialize};

use crate::metric;
use crate::metrics::StepMetrics;

/// Counts of how the groups of a step were sampled.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SamplingStatistics {
    /// Number of rollout batches.
    pub batches: usize,
    /// Number of prompts sampled.
    pub asked: usize,
    /// Groups left out with at most half of their responses right.
    pub too_low: usize,
    /// Other groups left out.
    pub too_high: usize,
    /// Groups trained on that were left over from an earlier step.
    pub carried_in: usize,
    /// Groups left over for later steps.
    pub carried_out: usize,
    /// Groups discarded because they waited too long, or may not wait at all.
    pub discarded: usize,
    /// Groups that the step lacks.
    pub missing: usize,
    /// Number of sampled prompts by how many of their responses are right, `[group_size + 1]`.
    pub pass_histogram: Vec<usize>,
}

impl SamplingStatistics {
    /// Writes the counts as metrics of the step; fractions of no prompts are absent.
    pub fn record(&self, metrics: &mut StepMetrics) {
        metrics.insert(metric!("train/num_gen_batches"), self.batches as f64);
        metrics.insert(metric!("sampling/asked_groups"), self.asked as f64);
        metrics.insert(metric!("sampling/carried_groups"), self.carried_in as f64);
        metrics.insert(metric!("sampling/discarded_groups"), self.discarded as f64);
        metrics.insert(metric!("sampling/missing_groups"), self.missing as f64);
        if self.asked == 0 {
            return;
        }
        let kept = self.asked - self.too_low - self.too_high;
        metrics.insert(metric!("sampling/kept_fraction"), kept as f64 / self.asked as f64);
        let size = self.pass_histogram.len() - 1;
        let mut bins = [0_usize; 5];
        for (right, &groups) in self.pass_histogram.iter().enumerate() {
            let bin = match right {
                0 => 0,
                _ if right == size => 4,
                _ if 3 * right <= size => 1,
                _ if 3 * right < 2 * size => 2,
                _ => 3,
            };
            bins[bin] += groups;
        }
        let names = [
            metric!("sampling/pass_rate_none"),
            metric!("sampling/pass_rate_low"),
            metric!("sampling/pass_rate_middle"),
            metric!("sampling/pass_rate_high"),
            metric!("sampling/pass_rate_all"),
        ];
        for (name, groups) in names.into_iter().zip(bins) {
            metrics.insert(name, groups as f64 / self.asked as f64);
        }
    }
}
