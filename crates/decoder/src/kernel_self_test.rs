//! Self-test of kernels that may be missing or wrong.

use std::sync::{Arc, Mutex, PoisonError};

use tch::{Device, Kind, Tensor};
use torch_ext::{CudaKernels, Ragged, TorchError};

/// Environment variable that disables kernels if it is `no`.
pub const SWITCH: &str = "LLM_TRAINER_CUDA_KERNELS";

/// Returns true if kernels may be tested and used on CUDA. The test of a kernel with an illegal memory access would end the process;
/// [`SWITCH`] avoids that.
pub fn may_use_kernels() -> bool {
    std::env::var(SWITCH).as_deref() != Ok("no")
}

/// Test outcomes, cached for the life of the process: each test runs once.
pub(crate) struct OutcomeCache<K, V>(Mutex<Vec<(K, V)>>);

impl<K: PartialEq, V: Clone> OutcomeCache<K, V> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Returns the outcome for `key`, computed on the first call; concurrent callers wait.
    pub(crate) fn get(&self, key: K, ask: impl FnOnce(&K) -> V) -> V {
        // Whoever panicked has added nothing.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, answer)) = known.iter().find(|(other, _)| *other == key) {
            return answer.clone();
        }
        let answer = ask(&key);
        known.push((key, answer.clone()));
        answer
    }

    /// The outcome for kernels of the project; `None` where there are none: on the CPU, and for other kinds than bf16.
    pub(crate) fn on_cuda(
        &self,
        (device, kind): (Device, Kind),
        key: K,
        ask: impl FnOnce(&K) -> V,
    ) -> Option<V> {
        let has_kernels = kind == Kind::BFloat16 && device.is_cuda() && may_use_kernels();
        has_kernels.then(|| self.get(key, ask))
    }
}

/// The kernels of a device, if they pass `test` there: for tensors like `x`, on CUDA in bf16.
pub(crate) fn tested_kernels(
    x: &Tensor,
    outcomes: &OutcomeCache<Device, bool>,
    test: fn(Device) -> Result<f64, String>,
) -> Option<Arc<CudaKernels>> {
    let device = x.device();
    let is_right = outcomes.on_cuda((device, x.kind()), device, |&device| test(device).is_ok())?;
    is_right.then(|| CudaKernels::on(device).ok()).flatten()
}

/// A ragged attention kernel: [`torch_ext::ragged_flash_attention`], or a stand-in in tests.
pub(crate) type RaggedKernel =
    fn([&Tensor; 3], Ragged<'_>, Ragged<'_>, Option<&Tensor>) -> Result<Tensor, TorchError>;

/// Returns the largest difference between `found` in bf16 and `exact`, relative to the largest number of each pair. Fails if it exceeds
/// bf16 rounding.
pub(crate) fn largest_difference(
    pairs: impl IntoIterator<Item = (Tensor, Tensor)>,
) -> Result<f64, String> {
    /// Tolerance for bf16: 8 bits of fraction, and sums of some dozen terms.
    const TOLERANCE: f64 = 2e-2;
    let mut largest = 0_f64;
    for (computed, exact) in pairs {
        let (computed, exact) = (on_host(&computed)?, exact.to_device(Device::Cpu));
        let off = (computed.to_kind(Kind::Float) - &exact).abs().max().double_value(&[]);
        let relative = off / exact.abs().max().double_value(&[]);
        if relative.is_nan() || relative >= TOLERANCE {
            return Err(format!(
                "differs by {relative:.1e} of the largest number, expected below {TOLERANCE}"
            ));
        }
        largest = largest.max(relative);
    }
    Ok(largest)
}

/// Copies a device's result to the host.
///
/// # Errors
///
/// If all of it is zero: nothing was computed, as no expected value is zero everywhere.
pub fn on_host(found: &Tensor) -> Result<Tensor, String> {
    let computed = found.to_device(Device::Cpu);
    if computed.abs().max().double_value(&[]) == 0.0 {
        return Err("answers are zero everywhere: nothing was computed".to_owned());
    }
    Ok(computed)
}

/// Returns the largest relative error of `found`, in bf16, against `exact`, in f64 on the host. Fails if it exceeds `roundings`
/// consecutive roundings to bf16.
pub(crate) fn largest_error(found: &Tensor, exact: &Tensor, roundings: f64) -> Result<f64, String> {
    /// Relative rounding error of bf16: half a unit in the last of 8 bits.
    const ROUNDING: f64 = 1.0 / 256.0;
    /// Absolute error allowed, relative to the largest number: covers f32 sums that nearly cancel.
    const NEARLY_ZERO: f64 = 1.0 / 4096.0;
    let off = (on_host(found)?.to_kind(Kind::Double) - exact).abs();
    let size = exact.abs();
    let relative = (off / (&size + size.max() * NEARLY_ZERO)).max().double_value(&[]);
    let tolerance = roundings * ROUNDING * 1.01;
    if relative <= tolerance {
        Ok(relative)
    } else {
        Err(format!("differs by {relative:.1e} of a number, expected at most {tolerance:.1e}"))
    }
}

/// Returns numbers between -1 and 1 in bf16, without a pattern.
pub(crate) fn wave(shape: &[i64], step: f64) -> Tensor {
    wide_wave(shape, step).to_kind(Kind::BFloat16)
}

/// Returns numbers between -1 and 1 in f64, without a pattern.
pub(crate) fn wide_wave(shape: &[i64], step: f64) -> Tensor {
    let count = shape.iter().product::<i64>();
    (Tensor::arange(count, (Kind::Double, Device::Cpu)) * step).sin().view(shape)
}

/// Returns `value`, then the gradients of `inputs` for a cotangent of it.
#[cfg(test)]
pub(crate) fn value_and_gradients(
    value: &Tensor,
    cotangent: &Tensor,
    inputs: &[&Tensor],
) -> Vec<Tensor> {
    let vjps = torch_ext::vector_jacobian_product(&[value], &[cotangent], inputs);
    let gradients = vjps.expect("a graph").into_iter().map(|own| own.expect("a gradient"));
    std::iter::once(value.detach()).chain(gradients).collect()
}

/// Returns the largest absolute difference, computed in f64.
#[cfg(test)]
pub(crate) fn largest_off(computed: &Tensor, exact: &Tensor) -> f64 {
    let [computed, exact] = [computed, exact].map(|x| x.to_kind(Kind::Double));
    (computed - exact).abs().max().double_value(&[])
}

/// Reference attention, sequence by sequence and pair by pair, in the kind of its arguments.
#[cfg(test)]
#[expect(clippy::unnecessary_wraps, reason = "as the kernel, which may be missing")]
pub(crate) fn reference(
    [query, key, value]: [&Tensor; 3],
    queries: Ragged<'_>,
    keys: Ragged<'_>,
    used: Option<&Tensor>,
) -> Result<Tensor, TorchError> {
    let numbers = |x: &Tensor| -> Vec<i64> {
        Vec::<i32>::try_from(x).expect("i32").into_iter().map(i64::from).collect()
    };
    let (query_ends, key_ends) = (numbers(queries.boundaries), numbers(keys.boundaries));
    let used = used.map(numbers);
    assert_eq!(query_ends.last(), query.size().first());
    assert_eq!(key_ends.last(), key.size().first());
    let groups = query.size()[1] / key.size()[1];
    let by_head = |x: &Tensor, from: i64, length: i64, repeats: i64| {
        x.narrow(0, from, length).transpose(0, 1).repeat_interleave_self_int(repeats, 0, None)
    };
    let (mut mixed, mut longest) = (Vec::new(), [0, 0]);
    for (index, (query_of, key_of)) in query_ends.windows(2).zip(key_ends.windows(2)).enumerate() {
        let count = query_of[1] - query_of[0];
        let seen = used.as_ref().map_or(key_of[1] - key_of[0], |used| used[index]);
        longest = [longest[0].max(count), longest[1].max(seen)];
        let query = by_head(query, query_of[0], count, 1);
        let [key, value] = [key, value].map(|x| by_head(x, key_of[0], seen, groups));
        let scores = query.matmul(&key.transpose(1, 2)) / (query.size()[2] as f64).sqrt();
        // The last query sees every key.
        let hidden =
            Tensor::ones([count, seen], (Kind::Bool, query.device())).triu(seen - count + 1);
        let weights = scores.masked_fill(&hidden, f64::NEG_INFINITY).softmax(-1, query.kind());
        mixed.push(weights.matmul(&value).transpose(0, 1));
    }
    assert_eq!(longest[0], queries.longest, "the kernel is told the longest");
    assert!(longest[1] <= keys.longest, "the kernel is told a bound");
    Ok(Tensor::cat(&mixed, 0))
}

#[cfg(test)]
pub(crate) fn tiny_config() -> model_files::model_config::ModelConfig {
    let config = std::path::Path::new(TINY).join("config.json");
    model_files::model_config::ModelConfig::read(&config).expect("a fixture")
}

#[cfg(test)]
pub(crate) const TINY: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../llm-trainer/tests/fixtures/tiny_qwen2_tied");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_computes_nothing_is_not_right() {
        let zeros = Tensor::zeros([4], (Kind::BFloat16, Device::Cpu));
        let zero = || largest_error(&zeros, &zeros.to_kind(Kind::Double), 1.0);
        assert!(zero().unwrap_err().starts_with("answers are zero"));
        let pair = (zeros.copy(), zeros.to_kind(Kind::Float));
        assert!(largest_difference([pair]).unwrap_err().starts_with("answers are zero"));
    }

    #[test]
    fn each_is_asked_for_once() {
        let (cache, mut questions) = (OutcomeCache::new(), Vec::new());
        for key in [3, 4, 3, 4, 5] {
            let square = cache.get(key, |&key| {
                questions.push(key);
                key * key
            });
            assert_eq!(square, key * key);
        }
        assert_eq!(questions, [3, 4, 5]);
    }
}
