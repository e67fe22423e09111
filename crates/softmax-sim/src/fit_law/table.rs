//! A fit as text for people.

use super::{Estimate, Forecast, LawFit};
use entropy_core::LineFit;
use std::fmt::Write as _;

impl LawFit {
    /// The fit as aligned lines, with a final line break.
    pub fn table(&self) -> String {
        let row = |name: &str, value: String| format!("  {name:13}  {value}\n");
        let share = |value: Option<f64>| {
            value.map_or("undefined, the reward is constant".into(), |value| format!("{value:.5}"))
        };
        let mut text = format!("R = -a exp(H) + b over {} points\n", self.points);
        text += &row("a", estimate_text(self.a));
        text += &row("b", estimate_text(self.b));
        text += &row("ceiling b - a", estimate_text(self.ceiling));
        text += &row("R²", share(self.r_squared));
        text += &row("RMSE", format!("{:.5} of reward", self.rmse));
        let LineFit { slope, intercept, r_squared, .. } = self.linear;
        let _ = writeln!(text, "straight line R = {slope:.5} H + {intercept:.5}");
        text += &row("R²", share(r_squared));
        for forecast in &self.forecasts {
            let Forecast { share, points, rmse, linear_rmse, ceiling, .. } = forecast;
            let _ = writeln!(text, "forecast from the first {share} ({points} points)");
            text += &row("RMSE on rest", format!("{rmse:.5}; straight line {linear_rmse:.5}"));
            text += &row("last point", last_point(forecast));
            text += &row("ceiling b - a", format!("{ceiling:.5}"));
        }
        text
    }
}

fn last_point(forecast: &Forecast) -> String {
    let error = format!("predicted less actual {:+.5}", forecast.final_error);
    match forecast.final_interval {
        Some([low, high]) => format!("{error}; 0.95 prediction interval [{low:.5}, {high:.5}]"),
        None => format!("{error}; no interval: two points"),
    }
}

fn estimate_text(estimate: Estimate) -> String {
    match estimate.interval {
        Some([low, high]) => format!("{:.5}  0.95 interval [{low:.5}, {high:.5}]", estimate.value),
        None => format!("{:.5}  no interval: two points", estimate.value),
    }
}
