//! The law `R = b - a exp(H)`: its fit, its forecast, and what its coefficients depend on.

use entropy_core::{Forecast, LineFit, PerformanceLaw};
use figures::Figure;
use figures::chart::{Axis, Chart, Mark, Series};

use super::cell::{SeedRun, Study};
use super::finding::Finding;
use super::measure::{Measure, Target};
use super::method::{GRPO, Role, names};
use crate::run_law::CONFIDENCE;

/// The law against a straight line.
pub(super) fn law(study: &Study) -> Finding {
    let laws = || study.grpo().iter().filter_map(fitted);
    let pooled = pooled(study.grpo());
    // A law that falls with the entropy spent has no ceiling.
    let rising = pooled.as_ref().filter(|law| law.a > 0.0);
    let ceiling = rising.and_then(|law| law.interval_ceiling(CONFIDENCE).ok());
    let measures = vec![
        Measure::new(
            "AIC of a straight line less that of the law",
            laws().filter_map(|law| law.aic_over_linear()),
            Target::AtLeast(2.0),
        ),
        Measure::new("R² of the law", laws().filter_map(|law| law.r_squared), Target::AtLeast(0.9)),
        Measure::pooled(
            "ceiling of all seeds' points, fraction right",
            rising.map_or(f64::NAN, PerformanceLaw::ceiling),
            ceiling,
            Target::Between(0.0, 1.0),
        ),
        Measure::new("a", laws().map(|law| law.a), Target::None),
        Measure::new("b", laws().map(|law| law.b), Target::None),
        Measure::new(
            "held-out accuracy over the last tenth",
            study.grpo().iter().map(|run| run.mean_accuracy(0.9, 1.0)),
            Target::None,
        ),
    ];
    Finding::new("law", measures, vec![scatter(study, "lm-law", &[GRPO], pooled.as_ref())])
}

/// Number of points at the beginning of a run's entropies, by a share of them.
type Count = fn(&[f64], f64) -> usize;

/// The end of a run from its beginning.
pub(super) fn forecast(study: &Study) -> Finding {
    let mut measures = vec![];
    for share in [0.15, 0.3] {
        let counts: [(&str, Count); 2] =
            [("updates", points_by_updates), ("entropy spent", points_by_entropy)];
        for (by, count) in counts {
            let forecast = |run: &SeedRun| {
                let (entropy, reward) = run.law_points();
                let fitted = count(&entropy, share);
                let forecast = Forecast::from_first(&entropy, &reward, fitted, CONFIDENCE).ok()?;
                Some((forecast, reward[fitted - 1] - reward.last()?))
            };
            let forecasts: Vec<_> = study.grpo().iter().filter_map(forecast).collect();
            let mut add = |what: &str, values: Vec<f64>, target| {
                let what = format!("from the first {share} by {by}: {what}");
                measures.push(Measure::new(&what, values, target));
            };
            let errors = forecasts.iter().map(|(one, _)| one.final_error.abs()).collect();
            add("error at the last evaluation", errors, Target::AtMost(0.05));
            let errors = forecasts.iter().map(|(_, error)| error.abs()).collect();
            add("error of “as it is then”", errors, Target::None);
            let covered = forecasts.iter().filter_map(|(one, _)| one.covered).collect();
            let what = "later evaluations inside their 0.95 intervals, fraction";
            add(what, covered, Target::AtLeast(0.8));
        }
    }
    Finding {
        notes: vec![
            "The entropy of the later evaluations is taken as known, as in the paper.".to_owned(),
        ],
        ..Finding::new("forecast", measures, vec![])
    }
}

/// Distance of other estimators of the advantage from the law of GRPO.
pub(super) fn algorithms(study: &Study) -> Finding {
    let law = pooled(study.grpo());
    let names = [vec![GRPO], names(Role::Estimator)].concat();
    let error = |run: &SeedRun| {
        let (entropy, reward) = run.law_points();
        law.as_ref().and_then(|law| law.rmse_on(&entropy, &reward)).unwrap_or(f64::NAN)
    };
    let measures = names.iter().map(|&name| {
        let target = if name == GRPO { Target::None } else { Target::AtMost(0.04) };
        let what = format!("{name}: RMSE of the law of GRPO, fraction right");
        Measure::new(&what, study.main(name).iter().map(error), target)
    });
    Finding::new(
        "algorithms",
        measures.collect(),
        vec![scatter(study, "lm-algorithms", &names, law.as_ref())],
    )
}

/// Coefficients of the law by size of the model.
pub(super) fn sizes(study: &Study) -> Finding {
    let models = study.models();
    let mut measures = vec![];
    for (model, parameters) in &models {
        let laws = || study.runs(model, GRPO).iter().filter_map(fitted);
        for (name, coefficient) in COEFFICIENTS {
            let what = format!("{name} of the model {model} ({parameters} parameters)");
            measures.push(Measure::new(&what, laws().map(coefficient), Target::None));
        }
    }
    for (name, coefficient) in COEFFICIENTS {
        let slopes = study.grpo().iter().map(|run| {
            let points = models.iter().filter_map(|(model, parameters)| {
                let run = study.runs(model, GRPO).iter().find(|other| other.seed == run.seed)?;
                Some(((*parameters as f64).ln(), coefficient(fitted(run)?)))
            });
            let (sizes, coefficients): (Vec<f64>, Vec<f64>) = points.unzip();
            LineFit::through(&sizes, &coefficients).map_or(f64::NAN, |line| line.slope)
        });
        let target = if name == "b" { Target::AtLeast(0.0) } else { Target::None };
        let what = format!("slope of {name} over ln(parameters)");
        measures.push(Measure::new(&what, slopes, target));
    }
    Finding {
        notes: vec!["Every size is warmed up by the same steps on the same answers.".to_owned()],
        ..Finding::new("sizes", measures, vec![])
    }
}

type Coefficient = (&'static str, fn(PerformanceLaw) -> f64);

const COEFFICIENTS: [Coefficient; 2] = [("a", |law| law.a), ("b", |law| law.b)];

fn fitted(run: &SeedRun) -> Option<PerformanceLaw> {
    let (entropy, reward) = run.law_points();
    PerformanceLaw::fit(&entropy, &reward).ok()
}

fn pooled(runs: &[SeedRun]) -> Option<PerformanceLaw> {
    let (entropy, reward): (Vec<_>, Vec<_>) = runs.iter().map(SeedRun::law_points).unzip();
    PerformanceLaw::fit(&entropy.concat(), &reward.concat()).ok()
}

/// Number of evaluations in this share of the run, at least 3.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a length")]
fn points_by_updates(entropy: &[f64], share: f64) -> usize {
    ((share * entropy.len() as f64).round() as usize).max(3)
}

/// Number of evaluations until this share of the entropy is spent, at least 3.
fn points_by_entropy(entropy: &[f64], share: f64) -> usize {
    let (Some(&start), Some(&end)) = (entropy.first(), entropy.last()) else { return 3 };
    let bound = start - share * (start - end);
    entropy.iter().take_while(|&&now| now > bound).count().max(3)
}

/// Entropy and accuracy of every evaluation, with the law of GRPO.
fn scatter(study: &Study, stem: &str, methods: &[&str], law: Option<&PerformanceLaw>) -> Figure {
    let mut series = vec![];
    for (colour, method) in methods.iter().enumerate() {
        let columns = study.main(method).iter().map(SeedRun::law_points);
        let points: Vec<_> = columns.flat_map(|(x, y)| std::iter::zip(x, y)).collect();
        if !points.is_empty() {
            series.push(Series::new(method, colour, Mark::Points, points));
        }
    }
    let entropies = || series.iter().flat_map(|one| one.points.iter().map(|point| point.0));
    let x = Axis::around("Entropy (nats per token)", entropies(), true, 0.02);
    if let Some(law) = law {
        let curve = (0..=60).map(|step| {
            let entropy = x.low + f64::from(step) / 60.0 * (x.high - x.low);
            (entropy, law.predict(entropy))
        });
        series.push(Series::new("law of GRPO", methods.len(), Mark::Line, curve.collect()));
    }
    let y = Axis::around("Held-out accuracy", series.iter().flat_map(Series::heights), false, 0.05);
    let y = Axis { high: y.high.min(1.0), ..y };
    let description = match law {
        Some(law) if law.a > 0.0 => "Accuracy rises as entropy falls.",
        _ => "Accuracy does not rise as entropy falls.",
    };
    Figure {
        chart: Chart::new([stem, "Entropy and held-out accuracy", description], x, y, series),
        caption: "A point is an evaluation; training goes from right to left.".to_owned(),
    }
}
