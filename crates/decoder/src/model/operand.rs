//! Inputs of projections, and the tensors that they save for the backward pass.

use model_files::model_config::Activation;
use tch::Tensor;
use torch_ext::{autograd_function, vector_jacobian_product};

use super::gate::{gated, vjp_gated};
use super::rms_norm::RmsNorm;
use crate::bf16_matmul::{LearnedMap, linear};

/// The input of a projection: a tensor, or the result of a cheap operation. For the latter the graph saves only the operation's inputs and
/// recomputes it in the backward pass: that halves a block's saved activations, for little extra arithmetic.
///
/// Source: Korthikanti et al. 2022, *Reducing activation recomputation in large transformer models*,
/// [arXiv:2205.05198](https://arxiv.org/abs/2205.05198), Sec. 5.
#[derive(Debug)]
pub(crate) struct Operand {
    value: Tensor,
    origin: Option<Origin>,
}

/// The operation and inputs of a recomputed operand.
#[derive(Debug)]
enum Origin {
    Norm { x: Tensor, norm: RmsNorm },
    Gate { both: Tensor, activation: Activation },
}

impl Operand {
    /// A plain tensor, which is saved.
    pub(super) fn plain(value: Tensor) -> Self {
        Self { value, origin: None }
    }

    /// The norm of `x`, `[.., hidden]`, for which `x` is saved.
    pub(super) fn normed(x: &Tensor, norm: &RmsNorm) -> Self {
        Self::made(Origin::Norm { x: x.shallow_clone(), norm: norm.shallow_clone() })
    }

    /// `activation(gate) · up` for the concatenation of gate and up, `[.., 2 · intermediate]`, which is saved.
    pub(super) fn gated(both: Tensor, activation: Activation) -> Self {
        Self::made(Origin::Gate { both, activation })
    }

    fn made(origin: Origin) -> Self {
        Self { value: tch::no_grad(|| origin.make()), origin: Some(origin) }
    }

    /// The tensor; a recomputed one without its graph.
    pub(crate) fn into_value(self) -> Tensor {
        self.value
    }

    /// The tensor with its graph: for operations that are not linear maps.
    pub(super) fn with_graph(&self) -> Tensor {
        match self.origin.as_ref().filter(|origin| !origin.learned().is_empty()) {
            Some(origin) => origin.make(),
            None => self.value.shallow_clone(),
        }
    }

    /// Applies a linear map, `[.., in]` to `[.., out]`: `weight` is `[out, in]`, `bias` `[out]`.
    pub(super) fn linear(&self, weight: &Tensor, bias: Option<&Tensor>) -> Tensor {
        let Some(origin) = &self.origin else {
            return linear(&self.value, weight, bias);
        };
        let map = LearnedMap::of(weight, bias);
        let inputs: Vec<&Tensor> =
            origin.learned().into_iter().chain(map.learned(weight, bias)).collect();
        if inputs.is_empty() {
            return linear(&self.value, weight, bias);
        }
        let forward = || linear(&self.value, weight, bias);
        let kept = origin.leaves();
        let vjp = move |cotangent: &Tensor| kept.vjp(&map, cotangent);
        autograd_function(&inputs, forward, vjp).expect("of its own kind and device")
    }
}

impl Origin {
    fn make(&self) -> Tensor {
        match self {
            Self::Norm { x, norm } => norm.forward(x),
            Self::Gate { both, activation } => gated(both, *activation),
        }
    }

    /// The saved inputs that require gradients.
    fn learned(&self) -> Vec<&Tensor> {
        let sources = match self {
            Self::Norm { x, norm } => vec![x, &norm.weight],
            Self::Gate { both, .. } => vec![both],
        };
        sources.into_iter().filter(|source| source.requires_grad()).collect()
    }

    /// Backward pass from a cotangent of the map's output: gradients of the inputs here, then of the parameters of `map`.
    fn vjp(&self, map: &LearnedMap, cotangent: &Tensor) -> Vec<Tensor> {
        let through_map = |value: &Tensor| {
            let mut gradients = map.vjp(cotangent, value);
            (gradients.remove(0), gradients)
        };
        let again = self.leaves();
        let learned = again.learned();
        let (mut gradients, mut of_map) = match &again {
            Self::Norm { .. } => {
                let value = tch::with_grad(|| again.make());
                let (of_value, of_map) = through_map(&value.detach());
                (vjp_made(&value, &of_value, &learned), of_map)
            }
            Self::Gate { both, activation } => {
                // Gone before the gradient of both is there: in a block these are the largest.
                let (of_value, of_map) = through_map(&tch::no_grad(|| gated(both, *activation)));
                let vjp = |both: &&Tensor| vjp_gated(both, *activation, &of_value);
                (learned.iter().map(vjp).collect(), of_map)
            }
        };
        gradients.append(&mut of_map);
        gradients
    }

    /// A detached copy, sharing memory, whose trained tensors are leaves.
    fn leaves(&self) -> Self {
        let leaf = |x: &Tensor| x.detach().set_requires_grad(x.requires_grad());
        match self {
            Self::Norm { x, norm } => {
                Self::Norm { x: leaf(x), norm: RmsNorm { weight: leaf(&norm.weight), ..*norm } }
            }
            Self::Gate { both, activation } => {
                Self::Gate { both: leaf(both), activation: *activation }
            }
        }
    }
}

/// Gradients of `learned` for a cotangent of a value that depends on each of them. A panic here becomes an error of the backward pass.
fn vjp_made(value: &Tensor, cotangent: &Tensor, learned: &[&Tensor]) -> Vec<Tensor> {
    if learned.is_empty() {
        return Vec::new();
    }
    let vjps = vector_jacobian_product(&[value], &[cotangent], learned);
    let gradients = vjps.expect("a graph of one operation").into_iter();
    gradients.map(|gradient| gradient.expect("of what the value is made of")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_self_test::{value_and_gradients, wide_wave};

    /// Four tensors: an operand's input, a norm's weight, a map's weight and bias.
    fn four(learned: [bool; 4]) -> [Tensor; 4] {
        let waves: [(&[i64], f64); 4] =
            [(&[3, 5, 8], 0.3), (&[8], 0.7), (&[6, 8], 1.1), (&[6], 0.9)];
        std::array::from_fn(|index| {
            let (shape, step) = waves[index];
            wide_wave(shape, step).set_requires_grad(learned[index])
        })
    }

    /// Returns the result of `map`, then the gradients of the trained ones of the four.
    fn pulled(learned: [bool; 4], map: impl Fn(&[Tensor; 4]) -> Tensor) -> Vec<Tensor> {
        let inputs = four(learned);
        let leaves: Vec<&Tensor> = inputs.iter().filter(|input| input.requires_grad()).collect();
        let value = map(&inputs);
        value_and_gradients(&value, &wide_wave(&[3, 5, 6], 0.2), &leaves)
    }

    fn norm(weight: &Tensor) -> RmsNorm {
        RmsNorm { weight: weight.shallow_clone(), eps: 1e-6, from_one: false }
    }

    fn assert_same(computed: &[Tensor], exact: &[Tensor], which: [bool; 4]) {
        assert_eq!(computed.len(), exact.len());
        for (index, (computed, exact)) in computed.iter().zip(exact).enumerate() {
            assert!(computed.equal(exact), "{index} of {which:?}");
        }
    }

    /// Whichever tensors are trained, the bits agree: the same operations on the same numbers.
    #[test]
    fn what_is_made_again_gives_the_gradients_of_what_was_kept() {
        for bits in 1..16 {
            let which = [1, 2, 4, 8].map(|bit| bits & bit != 0);
            let kept = pulled(which, |[x, weight, map, bias]| {
                linear(&norm(weight).forward(x), map, Some(bias))
            });
            let made = pulled(which, |[x, weight, map, bias]| {
                Operand::normed(x, &norm(weight)).linear(map, Some(bias))
            });
            assert_same(&made, &kept, which);
            for activation in [Activation::Silu, Activation::GeluTanh] {
                if !(which[0] || which[2] || which[3]) {
                    continue;
                }
                let both = |x: &Tensor| Tensor::cat(&[x, &(x * 2.0)], -1);
                let which = [which[0], false, which[2], which[3]];
                let kept = pulled(which, |[x, _, map, bias]| {
                    linear(&gated(&both(x), activation), map, Some(bias))
                });
                let made = pulled(which, |[x, _, map, bias]| {
                    Operand::gated(both(x), activation).linear(map, Some(bias))
                });
                assert_same(&made, &kept, which);
            }
        }
    }

    #[test]
    fn without_a_graph_it_is_the_map_alone() {
        let [x, weight, map, bias] = four([false; 4]);
        let exact = linear(&norm(&weight).forward(&x), &map, Some(&bias));
        let computed = Operand::normed(&x, &norm(&weight)).linear(&map, Some(&bias));
        assert!(computed.equal(&exact) && !computed.requires_grad());
        let [x, weight, map, bias] = four([true; 4]);
        let computed =
            tch::no_grad(|| Operand::normed(&x, &norm(&weight)).linear(&map, Some(&bias)));
        assert!(computed.equal(&exact) && !computed.requires_grad());
    }

    /// The recomputed tensor is freed after the map has been applied.
    #[test]
    fn what_is_made_is_not_kept() {
        let [x, weight, map, _] = four([true; 4]);
        let operand = Operand::normed(&x, &norm(&weight));
        let value = operand.value.shallow_clone();
        let product = operand.linear(&map, None);
        drop(operand);
        assert!(product.requires_grad());
        let before = value.copy();
        let _changed = value.detach().fill_(7.0);
        let learned = vector_jacobian_product(&[&product], &[&product.detach()], &[&map]).unwrap();
        let expected = product.detach().flatten(0, 1).tr().matmul(&before.detach().flatten(0, 1));
        assert!(learned[0].as_ref().unwrap().equal(&expected));
    }
}
