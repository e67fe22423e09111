//! A pass of the policy with its sequences dealt out to the ranks.

use super::local_shard::LocalShard;
use super::policy_pass::{PolicyPass, Sequence, Statistics};
use crate::ranks::{RankError, Ranks};

/// As a [`PolicyPass`]; every rank gets what one process would.
#[derive(Debug, Clone, Copy)]
pub(super) struct SharedPass<'a> {
    pub(super) pass: PolicyPass<'a>,
    pub(super) ranks: &'a Ranks,
}

impl SharedPass<'_> {
    /// Log-probability and entropy of every response token.
    pub(super) fn statistics(&self, sequences: &[&Sequence]) -> Result<Statistics, RankError> {
        let shard = LocalShard::of(self.pass.model, sequences, self.ranks);
        let local = self.pass.statistics(&shard.sequences);
        self.pass.model.check_blocks()?;
        Ok(Statistics {
            log_prob: shard.gather("log-probabilities", local.log_prob)?,
            entropy: shard.gather("entropies", local.entropy)?,
        })
    }

    /// Mean entropy at temperature 1, in nats per token: that of `own`, the statistics at the pass's own temperature,
    /// where that is 1, else of a pass more.
    pub(super) fn mean_entropy_at_temperature_1(
        &self,
        sequences: &[&Sequence],
        own: &Statistics,
    ) -> Result<f64, RankError> {
        if (self.pass.temperature - 1.0).abs() > 0.0 {
            let pass = PolicyPass { temperature: 1.0, ..self.pass };
            Ok(SharedPass { pass, ..*self }.statistics(sequences)?.mean_entropy())
        } else {
            Ok(own.mean_entropy())
        }
    }
}
