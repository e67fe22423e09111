//! One number of a finding over the seeds, and its target.

use run_report::study::measure::{Measure, Target};

/// ln 2, ln 4 and ln 8: mean ln 4, deviation ln 2.
#[test]
fn ratios_are_averaged_by_their_logarithms() {
    let ratios = Measure::ratios("x", [2.0, 4.0, 8.0].map(f64::ln), Target::AtLeast(4.5));
    let factor = (4.302_652_730 / 3.0_f64.sqrt() * 2.0_f64.ln()).exp();
    let interval = ratios.interval.unwrap();
    assert!(
        (ratios.mean.unwrap() - 4.0).abs() < 1e-12 && (interval.low - 4.0 / factor).abs() < 1e-8
    );
    assert!((interval.high - 4.0 * factor).abs() < 1e-7 && ratios.seeds_met() == 1);
}

/// t(0.975; 2) = 4.302652730; the deviation of 1, 2, 3 is 1.
#[test]
fn a_target_is_met_by_the_whole_interval() {
    let measure = |target| Measure::new("x", [1.0, 2.0, 3.0], target);
    let half = 4.302_652_730 / 3.0_f64.sqrt();
    let interval = measure(Target::None).interval.unwrap();
    assert!((interval.low - 2.0 + half).abs() < 1e-9);
    assert_eq!(measure(Target::None).met(), None);
    assert_eq!(measure(Target::AtLeast(interval.low)).met(), Some(true));
    assert_eq!(measure(Target::AtLeast(interval.low + 1e-9)).met(), Some(false));
    assert_eq!(measure(Target::AtMost(interval.high)).met(), Some(true));
    assert_eq!(measure(Target::Between(-1.0, 4.0)).met(), Some(false));
    assert_eq!(measure(Target::AtLeast(1.5)).seeds_met(), 2);
    assert_eq!(measure(Target::AtLeast(1.5)).met_text(), "**no**, 2 of 3");
}

#[test]
fn one_seed_decides_nothing() {
    let measure = Measure::new("x", [1.0, f64::NAN], Target::AtLeast(0.0));
    assert_eq!((measure.met(), measure.text().as_str()), (Some(false), "1.00"));
    assert_eq!(Measure::new("x", [], Target::None).text(), "–");
}
