//! Rotary position embedding, in the "half" layout of Hugging Face checkpoints.

use std::sync::Arc;

use model_files::model_config::{ModelConfig, RopeScaling};
use tch::{Device, Kind, Tensor};
use torch_ext::{CudaKernels, autograd_function};

use super::shape::narrowed;
use super::training_kernels::training_kernels;

#[derive(Debug)]
pub(crate) struct Rope {
    /// Radians per position, `[head_dim / 2]` f32.
    pub(crate) frequency: Tensor,
    /// Factor of cosine and sine, if they are scaled.
    pub(crate) attention_factor: Option<f64>,
    /// Radians per position in blocks with a sliding window, if they are others; not scaled.
    windowed: Option<Tensor>,
}

/// Cosine and sine of every position's angles, possibly scaled, f32, `[.., len, 1, head_dim / 2]`, equal for all heads.
#[derive(Debug)]
pub struct Angles {
    all: [Tensor; 2],
    /// Those of blocks with a sliding window, if they are others.
    windowed: Option<[Tensor; 2]>,
}

impl Rope {
    pub(super) fn new(config: &ModelConfig, device: Device) -> Self {
        let placed = |frequencies: Vec<f64>| {
            let rounded: Vec<f32> = frequencies.into_iter().map(narrowed).collect();
            Tensor::from_slice(&rounded).to_device(device)
        };
        let windowed = config.attention.sliding_window.and_then(|window| window.rope_theta);
        Self {
            frequency: placed(frequencies(config)),
            attention_factor: config.rope_scaling.map(RopeScaling::attention_factor),
            windowed: windowed.map(|theta| placed(powers(theta, config.head_dim).collect())),
        }
    }

    /// Angles of `positions`, i64 `[rows, len]`, or `[1, len]` for all rows.
    pub(super) fn angles(&self, positions: &Tensor) -> Angles {
        // [rows, len, 1, 1] times [head_dim / 2]
        let positions = positions.to_kind(Kind::Float).unsqueeze(-1).unsqueeze(-1);
        let turned = |frequency: &Tensor| {
            let angle = &positions * frequency;
            [angle.cos(), angle.sin()]
        };
        let scaled = |x: Tensor| match self.attention_factor {
            None => x,
            Some(factor) => x * factor,
        };
        Angles {
            all: turned(&self.frequency).map(scaled),
            windowed: self.windowed.as_ref().map(turned),
        }
    }
}

impl Angles {
    pub(super) fn to_device(&self, device: Device) -> Self {
        let there = |two: &[Tensor; 2]| two.each_ref().map(|x| x.to_device(device));
        Self { all: there(&self.all), windowed: self.windowed.as_ref().map(there) }
    }

    /// Cosine and sine in a block with this sliding window.
    fn of_block(&self, window: Option<i64>) -> &[Tensor; 2] {
        self.windowed.as_ref().filter(|_| window.is_some()).unwrap_or(&self.all)
    }

    /// Cosine and sine for rows of one position each in a block with this sliding window, `[rows, head_dim / 2]`.
    pub(super) fn of_rows(&self, window: Option<i64>) -> [Tensor; 2] {
        self.of_block(window).each_ref().map(|all| all.view([all.size()[0], -1]))
    }

    /// Rotates the first `heads` of `x`, `[rows, len, all heads, head_dim]`, of a block with this sliding window, in at least f32; the
    /// result has the kind of `x`.
    pub(super) fn rotate(&self, x: &Tensor, heads: i64, window: Option<i64>) -> Tensor {
        rotate_by(training_kernels(x), x, heads, self.of_block(window))
    }
}

fn rotate_by(
    kernels: Option<Arc<CudaKernels>>,
    x: &Tensor,
    heads: i64,
    angles: &[Tensor; 2],
) -> Tensor {
    let kept = angles.each_ref().map(Tensor::shallow_clone);
    let by_kernel = kernels.clone();
    let forward = || turn(by_kernel.as_deref(), x, heads, angles.each_ref(), false);
    // A cotangent is turned back by the same angles.
    let vjp = move |cotangent: &Tensor| {
        vec![turn(kernels.as_deref(), cotangent, heads, kept.each_ref(), true)]
    };
    autograd_function(&[x], forward, vjp).expect("of its own kind and device")
}

/// Turns by the kernel, if it takes `x`: one row of positions with angles of their own.
fn turn(
    kernels: Option<&CudaKernels>,
    x: &Tensor,
    heads: i64,
    angles: [&Tensor; 2],
    is_back: bool,
) -> Tensor {
    let by_kernel = kernels.filter(|_| x.size()[0] == 1).and_then(|kernels| {
        let [cosine, sine] = angles.map(|all| all.squeeze_dim(0).squeeze_dim(1));
        let turned = kernels.rotate(&x.squeeze_dim(0), heads, [&cosine, &sine], is_back).ok()?;
        Some(turned.unsqueeze(0))
    });
    by_kernel.unwrap_or_else(|| {
        let [cosine, sine] = angles;
        let sine = if is_back { &-sine } else { sine };
        turn_plainly(x, heads, [cosine, sine])
    })
}

fn turn_plainly(x: &Tensor, heads: i64, [cosine, sine]: [&Tensor; 2]) -> Tensor {
    let turned = Tensor::empty(x.size(), (x.kind(), x.device()));
    let (half, others) = (x.size()[3] / 2, x.size()[2] - heads);
    let halves = |x: &Tensor| {
        let x = x.narrow(2, 0, heads);
        [x.narrow(3, 0, half), x.narrow(3, half, half)]
    };
    let ([first, second], [to_first, to_second]) = (halves(x), halves(&turned));
    // Products with angles in f32 are at least f32, and are rounded where they are put.
    let _written = (&first * cosine).sub_out(&to_first, &(&second * sine));
    let _written = (&second * cosine).add_out(&to_second, &(&first * sine));
    if others > 0 {
        turned.narrow(2, heads, others).copy_(&x.narrow(2, heads, others));
    }
    turned
}

/// Returns `theta^(-2i / head_dim)`.
fn powers(theta: f64, head_dim: usize) -> impl Iterator<Item = f64> {
    (0..head_dim / 2).map(move |index| theta.powf(-2.0 * index as f64 / head_dim as f64))
}

/// Returns `theta^(-2i / head_dim)`, scaled as the config says.
fn frequencies(config: &ModelConfig) -> Vec<f64> {
    let plain = powers(config.rope_theta, config.head_dim);
    match config.rope_scaling {
        None => plain.collect(),
        Some(RopeScaling::Llama3 {
            factor,
            low_freq_factor,
            high_freq_factor,
            original_max_position_embeddings,
        }) => plain
            .map(|frequency| {
                let turns = original_max_position_embeddings as f64 * frequency
                    / (2.0 * std::f64::consts::PI);
                let kept = (turns - low_freq_factor) / (high_freq_factor - low_freq_factor);
                let kept = kept.clamp(0.0, 1.0);
                frequency * (kept + (1.0 - kept) / factor)
            })
            .collect(),
        Some(RopeScaling::Yarn {
            factor,
            beta_fast,
            beta_slow,
            truncate,
            original_max_position_embeddings,
            ..
        }) => {
            // The dimension, not rounded, whose frequency makes so many turns within the original context.
            let dimension = |turns: f64| {
                let wavelength = original_max_position_embeddings as f64 / turns;
                let index = (wavelength / (2.0 * std::f64::consts::PI)).ln();
                config.head_dim as f64 * index / (2.0 * config.rope_theta.ln())
            };
            let (low, high) = (dimension(beta_fast), dimension(beta_slow));
            let (low, high) = if truncate { (low.floor(), high.ceil()) } else { (low, high) };
            let (low, high) = (low.max(0.0), high.min(config.head_dim as f64 - 1.0));
            let width = if high > low { high - low } else { 0.001 };
            let scaled = |(index, frequency): (usize, f64)| {
                let kept = 1.0 - ((index as f64 - low) / width).clamp(0.0, 1.0);
                frequency * (kept + (1.0 - kept) / factor)
            };
            plain.enumerate().map(scaled).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_self_test::{tiny_config, value_and_gradients, wide_wave};
    use model_files::model_config::ModelShape;

    fn config(rope_scaling: Option<RopeScaling>) -> ModelConfig {
        let tiny = (*tiny_config()).clone();
        ModelConfig::new(ModelShape { head_dim: 64, rope_theta: 500_000.0, rope_scaling, ..tiny })
            .expect("a valid shape")
    }

    /// The kernel has the operators' bits, also for a cotangent that lies head by head.
    #[test]
    fn a_kernel_turns_as_plain_operators_do() {
        let numbers =
            |shape: &[i64], step: f64| (wide_wave(shape, step) * 3).to_kind(Kind::BFloat16);
        let positions = Tensor::from_slice(&[0i64, 1, 2, 0, 700]).unsqueeze(0);
        let angles = Rope::new(&config(None), Device::Cpu).angles(&positions);
        let cotangent = numbers(&[1, 4, 5, 64], 0.73).transpose(1, 2);
        let pulled = |kernels: Option<Arc<CudaKernels>>| {
            let x = numbers(&[1, 5, 4, 64], 0.37).set_requires_grad(true);
            value_and_gradients(&rotate_by(kernels, &x, 3, &angles.all), &cotangent, &[&x])
        };
        let kernels = CudaKernels::emulated().expect("a C++ compiler, which built torch-ext");
        let x = numbers(&[1, 5, 4, 64], 0.37).squeeze_dim(0);
        let [cosine, sine] = angles.all.each_ref().map(|all| all.squeeze_dim(0).squeeze_dim(1));
        assert!(kernels.rotate(&x, 3, [&cosine, &sine], false).is_ok());
        for (computed, plain) in pulled(Some(kernels)).iter().zip(pulled(None)) {
            assert!(computed.equal(&plain));
        }
    }

    /// With the numbers of Llama 3.2 1B, the ends of the spectrum are exact, and frequencies fall between them.
    #[test]
    fn llama3_keeps_short_wavelengths_and_stretches_long_ones() {
        let plain = frequencies(&config(None));
        let scaled = frequencies(&config(Some(RopeScaling::Llama3 {
            factor: 32.0,
            low_freq_factor: 1.0,
            high_freq_factor: 4.0,
            original_max_position_embeddings: 8192,
        })));
        for (index, (plain, scaled)) in plain.iter().zip(&scaled).enumerate() {
            let wavelength = 2.0 * std::f64::consts::PI / plain;
            let ratio = plain / scaled;
            if wavelength < 8192.0 / 4.0 {
                assert!((ratio - 1.0).abs() < 1e-12, "{index}: {ratio}");
            } else if wavelength > 8192.0 {
                assert!((ratio - 32.0).abs() < 1e-9, "{index}: {ratio}");
            } else {
                assert!(ratio > 1.0 && ratio < 32.0, "{index}: {ratio}");
            }
        }
    }

    /// Numbers of transformers 5.19, `ROPE_INIT_FUNCTIONS["yarn"]` in f32, with the sizes of Qwen3 at 131072 tokens. A recorded model has
    /// the other `truncate`.
    #[test]
    fn yarn_is_that_of_transformers() {
        let scaling = RopeScaling::Yarn {
            factor: 4.0,
            attention_factor: None,
            beta_fast: 32.0,
            beta_slow: 1.0,
            truncate: false,
            original_max_position_embeddings: 32_768,
        };
        let shape =
            ModelShape { head_dim: 128, rope_theta: 1e6, ..(*config(Some(scaling))).clone() };
        let config = ModelConfig::new(shape).unwrap();
        let computed = frequencies(&config);
        let exact =
            [1.0, 8.659_643e-3, 5.517_270_4e-3, 1.079_237_7e-3, 6.187_807_6e-5, 3.102_344_4e-7];
        for (index, exact) in [0, 22, 24, 30, 39, 63].into_iter().zip(exact) {
            assert!((computed[index] / exact - 1.0).abs() < 1e-6, "{index}");
        }
        let angles =
            Rope::new(&config, Device::Cpu).angles(&Tensor::from_slice(&[0i64]).view([1, 1]));
        assert!((angles.all[0].double_value(&[0, 0, 0, 5]) - 1.138_629_436).abs() < 1e-7);
    }

    #[test]
    fn narrow_heads_are_turned_in_f32_and_rounded_once() {
        let rope = Rope::new(&config(None), Device::Cpu);
        let angles = rope.angles(&Tensor::from_slice(&[0i64, 3, 7, 2]).view([2, 2]));
        let x = wide_wave(&[2, 2, 3, 64], 0.3).to_kind(Kind::BFloat16);
        let exact = angles.rotate(&x.to_kind(Kind::Float), 2, None);
        assert!(angles.rotate(&x, 2, None).equal(&exact.to_kind(Kind::BFloat16)));
    }
}
