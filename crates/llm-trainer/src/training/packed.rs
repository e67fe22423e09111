//! Sequences laid end to end, without padding.

use tch::Tensor;
use torch_ext::TorchError;
use trainer_core::packing::pack;

use super::sequence::Sequence;
use crate::head::statistics_kind;
use crate::kept_tokens::KeptTokens;
use crate::model::{Angles, Decoder, PackedLengths, TensorGroup};

/// A micro-batch: whole sequences in one row, each attending to itself alone.
#[derive(Debug)]
pub(super) struct PackedSequences {
    /// i64 `[1, tokens]`.
    token_ids: Tensor,
    /// The sequences' lengths.
    lengths: PackedLengths,
    /// Rotary angles of every token's position within its sequence.
    angles: Angles,
    /// Where among the tokens the state stands that predicts each response token.
    predicting: Tensor,
    /// The response tokens, i64 `[response tokens]`.
    pub(super) targets: Tensor,
    /// What each of them was drawn from; `None` where all were drawn from the whole vocabulary.
    pub(super) kept: Option<KeptTokens>,
    /// Which sequences of the batch these are, in the order of the micro-batch.
    pub(super) rows: Vec<usize>,
}

impl PackedSequences {
    /// Micro-batches of at most `budget` tokens that together hold every sequence with a response.
    pub(super) fn split(model: &Decoder, sequences: &[&Sequence], budget: usize) -> Vec<Self> {
        let trained: Vec<usize> =
            (0..sequences.len()).filter(|&row| !sequences[row].response.is_empty()).collect();
        let lengths: Vec<usize> = trained.iter().map(|&row| sequences[row].len()).collect();
        pack(&lengths, budget)
            .into_iter()
            .map(|part| {
                Self::new(model, sequences, part.rows.iter().map(|&row| trained[row]).collect())
            })
            .collect()
    }

    fn new(model: &Decoder, sequences: &[&Sequence], rows: Vec<usize>) -> Self {
        let (mut token_ids, mut positions) = (Vec::<i64>::new(), Vec::<i64>::new());
        let (mut predicting, mut targets) = (Vec::<i64>::new(), Vec::<i64>::new());
        let mut lengths = Vec::new();
        let truncated = rows.iter().any(|&row| sequences[row].kept.is_some());
        let mut all_kept = truncated.then(KeptTokens::default);
        for &row in &rows {
            let Sequence { prompt, response, kept } = sequences[row];
            if let Some(all) = &mut all_kept {
                (0..response.len())
                    .for_each(|t| all.push(kept.as_ref().map_or(&[], |kept| kept.of(t))));
            }
            let length = index_of(sequences[row].len());
            let last_of_prompt = index_of(token_ids.len() + prompt.len()) - 1;
            predicting.extend((0..index_of(response.len())).map(|t| last_of_prompt + t));
            targets.extend(response.iter().map(|&token| i64::from(token)));
            token_ids.extend(prompt.iter().chain(response).map(|&token| i64::from(token)));
            positions.extend(0..length);
            lengths.push(length);
        }
        let device = model.device();
        let tensor = |column: &[i64]| Tensor::from_slice(column).to_device(device);
        Self {
            token_ids: tensor(&token_ids).unsqueeze(0),
            lengths: PackedLengths::new(lengths, device, model.kind()),
            angles: model.angles(&tensor(&positions).unsqueeze(0)),
            predicting: tensor(&predicting),
            targets: tensor(&targets),
            kept: all_kept,
            rows,
        }
    }

    /// Tokens of prompts and responses.
    pub(super) fn tokens(&self) -> usize {
        usize::try_from(self.lengths.tokens()).expect("lengths are positive")
    }

    /// Embedding vectors, `[1, tokens, hidden]`.
    pub(super) fn embed(&self, model: &Decoder) -> Tensor {
        model.embed(&self.token_ids)
    }

    /// Adds the gradient of the embedding table, from that of the embedding vectors, to `table`, `[vocab, hidden]` of
    /// [`statistics_kind`]; where it is none such, as before a first backward pass, to the embedding's `.grad`.
    ///
    /// # Errors
    ///
    /// [`TorchError`] if libtorch refuses.
    pub(super) fn add_embedding_gradient(
        &self,
        model: &Decoder,
        gradient: &Tensor,
        table: &Tensor,
    ) -> Result<(), TorchError> {
        if !table.defined() || table.kind() != statistics_kind(table) {
            let embedded = model.embed_own(&self.token_ids);
            return torch_ext::backward(&[&embedded], &[gradient]);
        }
        // Only the rows of these tokens; autograd would make a table of zeros around them.
        let _no_grad = tch::no_grad_guard();
        let (ids, rows) = (self.token_ids.squeeze_dim(0), gradient.squeeze_dim(0));
        let (ids, rows) = match model.taught_rows(&ids) {
            None => (ids, rows),
            Some((places, own)) => (own, rows.index_select(0, &places)),
        };
        let rows = rows.to_kind(table.kind());
        let _same = table.shallow_clone().index_add_(0, &ids, &rows);
        Ok(())
    }

    /// Pulls the gradient of what block `index` makes of `x` back to `x`, where ranks hold the block together; `pull` as in
    /// [`Decoder::pull_back_block`].
    pub(super) fn pull_back(
        &self,
        model: &Decoder,
        block: (usize, &TensorGroup),
        x: &Tensor,
        cotangent: &Tensor,
        pull: impl FnMut((&Tensor, &Tensor), &Tensor) -> Result<Tensor, TorchError>,
    ) -> Result<Tensor, TorchError> {
        let attend =
            |query: &Tensor, key: &Tensor, value: &Tensor| self.lengths.attend(query, key, value);
        model.pull_back_block(block, (x, &self.angles), attend, cotangent, pull)
    }

    /// Block `index` applied to `x`, `[1, tokens, hidden]`.
    pub(super) fn block(&self, model: &Decoder, index: usize, x: &Tensor) -> Tensor {
        model.block(index, x, &self.angles, |query, key, value| {
            self.lengths.attend(query, key, value)
        })
    }

    /// Final-normed states that predict the response tokens, `[response tokens, hidden]`, from what the last block
    /// leaves.
    pub(super) fn predicting_states(&self, model: &Decoder, x: &Tensor) -> Tensor {
        model.final_norm(&x.squeeze_dim(0).index_select(0, &self.predicting))
    }
}

fn index_of(count: usize) -> i64 {
    i64::try_from(count).expect("fewer tokens than i64 holds")
}
