//! Classic control: the methods on a pole balanced on a cart, outside the paper's domain.

use crate::cart_pole::{Point, Ppo, STEP_LIMIT, solved_after, train};
use crate::reproduce::charts::{chart, heights};
use crate::reproduce::seeds::curve_with_range;
use crate::reproduce::{
    Cell, ExperimentResult, Finding, Measure, Progress, Setting, Table, Target,
};
use figures::{Axis, Chart, Series};
use rayon::prelude::*;
use rl_losses::{ClipCov, ClipRange, CovarianceBand, DualClip, KlCov, PolicyLoss, PpoClip};

/// The finding.
pub(super) const FINDING: Finding = Finding {
    name: "cart-pole",
    title: "Entropy control on a cart and pole",
    claim: "Clip-Cov and KL-Cov keep entropy above the uncontrolled baseline and learn at least as well. The \
            paper claims it for language models only (Section 4, Figures 10 and 11): this is a sanity check \
            outside its domain.",
    method: "CartPole-v1 (own implementation, checked against recorded transitions) and PPO: two networks of 2 × 64 \
             tanh units, Adam at 1e-3, 8 environments × 128 steps a round, 4 epochs of 4 mini-batches, discount 0.99, \
             GAE 0.95. Baseline: ratio clipped at 0.2. Clip-Cov drops 0.02 of the steps, from the covariances 0.2 to 5; \
             KL-Cov penalises 0.02 of them with coefficient 1, beside it the same without the penalty; entropy bonus 0.01. \
             Each seed is four runs of each method. Entropy is exact, in the states visited; return is the mean of 32 \
             fresh episodes with sampled actions, of at most 500.",
    target: "On the mean over its runs: mean entropy of the run at least 0.01 nat above the baseline's \
             under Clip-Cov and under KL-Cov, and at least 0.05 nat above that of KL-Cov without its penalty; no more \
             environment steps to a mean return of 475 than the baseline needs; mean greedy return over the last \
             quarter at least 475. Knobs and targets were fixed on two other seeds (100 and 101).",
    theory: &["detached-tokens", "entropy-bonus"],
    sources: &[include_str!("cart_pole.rs")],
    run,
};

/// Size of the experiment.
#[derive(Debug, Clone, Copy)]
struct Size {
    /// Runs of each method in a seed.
    runs: u64,
    /// Settings that all methods share.
    settings: Ppo,
}

/// A method of the comparison.
#[derive(Debug, Clone, Copy)]
struct Method {
    name: &'static str,
    policy_loss: PolicyLoss,
    entropy_coefficient: f64,
}

const BASELINE: usize = 0;
const CLIP_COV: usize = 1;
const KL_COV: usize = 2;
const NO_PENALTY: usize = 3;
const BONUS: usize = 4;

/// Methods of the comparison, in the order of the constants.
fn methods() -> [Method; 5] {
    let clip = ClipRange::new(0.2, 0.2).expect("a clip of 0.2 is in range");
    let band = CovarianceBand::new(0.2, 5.0).expect("the bounds are in order");
    let ppo = PolicyLoss::PpoClip(PpoClip::new(clip, DualClip::OFF));
    let clip_cov = ClipCov::new(0.02, band, clip).expect("a fraction");
    let kl_cov = |penalty| KlCov::new(0.02, penalty).map(PolicyLoss::KlCov).expect("in range");
    let method = |name, policy_loss| Method { name, policy_loss, entropy_coefficient: 0.0 };
    [
        method("no control", ppo),
        method("Clip-Cov", PolicyLoss::ClipCov(clip_cov)),
        method("KL-Cov", kl_cov(1.0)),
        method("KL-Cov, no penalty", kl_cov(0.0)),
        Method { entropy_coefficient: 0.01, ..method("entropy bonus", ppo) },
    ]
}

fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    let full = Ppo::default();
    let quick = Ppo { iterations: 32, evaluation_episodes: 16, ..full };
    let size = Size { runs: setting.pick(1, 4), settings: setting.pick(quick, full) };
    experiment(setting, size, progress)
}

fn experiment(setting: &Setting, size: Size, progress: &Progress) -> ExperimentResult {
    let methods = methods();
    progress.plan(methods.len() as u64 * setting.seeds as u64 * size.runs);
    let of_seed = |seed: u64| -> Vec<Runs> {
        methods.par_iter().map(|method| Runs::of(method, seed, size, progress)).collect()
    };
    let seeds = setting.over_seeds(of_seed);
    ExperimentResult::new(measures(&seeds))
        .figure(
            over_steps(&methods, &seeds, "entropy"),
            "Entropy of the policy in the states it visits; mean over the seeds, the band from the least to the largest. \
             ln 2 = 0.69 is a fair coin.",
        )
        .figure(
            over_steps(&methods, &seeds, "return"),
            "Mean return with sampled actions, of at most 500; 475 counts as solved. The bands span the seeds: returns \
             differ more between seeds than between methods.",
        )
        .table(table(&methods, &seeds))
        .note(
            "Two actions and no language: this shows that the losses do what they say in another domain, and is no \
             evidence about reasoning. The paper's fractions (2e-4 and 2e-3 of the tokens) are less than one of the 256 \
             steps of a mini-batch here; 0.02 was taken.",
        )
        .note(
            "KL-Cov has no ratio clip of its own, so the control beside it is the same loss without its penalty; set \
             against the baseline alone, the penalty would be given the credit or the blame for the missing clip.",
        )
        .note(
            "A run that never reached 475 counts with all of its steps, which flatters the methods that were slow; where no \
             run of a method did, its target is missed.",
        )
}

/// All runs of a method in one seed.
struct Runs {
    curves: Vec<Vec<Point>>,
}

impl Runs {
    fn of(method: &Method, seed: u64, size: Size, progress: &Progress) -> Self {
        let Method { policy_loss, entropy_coefficient, .. } = *method;
        let settings = Ppo { policy_loss, entropy_coefficient, ..size.settings };
        let run = |index: u64| {
            let curve = train(&settings, seed * size.runs + index);
            progress.advance(1);
            curve.expect("the settings are in range, and no method diverges at this rate")
        };
        Self { curves: (0..size.runs).into_par_iter().map(run).collect() }
    }

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

/// Entropy or return over environment steps, `which` being the one or the other.
fn over_steps(methods: &[Method], seeds: &[Vec<Runs>], which: &str) -> Chart {
    let is_entropy = which == "entropy";
    let value = |point: &Point| point.entropy;
    let value = if is_entropy { value } else { |point: &Point| point.sampled_return };
    let x: Vec<f64> =
        seeds[0][0].curves[0].iter().map(|point| point.environment_steps as f64).collect();
    let line = |(index, method): (usize, &Method)| {
        let runs: Vec<Vec<f64>> = seeds.iter().map(|seed| seed[index].curve(value)).collect();
        curve_with_range(method.name, index, &x, &runs)
    };
    let series: Vec<Series> = methods.iter().enumerate().map(line).collect();
    let (title, y) = if is_entropy {
        let y = heights("Entropy of the policy (nats)", &series, false);
        ("Entropy on the cart and pole", y)
    } else {
        let y = Axis::from_to("Mean return of an episode", 0.0, f64::from(STEP_LIMIT));
        ("Return on the cart and pole", y)
    };
    let stem = format!("cart-pole-{which}");
    let description = format!("Mean {which} of five methods over environment steps.");
    let x = Axis::from_to("Environment steps", 0.0, x[x.len() - 1]);
    chart([&stem, title, &description], x, y, series)
}

fn table(methods: &[Method], seeds: &[Vec<Runs>]) -> Table {
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
    for (index, method) in methods.iter().enumerate() {
        let over_seeds = |value: &dyn Fn(&Runs) -> f64| -> Cell {
            let total: f64 = seeds.iter().map(|seed| value(&seed[index])).sum();
            (total / seeds.len() as f64).into()
        };
        table.row([
            method.name.into(),
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
        let size = Size { runs: 2, settings };
        let outcome = experiment(&setting, size, &Progress::silent());
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
