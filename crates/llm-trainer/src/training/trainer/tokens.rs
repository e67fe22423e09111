//! Some responses of a step, token by token.

use entropy_core::token_covariances;
use training_run::token_record::{TokenRecord, recorded_groups, selected_by_sample, token_lines};
use whole_file::write_atomically;

use super::Trainer;
use crate::training::scored::ScoredRollout;
use crate::training::update::UpdateSums;

impl Trainer {
    /// Writes the tokens of the groups that are asked for; which of them the loss singled out stands in `sums`, once the
    /// update is done. Written before it too, so that what made it fail can be read.
    ///
    /// # Errors
    ///
    /// If decoding or a write fails.
    pub(super) fn record_tokens(
        &self,
        step: u64,
        scored: &ScoredRollout,
        sums: Option<&UpdateSums>,
    ) -> anyhow::Result<()> {
        let count = self.config().metrics.token_groups;
        if count == 0 || !self.ranks.is_first() {
            return Ok(());
        }
        let ScoredRollout { samples, old, advantage, informative, .. } = scored;
        let lengths: Vec<usize> = samples.iter().map(|s| s.sequence.response.len()).collect();
        let covariance = token_covariances(advantage, &old.log_prob);
        let mut selected = match sums {
            None => vec![None; samples.len()],
            Some(sums) => {
                selected_by_sample(&lengths, &self.kept_sequences(informative), &sums.selected)
            }
        };
        let size = samples.len() / informative.len().max(1);
        let mut records = Vec::new();
        for group in recorded_groups(informative, count) {
            for sample in group * size..(group + 1) * size {
                let first: usize = lengths[..sample].iter().sum();
                let tokens = first..first + lengths[sample];
                let token_ids = samples[sample].sequence.response.clone();
                records.push(TokenRecord {
                    sample,
                    text: self.tokenizer.pieces(&token_ids)?,
                    token_ids,
                    log_prob: old.log_prob[tokens.clone()].to_vec(),
                    entropy: old.entropy[tokens.clone()].to_vec(),
                    advantage: advantage[tokens.clone()].to_vec(),
                    covariance: covariance[tokens].to_vec(),
                    selected: selected[sample].take(),
                });
            }
        }
        write_atomically(&self.directory.step_tokens(step), token_lines(&records).as_bytes())?;
        Ok(())
    }
}
