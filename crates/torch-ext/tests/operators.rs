//! Tests of the C++ half, on the CPU.

use std::sync::Arc;

use tch::{Device, Kind, Tensor};
use torch_ext::{
    Argument, Ragged, autograd_function, backward, call, fused_adamw, ragged_flash_attention,
    vector_jacobian_product,
};

const F64: (Kind, Device) = (Kind::Double, Device::Cpu);

fn largest_difference(a: &Tensor, b: &Tensor) -> f64 {
    (a - b).abs().max().double_value(&[])
}

#[test]
fn vector_jacobian_product_equals_the_gradient_of_the_weighted_sum() {
    let x = Tensor::randn([5, 4], F64).set_requires_grad(true);
    let unused = Tensor::randn([2], F64).set_requires_grad(true);
    let cotangent = Tensor::randn([5, 3], F64);
    let outputs = || x.tanh().matmul(&Tensor::ones([4, 3], F64));

    let gradients = vector_jacobian_product(&[&outputs()], &[&cotangent], &[&x, &unused]).unwrap();

    (outputs() * &cotangent).sum(Kind::Double).backward();
    assert!(largest_difference(gradients[0].as_ref().unwrap(), &x.grad()) < 1e-15);
    assert!(gradients[1].is_none(), "an input that took no part has no gradient");
}

#[test]
fn backward_adds_to_the_leaves() {
    let x = Tensor::from_slice(&[1.0, 2.0]).set_requires_grad(true);
    for _ in 0..2 {
        backward(&[&x.square()], &[&Tensor::from_slice(&[1.0, 10.0])]).unwrap();
    }
    assert_eq!(Vec::<f64>::try_from(x.grad()).unwrap(), [4.0, 80.0]);
}

#[test]
fn a_tensor_without_a_graph_is_an_error_not_an_abort() {
    let x = Tensor::ones([2], F64);
    let error = vector_jacobian_product(&[&x], &[&x], &[&x]).unwrap_err().to_string();
    assert!(error.contains("does not require grad"), "{error}");
    assert!(!error.contains("frame #"), "no C++ stack trace: {error}");
}

#[test]
fn fused_adamw_takes_the_step_of_its_definition() {
    let (learning_rate, beta1, beta2, decay, epsilon) = (0.1, 0.9, 0.95, 0.01, 1e-8);
    let parameter = Tensor::from_slice(&[1.0, -2.0, 3.0]);
    let (first, second) = (Tensor::zeros([3], F64), Tensor::zeros([3], F64));
    let step = Tensor::from(0f32);
    let mut expected = [1.0, -2.0, 3.0];
    let (mut m, mut v) = ([0.0; 3], [0.0; 3]);
    for t in 1..=3 {
        let gradient = [0.5 * f64::from(t), -1.0, 1e-3];
        let _ = step.shallow_clone().f_add_scalar_(1.0).unwrap();
        fused_adamw(
            &[&parameter],
            &[&Tensor::from_slice(&gradient)],
            &[&first],
            &[&second],
            &[&step],
            learning_rate,
            (beta1, beta2),
            decay,
            epsilon,
        )
        .unwrap();
        for i in 0..3 {
            m[i] = beta1 * m[i] + (1.0 - beta1) * gradient[i];
            v[i] = beta2 * v[i] + (1.0 - beta2) * gradient[i] * gradient[i];
            let (m_hat, v_hat) = (m[i] / (1.0 - beta1.powi(t)), v[i] / (1.0 - beta2.powi(t)));
            expected[i] -= learning_rate * decay * expected[i];
            expected[i] -= learning_rate * m_hat / (v_hat.sqrt() + epsilon);
        }
    }
    assert!(largest_difference(&parameter, &Tensor::from_slice(&expected)) < 1e-12);
}

#[test]
fn operators_are_called_by_name_and_bad_calls_name_the_operator() {
    let (a, b) = (Tensor::ones([3], F64), Tensor::ones([2], F64));
    let lists = [Argument::Tensors(&[&a, &b]), Argument::Float(2.5)];
    call("aten::_foreach_mul_", "Scalar", &lists).unwrap();
    assert_eq!(Vec::<f64>::try_from(&a).unwrap(), [2.5; 3]);

    let unknown = call("aten::no_such_operator", "", &[]).unwrap_err().to_string();
    assert!(unknown.contains("aten::no_such_operator"), "{unknown}");
    let missing = call("aten::mm", "", &[Argument::Tensor(&a)]).unwrap_err().to_string();
    assert!(missing.contains("aten::mm") && missing.contains("mat2"), "{missing}");
    let inner_nul = call("aten::m\0m", "", &[]).unwrap_err().to_string();
    assert!(inner_nul.contains("NUL"), "{inner_nul}");
}

#[test]
fn cuda_is_asked_once_and_its_absence_is_a_value() {
    let first = torch_ext::load_cuda();
    assert_eq!(first, torch_ext::load_cuda());
    if !tch::Cuda::is_available() {
        assert!(Tensor::f_zeros([1], (Kind::Float, Device::Cuda(0))).is_err());
        assert!(torch_ext::cuda_peak_reserved_bytes(0).is_err());
        assert!(torch_ext::cuda_memory_info(0).is_err());
    }
}

#[test]
fn the_library_describes_itself() {
    let libtorch = torch_ext::libtorch();
    assert!(libtorch.built_against.starts_with("2.11."), "{libtorch:?}");
    assert!(libtorch.configuration.contains("PyTorch built with"), "{libtorch:?}");
}

#[test]
fn a_gradient_is_set_and_its_memory_given_back() {
    let x = Tensor::from_slice(&[1.0, 2.0]).set_requires_grad(true);
    torch_ext::set_gradient(&x, Some(&Tensor::from_slice(&[0.5, 0.25]))).unwrap();
    torch_ext::backward(&[&(&x * 2.0)], &[&Tensor::from_slice(&[1.0, 1.0])]).unwrap();
    assert_eq!(Vec::<f64>::try_from(x.grad()).unwrap(), [2.5, 2.25]);
    torch_ext::set_gradient(&x, None).unwrap();
    assert!(!x.grad().defined());
    for wrong in [Tensor::from_slice(&[1.0]), Tensor::from_slice(&[1.0_f32, 1.0])] {
        torch_ext::set_gradient(&x, Some(&wrong)).expect_err("of another shape or kind");
    }
    torch_ext::set_gradient(&(&x * 2.0), None).expect_err("no leaf");
}

/// Without a GPU the kernel cannot run, but the dispatcher checks name and arguments first.
#[test]
fn ragged_attention_fits_its_schema() {
    let heads = Tensor::zeros([7, 4, 8], (Kind::BFloat16, Device::Cpu));
    let boundaries = Tensor::from_slice(&[0_i32, 3, 7]);
    let ragged = Ragged { boundaries: &boundaries, longest: 4 };
    let used = Tensor::from_slice(&[2_i32, 4]);
    for used in [None, Some(&used)] {
        let error = ragged_flash_attention([&heads, &heads, &heads], ragged, ragged, used)
            .expect_err("no such kernel on the CPU")
            .to_string();
        let refused = "Could not run 'aten::_flash_attention_forward'";
        assert!(error.contains(refused) && error.contains("'CPU'"), "{error}");
    }
}

/// `x³ y` with a wrong gradient for `x` (a third) and none for `y`, which tells it from autograd's own.
#[test]
fn an_autograd_function_has_the_gradient_it_returns() {
    let x = Tensor::from_slice(&[2.0, 3.0]).set_requires_grad(true);
    let y = Tensor::from_slice(&[5.0, 7.0]).set_requires_grad(true);
    let held = Arc::new(());
    let witness = Arc::downgrade(&held);
    let (kept, other) = (x.detach(), y.detach());
    let product = autograd_function(
        &[&x, &y],
        || x.pow_tensor_scalar(3) * &y,
        move |cotangent| {
            assert_eq!(Arc::strong_count(&held), 1, "held by the graph alone");
            vec![cotangent * kept.square() * &other, Tensor::new()]
        },
    )
    .unwrap();
    assert_eq!(Vec::<f64>::try_from(product.detach()).unwrap(), [40.0, 189.0]);
    let cotangent = Tensor::from_slice(&[1.0, 10.0]);
    let doubled = &product * 2.0;
    let gradients = vector_jacobian_product(&[&doubled], &[&cotangent], &[&x, &y]).unwrap();
    assert_eq!(Vec::<f64>::try_from(gradients[0].as_ref().unwrap()).unwrap(), [40.0, 1260.0]);
    assert!(gradients[1].is_none());
    assert!(witness.upgrade().is_none(), "what it captured is freed with the graph");
}

#[test]
fn an_autograd_function_of_constants_has_no_graph() {
    let x = Tensor::from_slice(&[2.0]).set_requires_grad(true);
    let double = || autograd_function(&[&x], || &x * 2.0, |c| vec![c * 2.0]).unwrap();
    assert!(double().requires_grad());
    assert!(!tch::no_grad(double).requires_grad());
    let constant = autograd_function(&[&x.detach()], || &x * 2.0, |c| vec![c * 2.0]).unwrap();
    assert!(!constant.requires_grad());
}

/// Two leaves may keep parts of one tensor as their gradients.
#[test]
fn an_autograd_function_may_return_parts_of_one_tensor() {
    let parts = [[1.0, 2.0], [3.0, 4.0]]
        .map(|row| Tensor::from_slice(&row).view([1, 2]).set_requires_grad(true));
    let joined = autograd_function(
        &[&parts[0], &parts[1]],
        || Tensor::cat(&parts, 0),
        |cotangent| vec![cotangent.narrow(0, 0, 1), cotangent.narrow(0, 1, 1)],
    )
    .unwrap();
    let cotangent = Tensor::from_slice(&[5.0, 6.0, 7.0, 8.0]).view([2, 2]);
    backward(&[&(joined * 3.0)], &[&cotangent]).unwrap();
    let gradients = parts.map(|part| part.grad());
    assert!(gradients[0].equal(&Tensor::from_slice(&[15.0, 18.0]).view([1, 2])));
    assert!(gradients[1].equal(&Tensor::from_slice(&[21.0, 24.0]).view([1, 2])));
    let begin = |tensor: &Tensor| tensor.data_ptr() as usize;
    assert_eq!(begin(&gradients[1]) - begin(&gradients[0]), 16, "kept as they came, not copied");
}

#[test]
fn an_autograd_function_that_fails_is_an_error_of_the_backward_pass() {
    let x = Tensor::from_slice(&[2.0, 3.0]).set_requires_grad(true);
    let panics = |_: &Tensor| -> Vec<Tensor> { panic!("meant to fail") };
    let backward_of = |value: Tensor| backward(&[&value], &[&Tensor::from_slice(&[1.0, 1.0])]);
    let value = autograd_function(&[&x], || &x * 2.0, panics).unwrap();
    assert!(backward_of(value).unwrap_err().to_string().contains("panicked"));
    let value = autograd_function(&[&x], || &x * 2.0, |_| Vec::new()).unwrap();
    assert!(backward_of(value).unwrap_err().to_string().contains("too few gradients"));
    let value = autograd_function(&[&x], || &x * 2.0, |c| vec![Tensor::cat(&[c, c], 0)]).unwrap();
    assert!(backward_of(value).unwrap_err().to_string().contains("invalid gradient"));
    let value = autograd_function(&[&x], || &x * 2.0, |c| vec![c * 2.0]).unwrap();
    backward_of(value.shallow_clone()).unwrap();
    assert!(backward_of(value).unwrap_err().to_string().contains("freed by a backward pass"));
}
