//! A fit as text for people.

use super::{Estimate, Forecast, LawFit};
use std::fmt::Write as _;

impl LawFit {
    /// The fit as aligned lines, with a final line break.
    pub fn table(&self) -> String {
        let mut text = format!("R = -a exp(H) + b over {} points\n", self.points);
        let estimates = [("a", self.a), ("b", self.b), ("ceiling b - a", self.ceiling)];
        for (name, estimate) in estimates {
            let _ = writeln!(text, "  {name:13}  {}", estimate_text(estimate));
        }
        let share = |value: Option<f64>| {
            value.map_or("undefined, the reward is constant".into(), |value| format!("{value:.5}"))
        };
        let _ = writeln!(text, "  {:13}  {}", "R²", share(self.r_squared));
        let _ = writeln!(text, "  {:13}  {:.5} of reward", "RMSE", self.rmse);
        let _ = writeln!(
            text,
            "straight line R = {:.5} H + {:.5}\n  {:13}  {}",
            self.linear.slope,
            self.linear.intercept,
            "R²",
            share(self.linear.r_squared)
        );
        for forecast in &self.forecasts {
            let _ = writeln!(
                text,
                "forecast from the first {} ({} points)",
                forecast.share, forecast.points
            );
            let lines = [
                (
                    "RMSE on rest",
                    format!("{:.5}; straight line {:.5}", forecast.rmse, forecast.linear_rmse),
                ),
                ("last point", last_point(forecast)),
                ("ceiling b - a", format!("{:.5}", forecast.ceiling)),
            ];
            for (name, value) in lines {
                let _ = writeln!(text, "  {name:13}  {value}");
            }
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
