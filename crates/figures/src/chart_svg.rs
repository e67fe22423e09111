//! A [`Chart`] as SVG: text in the page's font, colours by CSS variables in a page and as attributes in a file, tooltips by
//! `<title>`.

mod bars;
mod legend;
mod ticks;

use crate::axis_ticks::Ticks;
use crate::chart::{Chart, Mark, Series};
use crate::html::escape;
use crate::number_format::significant;
use crate::presentation::with_attributes;
use crate::print_size::PrintSize;
use crate::svg_marker::marker;
use crate::text_width::text_width;
use ticks::{ticks, ticks_apart};

/// Colours and fonts of charts, light and dark; the page and the separate files share it.
pub const STYLE: &str = include_str!("chart.css");

const SCREEN: (f64, f64) = (520.0, 340.0);
/// Width of an average small letter of a name, generous: phones show them larger (chart.css).
const CHARACTER: f64 = 7.6;
/// Up to this many points are drawn larger and opaque; more are a cloud.
const FEW_POINTS: usize = 24;
/// Largest shift of points that share a category with those of other series.
const POINT_SHIFT: f64 = 5.0;
/// Room of a marker beside the end of the horizontal axis.
const MARKER_ROOM: f64 = 6.0;
const LEGEND_ROW: f64 = 20.0;
/// Names up to this fraction of the width stand at the end of their curves, up to so many.
const DIRECT_LABEL_WIDTH: f64 = 0.34;
const DIRECT_LABELS: usize = 12;
const TOOLTIPS_PER_SERIES: usize = 80;
/// Colours in `chart.css`. Lines of more series are dashed, each ten their own way; markers have four shapes.
const COLOURS: usize = 10;
/// Fraction of the room between neighbours that bars fill.
const BAR_FILL: f64 = 0.8;
/// Width of a character of a tick, as drawn.
const TICK_CHARACTER: f64 = 6.6;
/// Cosine and sine of the angle of names that find no room side by side.
const TILT: (f64, f64) = (0.77, 0.64);

/// The chart for inclusion in an HTML page that carries [`STYLE`].
pub fn inline_svg(chart: &Chart) -> String {
    Drawing::new(chart, SCREEN).svg("", "")
}

/// The chart as a file of its own, light and dark as the reader has it. Programs that do not know CSS see its light colours.
pub fn standalone_svg(chart: &Chart) -> String {
    // Programs without media queries must not see the variables: they would take them for black.
    file_svg(chart, SCREEN, "", &format!("<style>@media screen {{\n{STYLE}}}</style>\n"))
}

/// The chart as a file of its own for paper: of this width and with letters of this size, light, without CSS.
pub fn printed_svg(chart: &Chart, size: PrintSize) -> String {
    let (width, height) = size.units();
    let attribute = |name: &str, units: f64| {
        format!(" {name}=\"{:.4}cm\"", size.width_centimetres() * units / width)
    };
    let attributes = attribute("width", width) + &attribute("height", height);
    file_svg(chart, (width, height), &attributes, "")
}

fn file_svg(chart: &Chart, units: (f64, f64), attributes: &str, style: &str) -> String {
    let attributes = format!(" xmlns=\"http://www.w3.org/2000/svg\"{attributes}");
    let paper = format!("{style}<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
    with_attributes(&Drawing::new(chart, units).svg(&attributes, &paper), STYLE)
}

struct Drawing<'a> {
    chart: &'a Chart,
    width: f64,
    height: f64,
    x_ticks: Ticks,
    y_ticks: Ticks,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    direct: bool,
    /// True if the names along the horizontal axis are tilted.
    tilted: bool,
}

impl<'a> Drawing<'a> {
    fn new(chart: &'a Chart, (width, height): (f64, f64)) -> Self {
        let y_ticks = ticks(&chart.y, 5);
        let widest = |texts: &[String]| {
            texts.iter().map(|text| text.chars().count()).max().unwrap_or(0) as f64
        };
        let named: Vec<&Series> = chart.series.iter().filter(|s| s.mark.is_named()).collect();
        let lines = named.iter().all(|s| matches!(s.mark, Mark::Line | Mark::Marked));
        let name_width = named.iter().map(|series| text_width(&series.name)).fold(0.0, f64::max);
        let name_width = CHARACTER * name_width;
        let direct = lines
            && (2..=DIRECT_LABELS).contains(&named.len())
            && name_width <= DIRECT_LABEL_WIDTH * width;
        let right = width - if direct { 26.0 + name_width } else { 18.0 };
        let mut left = 14.0 + CHARACTER * widest(&y_ticks.labels);
        let x_ticks = ticks_apart(&chart.x, right - left);
        // Names of categories stand upright where each has room, else tilted.
        let longest = TICK_CHARACTER * widest(&chart.x.categories);
        let room = (right - left) / chart.x.categories.len().max(1) as f64;
        let tilted = longest > room;
        let mut bottom = height - 50.0;
        if tilted {
            bottom -= (TILT.1 * longest).min(height / 3.0);
            left = left.max(TILT.0 * longest - 0.4 * room);
        }
        let mut drawing = Self {
            chart,
            width,
            height,
            x_ticks,
            y_ticks,
            left,
            right,
            top: 0.0,
            bottom,
            direct,
            tilted,
        };
        let rows = drawing.legend_places().last().map_or(0.0, |&(_, _, row)| row + 1.0);
        drawing.top = 34.0 + LEGEND_ROW * rows;
        drawing
    }

    fn svg(&self, attributes: &str, style: &str) -> String {
        let chart = self.chart;
        let (stem, width, height) = (escape(&chart.stem), self.width, self.height);
        let mut svg = format!(
            "<svg class=\"chart\"{attributes} viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
             aria-labelledby=\"{stem}-title {stem}-description\">\n\
             <title id=\"{stem}-title\">{}</title>\n<desc id=\"{stem}-description\">{}</desc>\n{style}",
            escape(&chart.title),
            escape(&chart.description)
        );
        svg += &self.axes();
        svg += &self.legend();
        // A nested viewport clips what lies outside the axes; markers at the ends of the horizontal one stay whole.
        let (start, width) = (self.left - MARKER_ROOM, self.right - self.left + 2.0 * MARKER_ROOM);
        let height = self.bottom - self.top;
        svg += &format!(
            "<svg x=\"{start:.1}\" y=\"{0:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             viewBox=\"{start:.1} {0:.1} {width:.1} {height:.1}\">\n",
            self.top
        );
        for series in &chart.series {
            svg += &self.band(series);
        }
        // Under every marker, of other series too.
        for series in chart.series.iter().filter(|series| series.mark == Mark::Fit) {
            svg += &self.path(series, "casing");
        }
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
            if self.tilted {
                let y = bottom + 10.0;
                svg += &format!(
                    "<text class=\"tick\" text-anchor=\"end\" transform=\"translate({:.1} {y:.1}) \
                     rotate(-40)\">{}</text>\n",
                    x + 4.0,
                    escape(label)
                );
                continue;
            }
            let label = escape(label);
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
            if self.tilted { self.height - 8.0 } else { bottom + 40.0 },
            with_factor(&self.chart.x.label, &self.x_ticks),
        )
    }

    /// Points of `series` that have a place.
    fn points(&self, series: &Series) -> Vec<(f64, f64)> {
        let has_place = |&(x, y): &(f64, f64)| (self.x(x) + self.y(y)).is_finite();
        series.points.iter().copied().filter(has_place).collect()
    }

    fn series(&self, series: &Series) -> String {
        if series.mark == Mark::Bars {
            return self.bars(series);
        }
        let points = self.points(series);
        let class = class(series);
        let tooltip = |&(x, y): &(f64, f64)| self.tooltip(series, x, y);
        if series.mark == Mark::Points {
            let (shift, size) = (self.point_shift(series), if is_few(series) { 4.2 } else { 3.4 });
            let markers = points.iter().map(|point| {
                let (x, y, title) = (self.x(point.0) + shift, self.y(point.1), tooltip(point));
                marker(series.colour, x, y, size, &class, &title) + "\n"
            });
            return self.error_bars(series, shift) + &markers.collect::<String>();
        }
        let mut svg = self.path(series, &class);
        if matches!(series.mark, Mark::Faint | Mark::Fit | Mark::Reference) {
            return svg;
        }
        if series.mark == Mark::Marked {
            svg += &self.error_bars(series, 0.0);
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

    /// The line through the points; empty with fewer than two.
    fn path(&self, series: &Series, class: &str) -> String {
        let place = |&(x, y): &(f64, f64)| format!("{:.1} {:.1}", self.x(x), self.y(y));
        let places: Vec<String> = self.points(series).iter().map(place).collect();
        if places.len() < 2 {
            return String::new();
        }
        format!("<path class=\"{class}\" d=\"M{}\"/>\n", places.join("L"))
    }

    /// Horizontal shift of points from the place of their category, so that series do not hide each other.
    fn point_shift(&self, series: &Series) -> f64 {
        if self.chart.x.categories.is_empty() {
            return 0.0;
        }
        let (place, count) = self.place_among_alike(series);
        let room = (self.x(1.0) - self.x(0.0)) / (count + 1.0);
        (place - 0.5 * (count - 1.0)) * room.min(2.0 * POINT_SHIFT)
    }

    /// The place of `series` among those of the same mark, and their number.
    fn place_among_alike(&self, series: &Series) -> (f64, f64) {
        let alike = || self.chart.series.iter().filter(|other| other.mark == series.mark);
        let place = alike().position(|other| std::ptr::eq(other, series)).unwrap_or(0);
        (place as f64, alike().count() as f64)
    }

    fn tooltip(&self, series: &Series, x: f64, y: f64) -> String {
        let is_step = x.fract().abs() < 1e-12 && x.abs() < 1e9;
        let mut categories = (0_u32..).zip(&self.chart.x.categories);
        let x_text = match categories.find(|(place, _)| (f64::from(*place) - x).abs() < 0.5) {
            Some((_, name)) => name.clone(),
            None if is_step => format!("{x:.0}"),
            None => significant(x, 3),
        };
        let name = |label: &str| label.split(" (").next().unwrap_or(label).to_lowercase();
        escape(&format!(
            "{}: {} {x_text}, {} {}",
            series.name,
            name(&self.chart.x.label),
            name(&self.chart.y.label),
            significant(y, 3)
        ))
    }

    fn x(&self, value: f64) -> f64 {
        self.left + self.chart.x.place(value) * (self.right - self.left)
    }

    fn y(&self, value: f64) -> f64 {
        self.bottom - self.chart.y.place(value) * (self.bottom - self.top)
    }
}

fn is_few(series: &Series) -> bool {
    series.points.len() <= FEW_POINTS
}

fn class(series: &Series) -> String {
    let kind = match series.mark {
        Mark::Faint => "line faint",
        Mark::Line | Mark::Marked if series.colour >= 2 * COLOURS => "line dotted",
        Mark::Line | Mark::Marked if series.colour >= COLOURS => "line dashed",
        Mark::Line | Mark::Marked => "line",
        Mark::Dashed => "line dashed",
        Mark::Fit => "line fit",
        Mark::Points if is_few(series) => "mark",
        Mark::Points => "mark dot",
        Mark::Bars => "mark",
        Mark::Reference => return "line reference".to_owned(),
    };
    format!("s{} {kind}", series.colour % COLOURS)
}
