//! A fit as text for people.

use super::{Estimate, Forecast, LawFit};
use entropy_core::LineFit;
use std::fmt::Write as _;

impl LawFit {
    /// The fit as aligned lines, with a final line break.
    pub fn table(&self) -> String {
        let line = |name: &str, value: &str| format!("  {name:13}  {value}\n");
        let share = |value: Option<f64>| {
            value.map_or("undefined, the reward is constant".into(), |value| format!("{value:.5}"))
        };
        let mut text = format!("R = -a exp(H) + b over {} points\n", self.points);
        let within = |kind: &str, interval: Option<[f64; 2]>| match interval {
            Some([low, high]) => format!("0.95 {kind} [{low:.5}, {high:.5}]"),
            None => "no interval: two points".to_owned(),
        };
        for (name, estimate) in [("a", self.a), ("b", self.b), ("ceiling b - a", self.ceiling)] {
            let Estimate { value, interval } = estimate;
            text += &line(name, &format!("{value:.5}  {}", within("interval", interval)));
        }
        text += &line("R²", &share(self.r_squared));
        text += &line("RMSE", &format!("{:.5} of reward", self.rmse));
        let LineFit { slope, intercept, r_squared, .. } = self.linear;
        let _ = writeln!(text, "straight line R = {slope:.5} H + {intercept:.5}");
        text += &line("R²", &share(r_squared));
        for forecast in &self.forecasts {
            let Forecast { share, points, rmse, linear_rmse, ceiling, final_error, .. } = forecast;
            let interval = within("prediction interval", forecast.final_interval);
            let last_point = format!("predicted less actual {final_error:+.5}; {interval}");
            let _ = writeln!(text, "forecast from the first {share} ({points} points)");
            text += &line("RMSE on rest", &format!("{rmse:.5}; straight line {linear_rmse:.5}"));
            text += &line("last point", &last_point);
            text += &line("ceiling b - a", &format!("{ceiling:.5}"));
        }
        text
    }
}
