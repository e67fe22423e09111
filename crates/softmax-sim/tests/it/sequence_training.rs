//! Worlds whose states depend on what was chosen: trained, and measured against sums over every response.

use entropy_core::{Categorical, SequenceEntropyChange, StateGraph};
use rl_losses::{AdvantageEstimator, Gae};
use softmax_sim::environment::{Environment, SharedSetting, TabularSetting, remembering};
use softmax_sim::training::{
    Method, RatioTo, Rollout, Rows, Schedule, StepSize, Trainer, TrustRegion, entropy_split,
    evaluate, train,
};

/// Responses of three tokens whose states are the outcomes of the last two, replaced at random in one of five.
fn noisy(prompts: usize, actions: usize) -> (Environment, StateGraph) {
    let graph = remembering(3, actions, 2, 0.2);
    let environment =
        TabularSetting { prompts, positions: graph.states(), actions, ..TabularSetting::CONTROL }
            .draw(4);
    (environment.with_states(&graph).expect("a row for each state"), graph)
}

fn shared() -> Environment {
    let graph = remembering(3, 4, 1, 0.0);
    let setting = SharedSetting {
        prompts: 48,
        positions: graph.states(),
        actions: 4,
        validation_prompts: 24,
        ..SharedSetting::HELD_OUT
    };
    setting.draw(2).with_states(&graph).expect("a row for each state")
}

/// Every way through from `state`: probability, log-probability of its actions, expected reward.
fn ways(
    graph: &StateGraph,
    policy: &[Categorical],
    quality: &[f64],
    state: usize,
) -> Vec<[f64; 3]> {
    let actions = policy[state].actions();
    let mut all = vec![];
    for action in 0..actions {
        let (prob, log_prob) = (policy[state].probs()[action], policy[state].log_probs()[action]);
        let right = quality[state * actions + action];
        let arrivals = graph.arrivals(state, action);
        if arrivals.is_empty() {
            all.push([prob, log_prob, right]);
        }
        for &(arrival, chance) in arrivals {
            let behind = ways(graph, policy, quality, arrival);
            all.extend(behind.iter().map(|[p, l, r]| [prob * chance * p, log_prob + l, right * r]));
        }
    }
    all
}

#[test]
fn an_evaluation_sums_over_all_ways_through_the_states() {
    let (environment, graph) = noisy(3, 3);
    let evaluation = evaluate(&environment, environment.start(), 0);
    let questions = environment.training();
    let (mut entropy, mut reward, mut cool) = (0.0, 0.0, 0.0);
    for prompt in 0..3 {
        let logits = &environment.start()[prompt * questions.row()..][..questions.row()];
        let policy = |temperature: f64| -> Vec<Categorical> {
            let state = |logits: &[f64]| {
                let logits: Vec<f64> = logits.iter().map(|z| z / temperature).collect();
                Categorical::from_logits(&logits).expect("finite")
            };
            logits.chunks(3).map(state).collect()
        };
        let quality = questions.quality(prompt);
        for [prob, log_prob, right] in ways(&graph, &policy(1.0), quality, 0) {
            entropy -= prob * log_prob / 9.0;
            reward += prob * right / 3.0;
        }
        let ways = ways(&graph, &policy(0.6), quality, 0);
        cool += ways.iter().map(|[prob, _, right]| prob * right / 3.0).sum::<f64>();
    }
    assert!((evaluation.entropy - entropy).abs() < 1e-14, "{evaluation:?} for {entropy}");
    assert!((evaluation.reward - reward).abs() < 1e-14, "{evaluation:?} for {reward}");
    assert!((evaluation.cool_reward - cool).abs() < 1e-14, "{evaluation:?} for {cool}");
}

#[test]
fn sampled_states_are_visited_as_often_as_the_graph_says() {
    let (environment, _) = noisy(1, 3);
    let schedule = Schedule { group_size: 40_000, ..Schedule::on_policy(0.1) };
    let mut trainer = Trainer::new(&environment, Method::default(), schedule, 1);
    trainer.step().expect("a rollout");
    let visits =
        Rows::of(environment.training(), environment.start(), &[0]).visits(environment.training());
    for (state, expected) in visits.iter().enumerate() {
        let count = trainer.rollout().states.iter().filter(|s| **s as usize == state).count();
        let deviation = (expected * (1.0 - expected) / 40_000.0).sqrt();
        let share = count as f64 / 40_000.0;
        assert!((share - expected).abs() <= 6.0 * deviation, "{state}: {share} for {expected}");
    }
}

/// The entropy change of sampled training is the sum of both parts, up to the square of the step; Lemma 1 alone misses it.
#[test]
fn the_entropy_of_a_run_changes_within_states_and_by_their_visits() {
    let (environment, _) = noisy(48, 4);
    let split = |rate: f64| {
        let schedule = Schedule { rollouts: 1, ..Schedule::on_policy(rate) };
        let trainer = Trainer::new(&environment, Method::default(), schedule, 3);
        let mut trainer = trainer.with_entropy_split();
        let before = trainer.evaluate().entropy;
        let report = trainer.step().expect("a rollout");
        (trainer.evaluate().entropy - before, report.entropy_change.expect("measured"))
    };
    let remainder = |(exact, split): (f64, SequenceEntropyChange)| exact - split.total();
    let (coarse, fine) = (split(2e-3), split(1e-3));
    let order = remainder(coarse) / remainder(fine);
    assert!((3.9..4.1).contains(&order), "{order}: {coarse:?} {fine:?}");
    assert!(remainder(fine).abs() < 1e-2 * fine.0.abs(), "{fine:?}");
    // Without the visits the error is of first order.
    let without = |(exact, split): (f64, SequenceEntropyChange)| exact - split.within_states;
    let order = without(coarse) / without(fine);
    assert!((1.9..2.1).contains(&order), "{order}: {coarse:?} {fine:?}");
}

#[test]
fn a_response_without_memory_has_no_visitation_term() {
    let environment = TabularSetting::CONTROL.draw(0);
    let after: Vec<f64> = environment.start().iter().map(|logit| 1.1 * logit).collect();
    let split = entropy_split(environment.training(), environment.start(), &after);
    assert!(split.visitation.abs() < 1e-15, "{split:?}");
    assert!(split.within_states < -1e-2, "{split:?}");
}

/// Environments of each kind of policy, and the step size that fits it.
fn policies() -> [(&'static str, Environment, StepSize, f64); 4] {
    let network = |environment: Environment| environment.with_network(16, 16, 0).expect("sizes");
    [
        ("logits", noisy(48, 4).0, StepSize::PerState, 0.5),
        ("network over random features", network(noisy(48, 4).0), StepSize::TokenMean, 3.0),
        ("weights", shared(), StepSize::TokenMean, 1.0),
        ("network over features", network(shared()), StepSize::TokenMean, 1.0),
    ]
}

/// The last layer's weights have the norm 0.01 and 16 hidden units that of 4 at most: no logit is further than 0.04 from its prior.
#[test]
fn a_network_starts_at_the_policy_that_it_replaces() {
    for environment in [noisy(6, 4).0, shared()] {
        let log_probs = |environment: &Environment| {
            Rows::of(environment.training(), environment.start(), &[5, 0]).log_probs().to_vec()
        };
        let before = log_probs(&environment);
        let after = log_probs(&environment.with_network(16, 16, 0).expect("sizes"));
        for (before, after) in std::iter::zip(before, after) {
            assert!((before - after).abs() <= 0.08, "{before} {after}");
        }
    }
}

#[test]
fn every_kind_of_policy_learns_with_a_critic_from_stale_rollouts_and_in_a_trust_region() {
    for (name, environment, step_size, learning_rate) in policies() {
        let base = Schedule {
            rollouts: 40,
            evaluate_every: 40,
            step_size,
            ..Schedule::tabular(learning_rate)
        };
        let region = TrustRegion { kl: 2e-3, damping: 1e-3 };
        let gae = AdvantageEstimator::Gae(Gae { discount: 1.0, lambda: 0.9, whiten: true });
        for (way, method, schedule) in [
            ("plain", Method::default(), base),
            ("critic", Method::default().with_advantage(gae), base),
            ("stale", Method::default(), Schedule { staleness: 3, ..base }),
            ("region", Method::default(), Schedule { trust_region: Some(region), ..base }),
        ] {
            let curve = train(&environment, &method, &schedule, 0);
            let gain = curve.last().reward - curve.first().reward;
            assert!(gain > 0.02, "{name}, {way}: gain {gain}");
        }
    }
}

#[test]
fn a_stale_rollout_is_sampled_by_the_policy_of_that_age() {
    let (environment, _) = noisy(8, 3);
    let questions = environment.training();
    for ratio_to in [RatioTo::Old, RatioTo::Rollout] {
        let base = Schedule { drop_uninformative: false, ..Schedule::tabular(0.5) };
        let schedule = Schedule { staleness: 2, ratio_to, ..base };
        let mut trainer = Trainer::new(&environment, Method::default(), schedule, 0);
        let mut versions = vec![environment.start().to_vec()];
        for rollout in 0..4usize {
            trainer.step().expect("a rollout");
            let sampled = Rows::of(
                questions,
                &versions[rollout.saturating_sub(2)],
                &trainer.rollout().prompts,
            );
            let now = Rows::of(questions, &versions[rollout], &trainer.rollout().prompts);
            let old = if ratio_to == RatioTo::Old { &now } else { &sampled };
            let tokens = std::iter::zip(&trainer.rollout().states, &trainer.rollout().actions);
            for (token, (state, action)) in tokens.enumerate() {
                let index = token / 24 * questions.row() + (*state * 3 + *action) as usize;
                let expected = [sampled.log_probs()[index], old.log_probs()[index]];
                let rollout = trainer.rollout();
                let columns = [rollout.sampled_log_prob[token], rollout.old_log_prob[token]];
                assert_eq!(columns.map(f64::to_bits), expected.map(f64::to_bits), "{ratio_to:?}");
            }
            versions.push(trainer.parameters().to_vec());
        }
    }
}

/// The divergence is the bound up to the third order of the step; where that takes it beyond, the step is halved.
#[test]
fn a_step_in_a_trust_region_stays_within_its_divergence() {
    let each = policies().into_iter().flat_map(|policy| [(policy.clone(), 1e-2), (policy, 1e-6)]);
    for ((name, environment, step_size, _), kl) in each {
        let region = TrustRegion { kl, damping: 1e-3 };
        let schedule =
            Schedule { step_size, trust_region: Some(region), ..Schedule::on_policy(1.0) };
        let mut trainer = Trainer::new(&environment, Method::default(), schedule, 0);
        trainer.step().expect("a rollout");
        let questions = environment.training();
        let prompts = &trainer.rollout().prompts;
        let policy = |parameters: &[f64]| Rows::of(questions, parameters, prompts);
        let (before, after) = (policy(environment.start()), policy(trainer.parameters()));
        // Over the states as they were sampled.
        let states = questions.states().states();
        let per_prompt = trainer.rollout().states.len() / prompts.len();
        let mut divergence = 0.0;
        for (token, state) in trainer.rollout().states.iter().enumerate() {
            let first = (token / per_prompt * states + *state as usize) * 4;
            divergence += (first..first + 4)
                .map(|i| before.probs()[i] * (before.log_probs()[i] - after.log_probs()[i]))
                .sum::<f64>();
        }
        divergence /= trainer.rollout().states.len() as f64;
        let share = divergence / kl;
        assert!(share <= 1.0 + 1e-9 && share > 0.2, "{name}: {share}");
        let near = |bound: f64| (share / bound - 1.0).abs() < 0.02;
        assert!(kl > 1e-6 || near(1.0) || near(0.25), "{name}: {share}");
    }
}

/// At `λ = 1` the return of each token is the reward of its response. The critic starts at 0, and after one rollout the value of a
/// state is its rate's share of the mean reward of the responses that came by: what the next advantages are less of.
#[test]
fn the_second_rollout_is_judged_by_what_the_first_one_returned() {
    let (environment, graph) = noisy(6, 3);
    let gae = AdvantageEstimator::Gae(Gae { discount: 1.0, lambda: 1.0, whiten: false });
    let schedule = Schedule { critic_rate: 0.3, ..Schedule::on_policy(1e-3) };
    let method = Method::default().with_advantage(gae);
    let mut trainer = Trainer::new(&environment, method, schedule, 7);
    let states = |rollout: &Rollout| -> Vec<usize> {
        let tokens = rollout.states.iter().enumerate();
        let state = |(token, state): (usize, &u32)| {
            rollout.prompts[token / 24] * graph.states() + *state as usize
        };
        tokens.map(state).collect()
    };
    trainer.step().expect("a rollout");
    let first = trainer.rollout().clone();
    let mut sums = vec![(0.0, 0.0); 6 * graph.states()];
    for (token, state) in states(&first).into_iter().enumerate() {
        assert!((first.advantage[token] - first.rewards[token / 3]).abs() < 1e-12);
        sums[state].0 += first.rewards[token / 3];
        sums[state].1 += 1.0;
    }
    trainer.step().expect("a rollout");
    let second = trainer.rollout();
    for (token, state) in states(second).into_iter().enumerate() {
        let (sum, tokens) = sums[state];
        let value = if tokens > 0.0 { 0.3 * sum / tokens } else { 0.0 };
        let expected = second.rewards[token / 3] - value;
        let advantage = second.advantage[token];
        assert!((advantage - expected).abs() < 1e-12, "{advantage} {expected}");
    }
}
