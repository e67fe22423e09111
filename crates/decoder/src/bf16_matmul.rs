//! Matrix products in bf16 where libtorch has no fast ones.
//!
//! On x86-64 without AVX-512, libtorch multiplies bf16 matrices with simple loops, up to a hundred times slower than f32 products.
//! There the inputs are widened to f32, the products summed in f32, and the result rounded once, as the bf16 instructions do.

use model_files::dtype::Dtype;
use tch::{Device, Kind, Tensor};
use torch_ext::autograd_function;

/// Fewest rows for which widening the weights of a linear map pays; for fewer, libtorch has vectorised bf16 dot products.
const REPAY_LINEAR: usize = 32;

/// Fewest rows for which widening pays with a matrix that is not transposed, where libtorch has no vectorised code.
const REPAY_MATMUL: usize = 8;

/// Returns true if libtorch has no fast products for the kind and device of `x`.
pub(crate) fn lacks_kernels(x: &Tensor) -> bool {
    x.kind() == Kind::BFloat16 && x.device() == Device::Cpu && !has_kernels_for_bf16()
}

/// Returns true if a run with weights of this dtype takes its products in f32; `on_cpu` tells that it runs on this machine's CPU.
pub fn widens_products(dtype: Dtype, on_cpu: bool) -> bool {
    on_cpu && dtype == Dtype::Bf16 && !has_kernels_for_bf16()
}

/// Returns true if `x`, `[.., width]`, has at least `least` rows.
fn has_rows(x: &Tensor, least: usize) -> bool {
    let width = x.size().last().map_or(1, |&width| usize::try_from(width).expect("a size"));
    x.numel() >= least * width
}

/// The processor features that libtorch requires to pass a bf16 product to oneDNN.
#[cfg(target_arch = "x86_64")]
fn has_kernels_for_bf16() -> bool {
    is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512dq")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_kernels_for_bf16() -> bool {
    true
}

/// Returns `a · b` in their kind, without a graph.
pub fn matmul(a: &Tensor, b: &Tensor) -> Tensor {
    if lacks_kernels(a) && has_rows(a, REPAY_MATMUL) {
        wide(a).matmul(&wide(b)).to_kind(a.kind())
    } else {
        a.matmul(b)
    }
}

/// `x · weightᵀ + bias`: `x` is `[.., in]`, `weight` `[out, in]`, `bias` `[out]`.
pub(crate) fn linear(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Tensor {
    if lacks_kernels(x) && has_rows(x, REPAY_LINEAR) {
        widened_linear(x, weight, bias)
    } else {
        x.linear(weight, bias)
    }
}

/// Saves for the backward pass its narrow inputs only, no widened copy.
fn widened_linear(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Tensor {
    let map = LearnedMap::of(weight, bias);
    let inputs: Vec<&Tensor> = std::iter::once(x).chain(map.learned(weight, bias)).collect();
    let kept_x = x.detach();
    let kind = x.kind();
    let forward = || wide(x).linear(&wide(weight), bias.map(wide)).to_kind(kind);
    let vjp = move |cotangent: &Tensor| map.vjp_in(Kind::Float, cotangent, &kept_x);
    autograd_function(&inputs, forward, vjp).expect("of its own kind and device")
}

/// Data of a linear map that the backward pass of [`linear`] needs.
pub(crate) struct LearnedMap {
    weight: Tensor,
    learns_weight: bool,
    learns_bias: bool,
}

impl LearnedMap {
    /// Records a weight, `[out, in]`, and a bias, `[out]`, each trained or not.
    pub(crate) fn of(weight: &Tensor, bias: Option<&Tensor>) -> Self {
        Self {
            weight: weight.detach(),
            learns_weight: weight.requires_grad(),
            learns_bias: bias.is_some_and(Tensor::requires_grad),
        }
    }

    /// Returns the trained ones of the two, weight first.
    pub(crate) fn learned<'a>(
        &self,
        weight: &'a Tensor,
        bias: Option<&'a Tensor>,
    ) -> impl Iterator<Item = &'a Tensor> + use<'a> {
        let weight = Some(weight).filter(|_| self.learns_weight);
        weight.into_iter().chain(bias.filter(|_| self.learns_bias))
    }

    /// Returns the gradients of the input `x`, then of the [`learned`](Self::learned) tensors, for a cotangent of the output.
    pub(crate) fn vjp(&self, cotangent: &Tensor, x: &Tensor) -> Vec<Tensor> {
        let is_widened = lacks_kernels(x) && has_rows(x, REPAY_LINEAR);
        let kind = if is_widened { Kind::Float } else { x.kind() };
        self.vjp_in(kind, cotangent, x)
    }

    /// Computes these gradients by products in `kind`, each rounded once to the kind of `x`.
    fn vjp_in(&self, kind: Kind, cotangent: &Tensor, x: &Tensor) -> Vec<Tensor> {
        let by_row = |x: &Tensor| x.flatten(0, -2).to_kind(kind);
        let rows = by_row(cotangent);
        let mut gradients = vec![rows.matmul(&self.weight.to_kind(kind)).view_as(x)];
        if self.learns_weight {
            gradients.push(rows.tr().matmul(&by_row(x)));
        }
        if self.learns_bias {
            gradients.push(rows.sum_dim_intlist([0i64].as_slice(), false, None));
        }
        gradients.iter().map(|gradient| gradient.to_kind(x.kind())).collect()
    }
}

fn wide(x: &Tensor) -> Tensor {
    x.to_kind(Kind::Float)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_self_test::{largest_off, value_and_gradients, wave, wide_wave};

    /// Returns value and gradients of a linear map of `x`, weight and bias.
    fn pulled(
        linear: impl Fn(&Tensor, &Tensor, Option<&Tensor>) -> Tensor,
        inputs: &[Tensor; 3],
        cotangent: &Tensor,
    ) -> Vec<Tensor> {
        let [x, weight, bias] = inputs.each_ref().map(|x| x.detach().set_requires_grad(true));
        let value = linear(&x, &weight, Some(&bias));
        value_and_gradients(&value, cotangent, &[&x, &weight, &bias])
    }

    /// In f32, the result equals libtorch's; in bf16, that of the same numbers in f64, rounded once.
    #[test]
    fn a_widened_product_and_its_gradients_are_rounded_once() {
        let wide = [wide_wave(&[3, 5, 24], 0.3), wide_wave(&[7, 24], 1.1), wide_wave(&[7], 0.9)];
        let plain = |x: &Tensor, weight: &Tensor, bias: Option<&Tensor>| x.linear(weight, bias);
        for kind in [Kind::Float, Kind::BFloat16] {
            let inputs = wide.each_ref().map(|x| x.to_kind(kind));
            let cotangent = wide_wave(&[3, 5, 7], 0.7).to_kind(kind);
            let exact = inputs.each_ref().map(|x| x.to_kind(Kind::Double));
            let exact = pulled(plain, &exact, &cotangent.to_kind(Kind::Double));
            for (computed, exact) in pulled(widened_linear, &inputs, &cotangent).iter().zip(exact) {
                assert_eq!(computed.kind(), kind);
                // Half a unit in the last of the eight places of bf16, and the sums in f32.
                let unit = if kind == Kind::Float { 2e-6 } else { 2f64.powi(-8) * 1.001 };
                let bound = exact.abs() * unit + 2e-6;
                let off = (computed.to_kind(Kind::Double) - &exact).abs();
                assert!(bool::try_from(off.le_tensor(&bound).all()).unwrap(), "{kind:?}");
            }
        }
    }

    #[test]
    fn what_is_not_learned_gets_no_gradient() {
        let x = wave(&[2, 4], 0.3).set_requires_grad(true);
        let weight = wave(&[3, 4], 1.1);
        let value = widened_linear(&x, &weight, None);
        let computed = value_and_gradients(&value, &value.ones_like(), &[&x]).remove(1);
        let exact = weight.to_kind(Kind::Double).sum_dim_intlist([0i64].as_slice(), true, None);
        let off = largest_off(&computed, &exact);
        assert!(off < 2f64.powi(-8), "{off}");
    }

    #[test]
    fn what_is_widened_is_the_same_product() {
        let (hidden, weight) = (wave(&[40, 24], 0.3), wave(&[24, 50], 1.1));
        let exact = hidden.to_kind(Kind::Double).matmul(&weight.to_kind(Kind::Double));
        for rows in [1, 7, 8, 40] {
            let computed = matmul(&hidden.narrow(0, 0, rows), &weight);
            assert_eq!(computed.kind(), Kind::BFloat16);
            let exact = exact.narrow(0, 0, rows);
            let off = largest_off(&computed, &exact);
            let largest = exact.abs().max().double_value(&[]);
            assert!(off < largest * 2f64.powi(-8), "{rows} rows: {off}");
        }
    }

    #[test]
    fn kernels_are_missing_for_bf16_on_the_cpu_alone() {
        let zeros = |kind| Tensor::zeros([2, 4, 3], (kind, Device::Cpu));
        assert!(!lacks_kernels(&zeros(Kind::Float)) && !lacks_kernels(&zeros(Kind::Double)));
        assert_eq!(lacks_kernels(&zeros(Kind::BFloat16)), !has_kernels_for_bf16());
        assert!(has_rows(&zeros(Kind::Float), 8) && !has_rows(&zeros(Kind::Float), 9));
    }
}
