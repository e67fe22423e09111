//! Keys and values of what the rows have read so far.

use tch::{Device, Kind, Tensor};

use crate::model::Decoder;

/// Preallocated keys and values, `[slots, kv_heads, capacity, head_dim]` for each block. The first slots are in use; their
/// rows differ in length.
#[derive(Debug)]
pub(super) struct KvCache {
    keys: Vec<Tensor>,
    values: Vec<Tensor>,
    /// Tokens that each row in use holds.
    lengths: Vec<i64>,
    device: Device,
}

/// Where the next token of each row goes, and what it may see.
#[derive(Debug)]
pub(super) struct Step {
    rows: Tensor,
    /// i64 `[rows]`.
    positions: Tensor,
    /// Positions that any row holds after this step.
    longest: i64,
    /// Bool `[rows, 1, 1, longest]`, true where a row may look; `None` if all rows may look everywhere.
    mask: Option<Tensor>,
}

impl KvCache {
    /// Room for `slots` sequences of at most `capacity` tokens each, none in use.
    pub(super) fn new(decoder: &Decoder, slots: usize, capacity: usize) -> Self {
        let config = decoder.config();
        let heads = decoder.key_value_heads();
        let shape = [slots, heads, capacity, config.head_dim].map(whole);
        let device = decoder.device();
        // Zeros, as a mask cannot undo the NaN that fresh memory may hold.
        let room = || Tensor::zeros(shape, (decoder.kind(), device));
        let blocks = || (0..decoder.block_count()).map(|_| room()).collect();
        Self { keys: blocks(), values: blocks(), lengths: Vec::new(), device }
    }

    /// Puts keys and values of a prompt, `[1, kv_heads, len, head_dim]` for each block, into the first slot that is
    /// free.
    pub(super) fn place(&mut self, prefilled: &[(Tensor, Tensor)]) {
        let place = self.lengths.len();
        let length = prefilled.first().map_or(0, |(key, _)| key.size()[2]);
        let caches = self.keys.iter().zip(&self.values);
        for ((keys, values), (key, value)) in caches.zip(prefilled) {
            for (cache, own) in [(keys, key), (values, value)] {
                cache.narrow(0, whole(place), 1).narrow(2, 0, length).copy_(own);
            }
        }
        self.lengths.push(length);
    }

    /// Gives slot `place` to the row in the last slot in use, which is free then.
    pub(super) fn move_last_to(&mut self, place: usize) {
        let last = self.lengths.len() - 1;
        let length = self.lengths[last];
        if place != last {
            for cache in self.keys.iter().chain(&self.values) {
                let row = |index| cache.narrow(0, whole(index), 1).narrow(2, 0, length);
                row(place).copy_(&row(last));
            }
        }
        self.lengths.swap_remove(place);
    }

    /// Makes room for one more token in every row.
    pub(super) fn advance(&mut self) -> Step {
        let positions = Tensor::from_slice(&self.lengths).to_device(self.device);
        let longest = self.lengths.iter().max().map_or(0, |length| length + 1);
        let even = self.lengths.iter().all(|length| length + 1 == longest);
        let mask = (!even).then(|| {
            let columns = Tensor::arange(longest, (Kind::Int64, self.device));
            columns.unsqueeze(0).le_tensor(&positions.unsqueeze(1)).unsqueeze(1).unsqueeze(1)
        });
        self.lengths.iter_mut().for_each(|length| *length += 1);
        let rows = Tensor::arange(positions.size()[0], (Kind::Int64, self.device));
        Step { rows, positions, longest, mask }
    }

    /// Stores `key` and `value`, `[rows, kv_heads, 1, head_dim]`, in block `block` and attends over all the rows hold.
    pub(super) fn attend(
        &mut self,
        block: usize,
        step: &Step,
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
    ) -> Tensor {
        let place = [Some(&step.rows), None, Some(&step.positions)];
        let _stored = self.keys[block].index_put_(&place, &key.squeeze_dim(2), false);
        let _stored = self.values[block].index_put_(&place, &value.squeeze_dim(2), false);
        let seen =
            |cache: &Tensor| cache.narrow(0, 0, step.rows.size()[0]).narrow(2, 0, step.longest);
        let (keys, values) = (seen(&self.keys[block]), seen(&self.values[block]));
        let mask = step.mask.as_ref();
        Tensor::scaled_dot_product_attention(query, &keys, &values, mask, 0.0, false, None, true)
    }
}

impl Step {
    /// i64 `[rows, 1]`, as [`Decoder::angles`](crate::model::Decoder::angles) takes them.
    pub(super) fn positions(&self) -> Tensor {
        self.positions.unsqueeze(1)
    }
}

fn whole(count: usize) -> i64 {
    i64::try_from(count).expect("sizes are far below 2^63")
}
