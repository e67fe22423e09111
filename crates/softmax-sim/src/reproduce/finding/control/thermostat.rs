//! The thermostat: an entropy trajectory held through the fraction of Clip-Cov or KL-Cov.

use super::arena::{Arena, Hold, Run, Trial, clip_cov, kl_cov};
use super::knobs::{DROPPED, FRACTIONS};
use super::show::{ENDS, ends, entropy_chart, thinned};
use crate::reproduce::charts::{chart, places};
use crate::reproduce::seeds::{curve, interval};
use crate::reproduce::{ExperimentResult, Measure, Progress, Setting, Table, Target};
use figures::{Axis, Chart, Mark, Series};
use rl_losses::EntropyTarget;

const END: f64 = 0.3;
const NAMES: [&str; 2] = ["KL-Cov", "Clip-Cov"];

pub(in super::super) fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    run_in(&Arena::slow(setting), setting, progress)
}

/// Runs under a thermostat and with fixed fractions, of KL-Cov and of Clip-Cov.
struct Trials {
    held: Vec<Trial>,
    fixed: [Vec<Trial>; 2],
    /// Rollouts until the target is constant.
    within: usize,
}

impl Trials {
    fn of(arena: &Arena, setting: &Setting, progress: &Progress) -> Self {
        let within = arena.schedule.rollouts / 3;
        let trajectory = Some(Hold { entropy: END, within: within as u64 });
        let held = [kl_cov(0.05, 1.0), clip_cov(0.05)].map(|method| ("thermostat", method));
        let held = arena.held_runs(setting, progress, held, trajectory);
        let penalised = FRACTIONS.map(|k| (format!("k = {k}"), kl_cov(k, 1.0)));
        let dropped = DROPPED.map(|r| (format!("r = {r}"), clip_cov(r)));
        let fixed = [penalised, dropped].map(|methods| arena.runs(setting, progress, methods));
        Self { held, fixed, within }
    }

    /// Trajectory that the thermostat of `run` holds.
    fn target(&self, run: &Run) -> EntropyTarget {
        EntropyTarget { start: run.curve.first().entropy, end: END, steps: self.within as u64 }
    }

    /// Error over a whole run.
    fn overall(&self, run: &Run) -> f64 {
        error(run, self.target(run), 0)
    }

    fn measures(&self) -> Vec<Measure> {
        let mut measures = vec![];
        for ((name, trial), fixed) in NAMES.iter().zip(&self.held).zip(&self.fixed) {
            let overall = trial.each(|run| self.overall(run));
            let best = best_of(fixed, &|run| self.overall(run));
            let ratio = std::iter::zip(best, &overall).map(|(best, held)| best / held).collect();
            let settled = trial.each(|run| error(run, self.target(run), self.within));
            let mut add = |what: &str, values: Vec<f64>, target| {
                measures.push(Measure::new(format!("{name}: {what}"), values, target));
            };
            add("error over the whole run", overall, Target::AtMost(0.1));
            add("error at the constant target", settled, Target::AtMost(0.05));
            add("error of the best fixed fraction over it", ratio, Target::AtLeast(3.0));
        }
        measures
    }

    /// Entropy of a method under its thermostat and with the fixed fractions, and the target.
    fn chart(&self, method: usize, stem: &str) -> Chart {
        let held = &self.held[method];
        let mut chart = entropy_chart(stem, std::iter::once(held).chain(&self.fixed[method]));
        let first = &held.seeds[0];
        let target = self.target(first);
        let rollouts = first.curve.points.iter().map(|point| point.rollouts);
        let heights = rollouts.map(|rollout| (rollout as f64, target.at(rollout as u64)));
        chart.series.push(Series::new("target", 0, Mark::Reference, heights.collect()));
        chart
    }

    fn table(&self) -> Table {
        let columns = [&["Method", "Error"][..], &ENDS].concat();
        let heading = "Error over the run, and what it ended with: mean, 0.95 interval.";
        let mut table = Table::new(heading, &columns);
        let mut row = |name: String, trial: &Trial| {
            let error = interval(&trial.each(|run| self.overall(run))).text();
            let ends = ends(trial, |interval| interval.text().into());
            table.row([name.into(), error.into()].into_iter().chain(ends));
        };
        for (index, name) in NAMES.iter().enumerate() {
            row(format!("{name}, thermostat"), &self.held[index]);
            for (fraction, trial) in [FRACTIONS, DROPPED][index].iter().zip(&self.fixed[index]) {
                row(format!("{name}, {fraction}"), trial);
            }
        }
        table
    }
}

fn run_in(arena: &Arena, setting: &Setting, progress: &Progress) -> ExperimentResult {
    let trials = Trials::of(arena, setting, progress);
    ExperimentResult::new(trials.measures())
        .figure(trials.chart(0, "thermostat-kl-cov"))
        .figure(trials.chart(1, "thermostat-clip-cov"))
        .figure(fractions_chart(&trials.held))
        .table(trials.table())
}

/// Mean of `|ln(H / target)|` over the evaluations after rollout `after`.
fn error(run: &Run, target: EntropyTarget, after: usize) -> f64 {
    let points = run.curve.points.iter().filter(|point| point.rollouts > after);
    let errors: Vec<f64> =
        points.map(|point| (point.entropy / target.at(point.rollouts as u64)).ln().abs()).collect();
    errors.iter().sum::<f64>() / errors.len() as f64
}

/// The smallest error of any of `trials`, once a seed.
fn best_of(trials: &[Trial], error: &impl Fn(&Run) -> f64) -> Vec<f64> {
    let errors: Vec<Vec<f64>> = trials.iter().map(|trial| trial.each(error)).collect();
    let best = |seed: usize| errors.iter().map(|one| one[seed]).fold(f64::INFINITY, f64::min);
    (0..errors[0].len()).map(best).collect()
}

fn fractions_chart(held: &[Trial]) -> Chart {
    let of_trial = |(colour, (name, trial)): (usize, (&str, &Trial))| {
        let every = thinned(trial.seeds[0].fractions.len());
        let thin = |run: &Run| run.fractions.iter().copied().step_by(every).collect();
        let runs: Vec<Vec<f64>> = trial.seeds.iter().map(thin).collect();
        let rollouts: Vec<f64> = (0..runs[0].len()).map(|at| (at * every) as f64).collect();
        curve(name, colour, Mark::Line, &rollouts, &runs)
    };
    let series: Vec<Series> = std::iter::zip(NAMES, held).enumerate().map(of_trial).collect();
    let x = places("Rollout batches", &series, 0.0);
    chart("thermostat-fractions", x, Axis::log_of("Fraction of the tokens", &series), series)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_that_of_the_logarithm_after_a_rollout() {
        let arena = Arena::of(4, 1.0, 4, 1);
        let mut run = arena.runs(&Setting::SHORT, &Progress::silent(), [("", kl_cov(0.1, 1.0))])[0]
            .seeds[0]
            .clone();
        let e = std::f64::consts::E;
        for (point, entropy) in
            run.curve.points.iter_mut().zip([5.0, 2.0 * e, 2.0 / e, 2.0, 2.0 * e])
        {
            point.entropy = entropy;
        }
        let target = EntropyTarget::constant(2.0);
        assert!((error(&run, target, 0) - 0.75).abs() < 1e-12);
        assert!((error(&run, target, 2) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn the_thermostat_is_closer_than_any_fixed_fraction() {
        let arena = Arena::of(16, 0.6, 600, 10);
        let progress = Progress::silent();
        let outcome = run_in(&arena, &Setting::SHORT, &progress);
        for measure in &outcome.measures {
            if measure.quantity.ends_with("best fixed fraction over it") {
                assert!(measure.interval.mean > 1.0, "{measure:?}");
            }
        }
        let again = run_in(&arena, &Setting::SHORT, &progress);
        assert_eq!(outcome, again, "from the runs that were kept");
    }
}
