//! The size of a chart on paper.

use thiserror::Error;

/// Fewest units of width in which axes, names and curves find room.
const NARROWEST: f64 = 260.0;
const WIDEST: f64 = 3000.0;
/// Height of letters in the units of a chart, and points of an inch.
const LETTER: f64 = 13.0;
const POINTS: f64 = 72.0;
const CENTIMETRES: f64 = 2.54;
/// Height of a chart as a fraction of its width, and the least height in units.
const ASPECT: f64 = 340.0 / 520.0;
const LOWEST: f64 = 240.0;

/// Width of a chart and size of its letters on paper. Lines grow with the letters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrintSize {
    width_centimetres: f64,
    font_points: f64,
}

/// Width and letters that make no chart.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{0}")]
pub struct PrintSizeError(String);

/// Centimetres of so many units where letters have this size.
fn centimetres(units: f64, font_points: f64) -> f64 {
    units * font_points / LETTER / POINTS * CENTIMETRES
}

impl PrintSize {
    /// The width of the text of a page, in letters of 10 points.
    pub const PAGE: Self = Self { width_centimetres: 14.0, font_points: 10.0 };

    /// A width in centimetres, and the size of letters in points.
    ///
    /// # Errors
    ///
    /// [`PrintSizeError`] for widths in which letters of this size have no room, and for what is not positive.
    pub fn new(width_centimetres: f64, font_points: f64) -> Result<Self, PrintSizeError> {
        let [least, most] = [NARROWEST, WIDEST].map(|units| centimetres(units, font_points));
        if font_points > 0.0 && (least..=most).contains(&width_centimetres) {
            return Ok(Self { width_centimetres, font_points });
        }
        Err(PrintSizeError(format!(
            "a chart of {width_centimetres} cm with letters of {font_points} pt has no room, expected {least:.1} to {most:.0} cm \
             for these letters"
        )))
    }

    /// Width in centimetres.
    pub const fn width_centimetres(self) -> f64 {
        self.width_centimetres
    }

    /// Size of the letters in points.
    pub const fn font_points(self) -> f64 {
        self.font_points
    }

    /// Width and height in the units of a chart, whole numbers.
    pub(crate) fn units(self) -> (f64, f64) {
        let width = (self.width_centimetres / centimetres(1.0, self.font_points)).round();
        (width, (ASPECT * width).max(LOWEST).round())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_need_room() {
        assert_eq!(PrintSize::PAGE.units(), (516.0, 337.0));
        assert_eq!(PrintSize::new(6.0, 8.0).unwrap().units(), (276.0, 240.0));
        let error = PrintSize::new(6.0, 12.0).unwrap_err().to_string();
        assert!(error.contains("expected 8.5 to 98 cm"), "{error}");
        for (width, font) in [(f64::NAN, 10.0), (14.0, f64::NAN), (14.0, 0.0), (-1.0, -1.0)] {
            assert!(PrintSize::new(width, font).is_err(), "{width} {font}");
        }
    }
}
