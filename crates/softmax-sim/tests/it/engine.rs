//! Stored results against the engine: the digest of short runs.

use entropy_core::{UpdateEffect, UpdateRule};
use rl_losses::{AdvantageEstimator, Prime, registry};
use softmax_sim::cart_pole::{self, Ppo};
use softmax_sim::environment::{
    Environment, LongTailSetting, Shape, SharedSetting, SizeSetting, TabularSetting,
};
use softmax_sim::reproduce::document::read_published;
use softmax_sim::reproduce::finding::find;
use softmax_sim::reproduce::{ENGINE, LATER, digest};
use softmax_sim::training::{Curve, Method, Schedule, train};
use std::path::Path;

/// Formats to six digits, so that other rounding by a compiler or a mathematical library makes no other engine.
fn numbers(values: impl IntoIterator<Item = f64>) -> String {
    let numbers: Vec<String> = values.into_iter().map(|value| format!("{value:.5e}")).collect();
    numbers.join(" ") + " "
}

fn of_curve(curve: &Curve) -> String {
    numbers(
        curve.points.iter().flat_map(|point| {
            [point.entropy, point.reward, point.cool_reward, point.greedy_reward]
        }),
    )
}

/// Small environments of every kind.
fn environments() -> Vec<Environment> {
    let (prompts, validation_prompts) = (16, 16);
    let held_out =
        SharedSetting { prompts, positions: 2, validation_prompts, ..SharedSetting::HELD_OUT };
    let size = |visible| SizeSetting { prompts, validation_prompts, ..SizeSetting::of(visible) };
    vec![
        TabularSetting { prompts, ..TabularSetting::LAW }.draw(1),
        TabularSetting { prompts, positions: 2, ..TabularSetting::CONTROL }.draw(2),
        held_out.draw(3),
        size(4).draw(4),
        size(32).draw(5),
        LongTailSetting {
            shape: Shape { prompts, positions: 4, actions: 8 },
            ..LongTailSetting::TABLE_1
        }
        .draw(6),
    ]
}

/// The losses of `ENGINE`, the first of the registry; later ones are in `LATER`.
const FIRST_LOSSES: usize = 18;

fn schedule() -> Schedule {
    Schedule { rollouts: 4, evaluate_every: 2, ..Schedule::tabular(0.5) }
}

/// One line per loss.
fn runs_of(losses: &[rl_losses::Method], environment: &Environment) -> Vec<String> {
    let run = |loss: &rl_losses::Method| {
        let method = Method { aggregation: loss.aggregation, ..Method::of(loss.default) };
        of_curve(&train(environment, &method, &schedule(), 7))
    };
    losses.iter().map(run).collect()
}

/// Results of short runs, one line per run.
fn short_runs() -> String {
    let environments = environments();
    let schedule = schedule();
    let mut lines = vec![];
    for (seed, environment) in environments.iter().enumerate() {
        let method = Method::default().with_entropy_bonus(0.01).with_reference_kl(0.01);
        let schedule = Schedule { prompts: 8, ..schedule };
        lines.push(of_curve(&train(environment, &method, &schedule, seed as u64)));
    }
    lines.extend(runs_of(&registry()[..FIRST_LOSSES], &environments[1]));
    for advantage in
        [AdvantageEstimator::Grpo, AdvantageEstimator::Rloo, AdvantageEstimator::DrGrpo]
    {
        let method = Method::default().with_advantage(advantage);
        let curve = train(&environments[0], &method, &schedule, 8);
        let law = curve.law().expect("training changes the entropy");
        lines.push(of_curve(&curve) + &numbers([law.a, law.b]));
    }
    let ppo = Ppo { iterations: 2, evaluate_every: 1, evaluation_episodes: 2, ..Ppo::default() };
    let curve = cart_pole::train(&ppo, 9).expect("a short run does not diverge");
    lines.push(numbers(curve.iter().flat_map(|point| [point.entropy, point.sampled_return])));
    for rule in [UpdateRule::PolicyGradient, UpdateRule::NaturalPolicyGradient] {
        let effect = UpdateEffect::new(&[0.5, -1.0, 2.0], &[1.0, 0.0, -0.5], 0.1, rule);
        let effect = effect.expect("a policy and an advantage");
        lines.push(numbers([effect.delta, effect.covariance, effect.remainder]));
    }
    lines.join("\n")
}

/// Results of the later losses, and of PRIME in both kinds of environment.
fn later_runs() -> String {
    let environments = environments();
    let mut lines = runs_of(&registry()[FIRST_LOSSES..], &environments[1]);
    let method = Method::default().with_advantage(AdvantageEstimator::Prime(Prime::default()));
    lines.extend([0, 2].map(|one| of_curve(&train(&environments[one], &method, &schedule(), 8))));
    lines.join("\n")
}

#[test]
fn kept_results_are_those_of_this_engine() {
    for (runs, name, expected) in [(short_runs(), "ENGINE", ENGINE), (later_runs(), "LATER", LATER)]
    {
        assert!(!runs.contains("NaN"), "{runs}");
        assert_eq!(
            digest(&runs),
            expected,
            "results changed: put this digest into `{name}`, so that none kept from before counts, and run \
             `softmax-sim reproduce --docs docs` again"
        );
    }
}

#[test]
fn published_results_are_those_of_this_engine() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let published = read_published(&docs).expect("the published results can be read");
    assert!(!published.is_empty());
    for result in published {
        let name = result.record.finding;
        let finding = find(&name).expect("a finding of the registry");
        assert_eq!(result.record.revision, finding.revision(), "{name} was run with other code");
    }
}
