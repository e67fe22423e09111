//! The chunked head against formulas over the full matrix, and its backward pass against autograd.

use decoder::head::{
    Targets, TokenCotangent, WeightGradient, token_statistics, token_statistics_backward,
};
use decoder::sampling_mask::SamplingMask;
use tch::{Device, Kind, Tensor};

use crate::fixture::{distance, one_thread};

struct Case {
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
}

/// More tokens than one chunk holds at this vocabulary, so that chunks are really joined.
fn case() -> Case {
    one_thread();
    let options = (Kind::Double, Device::Cpu);
    let vocab = 1 << 20;
    let wave = |n: i64, scale: f64| (Tensor::arange(n, options) * scale).sin();
    Case {
        hidden: wave(37 * 3, 0.7).view([37, 3]) * 2.0,
        weight: wave(vocab * 3, 0.013).view([vocab, 3]) * 3.0,
        targets: (Tensor::arange(37, (Kind::Int64, Device::Cpu)) * 27_644_437i64).fmod(vocab),
    }
}

/// The case as leaves of autograd, and cotangents of log-probability and entropy for the backward pass.
fn to_differentiate(case: &Case) -> (Case, Tensor, Tensor) {
    let attached = Case {
        hidden: case.hidden.detach().set_requires_grad(true),
        weight: case.weight.detach().set_requires_grad(true),
        targets: case.targets.shallow_clone(),
    };
    let rows = Tensor::arange(37, (Kind::Double, Device::Cpu));
    (attached, (&rows * 0.3).cos(), (&rows * 0.9).sin())
}

/// Log-probabilities of all tokens and of the target, and the entropy, by definition, differentiable.
fn by_definition(case: &Case, temperature: f64) -> [Tensor; 3] {
    let logits = case.hidden.matmul(&case.weight.tr()) / temperature;
    let log_prob = logits.log_softmax(-1, Kind::Double);
    let entropy = -(log_prob.exp() * &log_prob).sum_dim_intlist(-1, false, Kind::Double);
    let target = log_prob.gather(1, &case.targets.unsqueeze(1), false).squeeze_dim(1);
    [log_prob, target, entropy]
}

/// `1 - 2 π(y) + Σ π²` by definition, of a target's log-probability and all of its row.
fn squared_score(target: &Tensor, log_prob: &Tensor) -> Tensor {
    let squares = (log_prob * 2.0).exp().sum_dim_intlist(-1, false, Kind::Double);
    squares - target.exp() * 2.0 + 1.0
}

#[test]
fn chunks_give_the_statistics_of_the_whole_matrix() {
    let case = case();
    assert!(37 * case.weight.size()[0] > i64::from(model_files::buffer_limits::CHUNK_LOGITS));
    for temperature in [1.0, 0.6] {
        let [all, log_prob, entropy] = by_definition(&case, temperature);
        let targets = Targets { with_squared_scores: true, ..Targets::from(&case.targets) };
        let computed = token_statistics(&case.hidden, &case.weight, targets, temperature);
        assert!(distance(&computed.log_prob, &log_prob) < 1e-12);
        assert!(distance(&computed.entropy, &entropy) < 1e-12);
        let squared_score = squared_score(&log_prob, &all);
        assert!(distance(&computed.squared_score.unwrap(), &squared_score) < 1e-12);
    }
}

#[test]
fn closed_form_backward_equals_autograd() {
    let case = case();
    let (attached, d_log_prob, d_entropy) = to_differentiate(&case);
    let [_, log_prob, entropy] = by_definition(&attached, 0.6);
    (log_prob * &d_log_prob + entropy * &d_entropy).sum(Kind::Double).backward();

    let cotangent = TokenCotangent { log_prob: &d_log_prob, entropy: Some(&d_entropy) };
    let backward = |sum: Option<&mut WeightGradient>| {
        token_statistics_backward(&case.hidden, &case.weight, &case.targets, 0.6, cotangent, sum)
    };
    let frozen = backward(None);
    let weight = case.weight.zeros_like();
    let gradient = backward(Some(&mut WeightGradient::over(&weight)));
    assert!(distance(&gradient.hidden, &attached.hidden.grad()) < 1e-10);
    assert!(distance(&weight, &attached.weight.grad()) < 1e-10);
    assert!(gradient.hidden.equal(&frozen.hidden));
}

#[test]
fn an_impossible_token_does_not_make_the_entropy_nan() {
    let weight = Tensor::from_slice(&[0f32, 0.0, f32::NEG_INFINITY]).view([3, 1]);
    let hidden = Tensor::from_slice(&[1f32]).view([1, 1]);
    let computed = token_statistics(&hidden, &weight, &Tensor::from_slice(&[0i64]), 1.0);
    assert!((computed.entropy.double_value(&[0]) - 2f64.ln()).abs() < 1e-6);
}

/// Like [`by_definition`], but tokens outside `mask` have no probability, the entropy is that of all.
fn by_definition_over(case: &Case, mask: &SamplingMask, temperature: f64) -> [Tensor; 3] {
    let logits = case.hidden.matmul(&case.weight.tr()) / temperature;
    let offset = Tensor::zeros(logits.size(), (Kind::Double, Device::Cpu));
    for (row, list) in (0..).zip(mask.iter()) {
        let list: Vec<i64> = list.iter().map(|&id| i64::from(id)).collect();
        if !list.is_empty() {
            let _filled = offset.get(row).fill_(f64::NEG_INFINITY);
            let _kept = offset.get(row).index_fill_(0, &Tensor::from_slice(&list), 0.0);
        }
    }
    let log_prob = (&logits + offset).log_softmax(-1, Kind::Double);
    let [_, _, entropy] = by_definition(case, temperature);
    let target = log_prob.gather(1, &case.targets.unsqueeze(1), false).squeeze_dim(1);
    [log_prob, target, entropy]
}

/// Lists of 1 to 40 tokens with the target among them; every fifth token was drawn from the whole vocabulary.
fn mask_of(case: &Case) -> SamplingMask {
    let targets = Vec::<i64>::try_from(&case.targets).expect("a column of i64");
    let list = |(row, target): (u32, i64)| {
        let target = u32::try_from(target).expect("a token id");
        let mut list: Vec<u32> =
            (0..row % 40).map(|other| (other * 7919 + row) % (1 << 20)).collect();
        list.push(target);
        list.sort_unstable();
        list.dedup();
        if row % 5 == 4 { Vec::new() } else { list }
    };
    SamplingMask::from((0..).zip(targets).map(list).collect::<Vec<_>>())
}

#[test]
fn statistics_and_gradient_over_kept_tokens_equal_autograd_over_masked_logits() {
    let case = case();
    let mask = mask_of(&case);
    let (attached, d_log_prob, d_entropy) = to_differentiate(&case);
    let [all, log_prob, entropy] = by_definition_over(&attached, &mask, 0.6);
    (&log_prob * &d_log_prob + &entropy * &d_entropy).sum(Kind::Double).backward();

    let targets = Targets { ids: &case.targets, mask: Some(&mask), with_squared_scores: true };
    let computed = token_statistics(&case.hidden, &case.weight, targets, 0.6);
    assert!(distance(&computed.log_prob, &log_prob) < 1e-12);
    assert!(distance(&computed.entropy, &entropy) < 1e-12);
    assert!(distance(&computed.squared_score.unwrap(), &squared_score(&log_prob, &all)) < 1e-12);
    let weight = case.weight.zeros_like();
    let mut sum = WeightGradient::over(&weight);
    let cotangent = TokenCotangent { log_prob: &d_log_prob, entropy: Some(&d_entropy) };
    let sum = Some(&mut sum);
    let gradient =
        token_statistics_backward(&case.hidden, &case.weight, targets, 0.6, cotangent, sum);
    assert!(distance(&gradient.log_prob, &log_prob) < 1e-12);
    assert!(distance(&gradient.hidden, &attached.hidden.grad()) < 1e-10);
    assert!(distance(&weight, &attached.weight.grad()) < 1e-10);
}
