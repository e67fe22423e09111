//! Measurements of a step while it runs.

use std::time::Instant;

use torch_ext::distributed::{GroupOperation, Traffic};
use training_run::metric;
use training_run::metrics::StepMetrics;

use crate::training::policy_pass::Sequence;
use crate::training::rollout::Rollout;
use ranks::Ranks;

/// Metrics, wall times and warnings of one step; each part of the step adds its own. Times are in seconds.
#[derive(Debug)]
pub(super) struct StepRecord {
    pub(super) step: u64,
    pub(super) metrics: StepMetrics,
    pub(super) warnings: Vec<String>,
    /// Reasons for which groups of this step were left out.
    pub(super) dropped: Vec<String>,
    /// Sampling that the step has waited for.
    pub(super) generation: f64,
    /// All sampling, that of later steps included.
    drawing: f64,
    judging: f64,
    /// Response tokens sampled in the step, trained on or not.
    drawn_tokens: usize,
    /// Responses sampled in the step, and those whose tokens had to be guessed.
    retokenised: Option<(usize, usize)>,
    /// Measuring the entropy's change.
    pub(super) probe: f64,
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
            warnings: Vec::new(),
            dropped: Vec::new(),
            generation: 0.0,
            drawing: 0.0,
            judging: 0.0,
            drawn_tokens: 0,
            retokenised: None,
            probe: 0.0,
            started: Instant::now(),
            traffic: ranks.traffic(),
        }
    }

    /// Adds a rollout of this step; an engine that `is_external` may not return its tokens.
    pub(super) fn add_rollout(&mut self, rollout: &Rollout, is_external: bool) {
        self.generation += rollout.generation_seconds;
        self.judging += rollout.judging_seconds;
        self.add_drawn(rollout, is_external);
    }

    /// Adds a rollout that was sampled beside other work of this step.
    pub(super) fn add_drawn(&mut self, rollout: &Rollout, is_external: bool) {
        if is_external {
            let (responses, retokenised) = self.retokenised.unwrap_or_default();
            self.retokenised =
                Some((responses + rollout.samples.len(), retokenised + rollout.retokenised));
        }
        self.drawing += rollout.generation_seconds;
        self.drawn_tokens +=
            rollout.samples.iter().map(|sample| sample.sequence.response.len()).sum::<usize>();
    }

    /// Adds the times, the peak memory of this process on `device` so far, and the traffic since the start.
    pub(super) fn end(&mut self, ranks: &Ranks, sequences: &[&Sequence], device: tch::Device) {
        let step = self.started.elapsed().as_secs_f64();
        let tokens: usize = sequences.iter().map(|sequence| sequence.len()).sum();
        let metrics = &mut self.metrics;
        metrics.insert(metric!("timing_s/gen"), self.generation);
        metrics.insert(metric!("timing_s/reward"), self.judging);
        metrics.insert(metric!("timing_s/probe"), self.probe);
        metrics.insert(metric!("timing_s/step"), step);
        metrics.insert(metric!("perf/total_num_tokens"), tokens as f64);
        metrics.insert(metric!("perf/throughput"), tokens as f64 / step);
        if let Some((responses, retokenised)) = self.retokenised {
            let fraction = retokenised as f64 / responses as f64;
            metrics.insert(metric!("rollout/retokenised_fraction"), fraction);
        }
        if self.drawing > 0.0 {
            let rate = self.drawn_tokens as f64 / self.drawing;
            metrics.insert(metric!("perf/generated_tokens_per_second"), rate);
        }
        if let Some(bytes) = crate::machine::peak_bytes(device) {
            metrics.insert(metric!("perf/max_memory_bytes"), bytes as f64);
        }
        record_traffic(metrics, &self.traffic, &ranks.traffic());
    }
}

/// Records bytes sent and seconds waited by this rank since `before`; nothing for a single process.
fn record_traffic(
    metrics: &mut StepMetrics,
    before: &[(GroupOperation, Traffic)],
    now: &[(GroupOperation, Traffic)],
) {
    if now.is_empty() {
        return;
    }
    let (mut bytes, mut seconds) = (0, 0.0);
    let names = [
        (GroupOperation::AllReduce, metric!("parallel/all_reduce_bytes")),
        (GroupOperation::AllGather, metric!("parallel/all_gather_bytes")),
        (GroupOperation::ReduceScatter, metric!("parallel/reduce_scatter_bytes")),
    ];
    let mut of_kind = vec![0; names.len()];
    for ((operation, before), (_, now)) in before.iter().zip(now) {
        let sent = now.bytes_sent - before.bytes_sent;
        bytes += sent;
        seconds += now.waited.saturating_sub(before.waited).as_secs_f64();
        if let Some(kind) = names.iter().position(|(name, _)| name == operation) {
            of_kind[kind] += sent;
        }
    }
    metrics.insert(metric!("parallel/bytes_sent"), bytes as f64);
    metrics.insert(metric!("parallel/wait_seconds"), seconds);
    for ((_, name), bytes) in names.into_iter().zip(of_kind) {
        metrics.insert(name, bytes as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::training::sample::Sample;

    /// Twelve responses of three tokens took 4 s beside an update, of which the step has waited for none.
    #[test]
    fn sampling_beside_an_update_has_the_rate_of_sampling() {
        let rollout = Rollout {
            samples: vec![Sample::wrong(vec![2, 3, 4]); 12],
            generation_seconds: 4.0,
            judging_seconds: 1.0,
            retokenised: 3,
            ..Rollout::default()
        };
        let mut record = StepRecord::begin(1, &Ranks::single());
        record.add_drawn(&rollout, true);
        record.end(&Ranks::single(), &[], tch::Device::Cpu);
        assert_eq!(record.metrics.get("timing_s/gen"), Some(0.0));
        assert_eq!(record.metrics.get("perf/generated_tokens_per_second"), Some(9.0));
        assert_eq!(record.metrics.get("rollout/retokenised_fraction"), Some(0.25));
    }
}
