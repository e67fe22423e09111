//! The figure of a fit: points, law, straight line, and the law of each forecast.

use super::{LawFit, Points};
use figures::{Axis, Chart, Mark, Series};

const CURVE: u32 = 120;

/// Reward against entropy, with the fitted law and the straight line; one dashed curve per forecast.
pub fn figure(points: &Points, fit: &LawFit) -> Chart {
    let most = points.entropy.iter().copied().fold(0.0, f64::max);
    let curve = |law: &dyn Fn(f64) -> f64| -> Vec<(f64, f64)> {
        let entropy = |step: u32| most * f64::from(step) / f64::from(CURVE);
        (0..=CURVE).map(|step| (entropy(step), law(entropy(step)))).collect()
    };
    let measured = std::iter::zip(&points.entropy, &points.reward).map(|(h, r)| (*h, *r)).collect();
    let line = curve(&|entropy| fit.linear.predict(entropy));
    let law = curve(&|entropy| fit.law.predict(entropy));
    let mut all = vec![
        Series::new("straight line", 0, Mark::Reference, line),
        Series::new("law", 0, Mark::Line, law),
    ];
    for (index, forecast) in fit.forecasts.iter().enumerate() {
        let name = format!("from the first {}", forecast.share);
        let law = curve(&|entropy| forecast.law.predict(entropy));
        all.push(Series::new(&name, index + 1, Mark::Dashed, law));
    }
    all.push(Series::new("measured", 0, Mark::Points, measured));
    let rewards: Vec<f64> = all.iter().flat_map(Series::heights).collect();
    Chart {
        stem: "law".into(),
        title: "Reward against entropy".into(),
        description: format!(
            "R = -{:.4} exp(H) + {:.4}, ceiling {:.4}, over {} points",
            fit.a.value, fit.b.value, fit.ceiling.value, fit.points
        ),
        x: Axis::around("Entropy (nats)", [most], true, 0.02),
        y: Axis::around("Reward", rewards, false, 0.05),
        series: all,
    }
}
