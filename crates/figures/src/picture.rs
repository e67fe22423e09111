//! Charts as PNG and PDF, in a font of this machine.

use std::fmt::Display;
use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb::Database};
use thiserror::Error;

use crate::chart::Chart;
use crate::chart_svg::printed_svg;
use crate::pdf::pdf;
use crate::print_size::PrintSize;

/// Dots of a PNG along an inch, as journals ask for; the pixels of CSS are 96.
const DOTS: f32 = 300.0;
const CSS_PIXELS: f32 = 96.0;

/// Families to look for, in this order, before taking any.
const FAMILIES: [&str; 6] =
    ["Noto Sans", "DejaVu Sans", "Liberation Sans", "Roboto", "Helvetica", "Arial"];

/// A chart that could not become a picture.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PictureError {
    /// There is nothing to write text with.
    #[error("no font is installed on this machine, expected one such as {}; leave PNG and PDF out, or install one", FAMILIES[1])]
    NoFont,
    /// The drawing of a chart was refused.
    #[error("{0}")]
    Drawing(String),
}

impl PictureError {
    fn of(chart: &Chart, problem: impl Display) -> Self {
        Self::Drawing(format!("chart `{}`: {problem}", chart.stem))
    }
}

/// Makes pictures with one set of fonts.
#[derive(Debug)]
pub struct PictureMaker {
    options: Options<'static>,
}

impl PictureMaker {
    /// Loads the fonts of this machine.
    ///
    /// # Errors
    ///
    /// [`PictureError::NoFont`] where there are none.
    pub fn with_system_fonts() -> Result<Self, PictureError> {
        let mut fonts = Database::new();
        fonts.load_system_fonts();
        Self::with_fonts(fonts)
    }

    fn with_fonts(mut fonts: Database) -> Result<Self, PictureError> {
        let has = |family: &str| {
            fonts.faces().any(|face| face.families.iter().any(|(name, _)| name == family))
        };
        let known = FAMILIES.into_iter().find(|family| has(family));
        let any = || fonts.faces().find_map(|face| Some(face.families.first()?.0.as_str()));
        let family = known.or_else(any).ok_or(PictureError::NoFont)?.to_owned();
        fonts.set_sans_serif_family(&family);
        let fontdb = Arc::new(fonts);
        Ok(Self { options: Options { fontdb, font_family: family, ..Options::default() } })
    }

    /// The chart as a PNG file with 300 dots an inch, light, on white.
    ///
    /// # Errors
    ///
    /// [`PictureError::Drawing`], naming the chart.
    pub fn png(&self, chart: &Chart, size: PrintSize) -> Result<Vec<u8>, PictureError> {
        let tree = self.tree(chart, size)?;
        let scale = DOTS / CSS_PIXELS;
        let pixels = tree.size().to_int_size().scale_by(scale);
        let pixels = pixels.and_then(|size| Pixmap::new(size.width(), size.height()));
        let mut pixels = pixels.ok_or_else(|| PictureError::of(chart, "is too large"))?;
        resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| PictureError::of(chart, error))
    }

    /// The chart as a PDF of one page, light, on white; letters are outlines.
    ///
    /// # Errors
    ///
    /// [`PictureError::Drawing`], naming the chart.
    pub fn pdf(&self, chart: &Chart, size: PrintSize) -> Result<Vec<u8>, PictureError> {
        Ok(pdf(&self.tree(chart, size)?))
    }

    fn tree(&self, chart: &Chart, size: PrintSize) -> Result<Tree, PictureError> {
        Tree::from_str(&printed_svg(chart, size), &self.options)
            .map_err(|error| PictureError::of(chart, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Axis, Mark, Series};
    use crate::chart_svg::standalone_svg;

    /// Bars over the whole width, in the colour of the second series.
    fn chart() -> Chart {
        let (x, y) = (Axis::of_categories("", &["A", "B"]), Axis::from_to("", 0.0, 1.0));
        let series = Series::new("a", 1, Mark::Bars, vec![(0.0, 1.0), (1.0, 1.0)]);
        Chart::new(["bars", "", ""], x, y, vec![series])
    }

    #[test]
    fn colours_and_shapes_need_no_font() {
        let maker = PictureMaker { options: Options::default() };
        let png = maker.png(&chart(), PrintSize::PAGE).unwrap();
        let pixels = Pixmap::decode_png(&png).unwrap();
        // 14 cm at 300 dots an inch are 1653.5 dots.
        assert!((1653..=1657).contains(&pixels.width()), "{}", pixels.width());
        assert_coloured(&pixels);
    }

    #[test]
    fn a_file_for_screens_has_colours_where_css_is_not_known() {
        let svg = standalone_svg(&chart());
        let tree = Tree::from_str(&svg, &Options::default()).unwrap();
        let mut pixels = Pixmap::new(520, 340).unwrap();
        resvg::render(&tree, Transform::identity(), &mut pixels.as_mut());
        assert_coloured(&pixels);
    }

    /// The bars are orange and the paper is white.
    fn assert_coloured(pixels: &Pixmap) {
        let colours =
            pixels.pixels().iter().map(|pixel| (pixel.red(), pixel.green(), pixel.blue()));
        let fraction = |wanted| {
            let count = colours.clone().filter(|colour| *colour == wanted).count();
            count as f64 / pixels.pixels().len() as f64
        };
        let (orange, white) = (fraction((0xd5, 0x5e, 0x00)), fraction((255, 255, 255)));
        assert!(orange > 0.3 && white > 0.15, "{orange} {white}");
    }

    #[test]
    fn a_machine_without_fonts_is_told() {
        let error = PictureMaker::with_fonts(Database::new()).unwrap_err();
        assert!(error.to_string().contains("no font is installed"), "{error}");
    }
}
