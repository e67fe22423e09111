//! Tests of the project's own kernels against libtorch's operators, in f64 on the host, from the same bf16 numbers. A device that
//! computes nothing would agree with itself.

use model_files::model_config::ModelConfig;
use tch::{Device, Kind, Tensor};
use torch_ext::{KernelError, size};

use crate::kernel_self_test::{largest_error, on_host, wave};
use crate::model::attention::Heads;
use crate::model::rms_norm::RmsNorm;
use crate::model::rope::{Angles, Rope};

/// Rows that decode together.
const ROWS: i64 = 5;

/// Tests `kernel`, called as [`rotate_and_store`](super::rotate_and_store).
pub(crate) fn test_rotation(
    device: Device,
    config: &ModelConfig,
    kernel: impl FnOnce(&Heads, &Angles, &Tensor, [&mut Tensor; 2]) -> Result<Tensor, KernelError>,
) -> Result<f64, String> {
    let [queries, shared, width] =
        [config.num_attention_heads, config.num_key_value_heads, config.head_dim].map(size);
    let counts = [queries, shared, shared];
    let all = wave(&[ROWS, 1, queries + 2 * shared, width], 0.37);
    let positions = Tensor::from_slice(&[0_i64, 1, 17, 700, 4095]).unsqueeze(1);
    let angles = Rope::new(config, Device::Cpu).angles(&positions);
    // A place that nobody writes to is left between, and before and behind.
    let places = Tensor::from_slice(&[7_i64, 1, 3, 8, 4]);
    let cache = [0.73, 1.31].map(|step| wave(&[10, shared, width], step));

    let mut exact_cache = cache.each_ref().map(double);
    let mut exact = None;
    let _mixed =
        Heads { all: double(&all), counts, window: None }.mix(&angles, |[query, key, value], _| {
            for (cache, entry) in exact_cache.iter_mut().zip([key, value]) {
                let _stored = cache.index_copy_(0, &places, &entry.squeeze_dim(2));
            }
            exact = Some(query.copy());
            query.shallow_clone()
        });
    let exact = exact.ok_or("nothing attended")?;

    let mut cache = cache.map(|own| own.to_device(device));
    let [keys, values] = cache.each_mut();
    let heads = Heads { all: all.to_device(device), counts, window: None };
    let (angles, places) = (angles.to_device(device), places.to_device(device));
    let query = kernel(&heads, &angles, &places, [keys, values])?;
    let of_query = largest_error(&query, &exact, 1.0)?;
    let of_keys = largest_error(&cache[0], &exact_cache[0], 1.0)?;
    if !double(&on_host(&cache[1])?).equal(&exact_cache[1]) {
        return Err("values are not those of the product".to_owned());
    }
    Ok(of_query.max(of_keys))
}

/// Tests `kernel`, called as [`CudaKernels::add_and_normalise`](torch_ext::CudaKernels::add_and_normalise).
pub(crate) fn test_norm(
    device: Device,
    config: &ModelConfig,
    kernel: impl Fn(&mut Tensor, Option<&Tensor>, (&Tensor, f64)) -> Result<Tensor, KernelError>,
) -> Result<f64, String> {
    let hidden = size(config.hidden_size);
    let (weight, eps) = (wave(&[hidden], 0.11), config.rms_norm_eps);
    let exact_norm = RmsNorm { weight: double(&weight), eps, from_one: false };
    let weight = weight.to_device(device);
    let y = wave(&[ROWS, 1, hidden], 0.73);
    let mut largest = 0_f64;
    for y in [None, Some(&y)] {
        let x = wave(&[ROWS, 1, hidden], 0.37);
        let sum = y.map_or_else(|| double(&x), |y| double(&x) + double(y));
        let mut x = x.to_device(device);
        let y = y.map(|y| y.to_device(device));
        let normed = kernel(&mut x, y.as_ref(), (&weight, eps))?;
        let of_sum = largest_error(&x, &sum, 1.0)?;
        // Of the sum as it was rounded.
        let of_norm = largest_error(&normed, &exact_norm.forward(&double(&on_host(&x)?)), 1.0)?;
        largest = largest.max(of_sum).max(of_norm);
    }
    Ok(largest)
}

fn double(x: &Tensor) -> Tensor {
    x.to_kind(Kind::Double)
}

#[cfg(test)]
mod tests {
    use torch_ext::CudaKernels;

    use super::*;
    use crate::kernel_self_test::tiny_config;

    const CPU: Device = Device::Cpu;

    fn failure() -> KernelError {
        CudaKernels::on(CPU).unwrap_err()
    }

    #[test]
    fn a_rotation_that_is_wrong_or_missing_is_not_used() {
        let kernels = CudaKernels::emulated().unwrap();
        let test = |change: &dyn Fn(&mut Tensor, [&mut Tensor; 2])| {
            let outcome =
                test_rotation(CPU, &tiny_config(), |heads, angles, places, [keys, values]| {
                    let cache = [&mut *keys, &mut *values];
                    let query =
                        super::super::rotate_and_store(&kernels, heads, angles, places, cache);
                    query.map(|mut query| {
                        change(&mut query, [keys, values]);
                        query
                    })
                });
            outcome.map_err(|reason| reason.split(' ').next().unwrap_or_default().to_owned())
        };
        test(&|_, _| ()).unwrap();
        let differs = Err("differs".to_owned());
        // A step of the 8 bits of bf16, in one number.
        let off = |x: &Tensor| drop(x.view(-1).get(7).g_mul_scalar_(1.02));
        assert_eq!(test(&|query, _| off(query)), differs);
        assert_eq!(test(&|_, [keys, _]| off(keys)), differs);
        assert_eq!(test(&|_, [_, values]| off(values)), Err("values".to_owned()));
        assert_eq!(test(&|query, _| drop(query.fill_(f64::NAN))), differs);
        let missing = test_rotation(CPU, &tiny_config(), |_, _, _, _| Err(failure()));
        assert_eq!(missing, Err(failure().to_string()));
    }

    #[test]
    fn a_norm_that_is_wrong_or_missing_is_not_used() {
        let kernels = CudaKernels::emulated().unwrap();
        let test = |eps: f64, adds: bool| {
            test_norm(CPU, &tiny_config(), |x, y, norm| {
                kernels.add_and_normalise(x, y.filter(|_| adds), (norm.0, eps))
            })
        };
        test(tiny_config().rms_norm_eps, true).unwrap();
        assert!(test(tiny_config().rms_norm_eps, false).unwrap_err().starts_with("differs by"));
        assert!(test(0.01, true).unwrap_err().starts_with("differs by"));
        assert_eq!(
            test_norm(CPU, &tiny_config(), |_, _, _| Err(failure())),
            Err(failure().to_string())
        );
    }
}
