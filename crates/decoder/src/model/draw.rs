//! Fresh weights that depend on the seed alone, each tensor from a stream of its own.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tch::{Kind, Tensor};

/// Normal numbers that are drawn before they are rounded to f32, in pairs.
const PAIRS_AT_ONCE: u32 = 1 << 16;

/// A tensor of `shape` on the CPU, f32, normal around 0.
pub(super) fn normal(seed: u64, stream: u64, shape: &[i64], standard_deviation: f64) -> Tensor {
    let mut rng = rng(seed, stream);
    let tensor = Tensor::empty(shape, (Kind::Float, tch::Device::Cpu));
    let flat = tensor.view(-1);
    let count = flat.size()[0];
    // A piece at a time: an embedding in f64 takes more memory than the whole model does later.
    for start in (0..count).step_by(2 * PAIRS_AT_ONCE as usize) {
        let length = (count - start).min(2 * i64::from(PAIRS_AT_ONCE));
        let numbers: Vec<f64> = (0..(length + 1) / 2)
            .flat_map(|_| <[f64; 2]>::from(normal_pair(&mut rng)))
            .map(|number| number * standard_deviation)
            .collect();
        flat.narrow(0, start, length).copy_(&Tensor::from_slice(&numbers).narrow(0, 0, length));
    }
    tensor
}

/// A tensor `[rows, columns]` on the CPU, f64, uniform between `-1/√columns` and `1/√columns`: as PEFT starts `A`.
pub(super) fn uniform(seed: u64, stream: u64, rows: i64, columns: i64) -> Tensor {
    let mut rng = rng(seed, stream);
    let bound = 1.0 / (columns as f64).sqrt();
    let values: Vec<f64> =
        (0..rows * columns).map(|_| bound * (2.0 * rng.random::<f64>() - 1.0)).collect();
    Tensor::from_slice(&values).view([rows, columns])
}

fn rng(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}

/// Two independent standard normal numbers (Box and Muller).
fn normal_pair(rng: &mut impl Rng) -> (f64, f64) {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    let (sine, cosine) = (2.0 * std::f64::consts::PI * rng.random::<f64>()).sin_cos();
    (radius * cosine, radius * sine)
}
