//! Bars, bands and error bars.

use super::{BAR_FILL, COLOURS, Drawing, class};
use crate::chart::{Mark, Series};

impl Drawing<'_> {
    /// `(x, low, high)` of the spread in the units of the drawing; what lies below a logarithmic axis ends at its foot.
    fn spread(&self, series: &Series) -> Vec<(f64, f64, f64)> {
        let height = |value: f64| {
            let y = self.y(value);
            if y.is_finite() { y } else { self.bottom }
        };
        let placed =
            series.spread.iter().map(|&(x, low, high)| (self.x(x), height(low), height(high)));
        placed.filter(|(x, low, high)| (x + low + high).is_finite()).collect()
    }

    /// The spread of a line, shaded.
    pub(super) fn band(&self, series: &Series) -> String {
        let spread = self.spread(series);
        let has_markers = matches!(series.mark, Mark::Marked | Mark::Points | Mark::Bars);
        if has_markers || spread.len() < 2 {
            return String::new();
        }
        let upper = spread.iter().map(|&(x, _, high)| format!("{x:.1} {high:.1}"));
        let lower = spread.iter().rev().map(|&(x, low, _)| format!("{x:.1} {low:.1}"));
        let path = upper.chain(lower).collect::<Vec<_>>().join("L");
        format!("<path class=\"s{} band\" d=\"M{path}z\"/>\n", series.colour % COLOURS)
    }

    /// The spread of markers and bars, as error bars moved by `shift`.
    pub(super) fn error_bars(&self, series: &Series, shift: f64) -> String {
        let on_bar = if series.mark == Mark::Bars { " onbar" } else { "" };
        let class = format!("s{} error{on_bar}", series.colour % COLOURS);
        let bars = self.spread(series).into_iter().map(|(x, low, high)| {
            let x = x + shift;
            let (from, to) = (x - 3.5, x + 3.5);
            format!(
                "<path class=\"{class}\" d=\"M{from:.1} {low:.1}H{to:.1}M{x:.1} {low:.1}V{high:.1}M{from:.1} \
                 {high:.1}H{to:.1}\"/>\n"
            )
        });
        bars.collect()
    }

    pub(super) fn bars(&self, series: &Series) -> String {
        let (place, count) = self.place_among_alike(series);
        let others = self.chart.series.iter().filter(|other| other.mark == Mark::Bars);
        let points = others.flat_map(|other| &other.points);
        let mut xs: Vec<f64> = points.map(|point| self.x(point.0)).collect();
        xs.sort_by(f64::total_cmp);
        let gaps = xs.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.5);
        let gap = gaps.fold(f64::INFINITY, f64::min);
        let room = if self.chart.x.categories.is_empty() {
            if gap.is_finite() { gap } else { 0.5 * (self.right - self.left) }
        } else {
            self.x(1.0) - self.x(0.0)
        };
        let width = BAR_FILL * room / count;
        let shift = (place - 0.5 * (count - 1.0)) * width;
        let zero = self.y(0.0);
        let foot = if zero.is_finite() { zero.clamp(self.top, self.bottom) } else { self.bottom };
        let class = class(series);
        let mut svg = String::new();
        for (x, y) in self.points(series) {
            let (middle, title) = (self.x(x) + shift, self.tooltip(series, x, y));
            svg += &format!(
                "<path class=\"{class}\" d=\"M{:.1} {foot:.1}V{:.1}h{:.1}V{foot:.1}z\"><title>{title}</title></path>\n",
                middle - 0.46 * width,
                self.y(y),
                0.92 * width
            );
        }
        svg + &self.error_bars(series, shift)
    }
}
