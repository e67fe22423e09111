//! Attention within sequences packed end to end in one row.

use tch::{Device, Kind, Tensor};
use torch_ext::{Ragged, TorchError, ragged_flash_attention};

use super::attention::causal_attention;
use crate::kernel_self_test::{OutcomeCache, RaggedKernel, largest_difference, wave};

/// The sequences of a row, and the implementation of attention within them.
///
/// libtorch has a kernel for sequences of any lengths, on CUDA in bf16 ([`ragged_flash_attention`]). It is used if it passes
/// [`test_fused_training`]; otherwise neighbours of equal length run as one batch.
#[derive(Debug)]
pub struct PackedLengths {
    /// Tokens of each sequence.
    lengths: Vec<i64>,
    /// Start of each sequence and end of the last, i32 `[sequences + 1]` on the device, for the kernel.
    boundaries: Option<Tensor>,
}

impl PackedLengths {
    /// Sequences of these lengths in tokens, at least one, in a model on `device` in `kind`.
    pub fn new(lengths: Vec<i64>, device: Device, kind: Kind) -> Self {
        static OUTCOMES: OutcomeCache<Device, bool> = OutcomeCache::new();
        let test = |&device: &Device| test_fused_training(device).is_ok();
        let is_right = OUTCOMES.on_cuda((device, kind), device, test) == Some(true);
        let boundaries = is_right.then(|| boundaries(&lengths, device));
        Self { lengths, boundaries }
    }

    /// Tokens of all sequences.
    pub fn tokens(&self) -> i64 {
        self.lengths.iter().sum()
    }

    /// [`causal_attention`] within each sequence: the query is `[1, heads, tokens, head_dim]`, key and value are
    /// `[1, kv_heads, tokens, head_dim]`; the result has the shape of the query.
    pub fn attend(&self, three: [&Tensor; 3], window: Option<i64>) -> Tensor {
        // Where the kernel does not take a model's heads, as those of an odd width, it is as if there were none. It has no window.
        let slides = |window| self.lengths.iter().any(|&length| length > window);
        let boundaries = self.boundaries.as_ref().filter(|_| !window.is_some_and(slides));
        let fused = boundaries.and_then(|boundaries| {
            in_one_kernel(boundaries, &self.lengths, three, ragged_flash_attention).ok()
        });
        fused.unwrap_or_else(|| by_length(&self.lengths, three, window))
    }
}

/// Cumulative lengths, from `0` to the number of all tokens, i32 on `device`. Those of equal lengths are made there, without a copy.
fn boundaries(lengths: &[i64], device: Device) -> Tensor {
    let longest = lengths.iter().copied().max().unwrap_or(0);
    if longest > 0 && lengths.iter().all(|length| *length == longest) {
        let end = lengths.iter().sum::<i64>() + 1;
        return Tensor::arange_start_step(0, end, longest, (Kind::Int, device));
    }
    let ends = lengths.iter().scan(0, |end, length| {
        *end += length;
        Some(*end)
    });
    let all: Vec<i64> = std::iter::once(0).chain(ends).collect();
    Tensor::from_slice(&all).to_kind(Kind::Int).to_device(device)
}

/// Attends by `kernel`, which takes query, key and value as `[tokens, heads, head_dim]`.
fn in_one_kernel(
    boundaries: &Tensor,
    lengths: &[i64],
    three: [&Tensor; 3],
    kernel: RaggedKernel,
) -> Result<Tensor, TorchError> {
    let ragged = Ragged { boundaries, longest: lengths.iter().copied().max().unwrap_or(0) };
    let by_token = three.map(|x| x.squeeze_dim(0).transpose(0, 1));
    let mixed = kernel(by_token.each_ref(), ragged, ragged, None)?;
    Ok(mixed.transpose(0, 1).unsqueeze(0))
}

/// Attends by batches of neighbours of equal length.
fn by_length(lengths: &[i64], three: [&Tensor; 3], window: Option<i64>) -> Tensor {
    let mut start = 0;
    let mut mixed = Vec::new();
    for run in lengths.chunk_by(|a, b| a == b) {
        let (length, tokens) = (run[0], run.iter().sum());
        // [1, heads, tokens, head_dim] to [sequences, heads, length, head_dim] and back.
        let unpacked = |x: &Tensor| {
            x.narrow(2, start, tokens).squeeze_dim(0).unflatten(1, [-1, length]).transpose(0, 1)
        };
        let attended = causal_attention(three.map(unpacked).each_ref(), window);
        mixed.push(attended.transpose(0, 1).flatten(1, 2).unsqueeze(0));
        start += tokens;
    }
    if mixed.len() == 1 { mixed.remove(0) } else { Tensor::cat(&mixed, 2) }
}

/// Tests the kernel for ragged sequences on `device`, forward and backward in bf16, against attention sequence by sequence in f32.
/// Returns the largest difference, relative to the largest number.
///
/// # Errors
///
/// The reason that it cannot be used: libtorch's message, or a difference beyond bf16 rounding.
pub fn test_fused_training(device: Device) -> Result<f64, String> {
    test_kernel(device, ragged_flash_attention)
}

fn test_kernel(device: Device, kernel: RaggedKernel) -> Result<f64, String> {
    let lengths = [5, 1, 19, 40];
    let wave = |heads: i64, step: f64| wave(&[1, heads, 65, 64], step);
    let inputs = [wave(6, 0.37), wave(2, 0.73), wave(2, 1.31)];
    let cotangent = wave(6, 0.11);
    let there = inputs.each_ref().map(|x| x.to_device(device));
    let cotangent_there = cotangent.to_device(device);
    let computed = with_gradients(&there, &cotangent_there, Kind::BFloat16, |three| {
        in_one_kernel(&boundaries(&lengths, device), &lengths, three, kernel)
    })?;
    // On the host: a device that computes nothing would agree with itself.
    let exact = with_gradients(&inputs, &cotangent, Kind::Float, |three| {
        Ok(by_length(&lengths, three, None))
    })?;
    let pairs: Option<Vec<_>> =
        computed.into_iter().zip(exact).map(|(computed, exact)| computed.zip(exact)).collect();
    largest_difference(pairs.ok_or("a gradient is missing")?)
}

/// Returns the result of `attend` on query, key and value in `kind`, then their gradients.
fn with_gradients(
    inputs: &[Tensor; 3],
    cotangent: &Tensor,
    kind: Kind,
    attend: impl FnOnce([&Tensor; 3]) -> Result<Tensor, TorchError>,
) -> Result<Vec<Option<Tensor>>, TorchError> {
    let inputs = inputs.each_ref().map(|x| x.to_kind(kind).detach().set_requires_grad(true));
    // A pass that needs no gradient may be the first to ask.
    let mixed = tch::with_grad(|| attend(inputs.each_ref()))?;
    let gradients = torch_ext::vector_jacobian_product(
        &[&mixed],
        &[&cotangent.to_kind(kind)],
        &inputs.each_ref(),
    )?;
    Ok(std::iter::once(Some(mixed.detach())).chain(gradients).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_self_test::{largest_off, reference, wide_wave};

    #[test]
    fn a_kernel_is_given_the_layout_it_takes_and_its_gradients_come_back() {
        let largest = test_kernel(Device::Cpu, reference).unwrap();
        assert!(largest > 0.0, "bf16 rounds");
        let _no_grad = tch::no_grad_guard();
        assert_eq!(test_kernel(Device::Cpu, reference), Ok(largest));
    }

    #[test]
    fn a_kernel_that_is_wrong_or_missing_is_not_used() {
        let louder =
            |three: [&Tensor; 3], queries: Ragged<'_>, keys: Ragged<'_>, _: Option<&Tensor>| {
                reference(three, queries, keys, None).map(|mixed| mixed * 1.1)
            };
        let wrong = test_kernel(Device::Cpu, louder);
        assert!(wrong.unwrap_err().starts_with("differs by"));
        let missing = test_fused_training(Device::Cpu).unwrap_err();
        assert!(missing.contains("_flash_attention_forward"), "{missing}");
    }

    #[test]
    fn boundaries_are_where_sequences_begin_and_end() {
        for (lengths, ends) in [
            (vec![3, 3, 1, 7], vec![0, 3, 6, 7, 14]),
            (vec![5, 5, 5], vec![0, 5, 10, 15]),
            (vec![9], vec![0, 9]),
        ] {
            let boundaries = boundaries(&lengths, Device::Cpu);
            assert_eq!(Vec::<i32>::try_from(boundaries).unwrap(), ends);
        }
    }

    #[test]
    fn each_sequence_attends_to_itself_alone() {
        let lengths = vec![3, 3, 1, 7];
        let wave = |heads: i64, step: f64| wide_wave(&[1, heads, 14, 4], step);
        let (query, key, value) = (wave(4, 0.3), wave(2, 0.7), wave(2, 0.2));
        let exact = in_one_kernel(
            &boundaries(&lengths, Device::Cpu),
            &lengths,
            [&query, &key, &value],
            reference,
        );
        let packed = PackedLengths::new(lengths, Device::Cpu, Kind::Double);
        assert_eq!(packed.tokens(), 14);
        let three = [&query, &key, &value];
        for window in [None, Some(7)] {
            let attended = packed.attend(three, window);
            assert!(largest_off(&attended, exact.as_ref().unwrap()) < 1e-14);
        }
        let alone = |start, length| {
            let three = three.map(|x| x.narrow(2, start, length));
            causal_attention(three.each_ref(), Some(2))
        };
        let alone = [(0, 3), (3, 3), (6, 1), (7, 7)].map(|(start, length)| alone(start, length));
        assert!(largest_off(&packed.attend(three, Some(2)), &Tensor::cat(&alone, 2)) < 1e-14);
    }
}
