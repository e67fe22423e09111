//! Names of series: in rows above the chart, or at the ends of its curves.

use super::{CHARACTER, COLOURS, Drawing, LEGEND_ROW, class};
use crate::chart::{Mark, Series};
use crate::html::escape;
use crate::svg_marker::marker;
use crate::text_width::text_width;

impl<'a> Drawing<'a> {
    /// Series with a name; of several with one name and colour the first.
    fn named(&self) -> impl Iterator<Item = &'a Series> {
        let mut named: Vec<&Series> = vec![];
        for series in self.chart.series.iter().filter(|series| series.mark.is_named()) {
            let same = |other: &&Series| other.name == series.name && other.colour == series.colour;
            if !named.iter().any(same) {
                named.push(series);
            }
        }
        let alone = named.len() < 2;
        named.into_iter().filter(move |_| !alone)
    }

    /// Series with the left end and the row of their legend entries.
    pub(super) fn legend_places(&self) -> Vec<(&'a Series, f64, f64)> {
        if self.direct {
            return vec![];
        }
        let (mut x, mut row) = (4.0, 0.0);
        let mut places = vec![];
        for series in self.named() {
            let width = 44.0 + CHARACTER * text_width(&series.name);
            if x > 4.0 && x + width > self.width {
                (x, row) = (4.0, row + 1.0);
            }
            places.push((series, x, row));
            x += width;
        }
        places
    }

    pub(super) fn legend(&self) -> String {
        let mut svg = String::new();
        for (series, x, row) in self.legend_places() {
            let y = 32.0 + LEGEND_ROW * row;
            let class = class(series);
            svg += &match series.mark {
                Mark::Points => marker(series.colour, x + 8.0, y, 4.5, &class, ""),
                Mark::Bars => {
                    format!("<path class=\"{class}\" d=\"M{x:.1} {:.1}h16v10h-16z\"/>", y - 5.0)
                }
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

    /// Names at the right ends of the curves, pushed apart where they would overlap.
    pub(super) fn direct_labels(&self) -> String {
        let end = |series: &'a Series| {
            let last = self.points(series).pop();
            last.map(|(x, y)| (series, self.x(x), self.y(y).clamp(self.top, self.bottom)))
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

    #[test]
    fn labels_move_apart_and_stay_inside() {
        assert_eq!(spread(&[10.0, 12.0, 60.0], 15.0, 0.0, 100.0), [10.0, 25.0, 60.0]);
        assert_eq!(spread(&[95.0, 99.0], 15.0, 0.0, 100.0), [85.0, 100.0]);
        assert_eq!(spread(&[-5.0, 2.0], 15.0, 0.0, 100.0), [0.0, 15.0]);
    }
}
