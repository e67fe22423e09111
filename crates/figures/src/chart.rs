//! The data of a chart, before it is drawn.

use serde::{Deserialize, Serialize};

/// A chart of curves, points or bars over two axes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// File stem and id: lower-case letters, digits and hyphens.
    pub stem: String,
    /// Heading, plain text.
    pub title: String,
    /// Text alternative for readers who cannot see the chart.
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
    /// True if only whole numbers get ticks.
    #[serde(default)]
    pub whole: bool,
    /// How values are laid out along it.
    #[serde(default)]
    pub scale: Scale,
    /// Names at 0, 1, 2, … instead of numbers; empty for a numeric axis.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
}

/// How values are laid out along an [`Axis`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Equal differences are equally long.
    #[default]
    Linear,
    /// Equal ratios are equally long; values that are not positive are left out.
    Log,
}

impl Chart {
    /// A chart of `series`, with its file stem, title and description.
    pub fn new(
        [stem, title, description]: [&str; 3],
        x: Axis,
        y: Axis,
        series: Vec<Series>,
    ) -> Self {
        let [stem, title, description] = [stem, title, description].map(str::to_owned);
        Self { stem, title, description, x, y, series }
    }
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
        let (low, high) = ends(zero.then_some(0.0).into_iter().chain(values)).unwrap_or((0.0, 1.0));
        let span = high - low;
        if span <= 1e-12 * high.abs().max(low.abs()).max(1e-12) {
            let half = if high.abs() > 0.0 { 0.5 * high.abs() } else { 0.5 };
            let low = if zero { low } else { low - half };
            return Self::from_to(label, low, high + half);
        }
        let pad = |end: f64| if zero && end.abs() <= 0.0 { 0.0 } else { air * span };
        Self::from_to(label, low - pad(low), high + pad(high))
    }

    /// A linear axis with the given ends.
    pub fn from_to(label: &str, low: f64, high: f64) -> Self {
        let (scale, categories) = (Scale::Linear, vec![]);
        Self { label: label.to_owned(), low, high, whole: false, scale, categories }
    }

    /// A logarithmic axis that holds every positive finite value, with a little air.
    ///
    /// 1..10 if there is none.
    pub fn log(label: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let positive = values.into_iter().filter(|value| *value > 0.0);
        let (low, high) = ends(positive).unwrap_or((1.0, 10.0));
        let air = if high / low > 1.0 + 1e-12 { (high / low).powf(0.04) } else { 2.0 };
        Self { scale: Scale::Log, ..Self::from_to(label, low / air, high * air) }
    }

    /// A logarithmic axis that holds every positive point of `series`, and their spreads where they reach no further than
    /// twice beyond all points.
    pub fn log_of(label: &str, series: &[Series]) -> Self {
        let points = series.iter().flat_map(|one| one.points.iter().map(|point| point.1));
        let (low, high) = ends(points.filter(|value| *value > 0.0)).unwrap_or((f64::INFINITY, 0.0));
        let heights = series.iter().flat_map(Series::heights).filter(|value| *value > 0.0);
        Self::log(label, heights.map(|end| end.max(0.5 * low).min(2.0 * high)))
    }

    /// The axis of named things, in order; the first stands at 0, the next at 1.
    pub fn of_categories(label: &str, names: &[&str]) -> Self {
        let high = names.len().max(1) as f64 - 0.5;
        let categories = names.iter().map(|name| (*name).to_owned()).collect();
        Self { categories, ..Self::from_to(label, -0.5, high) }
    }

    /// The axis of training steps.
    pub fn steps(values: impl IntoIterator<Item = f64>, air: f64) -> Self {
        Self { whole: true, ..Self::around("Training step", values, false, air) }
    }

    /// Position of `value` on the axis: 0 at the low end, 1 at the high end; NaN where it has no logarithm.
    pub fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln()),
        }
    }

    /// Returns true if `value` lies on the axis.
    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// Lowest and highest of the finite values; `None` without any.
pub fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.filter(|value| value.is_finite()).map(|value| (value, value));
    finite.reduce(|(low, high), (one, other)| (low.min(one), high.max(other)))
}

/// One set of points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Name in the legend and the tooltips, plain text.
    pub name: String,
    /// Index of the colour, of ten, and of the marker, of four.
    pub colour: usize,
    /// How it is drawn.
    pub mark: Mark,
    /// `(x, y)`; not finite ones are skipped, and not stored.
    pub points: Vec<(f64, f64)>,
    /// `(x, low, high)`: a shaded band behind a line, error bars at markers and bars. Not finite ones are
    /// skipped, and not stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spread: Vec<(f64, f64, f64)>,
}

impl Series {
    /// A series without a spread; what is not finite is left out.
    pub fn new(name: &str, colour: usize, mark: Mark, points: Vec<(f64, f64)>) -> Self {
        let points = points.into_iter().filter(|&(x, y)| (x + y).is_finite()).collect();
        Self { name: name.to_owned(), colour, mark, points, spread: vec![] }
    }

    /// Sets the spread: `(x, low, high)` at each `x`, such as an interval over seeds.
    #[must_use]
    pub fn with_spread(self, spread: Vec<(f64, f64, f64)>) -> Self {
        let finite = |&(x, low, high): &(f64, f64, f64)| (x + low + high).is_finite();
        Self { spread: spread.into_iter().filter(finite).collect(), ..self }
    }

    /// A grey dashed line across the chart at height `y`, from `x.low` to `x.high`.
    pub fn level(name: &str, x: &Axis, y: f64) -> Self {
        Self::new(name, 0, Mark::Reference, vec![(x.low, y), (x.high, y)])
    }

    /// Every height the series reaches, for [`Axis::around`].
    pub fn heights(&self) -> impl Iterator<Item = f64> {
        let spread = self.spread.iter().flat_map(|&(_, low, high)| [low, high]);
        self.points.iter().map(|&(_, y)| y).chain(spread)
    }
}

/// How a [`Series`] is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    /// Bars from zero, or from the low end of a logarithmic axis; several such series stand side by side.
    Bars,
}

impl Mark {
    /// Returns true if the legend names such a series.
    pub fn is_named(self) -> bool {
        !matches!(self, Self::Faint | Self::Fit)
    }
}
