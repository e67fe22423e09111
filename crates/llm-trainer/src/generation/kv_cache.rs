//! Keys and values of what the rows have read so far.

use tch::{Device, Kind, Tensor};

/// Preallocated keys and values, `[rows, kv_heads, capacity, head_dim]` for each block; rows may differ in length.
#[derive(Debug)]
pub(super) struct KvCache {
    keys: Vec<Tensor>,
    values: Vec<Tensor>,
    /// Tokens each row holds.
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
    /// Spreads prefilled keys and values, `[prompts, kv_heads, len, head_dim]` for each block, over rows: row `r` copies
    /// prompt `sources[r]`, of which `lengths[r]` tokens count, and has room for `capacity` tokens.
    pub(super) fn replicate(
        prefilled: &[(Tensor, Tensor)],
        sources: &[i64],
        lengths: Vec<i64>,
        capacity: i64,
    ) -> Self {
        let device = prefilled.first().map_or(Device::Cpu, |(key, _)| key.device());
        let sources = Tensor::from_slice(sources).to_device(device);
        let spread = |prompt: &Tensor| {
            let (_, heads, len, width) = prompt.size4().expect("keys have four dimensions");
            let options = (prompt.kind(), device);
            let cache = Tensor::zeros([sources.size()[0], heads, capacity, width], options);
            cache.narrow(2, 0, len).copy_(&prompt.index_select(0, &sources));
            cache
        };
        let (keys, values) =
            prefilled.iter().map(|(key, value)| (spread(key), spread(value))).unzip();
        Self { keys, values, lengths, device }
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
        let keys = self.keys[block].narrow(2, 0, step.longest);
        let values = self.values[block].narrow(2, 0, step.longest);
        let mask = step.mask.as_ref();
        Tensor::scaled_dot_product_attention(query, &keys, &values, mask, 0.0, false, None, true)
    }

    /// Keeps the given rows, in the given order.
    pub(super) fn keep(&mut self, rows: &[i64]) {
        let index = Tensor::from_slice(rows).to_device(self.device);
        for cache in self.keys.iter_mut().chain(&mut self.values) {
            *cache = cache.index_select(0, &index);
        }
        let at = |&row: &i64| self.lengths[usize::try_from(row).expect("rows count from 0")];
        self.lengths = rows.iter().map(at).collect();
    }
}

impl Step {
    /// i64 `[rows, 1]`, as [`Decoder::angles`](crate::model::Decoder::angles) takes them.
    pub(super) fn positions(&self) -> Tensor {
        self.positions.unsqueeze(1)
    }
}
