//! Which ticks an axis gets.

use crate::axis_ticks::{Ticks, axis_ticks, log_ticks};
use crate::chart::{Axis, Scale};

/// Width of a character of a tick where letters are 15 pixels high, as on phones and in small charts.
const LARGE_TICK_CHARACTER: f64 = 8.25;

/// Ticks of an axis of this width, fewer where their labels would touch in the larger letters that small screens get.
pub(super) fn ticks_apart(axis: &Axis, width: f64) -> Ticks {
    let apart = |ticks: &Ticks| {
        let (Some(first), Some(last)) = (ticks.positions.first(), ticks.positions.last()) else {
            return true;
        };
        let spaces = ticks.positions.len().saturating_sub(1).max(1) as f64;
        let space = width * (last - first) / (axis.high - axis.low) / spaces;
        let longest = ticks.labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
        ticks.positions.len() < 2 || LARGE_TICK_CHARACTER * (longest as f64 + 1.0) < space
    };
    match axis.scale {
        Scale::Linear if axis.categories.is_empty() => {
            let mut fewer = (2..=6).rev().map(|target| ticks(axis, target));
            fewer.find(apart).unwrap_or_else(|| ticks(axis, 2))
        }
        _ => ticks(axis, 6),
    }
}

/// About as many ticks as wanted, or the categories.
pub(super) fn ticks(axis: &Axis, target: usize) -> Ticks {
    if !axis.categories.is_empty() {
        let positions = (0..axis.categories.len()).map(|index| index as f64).collect();
        return Ticks { positions, labels: axis.categories.clone(), factor: String::new() };
    }
    match axis.scale {
        Scale::Log => log_ticks(axis.low, axis.high, target),
        Scale::Linear if axis.whole => axis_ticks(axis.low, axis.high, target).whole(),
        Scale::Linear => axis_ticks(axis.low, axis.high, target),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_do_not_touch() {
        // Ten ticks of six characters in 390 pixels would.
        let axis = Axis::from_to("x", -0.0165, 0.0022);
        assert_eq!(ticks(&axis, 6).labels.len(), 10);
        assert_eq!(ticks_apart(&axis, 390.0).labels, ["−0.015", "−0.010", "−0.005", "0.000"]);
        let short = Axis::from_to("x", 0.0, 80.0);
        assert_eq!(ticks_apart(&short, 390.0), ticks(&short, 6));
    }

    #[test]
    fn a_narrow_axis_keeps_some_ticks() {
        let axis = Axis::from_to("x", 100_000.0, 103_000.0);
        assert!((1..=4).contains(&ticks_apart(&axis, 60.0).positions.len()));
        assert!(ticks_apart(&Axis::from_to("x", 1.0, 1.0), 60.0).positions.is_empty());
    }
}
