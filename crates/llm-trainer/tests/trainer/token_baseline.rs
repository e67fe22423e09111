//! The optimal token baseline from the head's squared scores: a whole update equals one by definition, in plain autograd.

use llm_trainer::training::adamw::AdamW;
use llm_trainer::training::policy_pass::{PolicyPass, Sequence};
use llm_trainer::training::update::{Objective, UpdateBatch, UpdateColumns, update};
use ranks::Ranks;
use rl_losses::{AdvantageEstimator, Aggregation, PolicyLoss, RolloutColumns};
use tch::{Kind, Tensor};
use training_run::config::OptimizerSection;

use crate::fixture::distance;
use crate::update::{KEY, TEMPERATURE, model, pass, plain_updates, sequences};

const REWARDS: [f64; 8] = [1.0, 0.0, 1.0, -0.5, 0.0, 0.25, 1.0, 0.0];
const GROUP: usize = 4;

/// `‖e_y - π‖²` of each response token, by autograd: the squared slope of its log-probability in the logits.
fn squared_scores(model: &decoder::model::Decoder, sequence: &Sequence) -> Vec<f64> {
    let ids: Vec<i64> =
        sequence.prompt.iter().chain(&sequence.response).map(|&id| i64::from(id)).collect();
    let hidden = model.forward(&Tensor::from_slice(&ids).unsqueeze(0)).squeeze_dim(0);
    let logits = (hidden.matmul(&model.head().tr()) / TEMPERATURE).detach();
    let slope = |place: usize| {
        let row = logits.get(i64::try_from(place - 1).expect("a place")).set_requires_grad(true);
        row.log_softmax(-1, Kind::Double).get(ids[place]).backward();
        row.grad().square().sum(Kind::Double).double_value(&[])
    };
    (sequence.prompt.len()..ids.len()).map(slope).collect()
}

/// Advantages of each response of one group, by definition: each response's reward is its return at every token.
fn advantages(scores: &[Vec<f64>], rewards: &[f64]) -> Vec<Tensor> {
    let advantage = |(response, &reward): (&Vec<f64>, &f64)| {
        let token = |place: usize| {
            let there = scores.iter().zip(rewards).filter(|(scores, _)| scores.len() > place);
            if there.clone().count() == 1 {
                return reward;
            }
            let energy = |scores: &[f64]| scores[..=place].iter().sum::<f64>();
            let weighed: f64 = there.clone().map(|(scores, reward)| energy(scores) * reward).sum();
            reward - weighed / (there.map(|(scores, _)| energy(scores)).sum::<f64>() + 1e-8)
        };
        Tensor::from_slice(&(0..response.len()).map(token).collect::<Vec<f64>>())
    };
    scores.iter().zip(rewards).map(advantage).collect()
}

#[test]
fn an_update_with_the_optimal_token_baseline_equals_plain_autograd() {
    let sequences = sequences();
    let sequences: Vec<&Sequence> = sequences.iter().collect();
    let options = OptimizerSection { learning_rate: 1e-2, ..Default::default() };
    let policy_loss: PolicyLoss = toml::from_str("[ppo-clip]").unwrap();

    let expected = model(false);
    let scores: Vec<Vec<f64>> =
        sequences.iter().map(|sequence| squared_scores(&expected, sequence)).collect();
    let groups = scores.chunks(GROUP).zip(REWARDS.chunks(GROUP));
    let by_definition: Vec<Tensor> =
        groups.flat_map(|(scores, rewards)| advantages(scores, rewards)).collect();
    plain_updates(&expected, &sequences, &by_definition, &policy_loss, (0.0, 0.0), &options);

    for micro_batch_tokens in [16, 10_000] {
        let trained = model(false);
        let pass = pass(&trained, micro_batch_tokens, 0);
        let old = PolicyPass { with_squared_scores: true, ..pass }.statistics(&sequences);
        let lengths: Vec<usize> = sequences.iter().map(|s| s.response.len()).collect();
        let columns = RolloutColumns {
            rewards: &REWARDS,
            group_sizes: &[GROUP; 2],
            sequence_lengths: &lengths,
            squared_scores: old.squared_score.as_deref(),
            ..RolloutColumns::default()
        };
        let advantage = AdvantageEstimator::OptimalTokenBaseline.advantages(&columns).unwrap();
        let near = distance(&Tensor::from_slice(&advantage), &Tensor::cat(&by_definition, 0));
        assert!(near < 1e-12, "{near}");
        let objective = Objective {
            custom_loss: None,
            policy_loss,
            aggregation: Aggregation::TokenMean,
            entropy_coefficient: 0.0,
            reference_kl: None,
            epochs: 2,
        };
        let batch = UpdateBatch {
            sequences: sequences.clone(),
            columns: UpdateColumns {
                rollout_log_prob: old.log_prob.clone(),
                old,
                advantage,
                ..UpdateColumns::default()
            },
            by_difficulty: None,
            mini_batch_sequences: GROUP,
        };
        let mut optimizer = AdamW::new(&trained, &options, 0);
        let (one, rate) = (Ranks::single(), |_| options.learning_rate);
        update(&one, &pass, &mut optimizer, &objective, &batch, KEY, rate).unwrap();
        for ((name, a), (_, b)) in
            expected.named_parameters().iter().zip(trained.named_parameters())
        {
            assert!(distance(a, b) < 1e-9, "{micro_batch_tokens} {name}: {}", distance(a, b));
        }
    }
}
