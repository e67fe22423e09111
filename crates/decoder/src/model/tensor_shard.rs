//! Tensor-parallel shards of parameters.

use tch::Tensor;

/// A tensor-parallel shard of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TensorShard {
    /// The split dimension, 0 or 1.
    pub dimension: i64,
    /// Index of the shard.
    pub index: i64,
    /// Number of equal shards.
    pub count: i64,
}

/// The split of a parameter, by its name in a checkpoint or a PEFT file.
///
/// Queries, keys and values are split by heads, gate and up by rows, output and down by columns, embedding and head by tokens of
/// the vocabulary. Norms are replicated; those of heads see the rank's heads alone. The biases of output and down are replicated, as they
/// are added to a sum over the ranks. For a
/// low-rank correction `B A`, `B` is split if the rows are, `A` if the columns are; the other factor is replicated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ShardSpec {
    /// The split dimension, 0 or 1; `None` for a replicated parameter.
    pub(super) dimension: Option<i64>,
    /// True if split by key-value heads, which may be fewer than the ranks.
    pub(super) by_key_heads: bool,
    /// True for a replicated parameter whose gradient on each rank is a partial sum.
    pub(super) has_partial_gradient: bool,
}

impl ShardSpec {
    pub(super) fn of(name: &str) -> Self {
        const ROWS: [&str; 7] =
            ["q_proj", "k_proj", "v_proj", "gate_proj", "up_proj", "embed_tokens", "lm_head"];
        const COLUMNS: [&str; 2] = ["o_proj", "down_proj"];
        let mut words = name.rsplit('.');
        let (last, before) = (words.next(), words.next());
        let factor = before.filter(|word| ["lora_A", "lora_B"].contains(word));
        let module = if factor.is_some() { words.next() } else { before }.unwrap_or_default();
        let (rows, columns) = (ROWS.contains(&module), COLUMNS.contains(&module));
        let dimension = match factor {
            Some("lora_A") => columns.then_some(1),
            Some(_) => rows.then_some(0),
            None if rows => Some(0),
            None => (columns && last == Some("weight")).then_some(1),
        };
        Self {
            dimension,
            by_key_heads: dimension.is_some() && ["k_proj", "v_proj"].contains(&module),
            has_partial_gradient: (factor.is_some() && dimension.is_none())
                // `gate` is a router: it sees the rank's part of each expert's result.
                || ["q_norm", "k_norm", "gate"].contains(&module),
        }
    }
}

impl TensorShard {
    /// Copies the shard out of the full parameter.
    pub fn of(self, whole: &Tensor) -> Tensor {
        self.within(whole).copy()
    }

    /// Returns a view of the shard within the full parameter.
    pub fn within(self, whole: &Tensor) -> Tensor {
        let length = whole.size()[self.axis()] / self.count;
        whole.narrow(self.dimension, self.index * length, length)
    }

    /// Shape of the shard of a parameter with this shape.
    pub fn shape(self, whole: &[i64]) -> Vec<i64> {
        let mut shape = whole.to_vec();
        shape[self.axis()] /= self.count;
        shape
    }

    /// Shape of the full parameter of a shard with this shape.
    pub fn full_shape(self, own: &[i64]) -> Vec<i64> {
        let mut shape = own.to_vec();
        shape[self.axis()] *= self.count;
        shape
    }

    fn axis(self) -> usize {
        usize::try_from(self.dimension).expect("0 or 1")
    }
}
