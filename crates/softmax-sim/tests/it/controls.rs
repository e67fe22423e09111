//! Controls of a run, each against what it does by hand.

use rl_losses::{
    AdaptiveEntropy, AdaptiveEntropyController, AdaptiveKl, AdvantageEstimator, Anchor, Base,
    CovarianceControl, EntropyTarget, KlCov, KlEstimator, Knob, Penalty, PolicyLoss, Reinforce,
    RolloutCorrection, ThermostatSettings, Treatment, WeightBound,
};
use softmax_sim::environment::{Environment, TabularSetting};
use softmax_sim::training::{
    Curve, Method, RatioTo, Rows, Schedule, ThermostatControl, Trainer, train,
};

fn world(seed: u64) -> Environment {
    TabularSetting { prompts: 48, positions: 3, actions: 5, ..TabularSetting::CONTROL }.draw(seed)
}

/// The surrogate without a clip.
fn unclipped() -> PolicyLoss {
    PolicyLoss::KlCov(KlCov::new(0.1, 0.0).expect("in range"))
}

/// A loss that holds half of the tokens to the policy before training.
fn anchored(coefficient: f64) -> PolicyLoss {
    let penalty = Penalty { divergence: KlEstimator::K2, coefficient, anchor: Anchor::Reference };
    PolicyLoss::CovarianceControl(CovarianceControl {
        fraction: 0.5,
        treatment: Treatment::Penalise(penalty),
        base: Base::Unclipped,
        ..CovarianceControl::default()
    })
}

#[test]
fn an_adaptive_bonus_is_the_controllers() {
    let (environment, schedule) = (world(1), Schedule { rollouts: 12, ..Schedule::tabular(0.5) });
    let settings = AdaptiveEntropy { target: 0.9, step: 0.02, maximum: 0.1, initial: 0.01 };
    let method = Method { adaptive_entropy: Some(settings), ..Method::default() };
    let adapted = train(&environment, &method, &schedule, 4);
    let mut controller = AdaptiveEntropyController::new(settings).unwrap();
    let start = Method::default().with_entropy_bonus(controller.coefficient());
    let by_hand = Trainer::new(&environment, start, schedule, 4).run(|method, report| {
        controller.update(report.entropy).unwrap();
        method.entropy_bonus = controller.coefficient();
    });
    assert_eq!(adapted, by_hand);
    assert_ne!(adapted, train(&environment, &Method::default(), &schedule, 4));
}

/// Far below the target, the coefficient falls by a fifth of the share of the horizon that a rollout is: 48 prompts, 8 samples.
#[test]
fn an_adaptive_reference_kl_follows_its_rule() {
    let (environment, schedule) = (world(2), Schedule { rollouts: 9, ..Schedule::tabular(0.5) });
    let settings = AdaptiveKl { initial: 0.3, target: 1e3, horizon: 1000.0 };
    let method = Method { adaptive_kl: Some(settings), ..Method::default() };
    let controlled = train(&environment, &method, &schedule, 4);
    let mut coefficient = 0.3;
    let start = Method::default().with_reference_kl(coefficient);
    let by_hand = Trainer::new(&environment, start, schedule, 4).run(|method, _| {
        coefficient *= 1.0 - 0.2 * (48.0 * 8.0) / 1000.0;
        method.reference_kl = coefficient;
    });
    assert_eq!(controlled.points.len(), by_hand.points.len());
    for (one, other) in std::iter::zip(&controlled.points, &by_hand.points) {
        assert!((one.entropy - other.entropy).abs() < 1e-12, "{one:?} {other:?}");
    }
    // The divergence of a policy that has moved is above a target of nearly 0: the coefficient rises, and holds it nearer.
    let near = AdaptiveKl { target: 1e-6, ..settings };
    let near = train(&environment, &Method { adaptive_kl: Some(near), ..method }, &schedule, 4);
    assert!(near.last().entropy > controlled.last().entropy);
}

/// The return of each token is the reward less the log-ratios to the first policy from it on.
#[test]
fn a_divergence_in_the_reward_is_taken_off_token_by_token() {
    let environment = world(3);
    let schedule = Schedule { rollouts: 4, ..Schedule::on_policy(2.0) };
    let method = Method { reward_kl: 0.3, ..Method::default() }
        .with_advantage(AdvantageEstimator::Reinforce(Reinforce::default()));
    let mut trainer = Trainer::new(&environment, method, schedule, 1);
    while trainer.step().is_some() {}
    let (rollout, questions) = (trainer.rollout(), environment.training());
    let start = Rows::of(questions, environment.start(), &rollout.prompts);
    let mut largest = 0.0_f64;
    for (sample, reward) in rollout.rewards.iter().enumerate() {
        let mut expected = *reward;
        for position in (0..3).rev() {
            let token = sample * 3 + position;
            let state = sample / schedule.group_size * 3 + position;
            let place = state * 5 + rollout.actions[token] as usize;
            let log_ratio = rollout.old_log_prob[token] - start.log_probs()[place];
            expected -= 0.3 * log_ratio;
            largest = largest.max(log_ratio.abs());
            let gap = rollout.advantage[token] - expected;
            assert!(gap.abs() < 1e-12, "{gap} at token {token}");
        }
    }
    assert!(largest > 0.1, "{largest}");
}

/// The reward of a response less the log-ratios of its tokens is compared with the mean of the group.
#[test]
fn groups_are_compared_by_the_reward_less_the_divergence() {
    let environment = world(7);
    let schedule = Schedule { rollouts: 4, ..Schedule::on_policy(2.0) };
    let method = Method { reward_kl: 0.3, ..Method::default() };
    let mut trainer =
        Trainer::new(&environment, method.with_advantage(AdvantageEstimator::DrGrpo), schedule, 1);
    while trainer.step().is_some() {}
    let rollout = trainer.rollout();
    let start = Rows::of(environment.training(), environment.start(), &rollout.prompts);
    let penalised = |sample: usize| {
        let log_ratio = |position: usize| {
            let token = sample * 3 + position;
            let state = sample / 8 * 3 + position;
            let place = state * 5 + rollout.actions[token] as usize;
            rollout.old_log_prob[token] - start.log_probs()[place]
        };
        rollout.rewards[sample] - 0.3 * (0..3).map(log_ratio).sum::<f64>()
    };
    for group in 0..rollout.prompts.len() {
        let scores: Vec<f64> = (8 * group..8 * group + 8).map(penalised).collect();
        let mean = scores.iter().sum::<f64>() / 8.0;
        for (sample, score) in scores.iter().enumerate() {
            let advantage = rollout.advantage[(8 * group + sample) * 3];
            assert!((advantage - (score - mean)).abs() < 1e-12, "{advantage} in group {group}");
        }
    }
}

/// Without bounds, importance weights on the plain gradient of a stale rollout make its ratios those to the policy that sampled, in
/// every update of the rollout.
#[test]
fn a_correction_without_bounds_is_the_ratio_to_the_policy_that_sampled() {
    let environment = world(4);
    let schedule = Schedule {
        rollouts: 8,
        staleness: 2,
        epochs: 2,
        mini_batches: 3,
        ..Schedule::on_policy(1.0)
    };
    let correction = RolloutCorrection { bound: WeightBound::Off, ..RolloutCorrection::default() };
    let corrected = Method { correction: Some(correction), ..Method::of(unclipped()) };
    let end = |method: &Method, ratio_to| -> Curve {
        train(&environment, method, &Schedule { ratio_to, ..schedule }, 6)
    };
    let (weighted, ratios) =
        (end(&corrected, RatioTo::Old), end(&Method::of(unclipped()), RatioTo::Rollout));
    for (one, other) in std::iter::zip(&weighted.points, &ratios.points) {
        assert!((one.entropy - other.entropy).abs() < 1e-10, "{one:?} {other:?}");
    }
    assert_ne!(weighted, end(&Method::of(unclipped()), RatioTo::Old));
}

/// A thermostat of the coefficient holds an entropy through a penalty anchored at the first policy; without a penalty it is spent.
#[test]
fn a_thermostat_of_the_coefficient_holds_an_entropy() {
    let environment = world(5);
    let schedule = Schedule { rollouts: 300, ..Schedule::tabular(0.3) };
    let free = train(&environment, &Method::of(anchored(0.0)), &schedule, 2);
    let wanted = 0.7 * free.first().entropy;
    let thermostat = ThermostatSettings::new(EntropyTarget::constant(wanted), 0.1, 1e-3, 1e2);
    let thermostat = thermostat.expect("in range");
    let control = ThermostatControl { knob: Knob::Coefficient, accuracy_edges: vec![], thermostat };
    let method = Method { thermostat: Some(control.clone()), ..Method::of(anchored(0.1)) };
    method.check().expect("a coefficient to move");
    let held = train(&environment, &method, &schedule, 2);
    let error = |curve: &Curve| (curve.last().entropy - wanted).abs();
    assert!(error(&held) < 0.2 * error(&free), "{} and {}", error(&held), error(&free));

    let refused = |method: Method| method.check().unwrap_err().to_string();
    let edges = ThermostatControl { accuracy_edges: vec![0.5], ..control.clone() };
    let edges = Method { thermostat: Some(edges), ..Method::of(anchored(0.1)) };
    assert!(refused(edges).starts_with("`accuracy_edges` are given, expected none"));
    let clipped = Method { thermostat: Some(control), ..Method::default() };
    assert_eq!(
        refused(clipped),
        "`thermostat` of `ppo-clip`: the policy loss has no `coefficient` to move"
    );
}

#[test]
fn two_settings_for_one_thing_are_refused() {
    let refused = |method: Method| method.check().unwrap_err().to_string();
    let bonus = Method { adaptive_entropy: Some(AdaptiveEntropy::default()), ..Method::default() };
    assert_eq!(
        refused(bonus.with_entropy_bonus(0.1)),
        "`adaptive_entropy` and `entropy_bonus` are both given, expected one of them"
    );
    let pull = Method { adaptive_kl: Some(AdaptiveKl::default()), ..Method::default() };
    assert_eq!(
        refused(pull.with_reference_kl(0.1)),
        "`adaptive_kl` and `reference_kl` are both given, expected one of them"
    );
}
