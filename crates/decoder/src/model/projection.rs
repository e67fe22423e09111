//! The linear maps of a block, and their low-rank corrections.

use tch::Tensor;

use super::operand::Operand;
use super::stacked::stacked;
use crate::bf16_matmul::linear;

/// A linear map with an optional bias and an optional low-rank correction.
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

    /// All tensors of the map and its correction.
    pub(super) fn tensors_mut(&mut self) -> impl Iterator<Item = &mut Tensor> {
        let correction = self.correction.iter_mut().flat_map(|low| [&mut low.down, &mut low.up]);
        [&mut self.weight].into_iter().chain(&mut self.bias).chain(correction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_self_test::{largest_off, wide_wave as wave};
    use crate::model::stacked::stack;

    /// Returns three maps with five inputs and with biases.
    fn three() -> [Projection; 3] {
        [(4, 0.3), (2, 0.7), (2, 1.1)].map(|(output, step)| {
            Projection::new(wave(&[output, 5], step), Some(wave(&[output], 2.0 * step)))
        })
    }

    fn stacked_three() -> [Projection; 3] {
        let mut maps = three();
        let [first, second, third] = maps.each_mut();
        stack(&mut [&mut first.weight, &mut second.weight, &mut third.weight]);
        let biases = [first, second, third].map(|map| map.bias.as_mut().unwrap());
        stack(&mut { biases });
        maps
    }

    /// Returns the results of all three maps, then the gradients of the input and of every tensor.
    fn forward_and_gradients(mut maps: [Projection; 3]) -> Vec<Tensor> {
        let leaves: Vec<Tensor> = maps
            .iter_mut()
            .flat_map(Projection::tensors_mut)
            .map(|leaf| leaf.set_requires_grad(true))
            .collect();
        let x = wave(&[2, 3, 5], 0.9).set_requires_grad(true);
        let y = Projection::forward_all(&maps.each_ref(), &Operand::plain(x.shallow_clone()));
        torch_ext::backward(&[&y], &[&wave(&[2, 3, 8], 0.2)]).unwrap();
        let gradients = leaves.iter().map(Tensor::grad);
        [y.detach(), x.grad()].into_iter().chain(gradients).collect()
    }

    fn assert_same(found: &[Tensor], exact: &[Tensor]) {
        assert_eq!(found.len(), exact.len());
        for (computed, exact) in found.iter().zip(exact) {
            assert!(largest_off(computed, exact) < 1e-14);
        }
    }

    #[test]
    fn one_product_is_three() {
        let maps = stacked_three();
        assert!(Projection::as_one(&maps.each_ref()).is_some());
        assert!(Projection::as_one(&three().each_ref()).is_none());
        assert_same(&forward_and_gradients(maps), &forward_and_gradients(three()));
    }

    #[test]
    fn a_correction_is_added_to_its_part() {
        let corrected = |mut maps: [Projection; 3]| {
            let (down, up) = (wave(&[2, 5], 0.4), wave(&[2, 2], 0.8));
            maps[1].correction = Some(LowRank { down, up, scale: 0.5 });
            maps
        };
        let all = forward_and_gradients(corrected(stacked_three()));
        assert_same(&all, &forward_and_gradients(corrected(three())));
        let mut plain = forward_and_gradients(three()).remove(0).narrow(-1, 4, 2);
        let narrow = wave(&[2, 3, 5], 0.9).matmul(&wave(&[2, 5], 0.4).tr());
        plain += narrow.matmul(&wave(&[2, 2], 0.8).tr()) * 0.5;
        assert!(largest_off(&all[0].narrow(-1, 4, 2), &plain) < 1e-14);
    }

    #[test]
    fn biases_of_some_alone_are_not_stacked() {
        let mut maps = stacked_three();
        maps[2].bias = None;
        assert!(Projection::as_one(&maps.each_ref()).is_none());
    }
}
