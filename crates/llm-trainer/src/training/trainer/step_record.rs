//! Measurements of a step while it runs.

use std::time::Instant;

use torch_ext::distributed::{GroupOperation, Traffic};
use training_run::metrics::StepMetrics;

use crate::training::measurement::{Timings, record_traffic};
use crate::training::policy_pass::Sequence;
use ranks::Ranks;

/// Metrics, timings and warnings of one step; each part of the step adds its own.
#[derive(Debug)]
pub(super) struct StepRecord {
    pub(super) step: u64,
    pub(super) metrics: StepMetrics,
    pub(super) timings: Timings,
    /// Warnings for the user about this step.
    pub(super) warnings: Vec<String>,
    /// Reasons for which groups of this step were left out.
    pub(super) dropped: Vec<String>,
    started: Instant,
    /// Traffic of this rank before the step, by operation.
    traffic: Vec<(GroupOperation, Traffic)>,
}

impl StepRecord {
    /// Starts an empty record; the step's time starts here.
    pub(super) fn begin(step: u64, ranks: &Ranks) -> Self {
        Self {
            step,
            metrics: StepMetrics::new(step),
            timings: Timings::default(),
            warnings: Vec::new(),
            dropped: Vec::new(),
            started: Instant::now(),
            traffic: ranks.traffic(),
        }
    }

    /// Adds the timings of sampling, scoring and update, and the traffic since the start.
    pub(super) fn end(&mut self, ranks: &Ranks, sequences: &[&Sequence], device: tch::Device) {
        self.timings.step = self.started.elapsed().as_secs_f64();
        self.timings.record(&mut self.metrics, sequences, device);
        record_traffic(&mut self.metrics, &self.traffic, &ranks.traffic());
    }
}
