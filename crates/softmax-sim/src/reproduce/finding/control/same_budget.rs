//! Every method, tuned by one budget.

use super::arena::{Arena, Trial};
use super::grids::{Candidate, Kind, POINTS, candidates};
use crate::reproduce::charts::{chart, heights};
use crate::reproduce::seeds::{interval, means};
use crate::reproduce::{Cell, ExperimentResult, Measure, Progress, Scale, Setting, Table, Target};
use crate::training::CurvePoint;
use figures::{Axis, Chart, Mark};

/// Distance of the seeds that a knob is chosen on from those that are reported.
const OTHER_SEEDS: u64 = 1 << 32;

/// A method with the value that was chosen, and its runs on the seeds that are reported.
struct Tuned {
    candidate: Candidate,
    /// Index in the grid.
    chosen: usize,
    trial: Trial,
}

impl Tuned {
    /// Reward after training, `[seeds]`.
    fn rewards(&self) -> Vec<f64> {
        self.trial.end(|point| point.reward)
    }

    fn mean(&self) -> f64 {
        interval(&self.rewards()).mean
    }
}

pub(in super::super) fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    let arena = setting.pick(Arena::of(16, 1.0, 150, 150), Arena::of(64, 1.0, 1000, 1000));
    run_in(&arena, setting, progress)
}

fn run_in(arena: &Arena, setting: &Setting, progress: &Progress) -> ExperimentResult {
    let tuned = tune(arena, setting, progress, candidates());
    let edge = |one: &&Tuned| one.chosen == 0 || one.chosen + 1 == POINTS;
    let has_knob = |one: &&Tuned| one.candidate.grid.len() > 1;
    let note = format!(
        "Of {} methods with a knob, {} were best at an end of their grid.",
        tuned.iter().filter(has_knob).count(),
        tuned.iter().filter(has_knob).filter(edge).count()
    );
    ExperimentResult::new(measures(&tuned))
        .figure(rewards_chart(&tuned))
        .table(table(&tuned).on_page())
        .note(note)
}

/// Chooses the value of each knob on other seeds, and runs it on those of `setting`.
fn tune(
    arena: &Arena,
    setting: &Setting,
    progress: &Progress,
    candidates: Vec<Candidate>,
) -> Vec<Tuned> {
    let seeds = match setting.scale {
        Scale::Quick => 2,
        Scale::Full => 4,
    };
    let others = Setting { seed: setting.seed + OTHER_SEEDS, seeds, ..*setting };
    let method = |one: &Candidate, index: usize| (one.name, one.grid[index].1.clone());
    let with_knob = candidates.iter().filter(|one| one.grid.len() > 1);
    let all = with_knob.flat_map(|one| (0..POINTS).map(move |index| method(one, index)));
    let trials = arena.runs(&others, progress, all);
    let rewards = trials.iter().map(|trial| interval(&trial.end(|point| point.reward)).mean);
    let rewards: Vec<f64> = rewards.collect();
    let mut of_grids = rewards.chunks_exact(POINTS);
    let chosen: Vec<usize> = candidates
        .iter()
        .map(|one| if one.grid.len() == 1 { 0 } else { of_grids.next().map_or(0, best) })
        .collect();
    let methods = std::iter::zip(&candidates, &chosen).map(|(one, chosen)| method(one, *chosen));
    let trials = arena.runs(setting, progress, methods);
    std::iter::zip(candidates, std::iter::zip(chosen, trials))
        .map(|(candidate, (chosen, trial))| Tuned { candidate, chosen, trial })
        .collect()
}

/// Index of the largest, the first of several.
fn best(values: &[f64]) -> usize {
    let better =
        |best: usize, index: usize| if values[index] > values[best] { index } else { best };
    (1..values.len()).fold(0, better)
}

fn measures(tuned: &[Tuned]) -> Vec<Measure> {
    let rewards_of = |name: &str| {
        let one = tuned.iter().find(|one| one.candidate.name == name);
        one.expect("a loss of the registry").rewards()
    };
    let grpo = rewards_of("ppo-clip");
    let losses: Vec<Vec<f64>> =
        tuned.iter().filter(|one| one.candidate.kind == Kind::Loss).map(Tuned::rewards).collect();
    let medians: Vec<f64> = (0..grpo.len())
        .map(|seed| middle(losses.iter().map(|rewards| rewards[seed]).collect()))
        .collect();
    let mut measures = vec![];
    for (baseline, quantity) in
        [(&grpo, "reward above GRPO"), (&medians, "reward above the median loss")]
    {
        for (name, title) in [("clip-cov", "Clip-Cov"), ("kl-cov", "KL-Cov")] {
            let gains =
                std::iter::zip(rewards_of(name), baseline).map(|(reward, base)| reward - base);
            let quantity = format!("{title}: {quantity}");
            measures.push(Measure::new(quantity, gains, Target::AtLeast(0.0)));
        }
    }
    measures
}

/// The middle value, the upper one of two.
fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// One row a method, the highest reward first.
fn table(tuned: &[Tuned]) -> Table {
    let columns = [
        "Method",
        "Kind",
        "Knob",
        "Grid",
        "Chosen",
        "Reward at T = 1",
        "Greedy reward",
        "Entropy (nat)",
    ];
    let heading = "Each knob as it was best on other seeds; means with 0.95 intervals over the seeds reported.";
    let mut table = Table::new(heading, &columns);
    let mut order: Vec<&Tuned> = tuned.iter().collect();
    order.sort_by(|one, other| other.mean().total_cmp(&one.mean()));
    for Tuned { candidate, chosen, trial } in order {
        let Candidate { name, kind, knob, grid } = candidate;
        let text =
            |value: fn(&CurvePoint) -> f64| -> Cell { interval(&trial.end(value)).text().into() };
        let values: Vec<String> = grid.iter().map(|(value, _)| value.to_string()).collect();
        let [knob, value, values] = if knob.is_empty() {
            ["–"; 3].map(str::to_owned)
        } else {
            [(*knob).to_owned(), values[*chosen].clone(), values.join(", ")]
        };
        table.row([
            (*name).into(),
            kind.text().into(),
            knob.into(),
            values.into(),
            value.into(),
            text(|point| point.reward),
            text(|point| point.greedy_reward),
            interval(&trial.end(|point| point.entropy)).mean.into(),
        ]);
    }
    table
}

/// Reward of each loss, sampled and greedy.
fn rewards_chart(tuned: &[Tuned]) -> Chart {
    let losses: Vec<&Tuned> = tuned.iter().filter(|one| one.candidate.kind == Kind::Loss).collect();
    let series = |name: &str, colour, value: fn(&CurvePoint) -> f64| {
        let intervals = losses.iter().map(|one| interval(&one.trial.end(value)));
        means(name, colour, Mark::Points, (0_u32..).map(f64::from).zip(intervals))
    };
    let series = vec![
        series("at T = 1", 0, |point| point.reward),
        series("greedy", 1, |point| point.greedy_reward),
    ];
    let names: Vec<&str> = losses.iter().map(|one| one.candidate.name).collect();
    let x = Axis::of_categories("Policy loss", &names);
    chart(
        "same-budget-reward",
        x,
        heights("Expected reward after training", &series, false),
        series,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::training::Method;

    /// Two values of which one does not learn: the other is chosen, and reported on other seeds than it was chosen on.
    #[test]
    fn the_value_that_is_best_on_other_seeds_is_reported() {
        let arena = Arena::of(8, 1.0, 60, 60);
        let mut candidates = candidates();
        candidates.retain(|one| one.name == "entropy_bonus");
        // A bonus of 30 nats drowns the reward.
        let values = [30.0, 0.0, 20.0, 10.0, 25.0];
        let method = |bonus| Method::default().with_entropy_bonus(bonus);
        candidates[0].grid = values.map(|value| (value, method(value))).to_vec();
        let tuned = tune(&arena, &Setting::SHORT, &Progress::silent(), candidates);
        assert_eq!(tuned[0].chosen, 1);
        let chosen = [("entropy_bonus", method(0.0))];
        let expected = arena.runs(&Setting::SHORT, &Progress::silent(), chosen);
        assert_eq!(tuned[0].trial, expected[0]);
    }

    #[test]
    fn every_method_has_a_row_with_its_number() {
        let outcome = run_in(&Arena::of(4, 1.0, 8, 8), &Setting::SHORT, &Progress::silent());
        let table = &outcome.tables[0];
        assert_eq!(table.rows.len(), candidates().len());
        assert!(table.on_page);
        for row in &table.rows {
            assert!(row[5].text().contains('['), "{row:?}");
        }
    }

    #[test]
    fn the_best_and_the_middle_by_hand() {
        assert_eq!(best(&[0.1, 0.4, 0.4, 0.2]), 1);
        assert!((middle(vec![3.0, 1.0, 2.0, 4.0]) - 3.0).abs() < 1e-15);
    }
}
