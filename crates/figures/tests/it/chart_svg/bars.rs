//! Bars, bands and error bars.

use figures::chart_svg::inline_svg;

use figures::chart::{Axis, Chart, Mark, Series};

use super::{paths, tiny_chart};

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
        paths(&svg, class).into_iter().filter(|d| d.contains('V')).map(shape).collect::<Vec<_>>()
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
    let series =
        |mark| Series::new("a", 7, mark, vec![(0.0, 0.2), (2.0, 0.4)]).with_spread(spread.clone());
    let drawn = |mark| inline_svg(&Chart { series: vec![series(mark)], ..tiny_chart() });
    let line = drawn(Mark::Line);
    assert!(line.find("s7 band").unwrap() < line.find("s7 line").unwrap());
    assert_eq!(paths(&line, "s7 band")[0].matches('L').count(), 3);
    for mark in [Mark::Marked, Mark::Points] {
        let svg = drawn(mark);
        assert_eq!((paths(&svg, "s7 error").len(), svg.contains("band")), (2, false));
    }
}
