//! The linear maps of a block, and their low-rank corrections.

use model_files::lora::LoraSection;
use tch::Tensor;

use super::operand::Operand;
use super::stacked::stacked;
use crate::bf16_matmul::linear;

#[derive(Debug)]
pub(crate) struct Projection {
    /// `[out, in]`.
    pub(super) weight: Tensor,
    /// `[out]`.
    pub(crate) bias: Option<Tensor>,
    /// Low-rank correction, trained in place of `weight`.
    pub(super) correction: Option<LowRank>,
}

/// The low-rank correction of a projection: `scale · B A x`.
#[derive(Debug)]
pub(super) struct LowRank {
    /// `A`, `[rank, in]`.
    pub(super) down: Tensor,
    /// `B`, `[out, rank]`.
    pub(super) up: Tensor,
    pub(super) scale: f64,
}

/// Low-rank corrections of a decoder, trained in place of its weights.
#[derive(Debug)]
pub(super) struct Adapter {
    pub(super) settings: LoraSection,
    /// The matrices of the corrections under their names in a PEFT file, block by block.
    pub(super) parameters: Vec<(String, Tensor)>,
}

impl Projection {
    pub(super) fn new(weight: Tensor, bias: Option<Tensor>) -> Self {
        Self { weight, bias, correction: None }
    }

    /// Maps `[.., in]` to `[.., out]`.
    pub(super) fn forward(&self, x: &Operand) -> Tensor {
        self.corrected(x, x.linear(&self.weight, self.bias.as_ref()))
    }

    /// Applies several maps to one input and concatenates the results: `[.., in]` to `[.., Σ out]`.
    ///
    /// Their weights form one product if they are [`stacked`]; corrections are added to its parts.
    pub(super) fn forward_all(projections: &[&Self], x: &Operand) -> Tensor {
        let one = Self::as_one(projections).map(|one| one.forward(x));
        let parts = match one {
            Some(all) if projections.iter().all(|own| own.correction.is_none()) => return all,
            Some(all) => {
                let widths: Vec<i64> = projections.iter().map(|own| own.weight.size()[0]).collect();
                all.split_with_sizes(widths, -1)
            }
            None => {
                let part = |own: &&Self| x.linear(&own.weight, own.bias.as_ref());
                projections.iter().map(part).collect()
            }
        };
        let corrected = projections.iter().zip(parts).map(|(own, part)| own.corrected(x, part));
        Tensor::cat(&corrected.collect::<Vec<_>>(), -1)
    }

    /// Returns one map with the weights and biases of all, if they are stacked in memory.
    fn as_one(projections: &[&Self]) -> Option<Self> {
        let weights: Vec<&Tensor> = projections.iter().map(|own| &own.weight).collect();
        let biases: Vec<&Tensor> = projections.iter().filter_map(|own| own.bias.as_ref()).collect();
        let bias = if biases.is_empty() { None } else { Some(stacked(&biases)?) };
        let is_whole = biases.is_empty() || biases.len() == projections.len();
        is_whole.then_some(Self::new(stacked(&weights)?, bias))
    }

    /// Applies this rank's columns without the bias; the full result is the sum over the ranks plus the bias once.
    pub(super) fn forward_shard(&self, x: &Operand) -> Tensor {
        self.corrected(x, x.linear(&self.weight, None))
    }

    /// Adds the bias to a sum over the ranks.
    pub(super) fn with_bias(&self, sum: Tensor) -> Tensor {
        match &self.bias {
            None => sum,
            Some(bias) => sum + bias,
        }
    }

    /// Adds the low-rank correction of `x` to `y`.
    fn corrected(&self, x: &Operand, y: Tensor) -> Tensor {
        match &self.correction {
            None => y,
            Some(LowRank { down, up, scale }) => {
                let narrow = x.linear(down, None);
                y + linear(&narrow, up, None) * *scale
            }
        }
    }

    /// The weight with its correction added, `[out, in]`, in the kind of the weight.
    pub(crate) fn merged_weight(&self) -> Tensor {
        match &self.correction {
            None => self.weight.shallow_clone(),
            Some(LowRank { down, up, scale }) => &self.weight + up.matmul(down) * *scale,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_self_test::wide_wave as wave;
    use crate::model::stacked::stack;

    #[test]
    fn maps_are_one_where_all_their_tensors_are_stacked() {
        let map = |step| Projection::new(wave(&[2, 5], step), Some(wave(&[2], step)));
        let mut maps = [map(0.3), map(0.7)];
        assert!(Projection::as_one(&maps.each_ref()).is_none());
        let [first, second] = maps.each_mut();
        stack(&mut [&mut first.weight, &mut second.weight]);
        assert!(Projection::as_one(&maps.each_ref()).is_none());
        let biases = maps.each_mut().map(|map| map.bias.as_mut().unwrap());
        stack(&mut { biases });
        assert!(Projection::as_one(&maps.each_ref()).is_some());
        maps[1].bias = None;
        assert!(Projection::as_one(&maps.each_ref()).is_none(), "biases of some alone");
    }
}
