//! KV cache of the decoding rows.

use tch::{Device, Kind, Tensor};
use torch_ext::size;

use super::slot_attention::{AttendedSlots, is_fused};
use crate::model::{
    Angles, Decoder, FusedOperations, Heads, KernelOperation, by_position, rotate_and_store,
};

/// Preallocated keys and values, `[slots · capacity, kv_heads, head_dim]` for each block, slot after slot. The first slots are in
/// use; their rows differ in length.
///
/// The heads of a token are contiguous, as the projection writes them: a token is stored in one copy, and a kernel for ragged
/// sequences reads the slots in place.
#[derive(Debug)]
pub(super) struct KvCache {
    /// Keys and values of each block.
    blocks: Vec<[Tensor; 2]>,
    /// Tokens of each row in use.
    lengths: Vec<i64>,
    /// Most tokens of a slot.
    capacity: i64,
    /// `0..=slots`, i32 on the device, where one kernel attends for all rows.
    counts: Option<Tensor>,
    device: Device,
}

/// Cache position of each row's next token, and the tokens it may attend to.
#[derive(Debug)]
pub(super) struct Step {
    /// Positions of the tokens within their rows, i64 `[rows, 1]`.
    pub(super) positions: Tensor,
    /// Indices of the tokens in the cache, i64 `[rows]`.
    places: Tensor,
    slots: AttendedSlots,
}

impl KvCache {
    /// Makes room for `slots` sequences of at most `capacity` tokens each, none in use. `fused` asks for one attention kernel, used if
    /// there is one that passed its test.
    pub(super) fn new(decoder: &Decoder, slots: usize, capacity: usize, fused: bool) -> Self {
        let [slots, capacity] = [slots, capacity].map(size);
        let [query_heads, heads] = decoder.local_heads();
        let width = size(decoder.config().head_dim);
        let (shape, device) = ([slots * capacity, heads, width], decoder.device());
        // Zeros, as a mask cannot undo the NaN that fresh memory may hold.
        let room = || Tensor::zeros(shape, (decoder.kind(), device));
        let fused = fused && is_fused(device, decoder.kind(), [query_heads, heads, width]);
        Self {
            blocks: (0..decoder.block_count()).map(|_| [room(), room()]).collect(),
            lengths: Vec::new(),
            capacity,
            counts: fused.then(|| Tensor::arange(slots + 1, (Kind::Int, device))),
            device,
        }
    }

    /// Stores keys and values of a prompt, `[1, kv_heads, len, head_dim]` for each block, in the first slot that is
    /// free.
    pub(super) fn place(&mut self, prefilled: &[(Tensor, Tensor)]) {
        let place = size(self.lengths.len()) * self.capacity;
        let length = prefilled.first().map_or(0, |(key, _)| key.size()[2]);
        for (caches, (key, value)) in self.blocks.iter().zip(prefilled) {
            for (cache, tensor) in caches.iter().zip([key, value]) {
                cache.narrow(0, place, length).copy_(&tensor.squeeze_dim(0).transpose(0, 1));
            }
        }
        self.lengths.push(length);
    }

    /// Moves the row of the last slot in use to slot `place`; the last slot is free then.
    pub(super) fn move_last_to(&mut self, place: usize) {
        let last = self.lengths.len() - 1;
        let length = self.lengths[last];
        if place != last {
            for cache in self.blocks.iter().flatten() {
                let row = |index| cache.narrow(0, size(index) * self.capacity, length);
                row(place).copy_(&row(last));
            }
        }
        self.lengths.swap_remove(place);
    }

    /// Makes room for one more token in every row.
    pub(super) fn advance(&mut self) -> Step {
        let positions = Tensor::from_slice(&self.lengths).to_device(self.device);
        self.lengths.iter_mut().for_each(|length| *length += 1);
        let rows = size(self.lengths.len());
        let starts = Tensor::arange(rows, (Kind::Int64, self.device)) * self.capacity;
        let counts = self.counts.as_ref();
        let slots = AttendedSlots::new(&self.lengths, &positions, self.capacity, counts);
        Step { positions: positions.unsqueeze(1), places: starts + positions, slots }
    }

    /// Rotates queries and keys, stores keys and values in block `block`, and attends over all tokens of each row. Returns the input of the
    /// output projection, `[rows, 1, heads · head_dim]`.
    pub(super) fn attend(
        &mut self,
        block: usize,
        step: &Step,
        heads: &Heads,
        angles: &Angles,
        fused: &FusedOperations,
    ) -> Tensor {
        let [keys, values] = &mut self.blocks[block];
        let by_kernel = fused.kernels(KernelOperation::Rotation).and_then(|kernels| {
            rotate_and_store(kernels, heads, angles, &step.places, [&mut *keys, &mut *values]).ok()
        });
        if let Some(query) = by_kernel {
            return by_position(&step.slots.attend([&query, keys, values], heads.window));
        }
        heads.mix(angles, |[query, key, value], window| {
            let _stored = keys.index_copy_(0, &step.places, &key.squeeze_dim(2));
            let _stored = values.index_copy_(0, &step.places, &value.squeeze_dim(2));
            step.slots.attend([query, keys, values], window)
        })
    }
}
