//! The cart and pole against recorded transitions of the benchmark, and learning on them.

mod dynamics;
mod evaluation;

use rl_losses::{ClipCov, ClipRange, CovarianceBand, KlCov, PolicyLoss};
use serde::Deserialize;
use softmax_sim::cart_pole::{
    Episode, FORCES, Point, Ppo, Progress, Purpose, State, stream, train,
};

#[derive(Deserialize)]
struct Recording {
    episodes: Vec<RecordedEpisode>,
    transitions: Vec<Transition>,
}

#[derive(Deserialize)]
struct RecordedEpisode {
    states: Vec<[f64; 4]>,
    actions: Vec<usize>,
    #[serde(rename = "return")]
    total: f64,
    terminated: bool,
    truncated: bool,
}

#[derive(Deserialize)]
struct Transition {
    state: [f64; 4],
    action: usize,
    next: [f64; 4],
    reward: f64,
    terminated: bool,
}

/// Recorded by `tests/data/record_cart_pole.py`.
fn recording() -> Recording {
    serde_json::from_str(include_str!("../data/cart_pole_v1.json")).expect("the recording is JSON")
}

fn assert_near(found: State, expected: [f64; 4]) {
    for (value, expected) in std::iter::zip(found.observation(), expected) {
        assert!((value - expected).abs() < 1e-12, "{value} for {expected}");
    }
}

#[test]
fn recorded_transitions_are_met_to_twelve_digits() {
    let transitions = recording().transitions;
    assert_eq!(transitions.len(), 80);
    for Transition { state, action, next, reward, terminated } in transitions {
        let after = State::from(state).after(FORCES[action]);
        assert_near(after, next);
        assert_eq!(after.has_failed(), terminated, "{state:?}");
        assert!((reward - 1.0).abs() < 1e-12, "every step earns 1, the last one too");
    }
}

#[test]
fn recorded_episodes_end_when_and_as_the_benchmark_ends_them() {
    let mut ends = Vec::new();
    for RecordedEpisode { states, actions, total, terminated, truncated } in recording().episodes {
        let starts = stream(0, Purpose::Starts, 0);
        let mut episode = Episode::from_state(State::from(states[0]), starts.clone());
        for (step, &action) in actions.iter().enumerate() {
            // Each step from the recorded state: the motion is unstable and would amplify rounding.
            assert_near(State::from(states[step]).after(FORCES[action]), states[step + 1]);
            let is_last = step + 1 == actions.len();
            let progress = episode.act(action);
            assert_eq!(progress != Progress::Running, is_last, "step {step}");
            if is_last {
                ends.push(progress);
                assert_eq!(
                    (progress == Progress::Terminated, progress == Progress::Truncated),
                    (terminated, truncated)
                );
                assert!((f64::from(episode.steps) - total).abs() < 1e-12);
            }
        }
    }
    assert_eq!(ends.iter().filter(|end| **end == Progress::Truncated).count(), 1);
    assert_eq!(ends.len(), 10);
}

fn short() -> Ppo {
    Ppo { iterations: 12, evaluate_every: 4, evaluation_episodes: 8, ..Ppo::default() }
}

fn curve(settings: &Ppo, seed: u64) -> Vec<Point> {
    train(settings, seed).expect("the settings are in range")
}

#[test]
fn a_run_is_the_same_on_one_thread_and_on_four() {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("threads can be started").install(|| {
            use rayon::prelude::*;
            (0..3u64).into_par_iter().map(|seed| curve(&short(), seed)).collect::<Vec<_>>()
        })
    };
    let (one, four) = (on(1), on(4));
    assert_eq!(one, four);
    assert_ne!(one[0], one[1]);
    let steps: Vec<usize> = one[0].iter().map(|point| point.environment_steps).collect();
    assert_eq!(steps, [0, 4096, 8192, 12288]);
}

#[test]
fn the_pole_is_learned_to_balance() {
    let curve = curve(&Ppo { iterations: 24, ..short() }, 1);
    let (first, last) = (curve[0], curve[curve.len() - 1]);
    assert!(first.sampled_return < 40.0 && last.sampled_return > 150.0, "{first:?} {last:?}");
    assert!((first.entropy - 2f64.ln()).abs() < 1e-3 && last.entropy < 0.65, "{last:?}");
}

#[test]
fn controls_touch_the_share_of_steps_they_are_told_to() {
    let band = CovarianceBand::new(0.0, 100.0).expect("in order");
    let clip = ClipRange::new(0.2, 0.2).expect("in range");
    let clip_cov = ClipCov::new(0.05, band, clip).expect("in range");
    let kl_cov = KlCov::new(0.05, 1.0).expect("in range");
    let share = f64::from(12u32) / 256.0;
    for (policy_loss, least) in
        [(PolicyLoss::ClipCov(clip_cov), 0.8 * share), (PolicyLoss::KlCov(kl_cov), share)]
    {
        let last = *curve(&Ppo { policy_loss, ..short() }, 2).last().expect("there are points");
        assert!(last.selected_fraction >= least && last.selected_fraction <= share, "{last:?}");
    }
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    let refused = |settings: Ppo| train(&settings, 0).expect_err("out of range").to_string();
    assert_eq!(refused(Ppo { steps: 0, ..short() }), "`steps` is 0, expected at least 1");
    assert_eq!(
        refused(Ppo { learning_rate: f64::NAN, ..short() }),
        "`learning_rate` is NaN, expected a finite number above 0"
    );
    assert!(refused(Ppo { mini_batches: 2000, ..short() }).starts_with("`mini_batches` is 2000"));
    assert!(refused(Ppo { discount: 1.5, ..short() }).starts_with("`discount` is 1.5"));
}

#[test]
fn a_run_that_diverges_says_after_how_many_steps() {
    let error = train(&Ppo { learning_rate: 1e300, ..short() }, 0).expect_err("it diverges");
    let steps = ["after 0 environment steps", "after 1024 environment steps"];
    assert!(steps.iter().any(|steps| error.to_string().starts_with(steps)), "{error}");
}
