//! What a chart shows, before it is drawn.

use serde::{Deserialize, Serialize};

/// A chart of curves or points over two linear axes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// File stem and id: lower-case letters, digits and hyphens.
    pub stem: String,
    /// Heading, plain text.
    pub title: String,
    /// What it shows, for those who cannot see it.
    pub description: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Drawn in order, later ones on top.
    pub series: Vec<Series>,
}

/// Name, unit and range of an axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// Quantity and unit: `Entropy (nats per token)`.
    pub label: String,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Whether only whole numbers lie on it.
    pub whole: bool,
}

impl Axis {
    /// An axis that holds every finite value, and zero if asked for, with a little air.
    ///
    /// 0..1 if there is no finite value.
    pub fn around(
        label: &str,
        values: impl IntoIterator<Item = f64>,
        zero: bool,
        air: f64,
    ) -> Self {
        let start = if zero { (0.0, 0.0) } else { (f64::INFINITY, f64::NEG_INFINITY) };
        let (low, high) = values
            .into_iter()
            .filter(|value| value.is_finite())
            .fold(start, |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
        let span = high - low;
        if span <= 1e-12 * high.abs().max(low.abs()).max(1e-12) {
            let half = if high.abs() > 0.0 { 0.5 * high.abs() } else { 0.5 };
            return Self {
                label: label.to_owned(),
                low: low - half,
                high: high + half,
                whole: false,
            };
        }
        let pad = |end: f64| if zero && end.abs() <= 0.0 { 0.0 } else { air * span };
        Self { label: label.to_owned(), low: low - pad(low), high: high + pad(high), whole: false }
    }

    /// The axis of training steps.
    pub fn steps(values: impl IntoIterator<Item = f64>, air: f64) -> Self {
        Self { whole: true, ..Self::around("Training step", values, false, air) }
    }

    /// Whether `value` lies on the axis.
    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// One set of points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Name in the legend and the tooltips, plain text.
    pub name: String,
    /// Which colour and marker.
    pub colour: usize,
    /// How it is drawn.
    pub mark: Mark,
    /// `(x, y)`; not finite ones are skipped.
    pub points: Vec<(f64, f64)>,
}

/// How a [`Series`] is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mark {
    /// Thin pale line behind its average; not named.
    Faint,
    /// Line, named, with tooltips.
    Line,
    /// Dashed line, named, with tooltips.
    Dashed,
    /// Line with a marker at each point, named, with tooltips.
    Marked,
    /// Markers only, named, with tooltips.
    Points,
    /// Solid line through a scatter of the same colour; not named.
    Fit,
    /// Grey dashed line for comparison, named.
    Reference,
}

impl Mark {
    /// Whether it appears in the legend.
    pub fn is_named(self) -> bool {
        !matches!(self, Self::Faint | Self::Fit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ignores_what_is_not_finite() {
        let axis = Axis::around("x", [1.0, f64::NAN, 3.0, f64::INFINITY], false, 0.0);
        assert_eq!((axis.low, axis.high), (1.0, 3.0));
        let axis = Axis::around("x", [2.0, 10.0], true, 0.1);
        assert_eq!((axis.low, axis.high), (0.0, 11.0));
    }

    #[test]
    fn an_axis_never_is_empty() {
        let axis = Axis::around("x", [], false, 0.0);
        assert_eq!((axis.low, axis.high), (0.0, 1.0));
        let axis = Axis::around("x", [4.0], false, 0.1);
        assert_eq!((axis.low, axis.high), (2.0, 6.0));
        let axis = Axis::around("x", [0.0, 0.0], true, 0.1);
        assert!(axis.low < 0.0 && axis.high > 0.0);
    }
}
