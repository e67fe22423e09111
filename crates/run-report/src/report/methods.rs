//! Runs by method: runs whose configurations differ in the seed alone are seeds of one.

use std::collections::BTreeMap;

use entropy_core::Interval;
use figures::html::escape;
use figures::moving_average::mean;

use super::ReportRun;
use crate::run_law::CONFIDENCE;

/// The runs of one method, in order; one run of each seed.
pub(super) struct Method<'a> {
    pub(super) name: String,
    pub(super) runs: Vec<&'a ReportRun>,
}

/// A run with the place of its method, which is its colour.
pub(super) struct MethodRun<'a> {
    pub(super) colour: usize,
    pub(super) method: String,
    pub(super) run: &'a ReportRun,
}

/// Formats a run's name with its colour.
pub(super) fn name_cell(colour: usize, name: &str) -> String {
    format!("<span class=\"run c{}\">{}</span>", colour % 10, escape(name))
}

/// Settings that name a run, or that its seeds differ in.
const NAMES: [&str; 3] = ["name", "seed", "output_directory"];

/// Groups the runs, in the order of their first ones. A run without a configuration is alone.
pub(super) fn methods(runs: &[ReportRun]) -> Vec<Method<'_>> {
    let mut groups: Vec<(Option<toml::Table>, Vec<&ReportRun>)> = vec![];
    for run in runs {
        let settings = settings(run).map(|mut settings| {
            settings.retain(|key, _| !NAMES.contains(&key));
            settings
        });
        let same = groups.iter_mut().find(|(other, _)| settings.is_some() && *other == settings);
        match same {
            Some((_, members)) => members.push(run),
            None => groups.push((settings, vec![run])),
        }
    }
    groups.into_iter().map(|(_, runs)| Method { name: common_name(&runs), runs }).collect()
}

/// Every run with its colour, by method.
pub(super) fn method_runs(runs: &[ReportRun]) -> Vec<MethodRun<'_>> {
    let mut coloured = vec![];
    for (colour, method) in methods(runs).into_iter().enumerate() {
        let of_method = |run| MethodRun { colour, method: method.name.clone(), run };
        coloured.extend(method.runs.into_iter().map(of_method));
    }
    coloured
}

/// Settings of a run; `None` if it has none.
fn settings(run: &ReportRun) -> Option<toml::Table> {
    run.config_toml.parse().ok().filter(|settings: &toml::Table| !settings.is_empty())
}

/// The name that the runs begin with, without what is of the seed.
fn common_name(runs: &[&ReportRun]) -> String {
    let Some((first, others)) = runs.split_first() else { return String::new() };
    if others.is_empty() {
        return first.name.clone();
    }
    let mut starts = (0..=first.name.len()).rev().filter_map(|length| first.name.get(..length));
    let is_shared = |start: &&str| others.iter().all(|run| run.name.starts_with(start));
    let is_separator = |letter: char| letter.is_ascii_digit() || "-_. =".contains(letter);
    let name = starts.find(is_shared).unwrap_or_default().trim_end_matches(is_separator);
    let name = ["seed", "-s", "_s"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let name = name.trim_end_matches(['-', '_', '.', ' ']);
    if name.is_empty() { first.name.clone() } else { name.to_owned() }
}

/// Points `(x, y)` and spread `(x, low, high)` of a curve.
pub(crate) type MeanCurve = (Vec<(f64, f64)>, Vec<(f64, f64, f64)>);

/// Mean of the curves at the steps that all have, with its 0.95 interval; of one curve there is none.
pub(crate) fn mean_curve(curves: &[Vec<(f64, f64)>]) -> MeanCurve {
    if let [curve] = curves {
        return (curve.clone(), vec![]);
    }
    let mut at_step: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for &(step, value) in curves.iter().flatten() {
        #[expect(clippy::cast_possible_truncation, reason = "steps are whole and small")]
        at_step.entry(step.round() as i64).or_default().push(value);
    }
    at_step.retain(|_, values| values.len() == curves.len());
    let point = |(&step, values): (&i64, &Vec<f64>)| (step as f64, mean(values));
    let interval = |(&step, values): (&i64, &Vec<f64>)| {
        let interval = Interval::of_mean(values, CONFIDENCE).ok()?;
        Some((step as f64, interval.low, interval.high))
    };
    (at_step.iter().map(point).collect(), at_step.iter().filter_map(interval).collect())
}

/// Differences `other - first` of a number of each run: of equal seeds, or of the only runs.
pub(super) fn paired_differences(
    first: &Method<'_>,
    other: &Method<'_>,
    number: impl Fn(&ReportRun) -> f64,
) -> Vec<f64> {
    let seed = |run: &ReportRun| settings(run)?.get("seed")?.as_integer();
    let is_pair = |one: &ReportRun, two: &ReportRun| {
        let alone = first.runs.len() == 1 && other.runs.len() == 1;
        alone || (seed(one).is_some() && seed(one) == seed(two))
    };
    let pair = |two: &&ReportRun| {
        let one = first.runs.iter().find(|one| is_pair(one, two))?;
        Some(number(two) - number(one))
    };
    other.runs.iter().filter_map(pair).filter(|difference| difference.is_finite()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, config_toml: &str) -> ReportRun {
        ReportRun {
            name: name.to_owned(),
            config_toml: config_toml.to_owned(),
            ..ReportRun::default()
        }
    }

    #[test]
    fn names_lose_what_is_of_the_seed() {
        let name = |names: [&str; 2]| {
            let runs = names.map(|name| run(name, ""));
            common_name(&runs.iter().collect::<Vec<_>>())
        };
        assert_eq!(name(["KL-Cov-s10", "KL-Cov-s11"]), "KL-Cov");
        assert_eq!(name(["a=1 seed=3", "a=1 seed=4"]), "a=1");
        assert_eq!(name(["1", "2"]), "1");
        assert_eq!(name(["größer", "große"]), "gr");
    }

    #[test]
    fn curves_of_unequal_length_have_a_mean_where_both_are() {
        let (points, spread) =
            mean_curve(&[vec![(1.0, 1.0), (2.0, 2.0), (3.0, 9.0)], vec![(1.0, 2.0), (2.0, 4.0)]]);
        assert_eq!(points, [(1.0, 1.5), (2.0, 3.0)]);
        // t(0.975; 1) = 12.706, times the standard error 0.5.
        assert!((spread[0].2 - 1.5 - 6.353).abs() < 1e-3, "{spread:?}");
        assert_eq!(mean_curve(&[vec![(0.5, 1.0)]]), (vec![(0.5, 1.0)], vec![]));
    }

    #[test]
    fn equal_seeds_are_paired() {
        let runs = [
            run("a-1", "seed = 1\nx = 0"),
            run("a-2", "seed = 2\nx = 0"),
            run("b-2", "seed = 2\nx = 1"),
            run("b-3", "seed = 3\nx = 1"),
        ];
        let methods = methods(&runs);
        let number = |run: &ReportRun| if run.name == "b-2" { 5.0 } else { 2.0 };
        assert_eq!(paired_differences(&methods[0], &methods[1], number), [3.0]);
    }
}
