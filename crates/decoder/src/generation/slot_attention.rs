//! Attention of one query per row over the keys and values in its slot.

use tch::{Device, Kind, Tensor};
use torch_ext::{Ragged, TorchError, ragged_flash_attention};

use crate::kernel_self_test::{OutcomeCache, RaggedKernel, largest_difference, wave};

/// Tokens that the rows of a step attend to. Slots follow each other in a tensor `[slots · capacity, kv_heads, head_dim]`; the first
/// are in use.
#[derive(Debug)]
pub(super) struct AttendedSlots {
    rows: i64,
    capacity: i64,
    /// Tokens of the longest row.
    longest: i64,
    /// Position of each row's newest token, i64 `[rows]` on the device.
    positions: Tensor,
    how: How,
}

#[derive(Debug)]
enum How {
    /// One kernel reads the filled part of each slot in place and does not repeat keys and values for the query heads that share them:
    /// [`ragged_flash_attention`].
    Fused {
        /// `0..=rows`, i32 on the device: one query per row.
        queries: Tensor,
        /// Start of each slot and end of the last, i32 `[rows + 1]` on the device.
        slots: Tensor,
        /// Tokens of each row, i32 `[rows]` on the device.
        used: Tensor,
    },
    /// Attends with all rows padded to the longest. Where heads share keys and values, libtorch computes this on CUDA by several
    /// operators.
    Plain {
        /// Bool `[rows, 1, 1, longest]`, true where a row may attend; `None` if all rows may attend everywhere.
        mask: Option<Tensor>,
    },
}

impl AttendedSlots {
    /// `lengths` are the tokens of each row, `positions` that of its newest, i64 `[rows]` on the device. Attends by the kernel with
    /// `counts`, `0..=slots`, i32 on the device; without them by plain operators.
    pub(super) fn new(
        lengths: &[i64],
        positions: &Tensor,
        capacity: i64,
        counts: Option<&Tensor>,
    ) -> Self {
        let (rows, positions) = (positions.size()[0], positions.shallow_clone());
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let even = lengths.iter().all(|length| *length == longest);
        let how = match counts.map(|counts| counts.narrow(0, 0, rows + 1)) {
            Some(queries) => How::Fused {
                slots: &queries * capacity,
                used: (&positions + 1).to_kind(Kind::Int),
                queries,
            },
            None => How::Plain { mask: (!even).then(|| mask(&positions, longest, longest)) },
        };
        Self { rows, capacity, longest, positions, how }
    }

    /// Attends with queries `[rows, heads, 1, head_dim]` over keys and values `[slots · capacity, kv_heads, head_dim]`, the last `window`
    /// of each row. The kernel has no window.
    pub(super) fn attend(&self, three: [&Tensor; 3], window: Option<i64>) -> Tensor {
        if let Some(window) = window.filter(|&window| window < self.longest) {
            return self.attend_plainly(three, Some(&mask(&self.positions, self.longest, window)));
        }
        self.attend_by(ragged_flash_attention, three)
            .expect("the kernel took these heads when it was tested")
    }

    fn attend_by(
        &self,
        kernel: RaggedKernel,
        [query, keys, values]: [&Tensor; 3],
    ) -> Result<Tensor, TorchError> {
        match &self.how {
            How::Fused { queries, slots, used } => {
                let [keys, values] = [keys, values].map(|all| self.in_use(all));
                let queries = Ragged { boundaries: queries, longest: 1 };
                let slots = Ragged { boundaries: slots, longest: self.longest };
                let three = [&query.squeeze_dim(2), &keys, &values];
                kernel(three, queries, slots, Some(used)).map(|mixed| mixed.unsqueeze(2))
            }
            How::Plain { mask } => Ok(self.attend_plainly([query, keys, values], mask.as_ref())),
        }
    }

    fn in_use(&self, all: &Tensor) -> Tensor {
        all.narrow(0, 0, self.rows * self.capacity)
    }

    fn attend_plainly(&self, [query, keys, values]: [&Tensor; 3], mask: Option<&Tensor>) -> Tensor {
        let [keys, values] = [keys, values].map(|all| {
            let slots = self.in_use(all).unflatten(0, [self.rows, self.capacity]);
            slots.narrow(1, 0, self.longest).transpose(1, 2)
        });
        Tensor::scaled_dot_product_attention(query, &keys, &values, mask, 0.0, false, None, true)
    }
}

/// Bool `[rows, 1, 1, longest]`, true at each row's last `window` tokens up to its position.
fn mask(positions: &Tensor, longest: i64, window: i64) -> Tensor {
    let columns = Tensor::arange(longest, (Kind::Int64, positions.device()));
    let back = positions.unsqueeze(1) - columns;
    back.ge(0).logical_and(&back.lt(window)).unsqueeze(1).unsqueeze(1)
}

/// Returns true if one kernel can attend for all rows: on CUDA, in bf16, if it passes its test for these heads.
pub(super) fn is_fused(device: Device, kind: Kind, heads: [i64; 3]) -> bool {
    static OUTCOMES: OutcomeCache<(Device, [i64; 3]), bool> = OutcomeCache::new();
    let is_right = |&(device, heads): &(Device, [i64; 3])| {
        tch::no_grad(|| test_fused_decoding(device, heads)).is_ok()
    };
    OUTCOMES.on_cuda((device, kind), (device, heads), is_right) == Some(true)
}

/// Tests the decoding kernel on `device` in bf16 against plain operators in f32; `heads` are the numbers of query heads and of
/// key-value heads, and their width. Returns the largest difference, relative to the largest number.
///
/// # Errors
///
/// The reason that it cannot be used: libtorch's message, or a difference beyond bf16 rounding.
pub fn test_fused_decoding(device: Device, heads: [i64; 3]) -> Result<f64, String> {
    test_kernel(device, heads, ragged_flash_attention)
}

fn test_kernel(
    device: Device,
    [query_heads, heads, width]: [i64; 3],
    kernel: RaggedKernel,
) -> Result<f64, String> {
    /// A full slot, one of a single token, and several blocks of what the kernel reads at a time.
    const LENGTHS: [i64; 5] = [700, 1, 19, 300, 128];
    const CAPACITY: i64 = 700;
    let rows = 5;
    // A slot more than is in use, and numbers behind the end of each, which nobody may see.
    let [keys, values] =
        [0.73, 1.31].map(|step| wave(&[(rows + 1) * CAPACITY, heads, width], step));
    let query = wave(&[rows, query_heads, 1, width], 0.37);
    let positions = Tensor::from_slice(&LENGTHS) - 1;
    let counts = Tensor::arange(rows + 2, (Kind::Int, device));
    let there = [&query, &keys, &values].map(|x| x.to_device(device));
    let there_positions = positions.to_device(device);
    let attended = AttendedSlots::new(&LENGTHS, &there_positions, CAPACITY, Some(&counts))
        .attend_by(kernel, there.each_ref())?;
    let [query, keys, values] = [&query, &keys, &values].map(|x| x.to_kind(Kind::Float));
    // On the host: a device that computes nothing would agree with itself.
    let exact = AttendedSlots::new(&LENGTHS, &positions, CAPACITY, None)
        .attend([&query, &keys, &values], None);
    largest_difference([(attended, exact)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_self_test::{largest_off, reference, wide_wave};

    const HEADS: [i64; 3] = [6, 2, 16];

    #[test]
    fn the_kernel_is_given_what_it_takes() {
        let largest = test_kernel(Device::Cpu, HEADS, reference).unwrap();
        assert!(largest > 0.0, "bf16 rounds");
    }

    #[test]
    fn a_kernel_that_is_wrong_or_missing_is_not_used() {
        let blind =
            |three: [&Tensor; 3], queries: Ragged<'_>, keys: Ragged<'_>, _: Option<&Tensor>| {
                reference(three, queries, keys, None)
            };
        assert!(test_kernel(Device::Cpu, HEADS, blind).unwrap_err().starts_with("differs by"));
        let nothing = |[query, ..]: [&Tensor; 3],
                       _: Ragged<'_>,
                       _: Ragged<'_>,
                       _: Option<&Tensor>| { Ok(query * f64::NAN) };
        assert!(test_kernel(Device::Cpu, HEADS, nothing).unwrap_err().contains("NaN"));
        let missing = test_fused_decoding(Device::Cpu, HEADS).unwrap_err();
        assert!(missing.contains("_flash_attention_forward"), "{missing}");
        assert!(!is_fused(Device::Cpu, Kind::BFloat16, HEADS));
    }

    /// In f64 the two differ in the order of sums only, however many rows are in use.
    #[test]
    fn both_ways_see_the_same() {
        let (slots, capacity) = (4, 9);
        let counts = Tensor::arange(slots + 1, (Kind::Int, Device::Cpu));
        let [keys, values] = [0.7, 1.3].map(|step| wide_wave(&[slots * capacity, 2, 4], step));
        for lengths in [vec![9, 1, 5, 3], vec![4, 4, 4], vec![2, 7], vec![1]] {
            let rows = i64::try_from(lengths.len()).unwrap();
            let query = wide_wave(&[rows, 6, 1, 4], 0.3);
            let positions = Tensor::from_slice(&lengths) - 1;
            let three = [&query, &keys, &values];
            let [by_kernel, plainly] = [Some(&counts), None]
                .map(|counts| AttendedSlots::new(&lengths, &positions, capacity, counts));
            let [fused, plain] =
                [&by_kernel, &plainly].map(|slots| slots.attend_by(reference, three).unwrap());
            assert_eq!(fused.size(), query.size());
            assert!(largest_off(&fused, &plain) < 1e-14, "{lengths:?}");
            assert!(plainly.attend(three, Some(9)).equal(&plain), "a window that reaches all");
            let windowed = (lengths.iter().any(|&length| length > 2))
                .then(|| by_kernel.attend(three, Some(2)));
            for (row, &length) in (0..).zip(&lengths).filter(|_| windowed.is_some()) {
                // The same row alone, in a cache of its last tokens.
                let (seen, first) = (length.min(2), capacity * row + (length - 2).max(0));
                let cut = |all: &Tensor| all.narrow(0, first, seen);
                let alone =
                    AttendedSlots::new(&[seen], &Tensor::from_slice(&[seen - 1]), seen, None)
                        .attend([&query.narrow(0, row, 1), &cut(&keys), &cut(&values)], None);
                let off = largest_off(&windowed.as_ref().unwrap().get(row), &alone.get(0));
                assert!(off < 1e-14, "{lengths:?}");
            }
        }
    }
}
