//! A finding of the paper, what was measured of it, and the verdict.

use run_report::study::finding::{Finding, Verdict};
use run_report::study::measure::{Measure, Target};

#[test]
fn the_verdict_follows_the_targets() {
    let verdict = |values: &[f64]| {
        let measure = |&value: &f64| Measure::new("x", [value, value], Target::AtLeast(0.5));
        let mut measures: Vec<Measure> = values.iter().map(measure).collect();
        measures.push(Measure::new("context", [0.0], Target::None));
        let (figures, notes) = (vec![], vec![]);
        Finding { name: "", title: "", claim: "", targets: "", measures, figures, notes }.verdict()
    };
    assert_eq!(verdict(&[1.0, 1.0]), Some(Verdict::Reproduced));
    assert_eq!(verdict(&[1.0, 0.0]), Some(Verdict::InPart));
    assert_eq!(verdict(&[0.0]), Some(Verdict::NotReproduced));
    assert_eq!(verdict(&[]), None);
}
