//! Charts as PNG, in a font of this machine.

use super::run::Finished;
use crate::result_file::{FileError, write_whole};
use figures::Chart;
use figures::chart_svg::plain_svg;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb::Database};
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

/// Pixels a unit of the drawing: a chart is 1040 pixels wide.
const PIXELS: f32 = 2.0;

/// Families to look for, in this order, before taking any.
const FAMILIES: [&str; 6] =
    ["Noto Sans", "DejaVu Sans", "Liberation Sans", "Roboto", "Helvetica", "Arial"];

/// A chart that could not become a PNG.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RasterError {
    /// There is nothing to write text with.
    #[error("no font is installed on this machine, expected one such as {}; leave --png out, or install one", FAMILIES[1])]
    NoFont,
    /// The drawing of a chart was refused.
    #[error("chart `{stem}`: {problem}")]
    Drawing {
        /// File stem of the chart.
        stem: String,
        /// Reason, in words.
        problem: String,
    },
}

/// Draws charts with one set of fonts.
#[derive(Debug)]
pub struct Rasteriser {
    options: Options<'static>,
}

impl Rasteriser {
    /// Loads the fonts of this machine.
    ///
    /// # Errors
    ///
    /// [`RasterError::NoFont`] where there are none.
    pub fn with_system_fonts() -> Result<Self, RasterError> {
        let mut fonts = Database::new();
        fonts.load_system_fonts();
        Self::with_fonts(fonts)
    }

    fn with_fonts(mut fonts: Database) -> Result<Self, RasterError> {
        let has = |family: &str| {
            fonts.faces().any(|face| face.families.iter().any(|(name, _)| name == family))
        };
        let known = FAMILIES.into_iter().find(|family| has(family)).map(str::to_owned);
        let any =
            || fonts.faces().find_map(|face| face.families.first().map(|(name, _)| name.clone()));
        let family = known.or_else(any).ok_or(RasterError::NoFont)?;
        fonts.set_sans_serif_family(&family);
        let fontdb = Arc::new(fonts);
        Ok(Self { options: Options { fontdb, font_family: family, ..Options::default() } })
    }

    /// The chart as a PNG file, light, on white.
    ///
    /// # Errors
    ///
    /// [`RasterError::Drawing`], naming the chart.
    pub fn png(&self, chart: &Chart) -> Result<Vec<u8>, RasterError> {
        let fault = |problem: String| RasterError::Drawing { stem: chart.stem.clone(), problem };
        let tree = Tree::from_str(&plain_svg(chart), &self.options)
            .map_err(|error| fault(error.to_string()))?;
        let size = tree.size().to_int_size().scale_by(PIXELS);
        let size = size.ok_or_else(|| fault("has no size".to_owned()))?;
        let pixels = Pixmap::new(size.width(), size.height());
        let mut pixels = pixels.ok_or_else(|| fault("is too large".to_owned()))?;
        resvg::render(&tree, Transform::from_scale(PIXELS, PIXELS), &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| fault(error.to_string()))
    }
}

/// Writes every figure of `finished` as `figures/*.png` under `folder`.
///
/// # Errors
///
/// [`PictureError`], naming the chart or the file.
pub fn write(
    folder: &Path,
    finished: &[Finished],
    rasteriser: &Rasteriser,
) -> Result<(), PictureError> {
    for figure in finished.iter().flat_map(|one| &one.record.outcome.figures) {
        let path = folder.join("figures").join(format!("{}.png", figure.chart.stem));
        write_whole(&path, &rasteriser.png(&figure.chart)?)?;
    }
    Ok(())
}

/// Why a figure has no PNG.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PictureError {
    /// It could not be drawn.
    #[error(transparent)]
    Raster(#[from] RasterError),
    /// It could not be written.
    #[error(transparent)]
    Store(#[from] FileError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use figures::{Axis, Mark, Series};

    /// Bars over the whole width, in the colour of the second series.
    fn chart() -> Chart {
        let points = vec![(0.0, 1.0), (1.0, 1.0)];
        Chart {
            stem: "bars".to_owned(),
            title: String::new(),
            description: String::new(),
            x: Axis::of_categories("", &["A", "B"]),
            y: Axis::from_to("", 0.0, 1.0),
            series: vec![Series::new("a", 1, Mark::Bars, points)],
        }
    }

    #[test]
    fn colours_and_shapes_need_no_font() {
        let png = Rasteriser { options: Options::default() }.png(&chart()).unwrap();
        let pixels = Pixmap::decode_png(&png).unwrap();
        assert_eq!((pixels.width(), pixels.height()), (1040, 680));
        let colours =
            pixels.pixels().iter().map(|pixel| (pixel.red(), pixel.green(), pixel.blue()));
        let count = |wanted| colours.clone().filter(|colour| *colour == wanted).count();
        let (orange, white) = (count((0xd5, 0x5e, 0x00)), count((255, 255, 255)));
        assert!(orange > 200_000 && white > 100_000, "{orange} {white}");
    }

    #[test]
    fn a_machine_without_fonts_is_told() {
        let error = Rasteriser::with_fonts(Database::new()).unwrap_err();
        assert!(error.to_string().contains("no font is installed"), "{error}");
    }
}
