//! One update by `rl-losses` and the closed-form head equals the same update in plain autograd.

use decoder::model::Decoder;
use llm_trainer::host_memory::Memory;
use llm_trainer::training::StepKey;
use llm_trainer::training::adamw::AdamW;
use llm_trainer::training::policy_pass::{Cotangent, PolicyPass, Sequence, Statistics};
use llm_trainer::training::update::{Objective, UpdateBatch, UpdateColumns, update};
use model_files::model_config::{ModelConfig, ModelShape};
use ranks::Ranks;
use rl_losses::{Aggregation, CustomLoss, KlEstimator, PolicyLoss, PpoClip};
use tch::{Device, Kind, Tensor};
use training_run::config::OptimizerSection;

use crate::examples::custom_run::SmoothWall;
use crate::fixture::{distance, one_thread, small_shape};
use crate::plain_losses::{Columns, SETTINGS, terms};

pub(crate) const TEMPERATURE: f64 = 0.8;

pub(crate) const KEY: StepKey = StepKey { seed: 1, step: 1 };

pub(crate) fn model(tied: bool) -> Decoder {
    one_thread();
    let config = ModelConfig::new(ModelShape { tie_word_embeddings: tied, ..small_shape() });
    let config = config.expect("a valid shape");
    let model = Decoder::initialise(config, 7, Device::Cpu, Kind::Double);
    model.set_trainable(true);
    model
}

/// Eight sequences of different lengths, two groups of four.
pub(crate) fn sequences() -> Vec<Sequence> {
    (0..8u32)
        .map(|i| {
            Sequence::new(
                (0..2 + i % 3).map(|t| (i * 5 + t * 7) % 31).collect(),
                (0..3 + (i * 2) % 5).map(|t| (i * 11 + t * 3 + 1) % 31).collect(),
            )
        })
        .collect()
}

const ADVANTAGES: [f64; 8] = [1.2, -0.7, 0.4, -0.9, -1.4, 0.3, 0.8, 0.3];

/// `(log_prob, entropy)` of one sequence's response, with a graph.
pub(crate) fn plain_statistics(model: &Decoder, sequence: &Sequence) -> (Tensor, Tensor) {
    let ids: Vec<i64> =
        sequence.prompt.iter().chain(&sequence.response).map(|&id| i64::from(id)).collect();
    let hidden = model.forward(&Tensor::from_slice(&ids).unsqueeze(0)).squeeze_dim(0);
    let logits = hidden.matmul(&model.head().tr()) / TEMPERATURE;
    let (first, count) = (sequence.prompt.len(), sequence.response.len());
    let (first, count) = (i64::try_from(first).unwrap_or(0), i64::try_from(count).unwrap_or(0));
    let log_prob = logits.narrow(0, first - 1, count).log_softmax(-1, Kind::Double);
    let targets = Tensor::from_slice(&ids[sequence.prompt.len()..]).unsqueeze(1);
    let entropy = -(log_prob.exp() * &log_prob).sum_dim_intlist(-1, false, Kind::Double);
    (log_prob.gather(1, &targets, false).squeeze_dim(1), entropy)
}

/// Plain autograd over one mini-batch: the loss of each method written out with tensors.
fn plain_loss(
    model: &Decoder,
    sequences: &[&Sequence],
    advantages: &[Tensor],
    old: &[(Tensor, Tensor)],
    method: &PolicyLoss,
    (entropy_coefficient, kl_coefficient): (f64, f64),
) -> Tensor {
    let statistics = sequences.iter().map(|sequence| plain_statistics(model, sequence));
    let (log_probs, entropies): (Vec<Tensor>, Vec<Tensor>) = statistics.unzip();
    let (old_log_probs, old_entropies): (Vec<&Tensor>, Vec<&Tensor>) =
        old.iter().map(|(log_prob, entropy)| (log_prob, entropy)).unzip();
    let entropy = Tensor::cat(&entropies, 0);
    let old = Tensor::cat(&old_log_probs, 0);
    let columns = Columns {
        log_prob: Tensor::cat(&log_probs, 0),
        rollout: &old - ROLLOUT_OFFSET,
        old,
        entropy: entropy.detach(),
        old_entropy: Tensor::cat(&old_entropies, 0),
        advantage: Tensor::cat(advantages, 0),
        lengths: log_probs.iter().map(|part| part.size()[0]).collect(),
    };
    // Schulman's k3 of the divergence from the reference, flat beyond 10 nats as verl has it.
    let above: Tensor = &columns.log_prob - (&columns.old - REFERENCE_OFFSET);
    let divergence: Tensor = (-&above).exp() - 1.0 + above;
    let divergence = divergence.clamp_max(10.0);
    let loss: Tensor = terms(method, &columns) + divergence * kl_coefficient;
    loss.mean(Kind::Double) - entropy.mean(Kind::Double) * entropy_coefficient
}

/// How far the reference lies below the old policy, in nats.
const REFERENCE_OFFSET: f64 = 0.25;

/// How far the policy as sampled lies from the old one, in nats.
const ROLLOUT_OFFSET: f64 = 0.125;

fn methods() -> Vec<PolicyLoss> {
    let parse = |text: &&str| -> PolicyLoss { toml::from_str(text).expect("a policy loss") };
    let methods: Vec<PolicyLoss> = SETTINGS.iter().map(parse).collect();
    let names: Vec<&str> = methods.iter().map(PolicyLoss::name).collect();
    let registered: Vec<&str> = rl_losses::registry().iter().map(|method| method.name).collect();
    assert_eq!(names, registered, "every loss there is");
    methods
}

fn tokens_of(sequences: &[&Sequence], advantages: &[f64]) -> Vec<f64> {
    let lengths: Vec<usize> = sequences.iter().map(|s| s.response.len()).collect();
    rl_losses::broadcast_to_tokens(advantages, &lengths)
}

#[test]
fn updates_equal_plain_autograd_for_every_method_and_any_micro_batch() {
    let sequences = sequences();
    let sequences: Vec<&Sequence> = sequences.iter().collect();
    let options = OptimizerSection { learning_rate: 1e-2, weight_decay: 0.1, ..Default::default() };
    for (tied, entropy_coefficient, kl_coefficient) in [(true, 0.0, 0.0), (false, 0.02, 0.3)] {
        for method in methods() {
            let expected = model(tied);
            let coefficients = (entropy_coefficient, kl_coefficient);
            let tokens = |(sequence, advantage): (&&Sequence, _)| {
                Tensor::from_slice(&vec![advantage; sequence.response.len()])
            };
            let advantages: Vec<Tensor> = sequences.iter().zip(ADVANTAGES).map(tokens).collect();
            plain_updates(&expected, &sequences, &advantages, &method, coefficients, &options);
            // Several micro-batches or one; every block computed again, some of them, none.
            for (micro_batch_tokens, activation_bytes) in
                [(16, 0), (40, 100_000), (10_000, usize::MAX)]
            {
                let trained = model(tied);
                let pass = pass(&trained, micro_batch_tokens, activation_bytes);
                let old: Statistics = pass.statistics(&sequences);
                let rollout: Vec<f64> = old.log_prob.iter().map(|x| x - ROLLOUT_OFFSET).collect();
                let reference: Vec<f64> =
                    old.log_prob.iter().map(|x| x - REFERENCE_OFFSET).collect();
                let has_reference = kl_coefficient > 0.0;
                let objective = Objective {
                    custom_loss: None,
                    policy_loss: method,
                    aggregation: Aggregation::TokenMean,
                    entropy_coefficient,
                    reference_kl: has_reference.then_some((KlEstimator::K3, kl_coefficient)),
                    epochs: 2,
                };
                let batch = UpdateBatch {
                    sequences: sequences.clone(),
                    columns: UpdateColumns {
                        old,
                        advantage: tokens_of(&sequences, &ADVANTAGES),
                        rollout_log_prob: rollout,
                        reference_log_prob: has_reference.then_some(reference),
                        ..UpdateColumns::default()
                    },
                    by_difficulty: None,
                    mini_batch_sequences: 4,
                };
                let mut optimizer = AdamW::new(&trained, &options, 0);
                let (one, rate) = (Ranks::single(), |_| options.learning_rate);
                let sums =
                    update(&one, &pass, &mut optimizer, &objective, &batch, KEY, rate).unwrap();
                assert_eq!((sums.updates, sums.skipped), (4, 0));
                let plain = method.name() == "reinforce";
                assert!(plain || sums.policy.altered > 0, "{method:?} did nothing");
                for ((name, a), (_, b)) in
                    expected.named_parameters().iter().zip(trained.named_parameters())
                {
                    let difference = distance(a, b);
                    let case = (method, micro_batch_tokens, name);
                    assert!(difference < 1e-9, "{case:?}: {difference}");
                }
            }
        }
    }
}

/// Two epochs of two mini-batches: gradients by autograd, `AdamW` written out. `advantages` has a value per token of each response.
pub(crate) fn plain_updates(
    model: &Decoder,
    sequences: &[&Sequence],
    advantages: &[Tensor],
    method: &PolicyLoss,
    coefficients: (f64, f64),
    options: &OptimizerSection,
) {
    let old: Vec<(Tensor, Tensor)> = sequences
        .iter()
        .map(|sequence| plain_statistics(model, sequence))
        .map(|(log_prob, entropy)| (log_prob.detach(), entropy.detach()))
        .collect();
    let named = model.named_parameters();
    let mut moments: Vec<(Tensor, Tensor)> =
        named.iter().map(|(_, p)| (p.zeros_like().detach(), p.zeros_like().detach())).collect();
    let (beta1, beta2) = options.betas;
    for step in 0..4 {
        let half = step % 2 * 4;
        let loss = plain_loss(
            model,
            &sequences[half..half + 4],
            &advantages[half..half + 4],
            &old[half..half + 4],
            method,
            coefficients,
        );
        loss.backward();
        let _no_grad = tch::no_grad_guard();
        let squares: f64 =
            named.iter().map(|(_, p)| p.grad().square().sum(Kind::Double).double_value(&[])).sum();
        let norm = squares.sqrt();
        let scale =
            if norm > options.max_grad_norm { options.max_grad_norm / (norm + 1e-6) } else { 1.0 };
        let t = f64::from(i32::try_from(step).unwrap_or(0) + 1);
        for ((_, parameter), (first, second)) in named.iter().zip(&mut moments) {
            let gradient = parameter.grad() * scale;
            *first = &*first * beta1 + &gradient * (1.0 - beta1);
            *second = &*second * beta2 + gradient.square() * (1.0 - beta2);
            let mean = &*first / (1.0 - beta1.powf(t));
            let root = (&*second / (1.0 - beta2.powf(t))).sqrt() + options.epsilon;
            let decayed = *parameter * (1.0 - options.learning_rate * options.weight_decay);
            let moved = decayed - mean / root * options.learning_rate;
            parameter.shallow_clone().copy_(&moved);
            parameter.shallow_clone().zero_grad();
        }
    }
}

pub(crate) fn pass(
    model: &Decoder,
    micro_batch_tokens: usize,
    activation_bytes: usize,
) -> PolicyPass<'_> {
    PolicyPass {
        model,
        temperature: TEMPERATURE,
        micro_batch_tokens,
        activation_bytes,
        block_inputs: Memory::Device,
        with_squared_scores: false,
    }
}

/// Gradient of an arbitrary cotangent of both statistics, parameter by parameter.
fn gradient(micro_batch_tokens: usize, activation_bytes: usize) -> Vec<Tensor> {
    let model = model(true);
    let sequences = sequences();
    let sequences: Vec<&Sequence> = sequences.iter().collect();
    let forward =
        pass(&model, micro_batch_tokens, activation_bytes).checkpointed_forward(&sequences);
    let tokens = forward.statistics().log_prob.len();
    let wave = |rate: f64| (0..tokens).map(|t| (t as f64 * rate).sin()).collect();
    let cotangent = Cotangent { log_prob: wave(0.7), entropy: Some(wave(1.3)) };
    forward.backward(&cotangent).expect("the model is trainable");
    model.named_parameters().iter().map(|(_, parameter)| parameter.grad()).collect()
}

#[test]
fn the_gradient_is_the_same_to_the_bit_whether_a_block_is_computed_again_or_kept() {
    let again = gradient(40, 0);
    for activation_bytes in [60_000, 150_000, usize::MAX] {
        for (again, kept) in again.iter().zip(gradient(40, activation_bytes)) {
            assert!(again.equal(&kept), "{activation_bytes}");
        }
    }
}

#[test]
fn packed_sequences_have_the_statistics_they_have_alone() {
    let model = model(false);
    let sequences = sequences();
    let sequences: Vec<&Sequence> = sequences.iter().collect();
    for micro_batch_tokens in [1, 25, 10_000] {
        let packed = pass(&model, micro_batch_tokens, 0).statistics(&sequences);
        let mut first = 0;
        for sequence in &sequences {
            let _no_grad = tch::no_grad_guard();
            let (log_prob, entropy) = plain_statistics(&model, sequence);
            let tokens = first..first + sequence.response.len();
            first = tokens.end;
            for (expected, computed) in [(log_prob, &packed.log_prob), (entropy, &packed.entropy)] {
                let computed = Tensor::from_slice(&computed[tokens.clone()]);
                assert!(distance(&expected, &computed) < 1e-12, "{micro_batch_tokens}");
            }
        }
    }
}

#[test]
fn a_recording_has_the_statistics_of_a_pass_without_a_graph() {
    let model = model(true);
    let sequences = sequences();
    let sequences: Vec<&Sequence> = sequences.iter().collect();
    for activation_bytes in [0, 100_000, usize::MAX] {
        let pass = pass(&model, 40, activation_bytes);
        assert_eq!(pass.checkpointed_forward(&sequences).statistics(), pass.statistics(&sequences));
    }
}

/// One mini-batch of all sequences, as sampled by the policy of `old`.
fn plain_batch<'a>(
    sequences: &[&'a Sequence],
    advantage: Vec<f64>,
    old: Statistics,
) -> UpdateBatch<'a> {
    UpdateBatch {
        sequences: sequences.to_vec(),
        columns: UpdateColumns {
            rollout_log_prob: old.log_prob.clone(),
            old,
            advantage,
            ..UpdateColumns::default()
        },
        by_difficulty: None,
        mini_batch_sequences: sequences.len(),
    }
}

#[test]
fn a_gradient_that_is_not_finite_moves_nothing_and_is_counted() {
    let model = model(true);
    let before: Vec<Tensor> =
        model.named_parameters().iter().map(|(_, p)| p.detach().copy()).collect();
    let sequences = sequences();
    let sequences: Vec<&Sequence> = sequences.iter().collect();
    let pass = PolicyPass {
        model: &model,
        temperature: 1.0,
        micro_batch_tokens: 100,
        activation_bytes: 0,
        block_inputs: Memory::Device,
        with_squared_scores: false,
    };
    let old = pass.statistics(&sequences);
    let mut advantages = ADVANTAGES;
    advantages[2] = 1e308;
    let advantage = tokens_of(&sequences, &advantages);
    let batch = plain_batch(&sequences, advantage, old);
    let mut optimizer = AdamW::new(&model, &OptimizerSection::default(), 0);
    let objective = Objective {
        custom_loss: None,
        policy_loss: PolicyLoss::PpoClip(PpoClip::default()),
        aggregation: Aggregation::TokenMean,
        entropy_coefficient: 0.0,
        reference_kl: None,
        epochs: 1,
    };
    let one = Ranks::single();
    let sums = update(&one, &pass, &mut optimizer, &objective, &batch, KEY, |_| 1e-3).unwrap();
    assert_eq!((sums.updates, sums.skipped, sums.skipped_in_a_row), (1, 1, 1));
    for (before, (name, after)) in before.iter().zip(model.named_parameters()) {
        assert!(distance(before, after) <= 0.0, "{name} moved");
    }
}

/// Both losses have the derivative -A at the old policy; after the first update only.
#[test]
fn a_custom_loss_takes_the_place_of_the_registered_one() {
    let sequences = sequences();
    let sequences: Vec<&Sequence> = sequences.iter().collect();
    let advantage = tokens_of(&sequences, &ADVANTAGES);
    let updated = |custom_loss: Option<CustomLoss>, epochs: usize| {
        let model = model(true);
        let pass = pass(&model, 100, 0);
        let old = pass.statistics(&sequences);
        let batch = plain_batch(&sequences, advantage.clone(), old);
        let mut optimizer = AdamW::new(&model, &OptimizerSection::default(), 0);
        let objective = Objective {
            custom_loss,
            policy_loss: PolicyLoss::PpoClip(PpoClip::default()),
            aggregation: Aggregation::TokenMean,
            entropy_coefficient: 0.0,
            reference_kl: None,
            epochs,
        };
        let one = Ranks::single();
        update(&one, &pass, &mut optimizer, &objective, &batch, KEY, |_| 1e-2).unwrap();
        pass.statistics(&sequences).log_prob
    };
    let furthest = |epochs: usize| {
        let custom = updated(Some(CustomLoss::new(SmoothWall)), epochs);
        let distances =
            custom.iter().zip(updated(None, epochs)).map(|(one, other)| (one - other).abs());
        distances.fold(0.0, f64::max)
    };
    assert!(furthest(1) < 1e-12, "{}", furthest(1));
    assert!(furthest(2) > 1e-4, "{}", furthest(2));
}
