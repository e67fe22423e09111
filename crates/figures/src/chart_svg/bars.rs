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
        let others: Vec<&Series> =
            self.chart.series.iter().filter(|other| other.mark == Mark::Bars).collect();
        let place = others.iter().position(|other| std::ptr::eq(*other, series)).unwrap_or(0);
        let mut xs: Vec<f64> = others
            .iter()
            .flat_map(|other| other.points.iter().map(|point| self.x(point.0)))
            .collect();
        xs.sort_by(f64::total_cmp);
        let gaps = xs.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.5);
        let gap = gaps.fold(f64::INFINITY, f64::min);
        let room = if self.chart.x.categories.is_empty() {
            if gap.is_finite() { gap } else { 0.5 * (self.right - self.left) }
        } else {
            self.x(1.0) - self.x(0.0)
        };
        let width = BAR_FILL * room / others.len().max(1) as f64;
        let shift = (place as f64 - 0.5 * (others.len() as f64 - 1.0)) * width;
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

#[cfg(test)]
mod tests {
    use super::super::inline_svg;
    use super::super::tests::{paths, tiny_chart};
    use super::*;
    use crate::chart::{Axis, Chart};

    #[test]
    fn bars_stand_side_by_side_on_zero() {
        let bars = |colour, values: [f64; 2]| {
            let points = vec![(0.0, values[0]), (1.0, values[1])];
            Series::new("a", colour, Mark::Bars, points).with_spread(vec![(0.0, 0.4, 0.6)])
        };
        let series = vec![bars(0, [0.5, 1.0]), bars(1, [-0.5, 0.25])];
        let x = Axis::of_categories("method", &["A", "B"]);
        let chart = Chart { x, y: Axis::from_to("y", -1.0, 1.0), series, ..tiny_chart() };
        let svg = inline_svg(&chart);
        let shape = |path: &str| -> Vec<f64> {
            path[1..path.len() - 1].split([' ', 'V', 'h']).map(|n| n.parse().unwrap()).collect()
        };
        let [left, right] = ["s0 mark", "s1 mark"].map(|class| {
            paths(&svg, class)
                .into_iter()
                .filter(|d| d.contains('V'))
                .map(shape)
                .collect::<Vec<_>>()
        });
        let foot = left[0][1];
        assert!(
            left.iter()
                .chain(&right)
                .all(|bar| (bar[1] - foot).abs() < 1e-9 && (bar[4] - foot).abs() < 1e-9)
        );
        assert!(left[0][2] < foot && right[0][2] > foot, "up and down: {left:?} {right:?}");
        let height = |bar: &Vec<f64>| bar[1] - bar[2];
        assert!((height(&left[1]) - 2.0 * height(&left[0])).abs() < 0.25);
        assert!(right[0][0] >= left[0][0] + left[0][3], "side by side");
        assert!(left[1][0] > right[0][0] + right[0][3], "then the next group");
        assert_eq!(paths(&svg, "s0 error onbar").len(), 1);
    }

    #[test]
    fn a_spread_is_a_band_behind_a_line_and_error_bars_at_markers() {
        let spread = vec![(0.0, 0.1, 0.3), (2.0, 0.2, 0.6)];
        let series = |mark| {
            Series::new("a", 7, mark, vec![(0.0, 0.2), (2.0, 0.4)]).with_spread(spread.clone())
        };
        let drawn = |mark| inline_svg(&Chart { series: vec![series(mark)], ..tiny_chart() });
        let line = drawn(Mark::Line);
        assert!(line.find("s7 band").unwrap() < line.find("s7 line").unwrap());
        assert_eq!(paths(&line, "s7 band")[0].matches('L').count(), 3);
        for mark in [Mark::Marked, Mark::Points] {
            let svg = drawn(mark);
            assert_eq!((paths(&svg, "s7 error").len(), svg.contains("band")), (2, false));
        }
    }
}
