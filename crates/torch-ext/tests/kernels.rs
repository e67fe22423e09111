//! Compares the kernels, emulated on the host, with libtorch's operators, with equal rounding.

use std::sync::Arc;

use tch::{Device, IndexOp, Kind, Tensor};
use torch_ext::{AdamwFactors, AdamwTensors, CudaKernels, KernelError};

const F64: (Kind, Device) = (Kind::Double, Device::Cpu);

fn kernels() -> Arc<CudaKernels> {
    CudaKernels::emulated().expect("a C++ compiler, which built this crate")
}

/// Numbers of all sizes in bf16, some of them the extremes of the kind.
fn numbers(shape: &[i64], step: f64) -> Tensor {
    let count = shape.iter().product::<i64>();
    let index = Tensor::arange(count, F64) + 1;
    let sizes = (&index * (0.1 * step)).sin() * 3;
    (((index * step).sin() * 10f64.powf(0.5)) * sizes.exp()).view(shape).to_kind(Kind::BFloat16)
}

/// [`numbers`] mixed with values at the ends of bf16 and beyond.
fn extremes(shape: &[i64], step: f64) -> Tensor {
    let ends = [f32::MAX, -3.3895e38, 3.3895e38, 1e-40, -1e-38, 0.0, -0.0, f32::INFINITY, f32::NAN];
    let ends = Tensor::from_slice(&ends).to_kind(Kind::BFloat16);
    let numbers = numbers(shape, step);
    let count = shape.iter().product::<i64>();
    let ends = ends.repeat([count / 9 + 1]).narrow(0, 0, count).view(shape);
    let chosen = (Tensor::arange(count, F64) * 1.7).sin().gt(0.2).view(shape);
    ends.where_self(&chosen, &numbers)
}

/// Asserts equal numbers, bit for bit except for the bits of a NaN.
fn assert_same(actual: &Tensor, exact: &Tensor) {
    assert_eq!((actual.kind(), actual.size()), (exact.kind(), exact.size()));
    let bits = |x: &Tensor| x.masked_fill(&x.isnan(), 1e9).view_dtype(Kind::Int16);
    let differing = bits(actual).ne_tensor(&bits(exact)).sum(Kind::Int64).int64_value(&[]);
    assert_eq!(differing, 0, "of {} numbers: {actual:?} {exact:?}", actual.numel());
}

#[test]
fn rotated_queries_are_answered_and_keys_and_values_stored() {
    for ([rows, queries, shared, width], make) in [
        ([1, 1, 1, 4], numbers as fn(&[i64], f64) -> Tensor),
        ([3, 6, 2, 8], numbers),
        ([3, 6, 2, 8], extremes),
        ([2, 28, 4, 128], numbers),
        ([5, 3, 3, 64], numbers),
    ] {
        let product = make(&[rows, queries + 2 * shared, width], 0.37);
        let angle = (Tensor::arange(rows * width / 2, F64) * 0.7).view([rows, width / 2]);
        let [cosine, sine] = [angle.cos(), angle.sin()].map(|x| x.to_kind(Kind::Float));
        let places = (Tensor::arange(rows, (Kind::Int64, Device::Cpu)) * 5 + 2).remainder(11);
        let mut cache = [0.73, 1.31].map(|step| numbers(&[11, shared, width], step));

        let (half, turning) = (width / 2, queries + shared);
        let halves = product.narrow(1, 0, turning).to_kind(Kind::Float).chunk(2, -1);
        let (c, s) = (cosine.unsqueeze(1), sine.unsqueeze(1));
        let turned = [&halves[0] * &c - &halves[1] * &s, &halves[1] * &c + &halves[0] * &s];
        let turned = Tensor::cat(&turned, -1).to_kind(Kind::BFloat16);
        assert_eq!(turned.size(), [rows, turning, 2 * half]);
        let key = turned.narrow(1, queries, shared);
        let value = product.narrow(1, turning, shared);
        let stored: Vec<Tensor> = [(&cache[0], &key), (&cache[1], &value)]
            .map(|(cache, part)| cache.copy().index_copy(0, &places, part))
            .into();

        let [keys, values] = cache.each_mut();
        let angles = [&cosine, &sine];
        let query = kernels().rotate_and_store(&product, angles, &places, [keys, values]).unwrap();
        assert_same(&query, &turned.narrow(1, 0, queries));
        assert_same(&cache[0], &stored[0]);
        assert_same(&cache[1], &stored[1]);
    }
}

#[test]
fn what_has_no_place_in_the_cache_is_not_stored() {
    let product = numbers(&[4, 3, 4], 0.37);
    let angles = Tensor::zeros([4, 2], (Kind::Float, Device::Cpu));
    let mut cache = [0.7, 1.3].map(|step| numbers(&[5, 1, 4], step));
    let before = cache.each_ref().map(Tensor::copy);
    let places = Tensor::from_slice(&[5_i64, -1, i64::MAX, 2]);
    let [keys, values] = cache.each_mut();
    let angles = [&angles.ones_like(), &angles];
    let query = kernels().rotate_and_store(&product, angles, &places, [keys, values]).unwrap();
    assert_same(&query, &product.narrow(1, 0, 1));
    for (head, (cache, before)) in (1..).zip(cache.iter().zip(&before)) {
        assert_same(&cache.i(2), &product.i((3, head)).unsqueeze(0));
        for kept in [0, 1, 3, 4] {
            assert_same(&cache.i(kept), &before.i(kept));
        }
    }
}

#[test]
fn the_norm_is_of_the_sum_as_it_was_rounded() {
    for (rows, hidden) in [(1, 2), (3, 6), (2, 64), (5, 898), (1, 3584)] {
        let weight = numbers(&[hidden], 0.11);
        let y = numbers(&[rows, 1, hidden], 0.73);
        for y in [None, Some(&y)] {
            let mut x = numbers(&[rows, 1, hidden], 0.37);
            let sum = y.map_or_else(|| x.copy(), |y| &x + y);
            let normed = kernels().add_and_normalise(&mut x, y, (&weight, 1e-6)).unwrap();
            assert_same(&x, &sum);
            // Half a unit in the last of the 8 bits of bf16, and a margin for f32.
            let [sum, weight, normed] = [&sum, &weight, &normed].map(|x| x.to_kind(Kind::Double));
            let exact =
                (sum.square().mean_dim(-1, true, Kind::Double) + 1e-6).rsqrt() * &sum * weight;
            let size = exact.abs().clamp_min(f64::MIN_POSITIVE);
            let off = ((normed - exact).abs() / size).max().double_value(&[]);
            assert!(off < 1.001 / 256.0, "[{rows}, {hidden}]: {off}");
        }
    }
}

#[test]
fn epsilon_is_added_to_the_mean_of_the_squares() {
    let (mut x, weight) = (numbers(&[1, 4], 0.3) * 1e-3, numbers(&[4], 0.0) + 1);
    let normed = kernels().add_and_normalise(&mut x, None, (&weight, 1.0)).unwrap();
    assert_same(&normed, &x);
}

#[test]
fn what_is_gated_is_silu_of_the_first_half_times_the_second() {
    for ([rows, width], make) in [
        ([1, 2], numbers as fn(&[i64], f64) -> Tensor),
        ([3, 6], numbers),
        ([3, 66], extremes),
        ([2, 4864], numbers),
    ] {
        let both = make(&[rows, 1, 2 * width], 0.37);
        let halves = both.chunk(2, -1);
        assert_same(&kernels().gate(&both).unwrap(), &(halves[0].silu() * &halves[1]));
    }
}

/// The expected token, by one cumulative sum from first to last.
fn draw_one(logits: &[f64], uniform: f64, temperature: f64) -> (i64, f64) {
    let divisor = if temperature == 0.0 { 1.0 } else { temperature };
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weight = |logit: f64| ((logit - largest) / divisor).exp();
    let total: f64 = logits.iter().map(|&logit| weight(logit)).sum();
    let mut reached = 0.0;
    let passes = |&logit: &f64| {
        reached += weight(logit);
        if temperature == 0.0 { logit >= largest } else { reached > uniform * total }
    };
    let token = logits.iter().position(passes).expect("the last sum is the total");
    let log_prob = (logits[token] - largest) / divisor - total.ln();
    (i64::try_from(token).expect("an index of a tensor"), log_prob)
}

#[test]
fn a_token_is_that_up_to_which_the_sum_passes_the_number() {
    let ends = [0.0, f64::MIN_POSITIVE, 1.0 - f64::EPSILON / 2.0];
    for vocabulary in [1, 2, 15, 16, 17, 100, 1031] {
        for temperature in [0.0, 0.25, 1.0, 3.0] {
            let logits = numbers(&[vocabulary], 0.37 + temperature);
            // Excludes the first token, unless it is the only one, and some others.
            let likely = (Tensor::arange(vocabulary, F64) * 2.1).cos();
            let impossible = likely.gt(0.8).logical_and(&Tensor::from(vocabulary > 1));
            let logits = logits.masked_fill(&impossible, f64::NEG_INFINITY);
            let inner = (0..20).map(|number| (0.37 + f64::from(number)) / 20.0);
            let uniforms: Vec<f64> = ends.into_iter().chain(inner).collect();
            let rows = i64::try_from(uniforms.len()).unwrap();
            let [tokens, log_prob] = kernels()
                .draw(
                    &logits.expand([rows, vocabulary], false).contiguous(),
                    &Tensor::from_slice(&uniforms),
                    temperature,
                )
                .unwrap();
            let logits = Vec::<f64>::try_from(logits.to_kind(Kind::Double)).unwrap();
            for (row, &uniform) in (0..).zip(&uniforms) {
                let (token, exact) = draw_one(&logits, uniform, temperature);
                let drawn = (tokens.int64_value(&[row]), log_prob.double_value(&[row]));
                let place = format!("{uniform} of {vocabulary} at {temperature}");
                assert_eq!(drawn.0, token, "{place}");
                assert!((drawn.1 - exact).abs() < 1e-12, "{place}: {drawn:?}, expected {exact}");
            }
        }
    }
}

#[test]
fn of_several_likeliest_tokens_the_first_is_taken() {
    let logits = Tensor::zeros([1, 1031], (Kind::BFloat16, Device::Cpu));
    // One thread handles two of them.
    for token in [200, 712, 900] {
        let _filled = logits.i((0, token)).fill_(3.0);
    }
    let [tokens, _] = kernels().draw(&logits, &Tensor::zeros([1], F64), 0.0).expect("these fit");
    assert_eq!(tokens.int64_value(&[0]), 200);
}

#[test]
fn a_token_of_no_distribution_is_one_of_the_vocabulary() {
    let logits = Tensor::full([3, 70], f64::NEG_INFINITY, (Kind::BFloat16, Device::Cpu));
    let _filled = logits.i((1, 3)).fill_(f64::NAN);
    let _filled = logits.i((2, 3)).fill_(f64::INFINITY);
    let uniforms = Tensor::from_slice(&[0.0, 0.5, 0.99]);
    for temperature in [0.0, 1.0] {
        let [tokens, log_prob] = kernels().draw(&logits, &uniforms, temperature).unwrap();
        let tokens = Vec::<i64>::try_from(tokens).unwrap();
        assert!(tokens.iter().all(|token| (0..70).contains(token)), "{tokens:?}");
        assert_eq!(log_prob.isfinite().sum(Kind::Int64).int64_value(&[]), 0);
    }
}

#[test]
fn nothing_is_done_for_no_rows() {
    let (empty, mut x) = (numbers(&[0, 8], 1.0), numbers(&[0, 8], 1.0));
    assert_eq!(kernels().gate(&empty).unwrap().size(), [0, 4]);
    let normed = kernels().add_and_normalise(&mut x, Some(&empty), (&numbers(&[8], 1.0), 1e-6));
    assert_eq!(normed.unwrap().size(), [0, 8]);
    let [tokens, _] = kernels().draw(&empty, &Tensor::zeros([0], F64), 1.0).unwrap();
    assert_eq!(tokens.size(), [0]);
}

#[test]
fn tensors_that_a_kernel_does_not_take_are_refused() {
    let kernels = kernels();
    let refused = |outcome: Result<Tensor, KernelError>, words: &str| {
        let error = outcome.expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
    };
    let both = numbers(&[3, 8], 0.3);
    refused(kernels.gate(&both.to_kind(Kind::Float)), "gate and up is Float [3, 8] on Cpu");
    refused(kernels.gate(&both.narrow(1, 0, 4)), "in one piece");
    refused(kernels.gate(&numbers(&[3, 6], 0.3)), "a multiple of 4");
    refused(kernels.gate(&both.flatten(0, 1).narrow(0, 1, 20)), "an address that 4 divides");
    refused(kernels.gate(&Tensor::from(1.0)), "columns");

    let (mut x, weight) = (numbers(&[3, 8], 0.3), numbers(&[8], 0.3));
    let before = x.copy();
    let (other, narrow) = (numbers(&[2, 8], 0.3), numbers(&[6], 0.3));
    refused(
        kernels.add_and_normalise(&mut x, Some(&other), (&weight, 1e-6)),
        "y is BFloat16 [2, 8]",
    );
    refused(kernels.add_and_normalise(&mut x, None, (&narrow, 1e-6)), "expected BFloat16 [8]");
    assert_same(&x, &before);

    let product = numbers(&[3, 4, 8], 0.3);
    let angles = Tensor::ones([3, 4], (Kind::Float, Device::Cpu));
    let places = Tensor::from_slice(&[0_i64, 1, 2]);
    let rotate = |product: &Tensor, angles: &Tensor, places: &Tensor, shared: [i64; 2]| {
        let [mut keys, mut values] = shared.map(|heads| numbers(&[5, heads, 8], 0.3));
        kernels.rotate_and_store(product, [angles; 2], places, [&mut keys, &mut values])
    };
    assert!(rotate(&product, &angles, &places, [1, 1]).is_ok(), "these fit");
    refused(rotate(&product, &angles, &places, [3, 3]), "at least 6 heads");
    refused(rotate(&product, &angles, &places, [1, 2]), "values is");
    refused(rotate(&product.flatten(0, 1), &angles, &places, [1, 1]), "three dimensions");
    refused(rotate(&product, &angles.narrow(0, 0, 2), &places, [1, 1]), "cosine is");
    refused(rotate(&product, &angles, &places.to_kind(Kind::Int), [1, 1]), "places is Int [3]");

    let uniforms = Tensor::from_slice(&[0.1, 0.2]);
    let draw = |logits: &Tensor| kernels.draw(logits, &uniforms, 1.0).map(|[tokens, _]| tokens);
    refused(draw(&both), "uniforms is Double [2]");
    refused(draw(&numbers(&[2, 0], 0.3)), "columns");
}

#[test]
#[should_panic(expected = "temperature is -1")]
fn a_temperature_below_0_is_a_mistake() {
    let _drawn = kernels().draw(&numbers(&[1, 4], 0.3), &Tensor::zeros([1], F64), -1.0);
}

#[test]
fn without_a_device_there_are_no_kernels_and_the_reason_is_said() {
    let error = CudaKernels::on(Device::Cpu).unwrap_err();
    assert_eq!(error.to_string(), "kernels are for CUDA devices, not for Cpu");
    let load = || CudaKernels::on(Device::Cuda(0)).map(|_| ());
    let outcome = load();
    assert_eq!(load(), outcome, "asked once");
    if let Err(error) = outcome {
        let message = error.to_string();
        let first = ["libcuda.so.1 cannot", "cuInit: ", "libnvrtc.so.13 or .12 cannot"];
        assert!(first.iter().any(|first| message.starts_with(first)), "{message}");
    }
}

#[test]
fn a_step_takes_tensors_of_one_shape_alone() {
    let step = |gradient: &Tensor, mut copy: Option<Tensor>, moments: [Kind; 2]| {
        let mut parameter = numbers(&[3, 8], 0.3);
        let before = parameter.copy();
        let [mut first, mut second] =
            moments.map(|kind| Tensor::zeros([3, 8], (kind, Device::Cpu)));
        let moments = [&mut first, &mut second];
        let copy = copy.as_mut();
        let tensors = AdamwTensors { gradient, parameter: &mut parameter, copy, moments, start: 0 };
        let factors = AdamwFactors { numbers: [0.5; 8], keys: [[1, 2], [3, 4]] };
        let outcome = kernels().adamw(tensors, &factors).map_err(|error| error.to_string());
        assert_eq!(parameter.equal(&before), outcome.is_err());
        outcome
    };
    let gradient = numbers(&[3, 8], 0.7);
    let master = || Some(Tensor::ones([3, 8], (Kind::Float, Device::Cpu)));
    assert_eq!(step(&gradient, master(), [Kind::Float; 2]), Ok(()));
    let refused = |outcome: Result<(), String>, words: &str| {
        let error = outcome.expect_err(words);
        assert!(error.contains(words), "{error}");
    };
    refused(step(&numbers(&[8, 3], 0.7).tr(), master(), [Kind::Float; 2]), "in one piece");
    refused(step(&gradient.flatten(0, 1), master(), [Kind::Float; 2]), "master weight is");
    refused(
        step(&gradient.to_kind(Kind::Double), master(), [Kind::Float; 2]),
        "gradient is Double",
    );
    refused(
        step(&gradient, master().map(|x| x.to_kind(Kind::Int)), [Kind::Float; 2]),
        "lower half",
    );
    refused(step(&gradient, master(), [Kind::Float, Kind::BFloat16]), "second moment is");
    let sums = kernels().sums_of_squares(&[gradient.to_kind(Kind::Double)]);
    assert!(sums.unwrap_err().to_string().contains("gradient is Double"));
    assert_eq!(kernels().sums_of_squares(&[]).unwrap().size(), [0]);
}

#[test]
fn a_head_takes_columns_in_pairs() {
    let targets = Tensor::from_slice(&[1_i64, 5]);
    let refused = |mut logits: Tensor, slopes: &Tensor, words: &str| {
        let before = logits.copy();
        let outcome = kernels().head(&mut logits, &targets, 1.0, Some((slopes, None)));
        let error = outcome.expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
        assert!(logits.equal(&before));
    };
    let slopes = Tensor::ones([2], (Kind::Float, Device::Cpu));
    refused(numbers(&[2, 7], 0.3), &slopes, "a multiple of 2");
    refused(numbers(&[3, 8], 0.3), &slopes, "targets is Int64 [2]");
    refused(numbers(&[2, 8], 0.3), &slopes.to_kind(Kind::Double), "cotangent of log_prob is");
}

#[test]
fn heads_are_turned_where_they_lie_and_back() {
    let by_head = numbers(&[5, 3, 8], 0.37);
    let x = by_head.transpose(0, 1);
    let angle = (Tensor::arange(12, F64) * 0.7).view([3, 4]).to_kind(Kind::Float);
    let [cosine, sine] = [angle.cos(), angle.sin()];
    let rotate = |x: &Tensor, rotated, is_back| {
        kernels().rotate(x, rotated, [&cosine, &sine], is_back).map_err(|error| error.to_string())
    };
    let halves = x.narrow(1, 0, 4).to_kind(Kind::Float).chunk(2, -1);
    for (is_back, sine) in [(false, &sine), (true, &-&sine)] {
        let (c, s) = (cosine.unsqueeze(1), sine.unsqueeze(1));
        let turned = [&halves[0] * &c - &halves[1] * &s, &halves[1] * &c + &halves[0] * &s];
        let turned = Tensor::cat(&turned, -1).to_kind(Kind::BFloat16);
        let exact = Tensor::cat(&[turned, x.narrow(1, 4, 1)], 1);
        assert_same(&rotate(&x, 4, is_back).unwrap(), &exact);
        assert_same(&rotate(&x.contiguous(), 4, is_back).unwrap(), &exact);
    }
    let refused = |x: &Tensor, rotated, words: &str| {
        let error = rotate(x, rotated, false).expect_err(words);
        assert!(error.contains(words), "{error}");
    };
    refused(&x.to_kind(Kind::Float), 4, "BFloat16 on");
    refused(&x, 6, "at least 6 heads");
    refused(&x.transpose(1, 2), 4, "in one piece");
    refused(&numbers(&[3, 5, 9], 0.37).narrow(2, 1, 8), 4, "at an even place");
    refused(&x.unsqueeze(0), 4, "three dimensions");
    refused(&numbers(&[4, 5, 8], 0.37), 4, "cosine is");
}

#[test]
fn a_gates_gradient_is_finite_at_the_ends_and_takes_columns_in_pairs() {
    let both = Tensor::from_slice(&[-3e38f32, 3e38, -90.0, 0.0, 1.0, 2.0, 3.0, 4.0]).view([1, 8]);
    let both = both.to_kind(Kind::BFloat16);
    let ones = Tensor::ones([1, 4], (Kind::BFloat16, Device::Cpu));
    let gradient = kernels().gate_backward(&both, &ones).unwrap().to_kind(Kind::Float);
    // Of gates: 0, up, 0 and half of up; of ups: silu.
    let ends = [0.0, 2.0, 0.0, 2.0, 0.0, 3e38, 0.0, 0.0];
    let off = (gradient - Tensor::from_slice(&ends)).abs() / (Tensor::from_slice(&ends) + 1.0);
    assert!(off.max().double_value(&[]) < 1.0 / 256.0, "{off}");
    let refused = |both: Tensor, words: &str| {
        let error = kernels().gate_backward(&both, &ones).expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
    };
    refused(numbers(&[1, 6], 0.3), "a multiple of 4");
    refused(numbers(&[1, 12], 0.3), "cotangent is");
    refused(numbers(&[8, 1], 0.3).tr().to_kind(Kind::Float), "gate and up is Float");
}
