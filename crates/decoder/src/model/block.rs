//! One pre-norm residual block.

use model_files::lora::LoraTarget;
use model_files::model_config::ModelConfig;
use tch::Tensor;
use torch_ext::{TorchError, size};

use super::attention::{Attention, Heads};
use super::experts::Routing;
use super::feed_forward::FeedForward;
use super::fused::FusedOperations;
use super::operand::Operand;
use super::projection::Projection;
use super::residual::Residual;
use super::rms_norm::RmsNorm;
use super::stacked::stack;
use super::tensor_group::{TensorGroup, sum_over};

/// A block: `x + attention(norm(x))`, then `x + feed_forward(norm(x))`, where each addend may pass another norm.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) attention_norm: RmsNorm,
    pub(crate) attention: Attention,
    pub(crate) mlp_norm: RmsNorm,
    pub(crate) feed_forward: FeedForward,
    /// Norms of the results of attention and feed-forward layer, if the model has them.
    output_norms: Option<[RmsNorm; 2]>,
}

/// Names of the norms before attention and feed-forward layer, and behind them.
fn norm_names(has_output_norms: bool) -> [&'static str; 4] {
    const BEHIND_ATTENTION: &str = "post_attention_layernorm.weight";
    let (before, behind) =
        ("pre_feedforward_layernorm.weight", "post_feedforward_layernorm.weight");
    // Where results pass no norm, the norm before the feed-forward layer has the other name.
    let before = if has_output_norms { before } else { BEHIND_ATTENTION };
    ["input_layernorm.weight", before, BEHIND_ATTENTION, behind]
}

impl Block {
    /// Builds block `index` for this config. `tensor` takes a name in the checkpoint, without the `model.layers.N.` prefix, and a shape.
    pub(super) fn assemble<E>(
        config: &ModelConfig,
        index: usize,
        mut tensor: impl FnMut(&str, &[i64]) -> Result<Tensor, E>,
    ) -> Result<Self, E> {
        let hidden = size(config.hidden_size);
        let query = size(config.num_attention_heads * config.head_dim);
        let key_value = size(config.num_key_value_heads * config.head_dim);
        let options = config.attention;
        let mut projection = |name: &str, output: i64, input: i64, has_bias: bool| {
            let weight = tensor(&format!("self_attn.{name}.weight"), &[output, input])?;
            let bias = if has_bias {
                Some(tensor(&format!("self_attn.{name}.bias"), &[output])?)
            } else {
                None
            };
            Ok(Projection::new(weight, bias))
        };
        let mut attention = Attention {
            query: projection("q_proj", query, hidden, options.query_key_value_bias)?,
            key: projection("k_proj", key_value, hidden, options.query_key_value_bias)?,
            value: projection("v_proj", key_value, hidden, options.query_key_value_bias)?,
            output: projection("o_proj", hidden, query, options.output_bias)?,
            head_norms: None,
            head_dim: size(config.head_dim),
            window: options.window_of(index).map(size),
        };
        let feed_forward = FeedForward::assemble(config, index, &mut tensor)?;
        let mut norm = |name: &str, width: i64| Ok(RmsNorm::of(config, tensor(name, &[width])?));
        if options.query_key_norm {
            let mut norm = |name: &str| norm(name, attention.head_dim);
            let norms = [norm("self_attn.q_norm.weight")?, norm("self_attn.k_norm.weight")?];
            attention.head_norms = Some(norms);
        }
        let has_output_norms = config.architecture.block().output_norms;
        let [before_attention, before_mlp, behind_attention, behind_mlp] =
            norm_names(has_output_norms);
        let mut block = Self {
            attention_norm: norm(before_attention, hidden)?,
            attention,
            mlp_norm: norm(before_mlp, hidden)?,
            feed_forward,
            output_norms: None,
        };
        if has_output_norms {
            block.output_norms = Some([norm(behind_attention, hidden)?, norm(behind_mlp, hidden)?]);
        }
        Ok(block)
    }

    /// Concatenates the weights that share an input in memory, so that they are one matrix product.
    pub(super) fn stack(&mut self) {
        let Attention { query, key, value, .. } = &mut self.attention;
        stack(&mut [&mut query.weight, &mut key.weight, &mut value.weight]);
        if let (Some(query), Some(key), Some(value)) =
            (&mut query.bias, &mut key.bias, &mut value.bias)
        {
            stack(&mut [query, key, value]);
        }
        self.feed_forward.stack();
    }

    /// Advances a residual stream, `[rows, len, hidden]`. `attend` maps queries, keys and values to the input of the output projection,
    /// `[rows, len, heads · head_dim]`. `routing` is the choice of experts, `group` the tensor-parallel ranks.
    pub(crate) fn advance(
        &self,
        residual: &mut Residual,
        fused: &FusedOperations,
        attend: impl FnOnce(Heads) -> Tensor,
        routing: &mut Routing,
        group: Option<&TensorGroup>,
    ) {
        let projected = |projection: &Projection, input: &Operand| match group {
            None => projection.forward(input),
            Some(group) => projection.with_bias(group.sum(&projection.forward_shard(input))),
        };
        let heads = self.attention.heads(&residual.normalised(&self.attention_norm, fused));
        let mixed = projected(&self.attention.output, &Operand::plain(attend(heads)));
        residual.add(self.addend(0, mixed));
        let normed = residual.normalised(&self.mlp_norm, fused);
        let shard = self.feed_forward.forward(&normed, routing);
        residual.add(self.addend(1, sum_over(group, shard)));
    }

    /// The addend of the residual stream for the result of attention, half 0, or of the feed-forward layer, half 1.
    fn addend(&self, half: usize, result: Tensor) -> Tensor {
        match &self.output_norms {
            None => result,
            Some(norms) => norms[half].forward(&result),
        }
    }

    /// Tensor-parallel backward pass: from a cotangent of the output to that of the input `x`, both `[rows, len, hidden]`.
    ///
    /// The block is recomputed, and the sums over the group, which autograd does not see, are done here. Attention and MLP read a norm that
    /// is replicated on every rank, so the gradients of that norm are partial sums; so is that of a router. Norms behind them read the sum,
    /// so each rank has their full gradients.
    pub(super) fn vjp(
        &self,
        x: &Tensor,
        mix: impl FnOnce(Heads) -> Tensor,
        routing: &mut Routing,
        cotangent: &Tensor,
        group: &TensorGroup,
        mut pull: impl FnMut(&Tensor, &Tensor, &Tensor) -> Result<Tensor, TorchError>,
    ) -> Result<Tensor, TorchError> {
        let leaf = |x: &Tensor| x.detach().set_requires_grad(true);
        let output = &self.attention.output;
        let x = leaf(x);
        let norm = self.attention_norm.forward(&x);
        let attention_input = leaf(&norm);
        let heads = self.attention.heads(&Operand::plain(attention_input.shallow_clone()));
        let mixed = output.forward_shard(&Operand::plain(mix(heads)));
        let attended = output.with_bias(group.sum(&mixed.detach().copy())).detach();
        let behind = |half: usize, result: &Tensor| {
            let result = leaf(result);
            self.output_norms.as_ref().map(|norms| (norms[half].forward(&result), result))
        };
        let behind_attention = behind(0, &attended);
        let added = behind_attention.as_ref().map_or(&attended, |(normed, _)| normed);
        let middle = leaf(&(x.detach() + added.detach()));
        let middle_norm = self.mlp_norm.forward(&middle);
        let mlp_input = leaf(&middle_norm);
        let operand = Operand::plain(mlp_input.shallow_clone());
        let lowered = self.feed_forward.forward(&operand, routing);

        let behind_mlp = self
            .output_norms
            .as_ref()
            .and_then(|_| behind(1, &group.sum(&lowered.detach().copy())));

        let mut through = |part: &Tensor,
                           behind: Option<(Tensor, Tensor)>,
                           bias: Option<&Tensor>,
                           input: &Tensor,
                           norm: &Tensor,
                           before: &Tensor,
                           stream: &Tensor| {
            let cotangent = match behind {
                None => stream.shallow_clone(),
                Some((normed, result)) => pull(&normed, stream, &result)?.detach(),
            };
            if let Some(bias) = bias.filter(|bias| bias.requires_grad()) {
                // The bias is added after the sum over the ranks, so each rank has its full gradient.
                let _constant = pull(&bias.expand_as(&cotangent), &cotangent, before)?;
            }
            let gradient = group.sum(&pull(part, &cotangent, input)?.detach());
            let of_norm = pull(norm, &gradient, before)?;
            Ok(tch::no_grad(|| stream + of_norm))
        };
        let of_middle =
            through(&lowered, behind_mlp, None, &mlp_input, &middle_norm, &middle, cotangent)?;
        let bias = output.bias.as_ref();
        through(&mixed, behind_attention, bias, &attention_input, &norm, &x, &of_middle)
    }

    /// Parameters with their names in a checkpoint, without the `model.layers.N.` prefix.
    pub(super) fn named_parameters(&self) -> Vec<(String, &Tensor)> {
        let Attention { query, key, value, output, head_norms, .. } = &self.attention;
        let projections = [("q", query), ("k", key), ("v", value), ("o", output)];
        let name = |part: &str, tensor: &str| format!("self_attn.{part}_proj.{tensor}");
        let mut named =
            Vec::from(projections.map(|(part, own)| (name(part, "weight"), &own.weight)));
        named.extend(self.feed_forward.named_parameters());
        let norms = [&self.attention_norm, &self.mlp_norm].into_iter();
        let norms = norms.chain(self.output_norms.iter().flatten());
        let norms = norm_names(self.output_norms.is_some()).into_iter().zip(norms);
        named.extend(norms.map(|(name, norm)| (name.to_owned(), &norm.weight)));
        let biases = projections.into_iter();
        named.extend(
            biases.filter_map(|(part, own)| Some((name(part, "bias"), own.bias.as_ref()?))),
        );
        let of_heads = ["q", "k"].into_iter().zip(head_norms.iter().flatten());
        named.extend(
            of_heads.map(|(part, norm)| (format!("self_attn.{part}_norm.weight"), &norm.weight)),
        );
        named
    }

    /// The projection that an adapter targets; `None` for one of experts, which take no adapter.
    pub(super) fn projection_mut(&mut self, target: LoraTarget) -> Option<&mut Projection> {
        let (attention, mlp) = (&mut self.attention, self.feed_forward.mlp_mut());
        Some(match target {
            LoraTarget::QProj => &mut attention.query,
            LoraTarget::KProj => &mut attention.key,
            LoraTarget::VProj => &mut attention.value,
            LoraTarget::OProj => &mut attention.output,
            LoraTarget::GateProj => &mut mlp?.gate,
            LoraTarget::UpProj => &mut mlp?.up,
            LoraTarget::DownProj => &mut mlp?.down,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use model_files::lora::LoraSection;
    use tch::{Device, Kind};

    use super::*;
    use crate::kernel_self_test::TINY;
    use crate::model::Decoder;
    use crate::model::stacked::stacked;

    fn assert_stacked(decoder: &Decoder, when: &str) {
        for block in &decoder.blocks {
            let (attention, mlp) = (&block.attention, block.feed_forward.mlp().unwrap());
            let three = [&attention.query, &attention.key, &attention.value];
            assert!(stacked(&three.map(|own| &own.weight)).is_some(), "{when}");
            assert!(stacked(&three.map(|own| own.bias.as_ref().unwrap())).is_some(), "{when}");
            assert!(stacked(&[&mlp.gate.weight, &mlp.up.weight]).is_some(), "{when}");
        }
    }

    #[test]
    fn what_reads_the_same_input_is_stacked_however_a_model_came_about() {
        let mut decoder = Decoder::load(Path::new(TINY), Device::Cpu, Kind::Float).unwrap();
        assert_stacked(&decoder, "read");
        let before: Vec<Tensor> =
            decoder.named_parameters().iter().map(|(_, own)| own.copy()).collect();
        decoder.add_adapter(&LoraSection::default(), 1);
        assert_stacked(&decoder.base(), "without its adapter");
        decoder.merge_adapter();
        assert_stacked(&decoder, "merged");
        for ((name, parameter), before) in decoder.named_parameters().iter().zip(&before) {
            assert!(parameter.equal(before), "{name}");
        }
        assert_stacked(&decoder.into_kind(Kind::BFloat16), "in another kind");
    }
}
