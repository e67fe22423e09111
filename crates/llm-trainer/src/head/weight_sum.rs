//! The gradient of the head's weight, from the gradients of its logits.

use tch::Tensor;

/// Most rows of a product that is widened before it is added: few enough that its buffers are small.
const WIDENED_ROWS: i64 = 1 << 13;

/// Most gradients of logits that wait to become one product: 256 MiB in bf16.
const WAITING_LOGITS: i64 = 1 << 27;

/// Adds `d_logitsᵀ · hidden` to the gradient of the weight; the product is taken in the kind of `hidden`, the sum in its own.
///
/// Where these differ, each product is rounded and the whole gradient read and written to add it, so the chunks' logits wait
/// until there are many: the sum is more exact, and a product over few tokens is half as fast besides.
pub(super) struct WeightSum<'a> {
    /// `[vocab, hidden]`.
    sum: &'a mut Tensor,
    /// `[tokens, hidden]`.
    hidden: &'a Tensor,
    /// Room for gradients of logits, `[tokens, vocab]`.
    waiting: Option<Tensor>,
    /// Tokens that wait.
    count: i64,
    /// Tokens that are in the sum.
    summed: i64,
}

impl<'a> WeightSum<'a> {
    pub(super) fn new(sum: &'a mut Tensor, hidden: &'a Tensor) -> Self {
        let room = (WAITING_LOGITS / sum.size()[0]).max(1);
        Self::with_room(sum, hidden, room)
    }

    /// `room` for so many tokens, at least as many as are added at a time.
    fn with_room(sum: &'a mut Tensor, hidden: &'a Tensor, room: i64) -> Self {
        let shape = [room.min(hidden.size()[0]), sum.size()[0]];
        let waiting = (sum.kind() != hidden.kind())
            .then(|| Tensor::empty(shape, (hidden.kind(), hidden.device())));
        Self { sum, hidden, waiting, count: 0, summed: 0 }
    }

    /// Adds the next tokens, `[length, vocab]`.
    pub(super) fn add(&mut self, d_logits: &Tensor) {
        let length = d_logits.size()[0];
        let Some(waiting) = &self.waiting else {
            let _same =
                self.sum.addmm_(&d_logits.tr(), &self.hidden.narrow(0, self.summed, length));
            self.summed += length;
            return;
        };
        if self.count + length > waiting.size()[0] {
            self.add_waiting();
        }
        if let Some(waiting) = &self.waiting {
            waiting.narrow(0, self.count, length).copy_(d_logits);
        }
        self.count += length;
    }

    fn add_waiting(&mut self) {
        let Some(waiting) = &self.waiting else { return };
        let d_logits = waiting.narrow(0, 0, self.count);
        let hidden = self.hidden.narrow(0, self.summed, self.count);
        let rows = self.sum.split(WIDENED_ROWS, 0).into_iter();
        for (mut sum, d_logits) in rows.zip(d_logits.split(WIDENED_ROWS, 1)) {
            sum += d_logits.tr().matmul(&hidden).to_kind(sum.kind());
        }
        self.summed += self.count;
        self.count = 0;
    }

    pub(super) fn finish(mut self) {
        if self.count > 0 {
            self.add_waiting();
        }
    }
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};

    use super::super::statistics_kind;
    use super::*;

    fn wave(rows: i64, columns: i64, step: f64, kind: Kind) -> Tensor {
        let numbers = Tensor::arange(rows * columns, (Kind::Double, Device::Cpu)) * step;
        numbers.sin().view([rows, columns]).to_kind(kind)
    }

    /// Against the product of the rounded numbers in f64: off by the rounding of each product to bf16 alone, however the
    /// tokens come and wait.
    #[test]
    fn gradients_of_the_weight_are_summed_whatever_waits() {
        const TOKENS: i64 = 11;
        for kind in [Kind::Double, Kind::BFloat16] {
            let hidden = wave(TOKENS, 6, 0.7, kind);
            let d_logits = wave(TOKENS, 19, 0.3, kind);
            let before = wave(19, 6, 0.2, statistics_kind(&hidden));
            let product = d_logits.to_kind(Kind::Double).tr().matmul(&hidden.to_kind(Kind::Double));
            let expected = before.to_kind(Kind::Double) + &product;
            let tolerance = if kind == Kind::Double { 1e-12 } else { 0.03 };
            for (room, at_once) in [(1, 1), (3, 2), (4, 4), (11, 3), (100, 11)] {
                let mut sum = before.copy();
                let mut adding = WeightSum::with_room(&mut sum, &hidden, room);
                d_logits.split(at_once, 0).iter().for_each(|chunk| adding.add(chunk));
                adding.finish();
                let off = (&sum - &expected).abs().max().double_value(&[]);
                assert!(off < tolerance, "{kind:?}, room {room}, {at_once} at once: {off}");
            }
            assert!(product.abs().max().double_value(&[]) > 1.0, "there is something to sum");
        }
    }
}
