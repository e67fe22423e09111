//! The gradient of the head's weight, from the gradients of the logits.

use tch::{Kind, Tensor};
use torch_ext::add_product;

use crate::bf16_matmul::matmul;

/// Most rows per product that is widened before it is added, so that its buffers stay small.
const WIDENED_ROWS: i64 = 1 << 13;

/// Kind of a model's statistics and gradient sums: `f32` at least.
pub fn statistics_kind(hidden: &Tensor) -> Kind {
    if hidden.kind() == Kind::Double { Kind::Double } else { Kind::Float }
}

/// The gradient of the head's weight, `[vocab, hidden]`, summed over micro-batches.
///
/// For a bf16 model the sum is in `f32`, twice as wide as its other gradients. So the first product stays in its own kind until there
/// is a second, which a small mini-batch does not have.
#[derive(Debug)]
pub enum WeightGradient {
    /// Nothing yet, for a model in a narrow kind.
    Empty,
    /// One product, in the model's kind.
    One(Tensor),
    /// Sum of all products.
    Sum(Tensor),
}

impl WeightGradient {
    /// A sum in the memory of `sum`.
    pub fn over(sum: &Tensor) -> Self {
        Self::Sum(sum.shallow_clone())
    }

    /// Returns the sum in the kind of the sum or of the one product; `None` if nothing was added.
    pub(crate) fn into_tensor(self) -> Option<Tensor> {
        match self {
            Self::Empty => None,
            Self::One(own) | Self::Sum(own) => Some(own),
        }
    }

    /// Adds `d_logitsᵀ · hidden`.
    fn add(&mut self, d_logits: &Tensor, hidden: &Tensor) {
        match self {
            Self::Sum(sum) if sum.kind() == hidden.kind() => {
                let _same = sum.addmm_(&d_logits.tr(), hidden);
            }
            Self::Empty if hidden.device().is_cuda() => {
                *self = Self::One(d_logits.tr().matmul(hidden));
            }
            _ => self.add_widened(d_logits, hidden),
        }
    }

    /// Adds the product of a narrow model.
    fn add_widened(&mut self, d_logits: &Tensor, hidden: &Tensor) {
        let shape = [d_logits.size()[1], hidden.size()[1]];
        let (mut into, is_first) = match std::mem::replace(self, Self::Empty) {
            Self::Empty => (Tensor::empty(shape, (hidden.kind(), hidden.device())), true),
            Self::One(first) => (first.to_kind(statistics_kind(hidden)), false),
            Self::Sum(sum) => (sum, false),
        };
        // CUDA adds the product as it is; elsewhere it is rounded first.
        if hidden.device().is_cuda() && add_product(&mut into, [&d_logits.tr(), hidden]).is_ok() {
            *self = Self::Sum(into);
            return;
        }
        let rows = into.split(WIDENED_ROWS, 0).into_iter();
        for (mut into, d_logits) in rows.zip(d_logits.split(WIDENED_ROWS, 1)) {
            let product = matmul(&d_logits.tr(), hidden);
            if is_first {
                into.copy_(&product);
            } else {
                into += product.to_kind(into.kind());
            }
        }
        *self = if is_first { Self::One(into) } else { Self::Sum(into) };
    }
}

/// Adds `d_logitsᵀ · hidden` of one micro-batch to the gradient of the weight. The product is in the kind of `hidden`, the sum in its
/// own.
///
/// If the two kinds differ, each addition rounds the product and reads and writes the full gradient. So the chunks' logits wait until
/// there are many: the sum is more exact, and products over few tokens are half as fast.
pub(super) struct WeightSum<'a> {
    gradient: &'a mut WeightGradient,
    /// `[tokens, hidden]`.
    hidden: &'a Tensor,
    /// Buffer for gradients of logits, `[tokens, vocab]`.
    waiting: Option<Tensor>,
    /// Number of tokens in the buffer.
    count: i64,
    /// Number of tokens in the sum.
    summed: i64,
}

impl<'a> WeightSum<'a> {
    /// Allocates a buffer for `room` tokens, `[tokens, vocab]`, at least as many as are added at a time. Without one, each chunk is added
    /// as it comes.
    pub(super) fn new(
        gradient: &'a mut WeightGradient,
        hidden: &'a Tensor,
        room: Option<[i64; 2]>,
    ) -> Self {
        let is_own = matches!(gradient, WeightGradient::Sum(sum) if sum.kind() == hidden.kind());
        let waiting = room.filter(|_| !is_own).map(|[room, vocab]| {
            let shape = [room.min(hidden.size()[0]), vocab];
            Tensor::empty(shape, (hidden.kind(), hidden.device()))
        });
        Self { gradient, hidden, waiting, count: 0, summed: 0 }
    }

    /// Adds the next tokens, `[length, vocab]`.
    pub(super) fn add(&mut self, d_logits: &Tensor) {
        let length = d_logits.size()[0];
        let Some(waiting) = self.waiting.as_ref().map(Tensor::shallow_clone) else {
            return self.add_now(d_logits);
        };
        if self.count + length > waiting.size()[0] {
            self.add_waiting();
        }
        waiting.narrow(0, self.count, length).copy_(d_logits);
        self.count += length;
    }

    fn add_now(&mut self, d_logits: &Tensor) {
        let length = d_logits.size()[0];
        self.gradient.add(d_logits, &self.hidden.narrow(0, self.summed, length));
        self.summed += length;
    }

    fn add_waiting(&mut self) {
        let waiting = self.waiting.as_ref().filter(|_| self.count > 0);
        if let Some(d_logits) = waiting.map(|waiting| waiting.narrow(0, 0, self.count)) {
            self.add_now(&d_logits);
            self.count = 0;
        }
    }

    pub(super) fn finish(mut self) {
        self.add_waiting();
    }
}

#[cfg(test)]
mod tests {
    use tch::Device;

    use super::*;
    use crate::kernel_self_test::{largest_off, wave, wide_wave};

    /// Compared with the product of the rounded numbers in f64, the error is the rounding of each product to bf16 alone, however the
    /// tokens arrive and wait.
    #[test]
    fn gradients_of_the_weight_are_summed_whatever_waits() {
        const TOKENS: i64 = 11;
        for kind in [Kind::Double, Kind::BFloat16] {
            let hidden = wide_wave(&[TOKENS, 6], 0.7).to_kind(kind);
            let d_logits = wide_wave(&[TOKENS, 19], 0.3).to_kind(kind);
            let before = wide_wave(&[19, 6], 0.2).to_kind(statistics_kind(&hidden));
            let product = d_logits.to_kind(Kind::Double).tr().matmul(&hidden.to_kind(Kind::Double));
            let expected = before.to_kind(Kind::Double) + &product;
            let tolerance = if kind == Kind::Double { 1e-12 } else { 0.03 };
            for (room, at_once) in [(1, 1), (3, 2), (4, 4), (11, 3), (100, 11)] {
                let sum = before.copy();
                let mut gradient = WeightGradient::over(&sum);
                let mut adding = WeightSum::new(&mut gradient, &hidden, Some([room, 19]));
                d_logits.split(at_once, 0).iter().for_each(|chunk| adding.add(chunk));
                adding.finish();
                let off = largest_off(&sum, &expected);
                assert!(off < tolerance, "{kind:?}, room {room}, {at_once} at once: {off}");
            }
            assert!(product.abs().max().double_value(&[]) > 1.0, "there is something to sum");
        }
    }

    /// One product is rounded as in a sum of its own kind; two are summed in f32.
    #[test]
    fn a_first_product_waits_in_its_own_kind() {
        let (hidden, d_logits) = (wave(&[6, 4], 0.7), wave(&[6, 19], 0.3));
        let sum = Tensor::zeros([19, 4], (Kind::Float, Device::Cpu));
        let (mut wide, mut narrow) = (WeightGradient::over(&sum), WeightGradient::Empty);
        for (count, kind) in [(1, Kind::BFloat16), (2, Kind::Float)] {
            for gradient in [&mut wide, &mut narrow] {
                let mut adding = WeightSum::new(gradient, &hidden, Some([6, 19]));
                adding.add(&d_logits);
                adding.finish();
            }
            let (WeightGradient::One(stored) | WeightGradient::Sum(stored)) = &narrow else {
                panic!("{count} products were added");
            };
            assert_eq!(stored.kind(), kind);
            assert!(stored.to_kind(Kind::Float).equal(&sum));
        }
        assert!(WeightGradient::Empty.into_tensor().is_none());
    }
}
