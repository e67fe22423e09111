//! What the C++ half promises, on the CPU.

use tch::{Device, Kind, Tensor};
use torch_ext::{Argument, backward, call, fused_adamw, vector_jacobian_product};

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
        assert!(torch_ext::cuda_memory(0).is_err());
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

/// Without a GPU the kernel cannot run, but the dispatcher has checked name and arguments before it says so.
#[test]
fn packed_attention_fits_its_schema() {
    let heads = Tensor::zeros([7, 4, 8], (Kind::BFloat16, Device::Cpu));
    let boundaries = Tensor::from_slice(&[0_i32, 3, 7]);
    let error = torch_ext::packed_flash_attention([&heads, &heads, &heads], &boundaries, 4)
        .expect_err("no such kernel on the CPU")
        .to_string();
    assert!(
        error.contains("Could not run 'aten::_flash_attention_forward'") && error.contains("'CPU'"),
        "{error}"
    );
}
