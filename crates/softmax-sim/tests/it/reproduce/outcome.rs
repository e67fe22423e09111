//! The result of an experiment and its verdict.

use softmax_sim::reproduce::measure::{Measure, Target};
use softmax_sim::reproduce::outcome::{ExperimentResult, Verdict};

fn measure(met: Option<bool>) -> Measure {
    let target = if met.is_some() { Target::AtLeast(0.5) } else { Target::None };
    let value = if met == Some(true) { 0.75 } else { 0.25 };
    Measure::new("R²", [value; 3], target)
}

#[test]
fn the_verdict_follows_the_targets() {
    let verdict =
        |met: &[Option<bool>]| Verdict::of(&met.iter().copied().map(measure).collect::<Vec<_>>());
    assert_eq!(verdict(&[Some(true), None, Some(true)]), Verdict::Reproduced);
    assert_eq!(verdict(&[Some(true), Some(false)]), Verdict::InPart);
    assert_eq!(verdict(&[Some(false), None]), Verdict::NotReproduced);
    assert_eq!(verdict(&[None]), Verdict::None);
    assert_eq!(verdict(&[]), Verdict::None);
}

#[test]
fn the_reason_names_what_was_missed() {
    let outcome = ExperimentResult::new(vec![measure(Some(true)), measure(Some(false))]);
    assert_eq!(
        outcome.reason,
        "1 of 2 targets met. Missed: R²: 0.250 [0.250, 0.250], wanted ≥ 0.5; 0 of 3 seeds."
    );
    assert_eq!(ExperimentResult::new(vec![measure(Some(true))]).reason, "The target is met.");
}

#[test]
fn a_quick_run_keeps_its_numbers_and_has_no_verdict() {
    let judged = ExperimentResult::new(vec![measure(Some(true)), measure(Some(false))]);
    let quick = judged.clone().unjudged();
    assert_eq!((quick.verdict, Verdict::of(&quick.measures)), (Verdict::None, Verdict::None));
    for (quick, judged) in std::iter::zip(&quick.measures, &judged.measures) {
        assert_eq!((&quick.values, quick.met), (&judged.values, None));
    }
}
