//! Charts as SVG: axes, curves, style.

mod bars;

use figures::chart::{Axis, Chart, Mark, Scale, Series};
use figures::chart_svg::{inline_svg, printed_svg, standalone_svg};
use figures::print_size::PrintSize;

fn tiny_chart() -> Chart {
    let series = |name: &str, colour, mark, points: &[(f64, f64)]| {
        Series::new(name, colour, mark, points.to_vec())
    };
    Chart {
        stem: "tiny".to_owned(),
        title: "Tiny <chart>".to_owned(),
        description: "Two curves.".to_owned(),
        x: Axis { whole: true, ..Axis::from_to("Step", 0.0, 2.0) },
        y: Axis::from_to("Value (nat)", 0.0, 1.0),
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

/// Values of the attribute `d` of the paths of class `class`.
fn paths<'a>(svg: &'a str, class: &str) -> Vec<&'a str> {
    let open = format!("<path class=\"{class}\" d=\"");
    svg.split(&open).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn equal_ratios_are_equally_long_on_a_logarithmic_axis() {
    let points = vec![(1.0, 1.0), (10.0, -1.0), (10.0, 10.0), (100.0, 100.0)];
    let x = Axis { scale: Scale::Log, ..Axis::from_to("x", 1.0, 100.0) };
    let y = Axis { scale: Scale::Log, ..Axis::from_to("y", 1.0, 100.0) };
    let chart =
        Chart { x, y, series: vec![Series::new("a", 0, Mark::Line, points)], ..tiny_chart() };
    let svg = inline_svg(&chart);
    let place = |text: &str| text.split(' ').map(|n| n.parse().unwrap()).collect::<Vec<f64>>();
    let line: Vec<_> = paths(&svg, "s0 line")[0][1..].split('L').map(place).collect();
    assert_eq!(line.len(), 3, "what has no logarithm is left out: {line:?}");
    for axis in [0, 1] {
        let steps = [line[1][axis] - line[0][axis], line[2][axis] - line[1][axis]];
        assert!((steps[0] - steps[1]).abs() < 0.25, "{line:?}");
    }
}

#[test]
fn long_names_of_categories_are_tilted() {
    let names = ["a method with a long name"; 6];
    let chart = |names: &[&str]| Chart { x: Axis::of_categories("method", names), ..tiny_chart() };
    assert_eq!(inline_svg(&chart(&names)).matches("rotate(-40)").count(), 6);
    assert!(!inline_svg(&chart(&["A", "B"])).contains("rotate"));
}

#[test]
fn a_casing_lies_under_the_markers_of_every_series() {
    let series = |mark| Series::new("a", 0, mark, vec![(0.0, 0.0), (1.0, 1.0)]);
    let chart = Chart { series: vec![series(Mark::Points), series(Mark::Fit)], ..tiny_chart() };
    let svg = inline_svg(&chart);
    assert!(svg.find("class=\"casing\"").unwrap() < svg.find("class=\"s0 mark\"").unwrap());
}

#[test]
fn twelve_curves_are_told_apart_and_named_at_their_ends() {
    let curve = |index: u32| {
        let points = vec![(0.0, 0.0), (2.0, f64::from(index) / 12.0)];
        Series::new(&format!("method {index}"), index as usize, Mark::Marked, points)
    };
    let chart = Chart { series: (0..12).map(curve).collect(), ..tiny_chart() };
    let svg = inline_svg(&chart);
    assert_eq!(svg.matches(" leader\"").count(), 12);
    assert_eq!(paths(&svg, "s0 line").len() + paths(&svg, "s0 line dashed").len(), 2);
}

#[test]
fn a_printed_chart_has_its_width_and_letters_of_its_size_and_no_css() {
    let size = PrintSize::new(8.5, 8.0).unwrap();
    let svg = printed_svg(&tiny_chart(), size);
    // 13 units are 8 points, and 8.5 cm are 240.9 points.
    assert!(svg.contains("width=\"8.5000cm\"") && svg.contains("viewBox=\"0 0 392 256\""), "{svg}");
    assert!(!svg.contains("<style>") && !svg.contains("var("));
}

#[test]
fn a_file_of_its_own_carries_its_style() {
    let svg = standalone_svg(&tiny_chart());
    assert!(
        svg.starts_with("<svg class=\"chart\" font-family=")
            && svg.contains(" xmlns=\"http://www.w3.org")
    );
    assert!(svg.contains("<style>@media screen {") && svg.contains("--series-0"));
    assert!(svg.contains("<path class=\"s0 line\" fill=\"none\" stroke=\"#0072b2\""), "{svg}");
}
