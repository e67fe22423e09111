//! Collectives on tensors: sums, shards and gathered shards.

use model_files::buffer_limits::BUCKET_BYTES;
use tch::{Kind, Tensor};
use torch_ext::{GroupError, ProcessGroup, ReduceOp, Work, byte_count, size};

use super::{RankError, Ranks};

/// A collective in progress while this rank computes.
#[derive(Debug)]
#[must_use = "there is no result before it is finished"]
pub struct Exchange {
    work: Option<Work>,
    result: Tensor,
    /// Description for error messages.
    what: String,
}

impl Ranks {
    /// Overwrites each tensor by its sum over the ranks, accumulated in at least f32 and rounded once. All tensors have one
    /// kind and one device; every rank passes the same number and shapes.
    ///
    /// # Errors
    ///
    /// [`RankError::Operation`]
    pub fn sum(&self, what: &'static str, tensors: &[Tensor]) -> Result<(), RankError> {
        let Some(group) = &self.group else { return Ok(()) };
        let _no_grad = tch::no_grad_guard();
        for bucket in buckets(tensors) {
            let flat: Vec<Tensor> = bucket.iter().map(|tensor| tensor.reshape(-1)).collect();
            let all = Tensor::cat(&flat, 0);
            let narrow = matches!(all.kind(), Kind::BFloat16 | Kind::Half);
            let all = if narrow { all.to_kind(Kind::Float) } else { all };
            self.operation(what, byte_count(&all), || group.all_reduce(&all, ReduceOp::Sum))?;
            let mut first = 0;
            for tensor in bucket {
                let count = size(tensor.numel());
                tensor.shallow_clone().copy_(&all.narrow(0, first, count).view_as(tensor));
                first += count;
            }
        }
        Ok(())
    }

    /// Overwrites a contiguous tensor by its reduction over the ranks, the same bits on each. It does not count among the
    /// operations that all ranks of the run share.
    ///
    /// # Errors
    ///
    /// [`RankError::Operation`]
    pub fn reduce_in_place(
        &self,
        what: &'static str,
        tensor: &Tensor,
        op: ReduceOp,
    ) -> Result<(), RankError> {
        let Some(group) = &self.group else { return Ok(()) };
        self.operation(what, byte_count(tensor), || group.all_reduce(tensor, op))
    }

    /// This rank's shard of `parts`, concatenated and padded with zeros: the `r`-th of as many equal shards as there are ranks.
    /// All parts have one kind.
    pub fn local_shard(&self, parts: &[Tensor]) -> Tensor {
        let _no_grad = tch::no_grad_guard();
        let all = self.filled_up(parts);
        let shard = all.size()[0] / size(self.count());
        all.narrow(0, shard * size(self.rank()), shard).copy()
    }

    /// Starts to compute this rank's shard, as of [`local_shard`](Self::local_shard), of the sum of `parts` over the ranks.
    ///
    /// # Errors
    ///
    /// [`RankError::Operation`]
    pub fn start_sum_shard(
        &self,
        what: &'static str,
        parts: &[Tensor],
    ) -> Result<Exchange, RankError> {
        let _no_grad = tch::no_grad_guard();
        let all = self.filled_up(parts);
        let shard = all.size()[0] / size(self.count());
        let result = Tensor::zeros([shard], (all.kind(), all.device()));
        self.start(what, &all, result, |group, result| group.reduce_scatter_async(&all, result))
    }

    /// The shards of all ranks, `[elements]` each, concatenated in rank order.
    ///
    /// # Errors
    ///
    /// [`RankError::Operation`]
    pub fn gather_shards(&self, what: &'static str, own: &Tensor) -> Result<Tensor, RankError> {
        self.finish(self.start_gather_shards(what, own)?)
    }

    /// Starts [`gather_shards`](Self::gather_shards).
    ///
    /// # Errors
    ///
    /// [`RankError::Operation`]
    pub fn start_gather_shards(
        &self,
        what: &'static str,
        own: &Tensor,
    ) -> Result<Exchange, RankError> {
        let _no_grad = tch::no_grad_guard();
        let elements = own.size()[0] * size(self.count());
        let result = Tensor::empty([elements], (own.kind(), own.device()));
        self.start(what, own, result, |group, result| group.all_gather_async(own, result))
    }

    /// Waits for a started operation and returns its result.
    ///
    /// # Errors
    ///
    /// [`RankError::Operation`]
    pub fn finish(&self, exchange: Exchange) -> Result<Tensor, RankError> {
        let Exchange { work, result, what } = exchange;
        if let Some(work) = work {
            self.begin_again(what);
            self.ended(work.wait())?;
        }
        Ok(result)
    }

    /// Starts an operation from `input` to `result`; with a single process the result is ready at once.
    fn start(
        &self,
        what: &'static str,
        input: &Tensor,
        result: Tensor,
        run: impl FnOnce(&ProcessGroup, &Tensor) -> Result<Work, GroupError>,
    ) -> Result<Exchange, RankError> {
        let what = format!("{what}, {} bytes", byte_count(input));
        let Some(group) = &self.group else {
            return Ok(Exchange { work: None, result: input.copy(), what });
        };
        self.begin(what.clone());
        let work = self.ended(run(group, &result))?;
        if !self.overlaps {
            self.begin_again(what.clone());
            self.ended(work.wait())?;
            return Ok(Exchange { work: None, result, what });
        }
        Ok(Exchange { work: Some(work), result, what })
    }

    /// `parts` concatenated, padded with zeros to a multiple of the number of ranks.
    fn filled_up(&self, parts: &[Tensor]) -> Tensor {
        let flat: Vec<Tensor> = parts.iter().map(|part| part.detach().reshape(-1)).collect();
        let elements: i64 = flat.iter().map(|part| part.size()[0]).sum();
        let missing = (-elements).rem_euclid(size(self.count()));
        let filling = Tensor::zeros([missing], (flat[0].kind(), flat[0].device()));
        let all: Vec<&Tensor> = flat.iter().chain([&filling]).collect();
        Tensor::cat(&all, 0)
    }
}

/// Splits tensors into runs of about [`BUCKET_BYTES`].
fn buckets(tensors: &[Tensor]) -> Vec<&[Tensor]> {
    let mut rest = tensors;
    let mut buckets = Vec::new();
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = |tensor: &&Tensor| {
            let before = bytes;
            bytes += byte_count(tensor);
            before < BUCKET_BYTES as usize
        };
        let (bucket, after) = rest.split_at(rest.iter().take_while(fits).count());
        buckets.push(bucket);
        rest = after;
    }
    buckets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_every_tensor_once() {
        let one = || Tensor::zeros([i64::from(BUCKET_BYTES) / 16], tch::kind::FLOAT_CPU);
        let tensors: Vec<Tensor> = (0..9).map(|_| one()).collect();
        let sizes: Vec<usize> = buckets(&tensors).iter().map(|bucket| bucket.len()).collect();
        assert_eq!(sizes, [4, 4, 1]);
    }

    /// Sharding and gathering give back the input; the last shard is padded.
    #[test]
    fn one_process_has_the_whole_as_its_shard() {
        let parts = [Tensor::from_slice(&[1.0, 2.0]), Tensor::from_slice(&[3.0]).view([1, 1])];
        let ranks = Ranks::single();
        let shard = ranks.local_shard(&parts);
        assert_eq!(Vec::<f64>::try_from(&shard).unwrap(), [1.0, 2.0, 3.0]);
        let sum = ranks.finish(ranks.start_sum_shard("a sum", &parts).unwrap()).unwrap();
        let all = ranks.gather_shards("all", &sum).unwrap();
        assert!(all.equal(&shard));
    }
}
