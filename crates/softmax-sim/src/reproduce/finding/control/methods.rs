//! Every policy loss of the registry on one baseline.

use super::arena::{Arena, Trial, clip_cov, grpo_clipped, kl_cov};
use crate::reproduce::seeds::{Interval, interval};
use crate::reproduce::{
    Cell, ExperimentResult, Finding, Measure, Progress, Setting, Table, Target,
};
use crate::training::{CurvePoint, Method};
use figures::{Axis, Chart, Mark, Series};
use rl_losses::{CovarianceControl, Gspo, LossSums, PolicyLoss, Standing, registry};

/// The finding.
pub(in super::super) const FINDING: Finding = Finding {
    name: "methods",
    title: "Every policy loss of the registry on the same baseline",
    claim: "Clip-Cov and KL-Cov keep more entropy than methods that clip by the ratio alone, and gain by it. \
            Section 4.3, Figure 11, Table 2.",
    method: "Each loss of rl-losses, most of them younger than the paper, with its published settings and aggregation on \
             the token world of entropy control with small steps (C2), advantages relative to the group. Settings that \
             are shares of the tokens or bounds on a sequence's ratio do not transfer to a toy, so four losses stand in \
             the table a second time, fitted to it: KL-Cov with k = 0.15, Clip-Cov with r = 0.03, the covariance selector \
             with the share of 0.15, GSPO with bounds of 0.1.",
    target: "Every loss gains at least 0.1 of reward; Clip-Cov and KL-Cov, fitted, keep at least 8 times the \
             entropy of GRPO and have a greedy reward above that of the median loss with published settings.",
    theory: &["detached-tokens", "clipped-surrogate"],
    sources: &[
        include_str!("methods.rs"),
        include_str!("arena.rs"),
        include_str!("../../engine.rs"),
    ],
    run,
};

/// A row of the table.
struct Entry {
    name: String,
    /// Short name, for the charts.
    short: String,
    source: &'static str,
    standing: &'static str,
    method: Method,
}

fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    run_in(&Arena::slow(setting), setting, progress)
}

fn run_in(arena: &Arena, setting: &Setting, progress: &Progress) -> ExperimentResult {
    let baseline = Entry {
        name: "GRPO, clip 0.2".to_owned(),
        short: "GRPO".to_owned(),
        source: "baseline of arXiv:2505.22617",
        standing: "baseline",
        method: grpo_clipped(0.2),
    };
    let mut entries = vec![baseline];
    let published = registry().len();
    entries.extend(registry().iter().map(|method| Entry {
        name: method.title.to_owned(),
        short: method.name.to_owned(),
        source: method.source,
        standing: standing(method.standing),
        method: Method { aggregation: method.aggregation, ..Method::of(method.default) },
    }));
    entries.extend(fitted());
    let methods: Vec<Method> = entries.iter().map(|entry| entry.method.clone()).collect();
    let trials = arena.runs(setting, progress, &methods);
    let outcome = ExperimentResult::new(measures(&entries, &trials, published));
    outcome
        .figure(
            entropy_chart(&entries, &trials),
            "Means with 95 % intervals over the seeds, logarithmic. Most losses leave the entropy where GRPO does.",
        )
        .figure(
            reward_chart(&entries, &trials),
            "Means with 95 % intervals over the seeds. A gap between greedy and sampled is entropy that was kept.",
        )
        .table(table(&entries, &trials))
        .note(
            "\"Changed\" is the fraction of tokens, over all updates, whose gradient was another than that of the \
             unclipped surrogate -r A. Where it is 0 of all tokens the loss is marked inert: it is configured and does \
             nothing here.",
        )
        .note(
            "With one logit per state each state is updated once in an epoch, so that ratios leave 1 in the second \
             epoch only, and a bound on the ratio is out of reach with these steps. What tells losses apart here \
             is what they do to chosen tokens, not their trust region: the finding on clip-higher has larger steps.",
        )
        .note(
            "One toy is no ranking for language models: what transfers is the direction of \
             the effect on the entropy and whether a loss acts at all.",
        )
}

fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Established => "established",
        Standing::SingleLab => "one laboratory",
        Standing::Ours => "ours",
    }
}

/// The losses whose published settings do not transfer, with settings that fit the toy.
fn fitted() -> Vec<Entry> {
    let entry = |name: &str, method: Method| Entry {
        name: format!("{name}, fitted"),
        short: name.to_owned(),
        source: "here",
        standing: "fitted",
        method,
    };
    let control = CovarianceControl { fraction: 0.15, ..CovarianceControl::default() };
    let sequence = Gspo { clip_ratio_low: 0.1, clip_ratio_high: 0.1 };
    vec![
        entry("KL-Cov 0.15", kl_cov(0.15, 1.0)),
        entry("Clip-Cov 0.03", clip_cov(0.03)),
        entry("selector 0.15", Method::of(PolicyLoss::CovarianceControl(control))),
        entry("GSPO 0.1", Method::of(PolicyLoss::Gspo(sequence))),
    ]
}

fn measures(entries: &[Entry], trials: &[Trial], published: usize) -> Vec<Measure> {
    let (baseline, fitted) = (&trials[0], 1 + published);
    let seeds = baseline.seeds.len();
    let gain = |run: &super::arena::Run| run.end().reward - run.curve.first().reward;
    let gains: Vec<Vec<f64>> = trials.iter().map(|trial| trial.each(gain)).collect();
    let least = |seed: usize| gains.iter().map(|gain| gain[seed]).fold(f64::INFINITY, f64::min);
    let greedy: Vec<Vec<f64>> =
        trials.iter().map(|trial| trial.end(|point| point.greedy_reward)).collect();
    let median = |seed: usize| median(greedy[..fitted].iter().map(|one| one[seed]).collect());
    let mut measures = vec![Measure::new(
        "smallest gain of reward of any loss",
        "1",
        (0..seeds).map(least).collect(),
        Target::AtLeast(0.1),
    )];
    for index in [fitted, fitted + 1] {
        let quantity = |what: &str| format!("{}: {what}", entries[index].name);
        measures.push(Measure::new(
            &quantity("entropy over GRPO's"),
            "1",
            trials[index].entropy_over(baseline),
            Target::AtLeast(8.0),
        ));
        measures.push(Measure::new(
            &quantity("greedy reward above the median loss"),
            "1",
            (0..seeds).map(|seed| greedy[index][seed] - median(seed)).collect(),
            Target::AtLeast(0.0),
        ));
    }
    let inert = |seed: usize| {
        let pairs = std::iter::zip(entries, trials);
        let inert = |(entry, trial): &(&Entry, &Trial)| {
            entry.method.loss.inertness(&trial.seeds[seed].sums).is_some()
        };
        pairs.filter(inert).count() as f64
    };
    let inert = (0..seeds).map(inert).collect();
    measures.push(Measure::new("losses that changed no gradient", "1", inert, Target::None));
    measures
}

/// The middle value, or the mean of the two in the middle.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

fn table(entries: &[Entry], trials: &[Trial]) -> Table {
    let columns = [
        "Loss",
        "Entropy (nat)",
        "over GRPO's",
        "Reward at T = 1",
        "at T = 0.6",
        "greedy",
        "Changed",
        "Standing",
        "Source",
    ];
    let mut table = Table::new("After training: mean over seeds, 95 % interval.", &columns);
    for (entry, trial) in std::iter::zip(entries, trials) {
        let text = |values: &[f64]| -> Cell { interval(values).text().into() };
        let mut sums = LossSums::default();
        trial.seeds.iter().for_each(|run| sums += run.sums);
        let changed: Cell = match entry.method.loss.inertness(&sums) {
            Some(_) => "inert".into(),
            None => sums.altered_fraction().into(),
        };
        table.row([
            entry.name.as_str().into(),
            text(&trial.end(|point| point.entropy)),
            interval(&trial.entropy_over(&trials[0])).mean.into(),
            text(&trial.end(|point| point.reward)),
            text(&trial.end(|point| point.cool_reward)),
            text(&trial.end(|point| point.greedy_reward)),
            changed,
            entry.standing.into(),
            entry.source.into(),
        ]);
    }
    table
}

/// Entropy of each loss over that of GRPO.
fn entropy_chart(entries: &[Entry], trials: &[Trial]) -> Chart {
    let intervals = trials.iter().map(|trial| interval(&trial.entropy_over(&trials[0])));
    let x = names(entries);
    let series =
        vec![Series::level("as GRPO", &x, 1.0), over_losses("entropy", 0, Mark::Points, intervals)];
    Chart {
        stem: "methods-entropy".to_owned(),
        title: "Entropy of every loss over that of GRPO".to_owned(),
        description: "Entropy after training over that of GRPO, one marker a loss.".to_owned(),
        x,
        y: Axis::log_of("Entropy over that of GRPO", &series),
        series,
    }
}

/// Reward of each loss, sampled and greedy.
fn reward_chart(entries: &[Entry], trials: &[Trial]) -> Chart {
    let intervals =
        |value: fn(&CurvePoint) -> f64| trials.iter().map(move |trial| interval(&trial.end(value)));
    let series = vec![
        over_losses("at T = 1", 0, Mark::Points, intervals(|point| point.reward)),
        over_losses("greedy", 1, Mark::Points, intervals(|point| point.greedy_reward)),
    ];
    let heights: Vec<f64> = series.iter().flat_map(Series::heights).collect();
    Chart {
        stem: "methods-reward".to_owned(),
        title: "Reward of every loss".to_owned(),
        description: "Expected reward after training, at temperature 1 and greedy, of every loss."
            .to_owned(),
        x: names(entries),
        y: Axis::around("Expected reward after training", heights, false, 0.05),
        series,
    }
}

fn names(entries: &[Entry]) -> Axis {
    let names: Vec<&str> = entries.iter().map(|entry| entry.short.as_str()).collect();
    Axis::of_categories("Policy loss", &names)
}

fn over_losses(
    name: &str,
    colour: usize,
    mark: Mark,
    intervals: impl Iterator<Item = Interval>,
) -> Series {
    let places: Vec<(f64, Interval)> = (0_u32..).map(f64::from).zip(intervals).collect();
    let means = places.iter().map(|&(x, interval)| (x, interval.mean)).collect();
    let spread = places.iter().map(|&(x, interval)| (x, interval.low, interval.high)).collect();
    Series::new(name, colour, mark, means).with_spread(spread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::Scale;

    #[test]
    fn every_loss_of_the_registry_has_a_row_and_learns() {
        let setting = Setting { scale: Scale::Quick, seed: 3, seeds: 3 };
        let run = || run_in(&Arena::of(8, 1.0, 60, 20), &setting, &Progress::silent());
        let outcome = run();
        let table = &outcome.tables[0];
        // With a new loss this number changes, and with `LATER` kept results of this finding: they are run again.
        assert_eq!(registry().len(), 24);
        assert_eq!(table.rows.len(), 1 + registry().len() + fitted().len());
        for method in registry() {
            assert!(table.rows.iter().any(|row| row[0] == method.title.into()), "{}", method.title);
        }
        let least = &outcome.measures[0];
        assert!(least.values.iter().all(|gain| *gain > 0.0), "{least:?}");
        assert_eq!(outcome, run());
    }

    #[test]
    fn a_median_by_hand() {
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < 1e-15);
        assert!((median(vec![4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-15);
    }
}
