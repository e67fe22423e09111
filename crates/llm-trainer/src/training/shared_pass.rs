//! A pass of the policy with its sequences dealt out to the ranks.

use super::held::Held;
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
        let held = Held::of(self.pass.model, sequences, self.ranks);
        let own = self.pass.statistics(&held.sequences);
        self.pass.model.check_blocks()?;
        if self.ranks.count() == 1 {
            return Ok(own);
        }
        let whole = |what, column: &[f64]| {
            Ok::<_, RankError>(held.whole_column(self.ranks.gather_column(what, column)?))
        };
        Ok(Statistics {
            log_prob: whole("log-probabilities", &own.log_prob)?,
            entropy: whole("entropies", &own.entropy)?,
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
