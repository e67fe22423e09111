//! Sequences packed without padding.

use tch::{Kind, Tensor};
use torch_ext::{TorchError, size};
use training_run::packing::pack;

use super::sequence::Sequence;
use decoder::head::Targets;
use decoder::model::{Angles, BlockBackward, Decoder, PackedLengths, Routing};
use decoder::routes::{RouteShape, Routes};
use decoder::sampling_mask::SamplingMask;

/// A micro-batch: whole sequences packed in one row, each context attending only to itself.
#[derive(Debug)]
pub(super) struct PackedSequences {
    /// Token ids, i64 `[1, tokens]`.
    pub(super) token_ids: Tensor,
    /// Lengths of the sequences' contexts.
    lengths: PackedLengths,
    /// Rotary angles of every token's position within its sequence.
    angles: Angles,
    /// Index of the state that predicts each response token, i64 `[response tokens]`.
    predicting: Tensor,
    /// The response tokens, i64 `[response tokens]`.
    targets: Tensor,
    /// Sampling mask of each response token; `None` if all were sampled from the whole vocabulary.
    mask: Option<SamplingMask>,
    /// Experts to replay, i32 `[tokens, blocks with experts, per token]`, -1 where the router chooses; `None` if it always does.
    routes: Option<Tensor>,
    /// True if some sequence comes without experts.
    pub(super) lacks_routes: bool,
    /// Indices of these sequences in the batch, in the order of the micro-batch.
    pub(super) rows: Vec<usize>,
}

impl PackedSequences {
    /// Splits the sequences that have a response into micro-batches of at most `budget` tokens.
    pub(super) fn split(model: &Decoder, sequences: &[&Sequence], budget: usize) -> Vec<Self> {
        let trained: Vec<usize> =
            (0..sequences.len()).filter(|&row| !sequences[row].response.is_empty()).collect();
        let lengths: Vec<usize> = trained.iter().map(|&row| sequences[row].len()).collect();
        let parts = pack(&lengths, budget).into_iter();
        let rows = parts.map(|part| part.into_iter().map(|row| trained[row]).collect());
        rows.map(|rows| Self::new(model, sequences, rows)).collect()
    }

    fn new(model: &Decoder, sequences: &[&Sequence], rows: Vec<usize>) -> Self {
        let (mut token_ids, mut positions) = (Vec::<i64>::new(), Vec::<i64>::new());
        let (mut predicting, mut targets) = (Vec::<i64>::new(), Vec::<i64>::new());
        let mut lengths = Vec::new();
        let truncated = rows.iter().any(|&row| sequences[row].mask.is_some());
        let mut all_masks = truncated.then(SamplingMask::default);
        for &row in &rows {
            let Sequence { response, mask, .. } = sequences[row];
            if let Some(all) = &mut all_masks {
                for token in 0..response.len() {
                    all.push(mask.as_ref().map_or(&[], |mask| mask.of(token)));
                }
            }
            targets.extend(response.iter().map(|&token| i64::from(token)));
            for context in sequences[row].contexts() {
                let (start, length) = (token_ids.len(), size(context.token_ids.len()));
                predicting.extend(context.drawn.iter().map(|place| size(start + place) - 1));
                token_ids.extend(context.token_ids.iter().map(|&token| i64::from(token)));
                positions.extend(0..length);
                lengths.push(length);
            }
        }
        let device = model.device();
        let tensor = |column: &[i64]| Tensor::from_slice(column).to_device(device);
        let recorded =
            rows.iter().map(|&row| (sequences[row].routes.as_ref(), sequences[row].len()));
        let recorded: Vec<(Option<&Routes>, usize)> = recorded.collect();
        let is_recorded = recorded.iter().any(|(routes, _)| routes.is_some());
        let shape = RouteShape::of(model.config()).filter(|_| is_recorded);
        Self {
            token_ids: tensor(&token_ids).unsqueeze(0),
            lengths: PackedLengths::new(lengths, device, model.kind()),
            angles: model.angles(&tensor(&positions).unsqueeze(0)),
            predicting: tensor(&predicting),
            targets: tensor(&targets),
            mask: all_masks,
            routes: shape.map(|shape| Routes::joined(&recorded, shape).to_device(device)),
            lacks_routes: recorded.iter().any(|(routes, _)| routes.is_none()),
            rows,
        }
    }

    /// The response tokens with their sampling masks.
    pub(super) fn targets(&self) -> Targets<'_> {
        Targets { mask: self.mask.as_ref(), ..Targets::from(&self.targets) }
    }

    /// Number of tokens of prompts and responses.
    pub(super) fn tokens(&self) -> usize {
        usize::try_from(self.lengths.tokens()).expect("lengths are positive")
    }

    /// Maps the cotangent of a block's output to that of its `input`, both `[1, tokens, hidden]`; see [`BlockBackward::vjp`].
    pub(super) fn block_backward(
        &self,
        block: &mut BlockBackward<'_>,
        input: &Tensor,
        output: Option<Tensor>,
        cotangent: &Tensor,
    ) -> Result<Tensor, TorchError> {
        let attend = |three: [&Tensor; 3], window: Option<i64>| self.lengths.attend(three, window);
        let (model, index) = block.place();
        let mut routing = self.routing(model, index);
        block.vjp(input, output, &self.angles, attend, &mut routing, cotangent)
    }

    /// Applies block `index` to `x`, `[1, tokens, hidden]`.
    pub(super) fn block(&self, model: &Decoder, index: usize, x: &Tensor) -> Tensor {
        self.block_with_routing(model, index, x).0
    }

    /// Applies a block as [`block`](Self::block) does; also returns the choice of experts.
    pub(super) fn block_with_routing(
        &self,
        model: &Decoder,
        index: usize,
        x: &Tensor,
    ) -> (Tensor, Routing) {
        let attend = |three: [&Tensor; 3], window: Option<i64>| self.lengths.attend(three, window);
        let mut routing = self.routing(model, index);
        (model.block(index, x, &self.angles, attend, &mut routing), routing)
    }

    /// The choice of experts in block `index`: those that are replayed.
    fn routing(&self, model: &Decoder, index: usize) -> Routing {
        let has_experts = |block: usize| model.config().experts_of(block).is_some();
        let Some(routes) = self.routes.as_ref().filter(|_| has_experts(index)) else {
            return Routing::default();
        };
        let before = (0..index).filter(|&block| has_experts(block)).count();
        Routing::replay(&routes.select(1, size(before)).to_kind(Kind::Int64))
    }

    /// Final-normed states that predict the response tokens, `[response tokens, hidden]`, from the last block's output.
    pub(super) fn predicting_states(&self, model: &Decoder, x: &Tensor) -> Tensor {
        model.final_norm(&x.squeeze_dim(0).index_select(0, &self.predicting))
    }
}
