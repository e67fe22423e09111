//! Size of the entropy probe.

use model_files::buffer_limits::{PROBE_LOGITS, READ_TOKENS_PER_PROBED};

use super::{Lengths, Setup};

/// States at which one step measures the change of entropy; every rank measures all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Probe {
    /// Response tokens that are probed.
    pub(super) states: u64,
    /// Tokens of prompts and responses that are read for it, before the update and again after it.
    pub(super) read: u64,
}

impl Probe {
    pub(super) fn of(setup: &Setup, lengths: Lengths) -> Self {
        let run = &setup.run;
        let sequences = (run.rollout.prompts_per_step * run.rollout.group_size) as u64;
        let responses = sequences * lengths.response_tokens as u64;
        let states = (run.metrics.probe_tokens as u64).min(responses);
        let bound = states.saturating_mul(READ_TOKENS_PER_PROBED.into());
        Self { states, read: bound.min(sequences * lengths.sequence_tokens() as u64) }
    }

    /// Logits of one chunk, over the full vocabulary.
    pub(super) fn chunk(self, vocabulary: u64) -> u64 {
        let rows = (u64::from(PROBE_LOGITS) / vocabulary).max(1);
        rows.min(self.states) * vocabulary
    }

    pub(super) fn chunks(self, vocabulary: u64) -> u64 {
        (self.states * vocabulary).div_ceil(self.chunk(vocabulary).max(1))
    }
}
