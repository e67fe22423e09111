//! A distributed pass of the policy: the sequences are split over the ranks.

use super::local_shard::LocalShard;
use super::policy_pass::{PolicyPass, Sequence, Statistics};
use super::used_routes::UsedRoutes;
use ranks::{RankError, Ranks};

/// A [`PolicyPass`] over all ranks; every rank gets the result of a single process.
#[derive(Debug, Clone, Copy)]
pub(super) struct DistributedPass<'a> {
    pub(super) pass: PolicyPass<'a>,
    pub(super) ranks: &'a Ranks,
}

impl DistributedPass<'_> {
    /// Statistics of every response token.
    pub(super) fn statistics(&self, sequences: &[&Sequence]) -> Result<Statistics, RankError> {
        let shard = LocalShard::of(self.pass.model, sequences, self.ranks);
        self.gathered(&shard, self.pass.statistics(&shard.sequences))
    }

    /// Computes [`statistics`](Self::statistics); also returns the experts used.
    pub(super) fn statistics_and_routes(
        &self,
        sequences: &[&Sequence],
    ) -> Result<(Statistics, UsedRoutes), RankError> {
        let shard = LocalShard::of(self.pass.model, sequences, self.ranks);
        let (local, routes) = self.pass.statistics_and_routes(&shard.sequences);
        Ok((self.gathered(&shard, local)?, shard.gather_routes(routes)?))
    }

    fn gathered(&self, shard: &LocalShard<'_>, local: Statistics) -> Result<Statistics, RankError> {
        self.pass.model.check_blocks()?;
        let squared_score =
            local.squared_score.map(|column| shard.gather("squared scores", column)).transpose()?;
        Ok(Statistics {
            log_prob: shard.gather("log-probabilities", local.log_prob)?,
            entropy: shard.gather("entropies", local.entropy)?,
            squared_score,
        })
    }

    /// Mean entropy at temperature 1, in nats per token. It is read from `own`, the statistics at the pass's temperature, if
    /// that is 1; otherwise it takes one more pass.
    pub(super) fn mean_entropy_at_temperature_1(
        &self,
        sequences: &[&Sequence],
        own: &Statistics,
    ) -> Result<f64, RankError> {
        if (self.pass.temperature - 1.0).abs() > 0.0 {
            let pass = PolicyPass { temperature: 1.0, ..self.pass };
            Ok(DistributedPass { pass, ..*self }.statistics(sequences)?.mean_entropy())
        } else {
            Ok(own.mean_entropy())
        }
    }
}
