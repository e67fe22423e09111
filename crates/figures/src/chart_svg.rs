//! A [`Chart`] as SVG: text in the page's font, colours from CSS variables, tooltips by `<title>`.

use crate::axis_ticks::{Ticks, axis_ticks};
use crate::chart::{Chart, Mark, Series};
use crate::html::escape;
use crate::number_format::significant;

/// Colours and fonts of charts, light and dark; the page and the separate files share it.
pub const STYLE: &str = include_str!("chart.css");

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 340.0;
/// Width of a character of a name, generous: phones show them larger (chart.css).
const CHARACTER: f64 = 8.0;
const LEGEND_ROW: f64 = 20.0;
/// Names up to this long stand at the end of their curves.
const DIRECT_LABEL_CHARACTERS: usize = 10;
const TOOLTIPS_PER_SERIES: usize = 80;
/// Colours in `chart.css`.
const COLOURS: usize = 6;

/// The chart for inclusion in an HTML page that carries [`STYLE`].
pub fn inline_svg(chart: &Chart) -> String {
    Drawing::new(chart).svg("", "")
}

/// The chart as a file of its own.
pub fn standalone_svg(chart: &Chart) -> String {
    let style =
        format!("<style>{STYLE}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
    Drawing::new(chart).svg(" xmlns=\"http://www.w3.org/2000/svg\"", &style)
}

struct Drawing<'a> {
    chart: &'a Chart,
    x_ticks: Ticks,
    y_ticks: Ticks,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    direct: bool,
}

impl<'a> Drawing<'a> {
    fn new(chart: &'a Chart) -> Self {
        let x_ticks = axis_ticks(chart.x.low, chart.x.high, 6);
        let x_ticks = if chart.x.whole { x_ticks.whole() } else { x_ticks };
        let y_ticks = axis_ticks(chart.y.low, chart.y.high, 5);
        let widest = |texts: &mut dyn Iterator<Item = &str>| {
            texts.map(|text| text.chars().count()).max().unwrap_or(0)
        };
        let y_characters = widest(&mut y_ticks.labels.iter().map(String::as_str));
        let named: Vec<&Series> = chart.series.iter().filter(|s| s.mark.is_named()).collect();
        let name_characters = widest(&mut named.iter().map(|series| series.name.as_str()));
        let lines = named.iter().all(|s| matches!(s.mark, Mark::Line | Mark::Marked));
        let direct =
            lines && (2..=5).contains(&named.len()) && name_characters <= DIRECT_LABEL_CHARACTERS;
        let right = if direct { 26.0 + CHARACTER * name_characters as f64 } else { 18.0 };
        let mut drawing = Self {
            chart,
            x_ticks,
            y_ticks,
            left: 14.0 + CHARACTER * y_characters as f64,
            right: WIDTH - right,
            top: 0.0,
            bottom: HEIGHT - 50.0,
            direct,
        };
        let rows = drawing.legend_places().last().map_or(0.0, |&(_, _, row)| row + 1.0);
        drawing.top = 34.0 + LEGEND_ROW * rows;
        drawing
    }

    fn svg(&self, attributes: &str, style: &str) -> String {
        let chart = self.chart;
        let stem = escape(&chart.stem);
        let mut svg = format!(
            "<svg class=\"chart\"{attributes} viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
             aria-labelledby=\"{stem}-title {stem}-description\">\n\
             <title id=\"{stem}-title\">{}</title>\n<desc id=\"{stem}-description\">{}</desc>\n{style}",
            escape(&chart.title),
            escape(&chart.description)
        );
        svg += &self.axes();
        svg += &self.legend();
        // A nested viewport clips what lies outside the axes.
        let (width, height) = (self.right - self.left, self.bottom - self.top);
        svg += &format!(
            "<svg x=\"{0:.1}\" y=\"{1:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             viewBox=\"{0:.1} {1:.1} {width:.1} {height:.1}\">\n",
            self.left, self.top
        );
        for series in &chart.series {
            svg += &self.series(series);
        }
        svg += "</svg>\n";
        if self.direct {
            svg += &self.direct_labels();
        }
        svg + "</svg>\n"
    }

    fn axes(&self) -> String {
        let (left, right, bottom) = (self.left, self.right, self.bottom);
        let mut svg = String::new();
        for (&position, label) in self.y_ticks.positions.iter().zip(&self.y_ticks.labels) {
            let y = self.y(position);
            let class = if position.abs() > 0.0 { "grid" } else { "grid zero" };
            svg += &format!(
                "<line class=\"{class}\" x1=\"{left:.1}\" y1=\"{y:.1}\" x2=\"{right:.1}\" y2=\"{y:.1}\"/>\
                 <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>\n",
                left - 7.0,
                y + 4.2
            );
        }
        svg += &format!(
            "<line class=\"axis\" x1=\"{left:.1}\" y1=\"{bottom:.1}\" x2=\"{right:.1}\" y2=\"{bottom:.1}\"/>\n"
        );
        for (&position, label) in self.x_ticks.positions.iter().zip(&self.x_ticks.labels) {
            let x = self.x(position);
            svg += &format!(
                "<line class=\"axis\" x1=\"{x:.1}\" y1=\"{bottom:.1}\" x2=\"{x:.1}\" y2=\"{:.1}\"/>\
                 <text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>\n",
                bottom + 5.0,
                bottom + 19.0
            );
        }
        let with_factor = |label: &str, ticks: &Ticks| match ticks.factor.as_str() {
            "" => escape(label),
            factor => format!("{}, {factor}", escape(label)),
        };
        svg + &format!(
            "<text class=\"label\" x=\"4\" y=\"16\">{}</text>\n\
             <text class=\"label\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n",
            with_factor(&self.chart.y.label, &self.y_ticks),
            f64::midpoint(left, right),
            bottom + 40.0,
            with_factor(&self.chart.x.label, &self.x_ticks),
        )
    }

    fn named(&self) -> impl Iterator<Item = &'a Series> {
        let alone = self.chart.series.iter().filter(|s| s.mark.is_named()).count() < 2;
        self.chart.series.iter().filter(move |series| series.mark.is_named() && !alone)
    }

    /// Series with the left end and the row of their legend entries.
    fn legend_places(&self) -> Vec<(&'a Series, f64, f64)> {
        if self.direct {
            return vec![];
        }
        let (mut x, mut row) = (4.0, 0.0);
        let mut places = vec![];
        for series in self.named() {
            let width = 44.0 + CHARACTER * series.name.chars().count() as f64;
            if x > 4.0 && x + width > WIDTH {
                (x, row) = (4.0, row + 1.0);
            }
            places.push((series, x, row));
            x += width;
        }
        places
    }

    fn legend(&self) -> String {
        let mut svg = String::new();
        for (series, x, row) in self.legend_places() {
            let y = 32.0 + LEGEND_ROW * row;
            let class = class(series);
            svg += &match series.mark {
                Mark::Points => marker(series.colour, x + 8.0, y, 4.5, &class, ""),
                _ => format!("<path class=\"{class}\" d=\"M{x:.1} {y:.1}h18\"/>"),
            };
            svg += &format!(
                "<text class=\"name\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
                x + 24.0,
                y + 4.4,
                escape(&series.name)
            );
        }
        svg
    }

    fn series(&self, series: &Series) -> String {
        let points: Vec<(f64, f64)> =
            series.points.iter().copied().filter(|&(x, y)| (x + y).is_finite()).collect();
        let class = class(series);
        let tooltip = |&(x, y): &(f64, f64)| self.tooltip(series, x, y);
        if series.mark == Mark::Points {
            let markers = points.iter().map(|point| {
                let title = tooltip(point);
                marker(series.colour, self.x(point.0), self.y(point.1), 3.4, &class, &title) + "\n"
            });
            return markers.collect();
        }
        let mut svg = String::new();
        if points.len() > 1 {
            let path = points.iter().map(|&(x, y)| format!("{:.1} {:.1}", self.x(x), self.y(y)));
            let path = path.collect::<Vec<_>>().join("L");
            if series.mark == Mark::Fit {
                svg += &format!("<path class=\"halo\" d=\"M{path}\"/>\n");
            }
            svg += &format!("<path class=\"{class}\" d=\"M{path}\"/>\n");
        }
        if matches!(series.mark, Mark::Faint | Mark::Fit | Mark::Reference) {
            return svg;
        }
        let stride = points.len().div_ceil(TOOLTIPS_PER_SERIES).max(1);
        for point in points.iter().step_by(stride) {
            let (x, y, title) = (self.x(point.0), self.y(point.1), tooltip(point));
            let shown = series.mark == Mark::Marked || points.len() == 1;
            let (size, kind) = if shown { (4.2, "mark") } else { (6.0, "hover") };
            let class = format!("s{} {kind}", series.colour % COLOURS);
            svg += &(marker(series.colour, x, y, size, &class, &title) + "\n");
        }
        svg
    }

    fn tooltip(&self, series: &Series, x: f64, y: f64) -> String {
        let is_step = x.fract().abs() < 1e-12 && x.abs() < 1e9;
        let x_text = if is_step { format!("{x:.0}") } else { significant(x, 3) };
        let name = |label: &str| label.split(" (").next().unwrap_or(label).to_lowercase();
        escape(&format!(
            "{}: {} {x_text}, {} {}",
            series.name,
            name(&self.chart.x.label),
            name(&self.chart.y.label),
            significant(y, 3)
        ))
    }

    /// Names at the right ends of the curves, pushed apart where they would overlap.
    fn direct_labels(&self) -> String {
        let end = |series: &'a Series| {
            let last = series.points.iter().rev().find(|&&(x, y)| (x + y).is_finite());
            last.map(|&(x, y)| (series, self.x(x), self.y(y).clamp(self.top, self.bottom)))
        };
        let mut ends: Vec<_> = self.named().filter_map(end).collect();
        ends.sort_by(|a, b| a.2.total_cmp(&b.2));
        let wanted: Vec<f64> = ends.iter().map(|&(_, _, y)| y).collect();
        let places = spread(&wanted, 18.0, self.top + 4.0, self.bottom - 6.0);
        let mut svg = String::new();
        for (&(series, x, y), place) in ends.iter().zip(places) {
            let (text_x, name) = (self.right + 20.0, escape(&series.name));
            let class = format!("s{}", series.colour % COLOURS);
            svg += &format!(
                "<path class=\"{class} leader\" d=\"M{x:.1} {y:.1}L{:.1} {place:.1}\"/>{}\
                 <text class=\"name\" x=\"{text_x:.1}\" y=\"{:.1}\">{name}</text>\n",
                text_x - 10.0,
                marker(series.colour, text_x - 9.0, place, 4.2, &format!("{class} mark"), ""),
                place + 4.4
            );
        }
        svg
    }

    fn x(&self, value: f64) -> f64 {
        let axis = &self.chart.x;
        self.left + (value - axis.low) / (axis.high - axis.low) * (self.right - self.left)
    }

    fn y(&self, value: f64) -> f64 {
        let axis = &self.chart.y;
        self.bottom - (value - axis.low) / (axis.high - axis.low) * (self.bottom - self.top)
    }
}

fn class(series: &Series) -> String {
    let kind = match series.mark {
        Mark::Faint => "line faint",
        Mark::Line | Mark::Marked => "line",
        Mark::Dashed => "line dashed",
        Mark::Fit => "line fit",
        Mark::Points => "mark dot",
        Mark::Reference => return "line reference".to_owned(),
    };
    format!("s{} {kind}", series.colour % COLOURS)
}

/// A shape of its own for each colour, of about `size` units from the middle to the rim.
fn marker(colour: usize, x: f64, y: f64, size: f64, class: &str, title: &str) -> String {
    let double = 2.0 * size;
    let shape = match colour % 4 {
        0 => {
            let arc = format!("a{size:.1} {size:.1} 0 1 0");
            format!("M{:.1} {y:.1}{arc} {double:.1} 0{arc} -{double:.1} 0z", x - size)
        }
        1 => {
            let (to_corner, edge) = (0.9 * size, 1.8 * size);
            format!("M{:.1} {:.1}h{edge:.1}v{edge:.1}h-{edge:.1}z", x - to_corner, y - to_corner)
        }
        2 => {
            let (half, tall) = (1.15 * size, 2.1 * size);
            let base = 2.0 * half;
            format!("M{x:.1} {:.1}l{half:.1} {tall:.1}h-{base:.1}z", y - 1.25 * size)
        }
        _ => {
            let half = 1.3 * size;
            let top = y - half;
            format!(
                "M{x:.1} {top:.1}l{half:.1} {half:.1}l-{half:.1} {half:.1}l-{half:.1} -{half:.1}z"
            )
        }
    };
    let open = format!("<path class=\"{class}\" d=\"{shape}\"");
    if title.is_empty() { open + "/>" } else { format!("{open}><title>{title}</title></path>") }
}

/// Moves rising `wanted` positions apart to at least `gap`, inside `low..=high` where they fit.
fn spread(wanted: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let mut places = wanted.to_vec();
    let mut floor = low;
    for place in &mut places {
        *place = place.max(floor);
        floor = *place + gap;
    }
    let mut ceiling = high;
    for place in places.iter_mut().rev() {
        *place = place.min(ceiling);
        ceiling = *place - gap;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Axis;

    #[test]
    fn labels_move_apart_and_stay_inside() {
        assert_eq!(spread(&[10.0, 12.0, 60.0], 15.0, 0.0, 100.0), [10.0, 25.0, 60.0]);
        assert_eq!(spread(&[95.0, 99.0], 15.0, 0.0, 100.0), [85.0, 100.0]);
        assert_eq!(spread(&[-5.0, 2.0], 15.0, 0.0, 100.0), [0.0, 15.0]);
    }

    fn tiny_chart() -> Chart {
        let series = |name: &str, colour, mark, points: &[(f64, f64)]| Series {
            name: name.to_owned(),
            colour,
            mark,
            points: points.to_vec(),
        };
        Chart {
            stem: "tiny".to_owned(),
            title: "Tiny <chart>".to_owned(),
            description: "Two curves.".to_owned(),
            x: Axis { label: "Step".to_owned(), low: 0.0, high: 2.0, whole: true },
            y: Axis { label: "Value (nat)".to_owned(), low: 0.0, high: 1.0, whole: false },
            series: vec![
                series("A", 0, Mark::Line, &[(0.0, 0.0), (1.0, f64::NAN), (2.0, 1.0)]),
                series("B", 1, Mark::Line, &[(0.0, 1.0), (2.0, 0.5)]),
            ],
        }
    }

    #[test]
    fn a_small_chart() {
        insta::assert_snapshot!(inline_svg(&tiny_chart()));
    }

    #[test]
    fn a_file_of_its_own_carries_its_style() {
        let svg = standalone_svg(&tiny_chart());
        assert!(svg.starts_with("<svg class=\"chart\" xmlns=\"http://www.w3.org/2000/svg\""));
        assert!(svg.contains("<style>") && svg.contains("--series-0"));
    }
}
