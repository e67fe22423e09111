//! Properties of the training engine: what it computes, and that a seed says everything.

mod curve;
mod prompt_information;

use entropy_core::Categorical;
use rl_losses::{
    AdvantageEstimator, Annealing, ClipCov, ClipRange, Column, CovarianceBand, CustomLoss,
    EntropyTarget, KlCov, Knob, PlanPart, PolicyLoss, PpoClip, Prime, RolloutColumns, StepPlan,
    ThermostatSettings, TokenBatch,
};
use softmax_sim::environment::{
    Environment, Features, LongTailSetting, Parameters, Questions, Shape, SharedSetting,
    SizeSetting, TabularSetting,
};
use softmax_sim::training::{
    Curve, CustomAdvantage, Method, Rows, Schedule, StepSize, ThermostatControl, Trainer, evaluate,
    train,
};

fn small_tabular(seed: u64) -> Environment {
    TabularSetting { prompts: 96, positions: 3, actions: 5, ..TabularSetting::CONTROL }.draw(seed)
}

fn small_shared(seed: u64) -> Environment {
    SharedSetting { prompts: 128, validation_prompts: 64, ..SharedSetting::HELD_OUT }.draw(seed)
}

fn clip_cov() -> PolicyLoss {
    let band = CovarianceBand::new(0.1, 5.0).expect("in order");
    let clip = ClipRange::new(1.0, 1.0).expect("not negative");
    PolicyLoss::ClipCov(ClipCov::new(0.05, band, clip).expect("a fraction"))
}

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("a pool of few threads").install(work)
}

#[test]
fn a_run_is_the_same_bit_for_bit_on_one_two_and_three_threads() {
    let schedule = Schedule { rollouts: 6, evaluate_every: 2, ..Schedule::tabular(0.5) };
    let shared = Schedule { rollouts: 6, prompts: 100, ..Schedule::shared(1.5) };
    let method = Method::of(clip_cov()).with_entropy_bonus(0.01).with_reference_kl(0.01);
    let runs = |threads| -> [Curve; 2] {
        on_threads(threads, || {
            [
                train(&small_tabular(3), &method, &schedule, 3),
                train(&small_shared(3), &method, &shared, 3),
            ]
        })
    };
    let one = runs(1);
    assert_eq!(one, runs(2));
    assert_eq!(one, runs(3));
}

/// KL-Cov whose penalty raises the entropy, with one fraction for all; a fraction for hard and one for easy prompts hold it.
#[test]
fn thermostats_by_difficulty_hold_an_entropy() {
    let schedule = Schedule { rollouts: 120, ..Schedule::tabular(0.3) };
    let environment = small_tabular(2);
    let loss = PolicyLoss::KlCov(KlCov::new(0.05, 10.0).expect("in range"));
    let plain = train(&environment, &Method::of(loss), &schedule, 2);
    let wanted = 0.7 * plain.first().entropy;
    let thermostat = ThermostatSettings::new(EntropyTarget::constant(wanted), 0.05, 1e-4, 0.9);
    let thermostat = thermostat.expect("in range");
    let control = ThermostatControl { knob: Knob::Fraction, accuracy_edges: vec![0.5], thermostat };
    let method = Method { thermostat: Some(control), ..Method::of(loss) };
    let held = train(&environment, &method, &schedule, 2);
    let error = |curve: &Curve| (curve.last().entropy - wanted).abs();
    assert!(error(&held) < 0.1 * error(&plain), "{} and {}", error(&held), error(&plain));
}

/// Over two rollouts a coefficient annealed to 0 is that of the loss, then half of it.
#[test]
fn an_annealed_coefficient_falls_with_the_rollouts() {
    let environment = small_shared(3);
    let schedule = Schedule { rollouts: 2, evaluate_every: 1, ..Schedule::shared(2.0) };
    let kl_cov = |coefficient: f64| PolicyLoss::KlCov(KlCov::new(0.2, coefficient).unwrap());
    let annealing = Some(Annealing::default());
    let method = Method { annealing, ..Method::of(kl_cov(0.8)) };
    let annealed = train(&environment, &method, &schedule, 1);
    let by_hand = Trainer::new(&environment, Method::of(kl_cov(0.8)), schedule, 1)
        .run(|method, _| method.loss = kl_cov(0.4));
    assert_eq!(annealed, by_hand);
    assert_ne!(annealed, train(&environment, &Method::of(kl_cov(0.8)), &schedule, 1));

    let refused = |method: Method| method.check().unwrap_err().to_string();
    let clipped = Method { annealing, ..Method::default() };
    assert_eq!(
        refused(clipped),
        "`annealing` of `ppo-clip`: the policy loss has no `coefficient` to move"
    );
}

/// At the last position: the mean of the rewards in the group, weighed by the squared distances of the actions from the policies.
#[test]
fn the_optimal_token_baseline_weighs_rewards_by_the_squared_score() {
    let environment = small_tabular(5);
    let shape = environment.training().shape();
    let schedule = Schedule { rollouts: 1, ..Schedule::on_policy(0.5) };
    let method = Method::default().with_advantage(AdvantageEstimator::OptimalTokenBaseline);
    let mut trainer = Trainer::new(&environment, method, schedule, 2);
    let parameters = trainer.parameters().to_vec();
    trainer.step().unwrap();
    let rollout = trainer.rollout();
    let policy = Rows::of(environment.training(), &parameters, &rollout.prompts);
    let tokens = schedule.group_size * shape.positions;
    let last = shape.positions - 1;
    for prompt in 0..rollout.prompts.len() {
        let mut weighed = (0.0, 0.0);
        let rewards = &rollout.rewards[prompt * schedule.group_size..][..schedule.group_size];
        for (sample, reward) in rewards.iter().enumerate() {
            let mut energy = 0.0;
            for position in 0..shape.positions {
                let state = (prompt * shape.positions + position) * shape.actions;
                let probs = &policy.probs()[state..state + shape.actions];
                let token = prompt * tokens + sample * shape.positions + position;
                let action = rollout.actions[token] as usize;
                energy += probs
                    .iter()
                    .enumerate()
                    .map(|(k, prob)| (f64::from(u8::from(k == action)) - prob).powi(2))
                    .sum::<f64>();
            }
            weighed.0 += energy * reward;
            weighed.1 += energy;
        }
        for (sample, reward) in rewards.iter().enumerate() {
            let token = prompt * tokens + sample * shape.positions + last;
            let expected = reward - weighed.0 / weighed.1;
            let advantage = rollout.advantage[token];
            assert!((advantage - expected).abs() < 1e-7, "{advantage} {expected}");
        }
    }
}

#[test]
fn another_seed_is_another_run() {
    let schedule = Schedule { rollouts: 2, ..Schedule::tabular(0.5) };
    let run = |seed| train(&small_tabular(0), &Method::default(), &schedule, seed);
    assert_ne!(run(0), run(1));
}

/// Exact expected reward and entropy against an enumeration of all responses.
#[test]
fn an_evaluation_sums_over_all_responses() {
    let environment =
        TabularSetting { prompts: 3, positions: 2, actions: 3, ..TabularSetting::CONTROL }.draw(1);
    let evaluation = evaluate(&environment, environment.start(), 0);
    let policies: Vec<Categorical> = environment
        .start()
        .chunks(3)
        .map(|logits| Categorical::from_logits(logits).expect("finite"))
        .collect();
    let mut reward = 0.0;
    for prompt in 0..3 {
        let quality = environment.training().quality(prompt);
        for (first, second) in (0..9).map(|index| (index / 3, index % 3)) {
            let chance =
                policies[2 * prompt].probs()[first] * policies[2 * prompt + 1].probs()[second];
            reward += chance * quality[first] * quality[3 + second] / 3.0;
        }
    }
    assert!((evaluation.reward - reward).abs() < 1e-15, "{} and {reward}", evaluation.reward);
    let entropy = policies.iter().map(Categorical::entropy).sum::<f64>() / 6.0;
    assert!((evaluation.entropy - entropy).abs() < 1e-15);
}

/// The rows are those of `Categorical`, to rounding.
#[test]
fn rows_are_the_categorical_policies() {
    let environment = small_tabular(5);
    let rows = Rows::of(environment.training(), environment.start(), &[7, 2]);
    for (slot, prompt) in [7, 2].into_iter().enumerate() {
        for position in 0..3 {
            let first = (prompt * 3 + position) * 5;
            let logits = &environment.start()[first..first + 5];
            let policy = Categorical::from_logits(logits).expect("finite");
            let state = slot * 3 + position;
            assert!((rows.entropy()[state] - policy.entropy()).abs() < 1e-14);
            for action in 0..5 {
                let index = state * 5 + action;
                assert!((rows.probs()[index] - policy.probs()[action]).abs() < 1e-15);
                assert!((rows.log_probs()[index] - policy.log_probs()[action]).abs() < 1e-13);
            }
        }
    }
}

/// One on-policy update without normalisation moves the logits by `η (1/G) Σ A_i (e_i - π)`.
#[test]
fn an_on_policy_step_is_the_sampled_policy_gradient() {
    let environment = small_tabular(2);
    let shape = environment.training().shape();
    let mut trainer = Trainer::new(&environment, Method::default(), Schedule::on_policy(0.7), 0);
    trainer.step().expect("a schedule with rollouts");
    let rollout = trainer.rollout();
    let mut expected = environment.start().to_vec();
    for (slot, &prompt) in rollout.prompts.iter().enumerate() {
        for sample in 0..8 {
            for position in 0..shape.positions {
                let token = (slot * 8 + sample) * shape.positions + position;
                let first = (prompt * shape.positions + position) * shape.actions;
                let logits = &environment.start()[first..first + shape.actions];
                let policy = Categorical::from_logits(logits).expect("finite");
                let slope = 0.7 / 8.0 * rollout.advantage[token];
                let moved = &mut expected[first..first + shape.actions];
                policy.vjp_log_prob(rollout.actions[token] as usize, slope, moved);
            }
        }
    }
    for (value, expected) in std::iter::zip(trainer.parameters(), &expected) {
        assert!((value - expected).abs() < 1e-12, "{value} and {expected}");
    }
}

/// A policy gradient through features is that through the logits, times the features.
#[test]
fn shared_weights_descend_along_the_gradient() {
    let environment = small_shared(0);
    let questions = environment.training();
    let (prompts, row) = ([5, 9], questions.row());
    let slopes: Vec<f64> = (0..2 * row).map(|index| (index as f64).sin()).collect();
    let inner = |parameters: &[f64]| -> f64 {
        let mut logits = vec![0.0; row];
        let each = prompts.iter().zip(slopes.chunks(row));
        each.map(|(&prompt, slopes)| {
            questions.write_logits(parameters, prompt, &mut logits);
            std::iter::zip(&logits, slopes).map(|(z, s)| z * s).sum::<f64>()
        })
        .sum()
    };
    let mut moved = environment.start().to_vec();
    questions.descend(&mut moved, &prompts, &slopes, 1.0);
    for index in 0..moved.len() {
        let mut shifted = environment.start().to_vec();
        shifted[index] += 1.0; // the logits are linear in the parameters
        let gradient = inner(&shifted) - inner(environment.start());
        assert!((environment.start()[index] - moved[index] - gradient).abs() < 1e-10);
    }
}

/// Central differences of the exact objective `E reward-free: α H - β KL` in the one state of each of four prompts.
#[test]
fn regularisers_follow_the_gradient_of_entropy_and_divergence() {
    let shape = Shape { prompts: 4, positions: 1, actions: 4 };
    // Every answer is right: no advantage, the regularisers act alone.
    let training = Questions::new(shape, vec![1.0; 16], Parameters::Logits).expect("probabilities");
    let start: Vec<f64> = (0..16).map(|index| 1.5 * f64::from(index).sin()).collect();
    let environment = Environment::new(training, None, start.clone()).expect("all logits");
    let (bonus, penalty, rate) = (0.3, 0.7, 0.5);
    let method = Method::default().with_entropy_bonus(bonus).with_reference_kl(penalty);
    let mut trainer = Trainer::new(&environment, method, Schedule::on_policy(rate), 1);
    trainer.step().expect("a rollout");
    let policy = |logits: &[f64]| Categorical::from_logits(logits).expect("finite");
    let objective = |logits: &[f64]| -> f64 {
        let of_prompt = |(logits, start): (&[f64], &[f64])| {
            let (policy, reference) = (policy(logits), policy(start));
            let terms = std::iter::zip(policy.log_probs(), reference.log_probs());
            let log_ratios: Vec<f64> = terms.map(|(new, old)| new - old).collect();
            bonus * policy.entropy() - penalty * policy.mean(&log_ratios)
        };
        std::iter::zip(logits.chunks(4), start.chunks(4)).map(of_prompt).sum()
    };
    // The second step starts off the reference, so both terms have a slope.
    let before = trainer.parameters().to_vec();
    trainer.step().expect("a rollout");
    assert_ne!(trainer.rollout().prompts, [0, 1, 2, 3], "drawn in another order");
    for action in 0..16 {
        let mut shifted = before.clone();
        shifted[action] += 1e-5;
        let above = objective(&shifted);
        shifted[action] -= 2e-5;
        let slope = (above - objective(&shifted)) / 2e-5;
        let measured = (trainer.parameters()[action] - before[action]) / rate;
        assert!((measured - slope).abs() < 1e-9, "action {action}: {measured} and {slope}");
    }
}

#[test]
fn dropped_groups_leave_only_prompts_with_right_and_wrong_answers() {
    let environment = small_shared(1);
    let schedule = Schedule { prompts: 64, ..Schedule::shared(1.5) };
    let mut trainer = Trainer::new(&environment, Method::default(), schedule, 1);
    let report = trainer.step().expect("a rollout");
    let rollout = trainer.rollout();
    assert!(rollout.prompts.len() < 64, "some groups of eight agree");
    assert_eq!(rollout.rewards.len(), 8 * rollout.prompts.len());
    for rewards in rollout.rewards.chunks(8) {
        let right: f64 = rewards.iter().sum();
        assert!(right > 0.0 && right < 8.0);
    }
    assert_eq!(rollout.advantage.len(), 8 * 4 * rollout.prompts.len());
    assert_eq!(report.sums.tokens, rollout.advantage.len());
}

/// The mean reward of many samples lies within its standard errors of the exact one.
#[test]
fn sampled_rewards_have_the_exact_mean() {
    let environment =
        TabularSetting { prompts: 2000, positions: 2, actions: 6, ..TabularSetting::CONTROL }
            .draw(4);
    let exact = evaluate(&environment, environment.start(), 0).reward;
    let mut trainer = Trainer::new(&environment, Method::default(), Schedule::tabular(0.0), 4);
    let sampled = trainer.step().expect("a rollout").mean_reward;
    let standard_error = 0.5 / 16_000f64.sqrt();
    assert!((sampled - exact).abs() < 5.5 * standard_error, "{sampled} and {exact}");
}

/// Without a step the ratio is 1 exactly, so the second epoch changes nothing else either.
#[test]
fn a_step_of_zero_leaves_the_policy_and_clips_nothing() {
    let environment = small_tabular(0);
    for loss in [PolicyLoss::PpoClip(PpoClip::default()), PolicyLoss::KlCov(KlCov::default())] {
        let schedule = Schedule { drop_uninformative: false, ..Schedule::tabular(0.0) };
        let mut trainer = Trainer::new(&environment, Method::of(loss), schedule, 0);
        let sums = trainer.step().expect("a rollout").sums;
        assert_eq!(trainer.parameters(), environment.start());
        assert_eq!((sums.clipped, sums.abs_log_ratio.to_bits()), (0, 0.0f64.to_bits()));
        assert_eq!(sums.tokens, 2 * 96 * 8 * 3);
    }
}

#[test]
fn environments_are_calibrated_as_they_say() {
    // Right tokens are drawn from softmax(1.5 z_0 + ..): the prior is right more often than chance.
    let shared = small_shared(0);
    assert!(evaluate(&shared, shared.start(), 0).reward > 3.0 / 8f64.powi(4));
    // A model that sees more starts with less entropy and more reward.
    let starts = [1, 8, 64].map(|visible| {
        let environment = SizeSetting::of(visible).draw(0);
        evaluate(&environment, environment.start(), 0)
    });
    assert!(starts.windows(2).all(|pair| pair[1].entropy < pair[0].entropy));
    assert!(starts.windows(2).all(|pair| pair[1].reward > pair[0].reward));
    // Of a long response only the critical tokens matter.
    let shape = Shape { prompts: 4, positions: 16, actions: 8 };
    let tail = LongTailSetting { shape, ..LongTailSetting::TABLE_1 }.draw(0);
    for prompt in 0..4 {
        let states = tail.training().quality(prompt).chunks(8);
        let decisive = states.filter(|state| state.iter().sum::<f64>() < 2.0).count();
        assert_eq!(decisive, 3);
    }
}

#[test]
fn tables_that_form_no_environment_are_named_with_their_value() {
    let shape = Shape { prompts: 1, positions: 2, actions: 2 };
    let questions =
        |quality: &[f64], parameters| Questions::new(shape, quality.to_vec(), parameters);
    let features = |prior: &[f64], values: &[f64], count| {
        Parameters::Weights(Features { prior: prior.to_vec(), values: values.to_vec(), count })
    };
    let fair = || questions(&[0.5; 4], Parameters::Logits);
    let weighted = questions(&[0.5; 4], features(&[0.0; 4], &[0.0; 8], 2)).expect("they fit");
    let environment = |training: Questions, validation, start: &[f64]| {
        Environment::new(training, validation, start.to_vec()).map(|_| ())
    };
    let empty = Shape { actions: 0, ..shape };
    let no_actions = Questions::new(empty, vec![], Parameters::Logits).map(|_| ());
    let faults = [
        questions(&[0.5, 1.0, 0.0, 1.5], Parameters::Logits).map(|_| ()),
        questions(&[0.5; 3], Parameters::Logits).map(|_| ()),
        no_actions,
        questions(&[0.5; 4], features(&[0.0; 3], &[0.0; 4], 1)).map(|_| ()),
        questions(&[0.5; 4], features(&[0.0; 4], &[0.0, f64::NAN, 0.0, 0.0], 1)).map(|_| ()),
        questions(&[0.5; 4], features(&[0.0; 4], &[], 0)).map(|_| ()),
        environment(fair().expect("it fits"), None, &[0.0; 3]),
        environment(fair().expect("it fits"), None, &[0.0, 0.0, f64::INFINITY, 0.0]),
        environment(fair().expect("it fits"), fair().ok(), &[0.0; 4]),
        environment(weighted, fair().ok(), &[0.0; 3]),
    ];
    let faults = faults.map(|fault| fault.expect_err("no environment").to_string());
    insta::assert_snapshot!(faults.join("\n"));
}

#[test]
fn a_custom_loss_and_custom_advantages_train_as_those_of_the_registry() {
    let environment = small_tabular(4);
    let schedule = Schedule { rollouts: 4, ..Schedule::tabular(0.5) };
    let registered = PolicyLoss::PpoClip(PpoClip::default());
    let method = Method::of(registered);
    let run = |trainer: Trainer<'_>| {
        let mut trainer = trainer;
        while trainer.step().is_some() {}
        trainer.parameters().to_vec()
    };
    let expected = run(Trainer::new(&environment, method.clone(), schedule, 4));
    // Under a method that would train otherwise.
    let other = Method::of(clip_cov()).with_advantage(AdvantageEstimator::Rloo);
    let grpo = |rewards: &[f64], group_size| {
        let groups = vec![group_size; rewards.len() / group_size];
        let lengths = vec![1; rewards.len()];
        let columns = RolloutColumns {
            rewards,
            group_sizes: &groups,
            sequence_lengths: &lengths,
            ..RolloutColumns::default()
        };
        AdvantageEstimator::Grpo.advantages(&columns).expect("rewards of groups")
    };
    let evaluate = move |batch: &TokenBatch<'_>, plan: PlanPart<'_>| {
        let selected = plan.selected();
        assert!(selected.len() == batch.len() && batch.column(Column::Entropy).is_some());
        registered.evaluate(
            batch,
            StepPlan::new(vec![false; batch.len()], plan.weights()).part(0..batch.len()),
        )
    };
    let trainer = Trainer::new(&environment, other, schedule, 4)
        .with_loss(CustomLoss::of_batch(evaluate))
        .with_advantage(CustomAdvantage::new(grpo));
    let custom = run(trainer);
    assert!(std::iter::zip(&expected, &custom).all(|(a, b)| (a - b).abs() < 1e-12));
}

#[test]
fn the_learning_rate_of_a_state_does_not_depend_on_the_mini_batches() {
    // One epoch of disjoint prompts: cutting the batch in four changes nothing but rounding.
    let environment = small_tabular(6);
    let run = |mini_batches| {
        let schedule = Schedule { rollouts: 3, mini_batches, ..Schedule::on_policy(0.5) };
        let mut trainer = Trainer::new(&environment, Method::default(), schedule, 6);
        while trainer.step().is_some() {}
        trainer.parameters().to_vec()
    };
    let (single, quarters) = (run(1), run(4));
    assert!(std::iter::zip(&single, &quarters).all(|(a, b)| (a - b).abs() < 1e-12));
    assert_eq!(Schedule::tabular(0.3).step_size, StepSize::PerState);
}

/// PRIME's outcome part is leave-one-out; its reward model leaves what is sampled alone and adds to the advantages.
#[test]
fn prime_is_leave_one_out_with_rewards_of_tokens_on_top() {
    let schedule = Schedule { rollouts: 6, evaluate_every: 2, ..Schedule::tabular(0.5) };
    let outcome_alone = Prime {
        process_coefficient: 0.0,
        outcome_coefficient: 1.0,
        whiten: false,
        ..Prime::default()
    };
    let run = |environment: &Environment, advantage| {
        train(environment, &Method::default().with_advantage(advantage), &schedule, 5)
    };
    for environment in [small_tabular(4), small_shared(4)] {
        let rloo = run(&environment, AdvantageEstimator::Rloo);
        assert_eq!(run(&environment, AdvantageEstimator::Prime(outcome_alone)), rloo);
        let both = Prime { process_coefficient: 1.0, ..outcome_alone };
        let prime = run(&environment, AdvantageEstimator::Prime(both));
        assert_ne!(prime, rloo);
        assert!(prime.last().reward > prime.first().reward);
    }
}
