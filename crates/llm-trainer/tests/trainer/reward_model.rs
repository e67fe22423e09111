//! PRIME's implicit reward model: its update is plain autograd's, it learns, and a run with it goes on bit for bit.

use std::path::Path;

use decoder::model::Decoder;
use llm_trainer::host_memory::Memory;
use llm_trainer::training::adamw::AdamW;
use llm_trainer::training::policy_pass::{PolicyPass, Sequence};
use llm_trainer::training::reward_model::{Learnt, OutcomeBatch, learn_outcomes};
use ranks::Ranks;
use rl_losses::outcome_agreement;
use tch::{Kind, Tensor};
use training_run::config::OptimizerSection;
use training_run::metrics::StepMetrics;

use crate::fixture::{decoder, directory, distance, said_beside_the_device};
use crate::training_run::{
    assert_success, column, comparable_metrics, goes_on_bit_for_bit, steps, train, train_process,
};
use crate::update::{model, sequences};

const BETA: f64 = 0.3;

/// Right and wrong responses in both groups of four.
const OUTCOMES: [bool; 8] = [true, false, false, true, false, false, false, true];

fn options() -> OptimizerSection {
    OptimizerSection { learning_rate: 1e-2, weight_decay: 0.1, ..Default::default() }
}

fn pass(model: &Decoder, micro_batch_tokens: usize, activation_bytes: usize) -> PolicyPass<'_> {
    PolicyPass {
        model,
        temperature: 1.0,
        micro_batch_tokens,
        activation_bytes,
        block_inputs: Memory::Device,
        with_squared_scores: false,
    }
}

/// Log-probabilities of one response at temperature 1, with a graph.
fn plain_log_prob(model: &Decoder, sequence: &Sequence) -> Tensor {
    let ids: Vec<i64> =
        sequence.prompt.iter().chain(&sequence.response).map(|&id| i64::from(id)).collect();
    let hidden = model.forward(&Tensor::from_slice(&ids).unsqueeze(0)).squeeze_dim(0);
    let log_prob = hidden.matmul(&model.head().tr()).log_softmax(-1, Kind::Double);
    let (first, count) = (sequence.prompt.len(), sequence.response.len());
    let (first, count) = (i64::try_from(first).unwrap_or(0), i64::try_from(count).unwrap_or(0));
    let targets = Tensor::from_slice(&ids[sequence.prompt.len()..]).unsqueeze(1);
    log_prob.narrow(0, first - 1, count).gather(1, &targets, false).squeeze_dim(1)
}

/// Two optimiser steps of four responses each by torch's own cross-entropy and autograd, `AdamW` written out.
fn plain_updates(model: &Decoder, reference: &[Tensor], sequences: &[&Sequence]) -> f64 {
    let options = options();
    let named = model.named_parameters();
    let mut moments: Vec<(Tensor, Tensor)> =
        named.iter().map(|(_, p)| (p.zeros_like().detach(), p.zeros_like().detach())).collect();
    let (beta1, beta2) = options.betas;
    let mut total = 0.0;
    for step in 0..2_usize {
        let responses = step * 4..step * 4 + 4;
        let rewards: Vec<Tensor> = responses
            .clone()
            .map(|i| (plain_log_prob(model, sequences[i]) - &reference[i]).sum(Kind::Double) * BETA)
            .collect();
        let labels: Vec<f64> = responses.map(|i| f64::from(u8::from(OUTCOMES[i]))).collect();
        let probability = Tensor::stack(&rewards, 0).sigmoid();
        let loss = probability.binary_cross_entropy(
            &Tensor::from_slice(&labels),
            None::<&Tensor>,
            tch::Reduction::Mean,
        );
        loss.backward();
        let _no_grad = tch::no_grad_guard();
        total += loss.double_value(&[]) * 4.0;
        let squares: f64 =
            named.iter().map(|(_, p)| p.grad().square().sum(Kind::Double).double_value(&[])).sum();
        let norm = squares.sqrt();
        let scale =
            if norm > options.max_grad_norm { options.max_grad_norm / (norm + 1e-6) } else { 1.0 };
        let t = if step == 0 { 1 } else { 2 };
        for ((_, parameter), (first, second)) in named.iter().zip(&mut moments) {
            let gradient = parameter.grad() * scale;
            *first = &*first * beta1 + &gradient * (1.0 - beta1);
            *second = &*second * beta2 + gradient.square() * (1.0 - beta2);
            let mean = &*first / (1.0 - beta1.powi(t));
            let root = (&*second / (1.0 - beta2.powi(t))).sqrt() + options.epsilon;
            let decayed = *parameter * (1.0 - options.learning_rate * options.weight_decay);
            let moved = decayed - mean / root * options.learning_rate;
            parameter.shallow_clone().copy_(&moved);
            parameter.shallow_clone().zero_grad();
        }
    }
    total
}

/// A reference away from where the model starts.
fn reference(sequences: &[&Sequence]) -> Vec<Tensor> {
    let _no_grad = tch::no_grad_guard();
    let start = model(true);
    let wave = |t: i64| (Tensor::arange(t, (Kind::Double, tch::Device::Cpu)) * 0.7).sin();
    let log_prob_of = |sequence: &&Sequence| {
        let log_prob = plain_log_prob(&start, sequence);
        let moved = wave(log_prob.size()[0]);
        log_prob - moved
    };
    sequences.iter().map(log_prob_of).collect()
}

fn to_vec(columns: &[Tensor]) -> Vec<f64> {
    Vec::try_from(Tensor::cat(columns, 0)).expect("one-dimensional, f64")
}

fn learn(
    model: &Decoder,
    sequences: &[&Sequence],
    reference: &[f64],
    pass: &PolicyPass<'_>,
) -> Learnt {
    let mut optimizer = AdamW::new(model, &options(), 0);
    let batch = OutcomeBatch {
        sequences,
        outcomes: &OUTCOMES,
        reference_log_prob: reference,
        mini_batch_sequences: 4,
    };
    let (one, rate) = (Ranks::single(), |_| options().learning_rate);
    learn_outcomes(&one, pass, &mut optimizer, BETA, batch, 1, rate)
        .expect("finite log-probabilities")
}

#[test]
fn an_update_equals_plain_autograd_for_any_micro_batch() {
    let sequences = sequences();
    let sequences: Vec<&Sequence> = sequences.iter().collect();
    let reference = reference(&sequences);
    let expected = model(true);
    let loss = plain_updates(&expected, &reference, &sequences);
    for (micro_batch_tokens, activation_bytes) in [(16, 0), (40, 100_000), (10_000, usize::MAX)] {
        let trained = model(true);
        let pass = pass(&trained, micro_batch_tokens, activation_bytes);
        let learnt = learn(&trained, &sequences, &to_vec(&reference), &pass);
        assert_eq!((learnt.updates, learnt.skipped), (2, 0));
        assert!((learnt.loss - loss).abs() < 1e-9, "{} {loss}", learnt.loss);
        for ((name, a), (_, b)) in
            expected.named_parameters().iter().zip(trained.named_parameters())
        {
            let difference = distance(a, b);
            assert!(difference < 1e-9, "{micro_batch_tokens} {name}: {difference}");
        }
    }
}

/// The log-ratios from learning are those of each mini-batch before its own step, and no later.
#[test]
fn each_mini_batch_is_judged_by_the_model_that_it_finds() {
    let sequences = sequences();
    let sequences: Vec<&Sequence> = sequences.iter().collect();
    let reference = to_vec(&reference(&sequences));
    let learnt_model = model(true);
    let pass_of = |model| pass(model, 10_000, 0);
    let before = pass_of(&learnt_model).statistics(&sequences).log_prob;
    let learnt = learn(&learnt_model, &sequences, &reference, &pass_of(&learnt_model));
    let after = pass_of(&learnt_model).statistics(&sequences).log_prob;
    let first_half: usize = sequences[..4].iter().map(|s| s.response.len()).sum();
    let ratio = |log_prob: &[f64], t: usize| log_prob[t] - reference[t];
    for (t, log_ratio) in learnt.log_ratio.iter().enumerate() {
        let seen_before = (log_ratio - ratio(&before, t)).abs() < 1e-12;
        assert_eq!(seen_before, t < first_half, "token {t}");
        assert!((log_ratio - ratio(&after, t)).abs() > 1e-9, "token {t}: not after the last step");
    }
}

/// Responses that are right where they hold one of a few tokens; which, nobody tells the model.
fn labelled(count: u32, seed: u32) -> (Vec<Sequence>, Vec<bool>) {
    let token = |i: u32, t: u32| (seed * 7919 + i * 104_729 + t * 1_299_709) / 13 % 31;
    let response = |i: u32| -> Vec<u32> { (10..14 + i % 3).map(|t| token(i, t)).collect() };
    let sequences: Vec<Sequence> = (0..count)
        .map(|i| Sequence::new(vec![token(i / 4, 0), token(i / 4, 1)], response(i)))
        .collect();
    let right = |sequence: &Sequence| sequence.response.iter().any(|&token| token < 6);
    let outcomes = sequences.iter().map(right).collect();
    (sequences, outcomes)
}

#[test]
fn what_it_learns_holds_for_responses_that_it_has_not_seen() {
    let (learner, reference) = (model(true), model(true));
    let log_prob = |model, sequences: &[&Sequence]| {
        pass(model, 10_000, usize::MAX).statistics(sequences).log_prob
    };
    let agreement = |sequences: &[&Sequence], outcomes: &[bool]| {
        let (current, other) = (log_prob(&learner, sequences), log_prob(&reference, sequences));
        let mut ratios = current.iter().zip(&other).map(|(current, other)| current - other);
        let rewards: Vec<f64> = sequences
            .iter()
            .map(|s| ratios.by_ref().take(s.response.len()).sum::<f64>() * BETA)
            .collect();
        outcome_agreement(&rewards, outcomes, &vec![4; sequences.len() / 4]).expect("finite")
    };
    let (held_out, truths) = labelled(200, 1000);
    let held_out: Vec<&Sequence> = held_out.iter().collect();
    let share = truths.iter().filter(|&&right| right).count() as f64 / truths.len() as f64;
    assert!((0.3..0.8).contains(&share), "both outcomes are frequent: {share}");
    let start = agreement(&held_out, &truths);
    assert!((start.accuracy() - 0.5).abs() <= 0.0, "it knows nothing: {start:?}");

    let options = OptimizerSection { learning_rate: 1e-2, ..OptimizerSection::default() };
    let mut optimizer = AdamW::new(&learner, &options, 0);
    let mut losses = Vec::new();
    for step in 1..=60 {
        let (sequences, outcomes) = labelled(32, step);
        let sequences: Vec<&Sequence> = sequences.iter().collect();
        let batch = OutcomeBatch {
            sequences: &sequences,
            outcomes: &outcomes,
            reference_log_prob: &log_prob(&reference, &sequences),
            mini_batch_sequences: 32,
        };
        let pass = pass(&learner, 10_000, usize::MAX);
        let (one, rate) = (Ranks::single(), |_| 1e-2);
        let learnt =
            learn_outcomes(&one, &pass, &mut optimizer, BETA, batch, step.into(), rate).unwrap();
        losses.push(learnt.loss / 32.0);
    }
    let end = agreement(&held_out, &truths);
    assert!((losses[0] - 2.0_f64.ln()).abs() < 1e-12, "{losses:?}");
    assert!(losses[59] < 0.5, "{losses:?}");
    assert!(end.accuracy() > 0.8 && end.pair_accuracy() > 0.85, "{end:?}");
}

const PRIME: [&str; 2] = ["algorithm.advantage=prime", "reward_model.optimizer.learning_rate=1e-3"];

/// A run of a few steps with these settings beside PRIME's; its steps.
fn prime(root: &Path, more: &[&str]) -> Vec<StepMetrics> {
    assert_success(&train(root, &[&PRIME[..], more].concat()));
    steps(root)
}

#[test]
fn it_learns_before_or_after_it_judges_as_asked() {
    let [before, after, untouched] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let one_update = ["reward_model.mini_batch_prompts=4"];
    let [before, after] = [(&before, "before"), (&after, "after")].map(|(folder, update)| {
        let update = format!("reward_model.update={update}");
        prime(folder.path(), &[&update, one_update[0]])
    });
    for steps in [&before, &after] {
        // At first the model is its reference: every reward is 0, and right and wrong are even.
        assert!((column(steps, "reward_model/loss")[0] - 2.0_f64.ln()).abs() < 1e-12);
        assert!((column(steps, "reward_model/accuracy")[0] - 0.5).abs() <= 0.0);
        assert!(column(steps, "reward_model/grad_norm").iter().all(|norm| *norm > 0.0));
        assert!((column(steps, "reward_model/loss")[1] - 2.0_f64.ln()).abs() > 1e-6, "it moves");
        assert_eq!(column(steps, "reward_model/lr"), [1e-3; 4]);
    }
    let (before, after) =
        (column(&before, "reward_model/reward"), column(&after, "reward_model/reward"));
    assert!(after[0].abs() <= 0.0, "judged by the model as it was: {after:?}");
    assert!(before[0].abs() > 1e-6, "judged by the model that has learnt: {before:?}");
    assert!(after[1].abs() > 1e-6);

    // Another model that never moves.
    let path = format!("reward_model.path={}", directory("tiny_qwen2_untied").display());
    let still = prime(untouched.path(), &["reward_model.update=none", &path]);
    assert!(column(&still, "reward_model/reward").iter().all(|reward| reward.abs() > 1e-6));
    assert!(still.iter().all(|step| step.get("reward_model/lr").is_none()));
    assert!(!untouched.path().join("run/checkpoints/step-4/reward_model").exists());
}

#[test]
fn a_run_with_a_reward_model_goes_on_bit_for_bit() {
    let overrides = [&PRIME[..], &["reward_model.optimizer.schedule=linear"]].concat();
    goes_on_bit_for_bit(&overrides);
}

#[test]
fn so_does_one_through_adapters() {
    let moments = "reward_model.optimizer.moments=bf16";
    goes_on_bit_for_bit(
        &[&PRIME[..], &["lora.rank=2", "reward_model.update=after", moments]].concat(),
    );
}

/// The policy's updates see process rewards, and the reward model is a model that others can read.
#[test]
fn process_rewards_reach_the_policy_and_checkpoints_hold_the_model() {
    let [plain, without, with] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    assert_success(&train(plain.path(), &["algorithm.advantage=rloo"]));
    prime(without.path(), &["algorithm.advantage.prime.process_coefficient=0.0"]);
    prime(with.path(), &["algorithm.advantage.prime.process_coefficient=5.0"]);
    let spread =
        |folder: &tempfile::TempDir| column(&steps(folder.path()), "critic/advantages/max");
    assert_ne!(spread(&without), spread(&with));
    let model = with.path().join("run/checkpoints/step-4/reward_model");
    let learnt = Decoder::load(&model, tch::Device::Cpu, Kind::Float).unwrap();
    let start = decoder("tiny_qwen2_tied");
    let moved = learnt.named_parameters().iter().zip(start.named_parameters()).any(
        |((name, a), (other, b))| {
            assert_eq!(*name, other);
            distance(a, b) > 1e-6
        },
    );
    assert!(moved, "it learnt");
    assert!(model.join("tokenizer.json").is_file());
}

#[test]
fn a_checkpoint_without_the_reward_model_that_learnt_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    prime(folder.path(), &["training.steps=2"]);
    let before = comparable_metrics(folder.path());
    let checkpoint = folder.path().join("run/checkpoints/step-2");
    let branch = |more: &[&str]| {
        let resume = format!("name=other{}", more.len());
        let output =
            format!("output_directory={:?}", folder.path().join("branch").display().to_string());
        let mut command = crate::training_run::train_command(
            folder.path(),
            &[&PRIME[..], &[&output, &resume], more].concat(),
        );
        command.arg("--resume").arg(&checkpoint).output().expect("the binary of this crate runs")
    };
    std::fs::rename(checkpoint.join("reward_model"), folder.path().join("elsewhere")).unwrap();
    let refused = branch(&[]);
    assert_eq!(refused.status.code(), Some(2));
    let text = said_beside_the_device(&refused.stderr);
    assert!(text.contains("step-2: damaged: reward_model/") && text.lines().count() == 1, "{text}");
    assert!(!folder.path().join("branch").exists(), "nothing is left behind");

    std::fs::rename(folder.path().join("elsewhere"), checkpoint.join("reward_model")).unwrap();
    assert_success(&branch(&[]));
    assert_eq!(comparable_metrics(folder.path()), before, "the run itself is untouched");
}

#[test]
fn a_model_of_a_smaller_vocabulary_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other");
    let small = model(true).into_kind(Kind::Float);
    small.save(&other, &directory("tiny_qwen2_tied")).unwrap();
    let path = format!("reward_model.path={:?}", other.display().to_string());
    let output = train_process(folder.path(), &[&PRIME[..], &[&path]].concat());
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("reward_model.path: vocab_size is 31, expected at least"), "{text}");
    assert!(!folder.path().join("run").exists());
}
