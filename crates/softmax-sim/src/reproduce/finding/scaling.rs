//! The coefficients of the law grow with the logarithm of the model's size.

use super::law_runs::law;
use crate::environment::SizeSetting;
use crate::reproduce::charts::{chart, heights};
use crate::reproduce::seeds::curve;
use crate::reproduce::{ExperimentResult, Measure, Progress, Setting, Target};
use crate::training::{Method, Schedule, train};
use entropy_core::{PerformanceLaw, SizeScaling};
use figures::{Axis, Chart, Mark};

const SIZES: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Sizes the extrapolation is fitted to.
const SMALL: usize = 5;
/// A spectrum of features for which the coefficients are not log-linear.
const SLOW_DECAY: f64 = 0.5;

pub(super) fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    let decays = [SizeSetting::of(1).decay, SLOW_DECAY];
    let schedule = Schedule { rollouts: 120, ..Schedule::shared(1.0) };
    let [family, slow] = decays.map(|decay| {
        let laws = setting.over_runs(progress, &SIZES, |seed, visible| {
            let environment = SizeSetting { decay, ..SizeSetting::of(*visible) }.draw(seed);
            law(&train(&environment, &Method::default(), &schedule, seed))
        });
        laws.iter().map(|laws| Family::of(laws)).collect::<Vec<_>>()
    });
    let rising = family.iter().map(|one| rises(&one.a) && rises(&one.b));
    let mut measures = vec![Measure::holds("a and b rise with every doubling", rising)];
    let mut add = |quantity: &str, family: &[Family], value: fn(&Family) -> f64, target| {
        measures.push(Measure::new(quantity, family.iter().map(value), target));
    };
    let none = Target::None;
    add("R² of a on log size", &family, |f| on_log_size(&f.a), Target::AtLeast(0.9));
    add("R² of b on log size", &family, |f| on_log_size(&f.b), Target::AtLeast(0.98));
    add("error of a extrapolated to 64", &family, |f| beyond(&f.a), Target::AtMost(0.3));
    add("error of b extrapolated to 64", &family, |f| beyond(&f.b), Target::AtMost(0.1));
    add("R² of a, features decaying as j^-0.5", &slow, |f| on_log_size(&f.a), none);
    add("R² of b, features decaying as j^-0.5", &slow, |f| on_log_size(&f.b), none);
    ExperimentResult::new(measures).figure(over_size(&family))
}

/// Coefficients of the law by size.
struct Family {
    a: Vec<f64>,
    b: Vec<f64>,
}

impl Family {
    fn of(laws: &[PerformanceLaw]) -> Self {
        let (a, b) = laws.iter().map(|law| (law.a, law.b)).unzip();
        Self { a, b }
    }
}

fn sizes() -> [f64; 7] {
    SIZES.map(|size| size as f64)
}

fn fit(sizes: &[f64], values: &[f64]) -> SizeScaling {
    SizeScaling::fit(sizes, values).expect("different sizes with finite coefficients")
}

fn rises(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[1] > pair[0])
}

/// R² of the regression of `values` on the logarithm of the size.
fn on_log_size(values: &[f64]) -> f64 {
    fit(&sizes(), values).line.r_squared.unwrap_or(f64::NAN)
}

/// Relative error of the largest size's value, extrapolated from the small sizes.
fn beyond(values: &[f64]) -> f64 {
    let (sizes, last) = (sizes(), SIZES.len() - 1);
    let scaling = fit(&sizes[..SMALL], &values[..SMALL]);
    let predicted = scaling.predict(sizes[last]).unwrap_or(f64::NAN);
    (predicted / values[last] - 1.0).abs()
}

fn over_size(family: &[Family]) -> Chart {
    let rows = |of: fn(&Family) -> &Vec<f64>| -> Vec<Vec<f64>> {
        family.iter().map(|one| of(one).clone()).collect()
    };
    let series = vec![
        curve("b", 1, Mark::Marked, &sizes(), &rows(|one| &one.b)),
        curve("a", 0, Mark::Marked, &sizes(), &rows(|one| &one.a)),
    ];
    let x = Axis::log("Features the model sees", sizes());
    chart("scaling", x, heights("Coefficient (reward)", &series, true), series)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_linear_coefficient_is_extrapolated_without_error() {
        let values: Vec<f64> =
            (0..SIZES.len()).map(|doublings| 0.1 + 0.05 * doublings as f64).collect();
        assert!((on_log_size(&values) - 1.0).abs() < 1e-12);
        assert!(beyond(&values) < 1e-12);
        assert!(rises(&values) && !rises(&[1.0, 1.0]));
        // One that grows with the size itself is far above.
        let linear: Vec<f64> = SIZES.iter().map(|size| *size as f64).collect();
        assert!(beyond(&linear) > 0.5);
    }
}
