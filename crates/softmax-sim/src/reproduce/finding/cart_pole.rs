//! Classic control: the methods on a pole balanced on a cart, outside the paper's domain.

use crate::cart_pole::{Point, Ppo, STEP_LIMIT, solved_after, train};
use crate::reproduce::charts::{chart, heights};
use crate::reproduce::seeds::curve_with_range;
use crate::reproduce::{Cell, ExperimentResult, Measure, Progress, Setting, Table, Target};
use figures::{Axis, Chart, Series};
use rayon::prelude::*;
use rl_losses::{ClipCov, ClipRange, CovarianceBand, DualClip, KlCov, PolicyLoss, PpoClip};

const BASELINE: usize = 0;
const CLIP_COV: usize = 1;
const KL_COV: usize = 2;
const NO_PENALTY: usize = 3;
const BONUS: usize = 4;

/// Methods of the comparison with the settings that all share, in the order of the constants.
fn methods(shared: Ppo) -> [(&'static str, Ppo); 5] {
    let clip = ClipRange::new(0.2, 0.2).expect("a clip of 0.2 is in range");
    let band = CovarianceBand::new(0.2, 5.0).expect("the bounds are in order");
    let policy_loss = PolicyLoss::PpoClip(PpoClip::new(clip, DualClip::OFF));
    let clip_cov = ClipCov::new(0.02, band, clip).map(PolicyLoss::ClipCov).expect("a fraction");
    let kl_cov = |penalty| KlCov::new(0.02, penalty).map(PolicyLoss::KlCov).expect("in range");
    let with = |policy_loss| Ppo { policy_loss, entropy_coefficient: 0.0, ..shared };
    [
        ("no control", with(policy_loss)),
        ("Clip-Cov", with(clip_cov)),
        ("KL-Cov", with(kl_cov(1.0))),
        ("KL-Cov, no penalty", with(kl_cov(0.0))),
        ("entropy bonus", Ppo { entropy_coefficient: 0.01, ..with(policy_loss) }),
    ]
}

pub(super) fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    let full = Ppo::default();
    let quick = Ppo { iterations: 32, evaluation_episodes: 16, ..full };
    experiment(setting, setting.pick(1, 4), &methods(setting.pick(quick, full)), progress)
}

/// Compares `methods`, each run so many times in a seed.
fn experiment(
    setting: &Setting,
    runs: u64,
    methods: &[(&str, Ppo); 5],
    progress: &Progress,
) -> ExperimentResult {
    let seeds = setting.over_runs(progress, methods, |seed, (_, settings)| {
        let run = |index: u64| {
            let curve = train(settings, seed * runs + index);
            curve.expect("the settings are in range, and no method diverges at this rate")
        };
        Runs { curves: (0..runs).into_par_iter().map(run).collect() }
    });
    let [entropy, returns] = charts(methods, &seeds);
    ExperimentResult::new(measures(&seeds))
        .figure(entropy)
        .figure(returns)
        .table(table(methods, &seeds))
}

/// All runs of a method in one seed.
struct Runs {
    curves: Vec<Vec<Point>>,
}

impl Runs {
    fn mean_over_runs(&self, of_run: impl Fn(&[Point]) -> f64) -> f64 {
        self.curves.iter().map(|curve| of_run(curve)).sum::<f64>() / self.curves.len() as f64
    }

    /// Mean over the runs at each point of the learning curve.
    fn curve(&self, value: fn(&Point) -> f64) -> Vec<f64> {
        (0..self.curves[0].len()).map(|at| self.mean_over_runs(|run| value(&run[at]))).collect()
    }

    /// Mean entropy over the run, nats.
    fn entropy(&self) -> f64 {
        self.mean_over_runs(|run| mean(run, |point| point.entropy))
    }

    /// Environment steps until the task was solved; all steps where it was not.
    fn steps_to_solve(&self) -> f64 {
        let last = |run: &[Point]| run[run.len() - 1].environment_steps;
        self.mean_over_runs(|run| solved_after(run).unwrap_or_else(|| last(run)) as f64)
    }

    /// Steps to solve over those of `other`; NaN if no run of this method solved the task.
    fn steps_to_solve_over(&self, other: &Self) -> f64 {
        let solved = self.fraction_solved() > 0.0;
        if solved { self.steps_to_solve() / other.steps_to_solve() } else { f64::NAN }
    }

    fn fraction_solved(&self) -> f64 {
        self.mean_over_runs(|run| f64::from(u8::from(solved_after(run).is_some())))
    }

    /// Mean over the last quarter of the run.
    fn late(&self, value: fn(&Point) -> f64) -> f64 {
        self.mean_over_runs(|run| mean(&run[run.len() - run.len().div_ceil(4)..], value))
    }
}

fn mean(points: &[Point], value: fn(&Point) -> f64) -> f64 {
    points.iter().map(value).sum::<f64>() / points.len() as f64
}

fn measures(seeds: &[Vec<Runs>]) -> Vec<Measure> {
    let gap = |method: usize, control: usize, least: f64, words: &str| {
        let values = seeds.iter().map(|runs| runs[method].entropy() - runs[control].entropy());
        let quantity = format!("mean entropy, {words}");
        Measure::new(quantity, values, Target::AtLeast(least)).in_unit("nat")
    };
    let slower = |method: usize, target, words: &str| {
        let values = seeds.iter().map(|runs| runs[method].steps_to_solve_over(&runs[BASELINE]));
        Measure::new(format!("steps to 475, {words} over no control"), values, target)
    };
    let late = |method: usize, words: &str| {
        let values = seeds.iter().map(|runs| runs[method].late(|point| point.greedy_return));
        let quantity = format!("greedy return over the last quarter, {words}");
        Measure::new(quantity, values, Target::AtLeast(475.0)).in_unit("reward")
    };
    vec![
        gap(CLIP_COV, BASELINE, 0.01, "Clip-Cov less no control"),
        gap(KL_COV, BASELINE, 0.01, "KL-Cov less no control"),
        gap(KL_COV, NO_PENALTY, 0.05, "KL-Cov less the same without penalty"),
        slower(CLIP_COV, Target::AtMost(1.0), "Clip-Cov"),
        slower(KL_COV, Target::AtMost(1.0), "KL-Cov"),
        late(CLIP_COV, "Clip-Cov"),
        late(KL_COV, "KL-Cov"),
        slower(NO_PENALTY, Target::None, "KL-Cov without penalty"),
        slower(BONUS, Target::None, "entropy bonus"),
    ]
}

/// Entropy and return over environment steps.
fn charts(methods: &[(&str, Ppo)], seeds: &[Vec<Runs>]) -> [Chart; 2] {
    let steps: Vec<f64> =
        seeds[0][0].curves[0].iter().map(|point| point.environment_steps as f64).collect();
    let series = |value: fn(&Point) -> f64| -> Vec<Series> {
        let line = |(index, (name, _)): (usize, &(&str, Ppo))| {
            let runs: Vec<Vec<f64>> = seeds.iter().map(|seed| seed[index].curve(value)).collect();
            curve_with_range(name, index, &steps, &runs)
        };
        methods.iter().enumerate().map(line).collect()
    };
    let [entropy, returns] = [series(|point| point.entropy), series(|point| point.sampled_return)];
    let x = Axis::from_to("Environment steps", 0.0, steps[steps.len() - 1]);
    let nats = heights("Entropy of the policy (nats)", &entropy, false);
    let reward = Axis::from_to("Mean return of an episode", 0.0, f64::from(STEP_LIMIT));
    [
        chart("cart-pole-entropy", x.clone(), nats, entropy),
        chart("cart-pole-return", x, reward, returns),
    ]
}

fn table(methods: &[(&str, Ppo)], seeds: &[Vec<Runs>]) -> Table {
    let mut table = Table::new(
        "Means over all runs; late is the last quarter of a run.",
        &[
            "Method",
            "Mean entropy (nat)",
            "Late entropy (nat)",
            "Steps to 475",
            "Runs that reached it (fraction)",
            "Late return, sampled",
            "Late return, greedy",
            "Steps selected (fraction)",
        ],
    );
    for (index, (name, _)) in methods.iter().enumerate() {
        let over_seeds = |value: &dyn Fn(&Runs) -> f64| -> Cell {
            let total: f64 = seeds.iter().map(|seed| value(&seed[index])).sum();
            (total / seeds.len() as f64).into()
        };
        table.row([
            (*name).into(),
            over_seeds(&Runs::entropy),
            over_seeds(&|runs| runs.late(|point| point.entropy)),
            over_seeds(&Runs::steps_to_solve),
            over_seeds(&Runs::fraction_solved),
            over_seeds(&|runs| runs.late(|point| point.sampled_return)),
            over_seeds(&|runs| runs.late(|point| point.greedy_return)),
            over_seeds(&|runs| runs.late(|point| point.selected_fraction)),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::Scale;

    #[test]
    fn every_method_is_run_and_the_outcome_is_that_of_its_seeds() {
        let setting = Setting { scale: Scale::Quick, seed: 1, seeds: 2 };
        let settings =
            Ppo { iterations: 3, evaluate_every: 1, evaluation_episodes: 2, ..Ppo::default() };
        let outcome = experiment(&setting, 2, &methods(settings), &Progress::silent());
        for measure in &outcome.measures {
            assert_eq!(measure.values.len(), 2);
            // In so few steps nothing is solved, and what is not solved meets no target.
            let unsolved = measure.quantity.starts_with("steps to 475");
            assert!(measure.values.iter().all(|x| x.is_nan() == unsolved), "{measure:?}");
            assert!(!unsolved || measure.met != Some(true), "{measure:?}");
        }
        assert_eq!(outcome.figures[0].chart.series.len(), 5);
        // The last column: Clip-Cov and both kinds of KL-Cov select one step in fifty, the others none.
        let selected = |row: usize| match outcome.tables[0].rows[row].last() {
            Some(Cell::Number(value)) => *value,
            other => panic!("{other:?}"),
        };
        assert!(selected(BASELINE) < 1e-12 && selected(BONUS) < 1e-12);
        assert!((selected(KL_COV) - 5.0 / 256.0).abs() < 1e-12);
        assert!(selected(CLIP_COV) > 0.0 && selected(CLIP_COV) <= 5.0 / 256.0);
    }
}
