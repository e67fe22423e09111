//! Fresh weights that depend on the seed alone.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tch::{Kind, Tensor};

/// Normal numbers that are drawn before they are rounded to f32, in pairs.
const PAIRS_AT_ONCE: u32 = 1 << 16;

/// Draws the parameters of a new model, each from a stream of its own.
#[derive(Debug)]
pub(super) struct Draw {
    pub(super) seed: u64,
    pub(super) standard_deviation: f64,
    /// Weight of norms.
    pub(super) norm: f64,
}

impl Draw {
    /// Tensor `name` of `shape` on the CPU, f32: norms [`norm`](Self::norm), biases 0, the rest normal around 0.
    pub(super) fn tensor(&self, name: &str, shape: &[i64], stream: u64) -> Tensor {
        let options = (Kind::Float, tch::Device::Cpu);
        if name.ends_with("norm.weight") {
            return Tensor::full(shape, self.norm, options);
        }
        if name.rsplit('.').next() == Some("bias") {
            return Tensor::zeros(shape, options);
        }
        let mut rng = self.stream(stream);
        let tensor = Tensor::empty(shape, options);
        let flat = tensor.view(-1);
        let count = flat.size()[0];
        // A piece at a time: an embedding in f64 takes more memory than the whole model does later.
        for start in (0..count).step_by(2 * PAIRS_AT_ONCE as usize) {
            let length = (count - start).min(2 * i64::from(PAIRS_AT_ONCE));
            let numbers: Vec<f64> = (0..(length + 1) / 2)
                .flat_map(|_| <[f64; 2]>::from(normal_pair(&mut rng)))
                .map(|number| number * self.standard_deviation)
                .collect();
            flat.narrow(0, start, length).copy_(&Tensor::from_slice(&numbers).narrow(0, 0, length));
        }
        tensor
    }

    /// A tensor `[rows, columns]` on the CPU, f64, uniform between `-1/√columns` and `1/√columns`: as PEFT starts `A`.
    pub(super) fn uniform(&self, rows: i64, columns: i64, stream: u64) -> Tensor {
        let mut rng = self.stream(stream);
        let bound = 1.0 / (columns as f64).sqrt();
        let count = usize::try_from(rows * columns).expect("sizes are positive");
        let values: Vec<f64> =
            (0..count).map(|_| bound * (2.0 * rng.random::<f64>() - 1.0)).collect();
        Tensor::from_slice(&values).view([rows, columns])
    }

    fn stream(&self, stream: u64) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(stream);
        rng
    }
}

/// Two independent standard normal numbers (Box and Muller).
fn normal_pair(rng: &mut impl Rng) -> (f64, f64) {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    let (sine, cosine) = (2.0 * std::f64::consts::PI * rng.random::<f64>()).sin_cos();
    (radius * cosine, radius * sine)
}
