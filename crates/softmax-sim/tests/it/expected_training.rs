//! Expected training against runs recorded in many digits, and against the mean of sampled ones.

use entropy_core::PolicyGradientFlow;
use rl_losses::AdvantageEstimator;
use serde::Deserialize;
use softmax_sim::environment::{Parameters, Questions, Shape, TabularSetting};
use softmax_sim::training::{ExpectedRule, ExpectedTrainer, Method, Schedule, Trainer};

#[derive(Deserialize)]
struct Vectors {
    exact_population: Population,
}

#[derive(Deserialize)]
struct Population {
    logits: Vec<Vec<String>>,
    q: Vec<Vec<String>>,
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    alg: String,
    lr: String,
    points: Vec<Point>,
}

#[derive(Deserialize)]
struct Point {
    step: usize,
    #[serde(rename = "H")]
    entropy: String,
    #[serde(rename = "R")]
    reward: String,
    #[serde(rename = "first_order_dH_next")]
    change: String,
}

fn number(text: &str) -> f64 {
    text.parse().expect("a decimal number")
}

fn table(rows: &[Vec<String>]) -> Vec<f64> {
    rows.iter().flatten().map(|text| number(text)).collect()
}

/// The deterministic twin: expected policy gradient, GRPO and natural gradient, recorded with 40
/// digits.
#[test]
fn recorded_populations_are_met_to_twelve_digits() {
    let text = include_str!("../../../entropy-core/tests/data/theory_vectors.json");
    let vectors: Vectors = serde_json::from_str(text).expect("the recorded vectors");
    let population = vectors.exact_population;
    let shape = Shape { prompts: 16, positions: 1, actions: 8 };
    let questions = Questions::new(shape, table(&population.q), Parameters::Logits);
    let questions = questions.expect("probabilities");
    assert_eq!(population.runs.len(), 3);
    for run in &population.runs {
        let rule = match run.alg.as_str() {
            "pg" => ExpectedRule::PolicyGradient,
            "grpo_G8" => ExpectedRule::Grpo { group_size: 8 },
            "npg" => ExpectedRule::NaturalPolicyGradient,
            other => panic!("no rule is named {other}"),
        };
        let rate = number(&run.lr);
        let mut trainer = ExpectedTrainer::new(&questions, &table(&population.logits));
        let mut done = 0;
        for point in &run.points {
            while done < point.step {
                trainer.step(rule, rate);
                done += 1;
            }
            let reached = trainer.point();
            let (_, change) = trainer.expected_step(rule, rate);
            let name = format!("{} at step {done}", run.alg);
            assert!(
                (reached.entropy - number(&point.entropy)).abs() < 1e-12,
                "{name}: {reached:?}"
            );
            assert!((reached.reward - number(&point.reward)).abs() < 1e-12, "{name}: {reached:?}");
            assert!((change - number(&point.change)).abs() < 1e-12, "{name}: {change}");
        }
    }
}

/// One sampled update is on average the expected one, for responses of several tokens too.
#[test]
fn the_mean_of_sampled_updates_is_the_expected_one() {
    let environment =
        TabularSetting { prompts: 2, positions: 2, actions: 3, ..TabularSetting::LAW }.draw(7);
    let cases = [
        (AdvantageEstimator::Grpo, ExpectedRule::Grpo { group_size: 8 }),
        (AdvantageEstimator::DrGrpo, ExpectedRule::DrGrpo { group_size: 8 }),
        (AdvantageEstimator::Rloo, ExpectedRule::PolicyGradient),
    ];
    let trainer = ExpectedTrainer::new(environment.training(), environment.start());
    let draws = 4000;
    for (advantage, rule) in cases {
        let (expected, _) = trainer.expected_step(rule, 1.0);
        let method = Method::default().with_advantage(advantage);
        let (mut sums, mut squares) = (vec![0.0; expected.len()], vec![0.0; expected.len()]);
        for seed in 0..draws {
            let schedule = Schedule::on_policy(1.0);
            let mut trainer = Trainer::new(&environment, method.clone(), schedule, seed);
            trainer.step().expect("a rollout");
            for (index, after) in trainer.parameters().iter().enumerate() {
                let step = after - environment.start()[index];
                sums[index] += step;
                squares[index] += step * step;
            }
        }
        let count = draws as f64;
        for (index, expected) in expected.iter().enumerate() {
            let mean = sums[index] / count;
            let error = ((squares[index] / count - mean * mean) / count).sqrt();
            // 5.3 standard errors: exceeded once in ten million draws.
            let gap = (mean - expected).abs();
            assert!(gap < 5.3 * error, "{rule:?}, logit {index}: {mean} and {expected} ± {error}");
        }
    }
}

/// Against the closed form of two arms: `x + sinh x` grows by the gap of the qualities times the time.
#[test]
fn the_flow_is_the_limit_of_small_steps() {
    let shape = Shape { prompts: 1, positions: 1, actions: 2 };
    let questions = Questions::new(shape, vec![0.9, 0.1], Parameters::Logits);
    let questions = questions.expect("probabilities");
    let exact = PolicyGradientFlow::new(1, 1, -1.0, 0.8).unwrap().policy_at(40.0).entropy();
    let error = |steps: u32| {
        let mut trainer = ExpectedTrainer::new(&questions, &[-1.0, 0.0]);
        for _ in 0..steps {
            trainer.flow(ExpectedRule::PolicyGradient, 40.0 / f64::from(steps));
        }
        (trainer.point().entropy - exact).abs()
    };
    let (coarse, fine) = (error(200), error(400));
    assert!(fine < 1e-4, "{fine}");
    assert!((3.0..5.0).contains(&(coarse / fine)), "second order: {coarse} and {fine}");
}
