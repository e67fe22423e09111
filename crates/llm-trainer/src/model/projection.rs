//! The linear maps of a block, and their low-rank corrections.

use tch::Tensor;

/// A linear map with an optional bias and an optional correction.
#[derive(Debug)]
pub(super) struct Projection {
    /// `[out, in]`.
    pub(super) weight: Tensor,
    /// `[out]`.
    pub(super) bias: Option<Tensor>,
    /// What is trained in place of `weight`.
    pub(super) correction: Option<LowRank>,
}

/// `scale · B A x`, the correction of a projection.
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

    /// `[.., in]` to `[.., out]`.
    pub(super) fn forward(&self, x: &Tensor) -> Tensor {
        self.corrected(x, x.linear(&self.weight, self.bias.as_ref()))
    }

    /// The same without the bias, of a rank's columns: the sum over the ranks and the bias once are the whole.
    pub(super) fn forward_part(&self, x: &Tensor) -> Tensor {
        self.corrected(x, x.linear(&self.weight, None::<&Tensor>))
    }

    /// Adds the bias to a sum over the ranks.
    pub(super) fn with_bias(&self, sum: Tensor) -> Tensor {
        match &self.bias {
            None => sum,
            Some(bias) => sum + bias,
        }
    }

    /// Adds the correction of `x` to `y`.
    fn corrected(&self, x: &Tensor, y: Tensor) -> Tensor {
        match &self.correction {
            None => y,
            Some(LowRank { down, up, scale }) => {
                let narrow = x.linear(down, None::<&Tensor>);
                y + narrow.linear(up, None::<&Tensor>) * *scale
            }
        }
    }

    /// The weight with its correction, `[out, in]`, in the kind of the weight.
    pub(super) fn merged_weight(&self) -> Tensor {
        match &self.correction {
            None => self.weight.shallow_clone(),
            Some(LowRank { down, up, scale }) => &self.weight + up.matmul(down) * *scale,
        }
    }

    /// Every tensor of the map and its correction.
    pub(super) fn tensors_mut(&mut self) -> impl Iterator<Item = &mut Tensor> {
        let correction = self.correction.iter_mut().flat_map(|low| [&mut low.down, &mut low.up]);
        [&mut self.weight].into_iter().chain(&mut self.bias).chain(correction)
    }

    /// The same map without its correction, over the same memory.
    pub(super) fn base(&self) -> Self {
        let bias = self.bias.as_ref().map(Tensor::shallow_clone);
        Self::new(self.weight.shallow_clone(), bias)
    }
}
