//! Compares the formats of the state, each stepped by this crate's loops and by libtorch's operators.

use std::sync::Arc;

use ranks::Ranks;
use tch::{Device, Kind, Tensor};
use torch_ext::CudaKernels;
use training_run::config::{Dtype, MasterWeights, OptimizerSection};

use super::device_step::{bits, formats};
use super::{AdamW, Slope, Stepped};
use crate::training::split_weight::{is_narrow, joined, nearest, split};

/// Enough for two threads, and no multiple of any block.
const ELEMENTS: i64 = 140_003;

fn options(master: MasterWeights, moments: Dtype) -> OptimizerSection {
    let max_grad_norm = 30.0;
    OptimizerSection { master, moments, weight_decay: 0.05, max_grad_norm, ..Default::default() }
}

/// Master weights around zero, on both sides of ties, subnormal, and large.
fn weights() -> Tensor {
    let values: Vec<f32> = (0..140_003_u32)
        .map(|index| {
            let upper = match index % 5 {
                0 => index % 0x80,
                1 => 0x3f80 + index % 0x40,
                2 => 0xbf00 + index % 0x100,
                3 => 0x3000 + index % 0x100,
                _ => 0x8000 + index % 0x100,
            };
            let lower = [0_u32, 0x7fff, 0x8000, 0x8001, 0xffff][(index % 11 % 5) as usize];
            f32::from_bits(upper << 16 | lower)
        })
        .collect();
    Tensor::from_slice(&values)
}

/// Gradients of one step, in `kind`; 0 at every seventh element, where only weight decay changes the weight.
fn slopes(step: i64, kind: Kind) -> Tensor {
    let index = Tensor::arange(ELEMENTS, (Kind::Double, Device::Cpu));
    let slopes = (&index * 0.37 + step as f64 * 1.3).sin() * (&index * 0.011).cos();
    (slopes * index.remainder(7.0).clamp_max(1.0)).to_kind(kind)
}

/// The state of one parameter in bf16 whose master weight is that of [`weights`].
fn state(options: &OptimizerSection) -> AdamW {
    let weights = weights();
    let (upper, lower) = split(&weights);
    let mut state = AdamW::of([("w".to_owned(), upper)], options, 5);
    let is_split = state.tensors[0].is_split();
    if let Some(copy) = &mut state.tensors[0].copy {
        copy.copy_(if is_split { &lower } else { &weights });
    }
    state
}

/// A gradient for the loops, or the equal one in f64, which they leave to the operators.
fn for_path(slope: Tensor, loops: bool) -> Tensor {
    if loops { slope } else { slope.to_kind(Kind::Double) }
}

#[test]
fn loops_leave_a_gradient_in_f64_to_the_operators() {
    let mut state = state(&options(MasterWeights::Split, Dtype::Bf16));
    for loops in [true, false] {
        let gradient = &for_path(slopes(1, Kind::BFloat16), loops);
        let slope = Slope { gradient, scale: None, learning_rate: 3e-3 };
        assert_eq!(state.step_on_host(0, slope).is_some(), loops);
    }
}

fn step(state: &mut AdamW, slope: Tensor) {
    state.tensors[0].gradient = Some(slope);
    assert!(state.step(&Ranks::single(), 3e-3).unwrap().applied);
}

/// The master weight in f32, or the parameter if there is none.
fn whole(state: &AdamW) -> Tensor {
    let stepped = &state.tensors[0];
    match &stepped.copy {
        None => stepped.parameter.to_kind(Kind::Float),
        Some(lower) if stepped.is_split() => joined(&stepped.parameter, lower),
        Some(master) => master.shallow_clone(),
    }
}

/// Tensors of two states, side by side.
fn pairs(one: &AdamW, other: &AdamW) -> [(&'static str, [Tensor; 2]); 4] {
    let pair = |tensor: fn(&Stepped) -> &Tensor| {
        [one, other].map(|state| tensor(&state.tensors[0]).shallow_clone())
    };
    [
        ("master weight", [whole(one), whole(other)]),
        ("parameter", pair(|stepped| &stepped.parameter)),
        ("first moment", pair(|stepped| &stepped.moments[0])),
        ("second moment", pair(|stepped| &stepped.moments[1])),
    ]
}

fn assert_same(one: &AdamW, other: &AdamW, step_number: i64) {
    for (what, [one, other]) in pairs(one, other) {
        assert!(bits(&one).equal(&bits(&other)), "{what}, step {step_number}");
    }
}

/// Bit-identical over sign changes, subnormals and ties: halves lose nothing.
#[test]
fn a_split_master_weight_takes_the_steps_of_a_whole_one() {
    for loops in [true, false] {
        for moments in [Dtype::F32, Dtype::Bf16] {
            let [mut whole_one, mut halves] = [MasterWeights::F32, MasterWeights::Split]
                .map(|master| state(&options(master, moments)));
            let start = whole(&whole_one).copy();
            assert_same(&whole_one, &halves, 0);
            for step_number in 1..=40 {
                let kind = if step_number % 2 == 0 { Kind::Float } else { Kind::BFloat16 };
                step(&mut whole_one, for_path(slopes(step_number, kind), loops));
                step(&mut halves, for_path(slopes(step_number, kind), loops));
                assert_same(&whole_one, &halves, step_number);
                assert!(nearest(&whole(&halves)).equal(&halves.tensors[0].parameter));
            }
            let crossed = (start.sign() * whole(&halves).sign()).lt(0.0).sum(Kind::Int64);
            assert!(crossed.int64_value(&[]) > 1000, "signs change");
        }
    }
}

/// The loops have no fused multiply-add, libtorch's kernel may: results agree to a few roundings. Stochastic rounding goes to
/// the same side, except where the two differ just there.
#[test]
fn loops_take_the_steps_of_the_operators() {
    for (master, moments) in formats() {
        let [mut looped, mut operators] = [(); 2].map(|()| state(&options(master, moments)));
        let mut unequal = 0.0;
        for step_number in 1..=3 {
            let slopes = || slopes(step_number, Kind::BFloat16);
            step(&mut looped, slopes());
            step(&mut operators, for_path(slopes(), false));
        }
        let masters = usize::from(master == MasterWeights::None);
        for (_, [looped, operators]) in pairs(&looped, &operators).into_iter().skip(masters) {
            let (actual, expected) =
                (looped.to_kind(Kind::Double), operators.to_kind(Kind::Double));
            let away = (&actual - &expected).abs();
            if is_narrow(&looped) {
                let share = away.gt(0.0).to_kind(Kind::Double).mean(Kind::Double);
                unequal = share.double_value(&[]).max(unequal);
            }
            let part = if is_narrow(&looped) { 0.02 } else { 2e-6 };
            let bound = expected.abs() * part + 3e-8;
            assert!(away.le_tensor(&bound).all().int64_value(&[]) == 1, "{master:?}");
        }
        assert!(unequal < 2e-3, "{master:?} {moments:?}: {unequal}");
    }
}

/// Slopes of which some overflow when squared or vanish, some are the smallest of their kind, and some infinite.
fn extreme_slopes(step: i64, kind: Kind) -> Tensor {
    let index = Tensor::arange(ELEMENTS, (Kind::Double, Device::Cpu));
    let sizes = ((&index * 0.017 + step).sin() * 85.0).exp();
    let ends = Tensor::from_slice(&[f64::from(f32::MAX), 1e-45, -9.2e-41, -1e38, f64::INFINITY]);
    let ends = ends.repeat([ELEMENTS / 5 + 1]).narrow(0, 0, ELEMENTS);
    let chosen = (&index * 1.7).sin().gt(0.95);
    ends.where_self(&chosen, &(slopes(step, Kind::Double) * sizes)).to_kind(kind)
}

/// Bit-identical in every format, over sign changes, ties, subnormals and numbers that overflow; also for parameters in f32, as
/// shards with whole master weights are.
#[test]
fn a_kernel_takes_the_steps_of_the_loops() {
    let kernels = CudaKernels::emulated().expect("a C++ compiler, which built torch-ext");
    let narrow = formats().map(|(master, moments)| (master, moments, false));
    for (master, moments, is_wide) in narrow.chain([(MasterWeights::F32, Dtype::Bf16, true)]) {
        let options = options(master, moments);
        let [mut looped, mut by_kernel] = [(); 2].map(|()| {
            let wide = || AdamW::of([("w".to_owned(), weights())], &options, 5);
            if is_wide { wide() } else { state(&options) }
        });
        by_kernel.kernels = Ok(Some(Arc::clone(&kernels)));
        for step_number in 1..=4 {
            let kind = if step_number % 2 == 0 { Kind::Float } else { Kind::BFloat16 };
            let make = if step_number < 3 { slopes } else { extreme_slopes };
            for state in [&mut looped, &mut by_kernel] {
                state.tensors[0].gradient = Some(make(step_number, kind));
                // The norm is above the bound, so that gradients are scaled.
                assert!(state.clip_and_step(47.0, 3e-3).unwrap().applied);
            }
            for (what, [one, other]) in pairs(&looped, &by_kernel) {
                let what =
                    format!("{what}, {master:?}, {moments:?}, {is_wide}, step {step_number}");
                // A device writes other bits for NaN.
                let known = |x: &Tensor| bits(&x.masked_fill(&x.isnan(), 7.0));
                assert!(known(&one).equal(&known(&other)), "{what}");
                let finite = one.isfinite().to_kind(Kind::Double).mean(Kind::Double);
                assert!(finite.double_value(&[]) > 0.5, "{what}: there is something to compare");
            }
        }
    }
}

/// Holds for any number of threads, and for the shards of several ranks.
#[test]
fn neither_threads_nor_parts_change_a_bit() {
    for master in MasterWeights::ALL {
        let options = options(master, Dtype::Bf16);
        let run = |threads: i32, range: (i64, i64)| {
            tch::set_num_threads(threads);
            let (start, length) = range;
            let part = |tensor: &Tensor| tensor.narrow(0, start, length).copy();
            let mut state = state(&options);
            let Stepped { parameter, place, copy, moments, .. } = &mut state.tensors[0];
            for tensor in [parameter].into_iter().chain(moments).chain(copy) {
                *tensor = part(tensor);
            }
            place.run = Some(start);
            for step_number in 1..=3 {
                state.tensors[0].gradient = Some(part(&slopes(step_number, Kind::Float)));
                // The norm is that of all shards, which no shard knows.
                assert!(state.clip_and_step(1.0, 3e-3).unwrap().applied);
            }
            tch::set_num_threads(1);
            state
        };
        let all = ELEMENTS;
        let (one, two) = (run(1, (0, all)), run(2, (0, all)));
        assert_same(&one, &two, 3);
        for (start, length) in [(0, 777), (777, 70_000), (70_777, all - 70_777)] {
            let part = run(1, (start, length));
            for (what, [actual, all]) in pairs(&part, &one) {
                let expected = all.narrow(0, start, length);
                assert!(bits(&actual).equal(&bits(&expected)), "{master:?} {what}");
            }
        }
    }
}

/// Steps far below the last bit of bf16: the mean of many parameters still moves, as it does not by rounding to nearest.
#[test]
fn without_a_master_weight_the_mean_still_moves_by_the_steps() {
    let (elements, steps, learning_rate) = (40_000_i64, 50, 1e-5);
    let options = OptimizerSection {
        master: MasterWeights::None,
        moments: Dtype::Bf16,
        max_grad_norm: 1e9,
        ..Default::default()
    };
    for loops in [true, false] {
        let ones = Tensor::ones([elements], (Kind::BFloat16, Device::Cpu));
        let mut state = AdamW::of([("w".to_owned(), ones)], &options, 7);
        for _ in 0..steps {
            let slope = Tensor::full([elements], 0.25, (Kind::Float, Device::Cpu));
            state.tensors[0].gradient = Some(for_path(slope, loops));
            assert!(state.step(&Ranks::single(), learning_rate).unwrap().applied);
        }
        let parameters = state.tensors[0].parameter.to_kind(Kind::Double);
        let (mean, deviation) = (
            parameters.mean(Kind::Double).double_value(&[]),
            parameters.std(true).double_value(&[]),
        );
        // A constant gradient steps by the learning rate, up to the rounding of the moments.
        let expected = 1.0 - f64::from(steps) * learning_rate;
        let error = deviation / (elements as f64).sqrt();
        assert!((mean - expected).abs() < 6.0 * error, "{mean} ± {error}, expected {expected}");
        assert!(error > 0.0 && error < 0.1 * (1.0 - expected), "{error}");
    }
}

/// A run without master weights goes on from a whole one's file, but not the other way round.
#[test]
fn without_a_master_weight_none_can_be_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("optimizer.safetensors");
    let mut full = state(&options(MasterWeights::F32, Dtype::Bf16));
    step(&mut full, slopes(1, Kind::Float));
    full.save(&path).unwrap();
    let parameter = full.tensors[0].parameter.copy();
    let none = options(MasterWeights::None, Dtype::Bf16);
    let mut none = AdamW::of([("w".to_owned(), parameter)], &none, 5);
    none.restore(&path).unwrap();
    assert!(none.tensors[0].parameter.equal(&full.tensors[0].parameter));
    none.save(&path).unwrap();
    let message = full.restore(&path).unwrap_err().to_string();
    assert!(message.contains("tensor `master/w` is missing"), "{message}");
}
