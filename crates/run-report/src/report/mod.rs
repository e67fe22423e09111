//! One self-contained HTML page about one or several training runs.
//!
//! No script, no network: charts are inline SVG ([`figures`]), light and dark by CSS. Every number is
//! computed here from the metrics of the steps; where a metric was not recorded a sentence says so.

#![expect(
    clippy::format_push_string,
    reason = "a page is built once: `write!` with results to discard would only be harder to read"
)]

mod covariance_tail;
mod curves;
mod entropy_change;
mod extrapolation;
mod methods;
mod metric;
mod page;
mod record;
mod reward_entropy;
mod samples;
mod summary;
mod verification;

use std::path::Path;

use figures::chart_svg::standalone_svg;
use figures::picture::{PictureError, PictureMaker};
use figures::{Figure, Section};
use thiserror::Error;
use whole_file::{FileError, write_atomically};

pub(crate) use curves::steps_figure;
pub use figures::print_size::PrintSize;
pub(crate) use methods::mean_curve;
pub(crate) use metric::{COVARIANCE, ENTROPY, MEASURED_CHANGE, PREDICTED_CHANGE};
pub use record::{Report, ReportRun, Verification, VerificationRow};

/// A report that could not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The file could not be written; an older one is as it was.
    #[error(transparent)]
    Write(#[from] FileError),
    /// A chart could not become a picture.
    #[error(transparent)]
    Picture(#[from] PictureError),
}

/// Formats of the charts beside SVG, and their size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pictures {
    /// Write `STEM.png`, with 300 dots an inch.
    pub png: bool,
    /// Write `STEM.pdf`.
    pub pdf: bool,
    /// Width and size of the letters.
    pub size: PrintSize,
}

impl Report {
    /// Renders the page. It never fails: runs may be empty and values not finite.
    pub fn render(&self) -> String {
        page::page(self).html()
    }

    /// Writes the page atomically.
    ///
    /// # Errors
    ///
    /// [`ReportError`], naming the file.
    pub fn write(&self, path: &Path) -> Result<(), ReportError> {
        Ok(write_atomically(path, self.render().as_bytes())?)
    }

    /// Returns every chart of the page as `(file stem, SVG)`; each is a document of its own.
    pub fn charts(&self) -> Vec<(String, String)> {
        let sections = page::sections(self);
        let figures = sections.iter().flat_map(Section::figures);
        figures.map(|f| (f.chart.stem.clone(), standalone_svg(&f.chart))).collect()
    }

    /// Writes every chart to `directory/STEM.svg`, and to `STEM.png` and `STEM.pdf` as asked for; the directory must exist. `say` is
    /// told the stem of each chart before its pictures, which take a while, are drawn.
    ///
    /// # Errors
    ///
    /// [`ReportError`], if pictures are asked for and this machine has no font, or naming the first chart or file at fault.
    pub fn write_charts(
        &self,
        directory: &Path,
        pictures: Pictures,
        say: &dyn Fn(&str),
    ) -> Result<(), ReportError> {
        let write = |stem: &str, kind: &str, bytes: &[u8]| {
            write_atomically(&directory.join(format!("{stem}.{kind}")), bytes)
        };
        for (stem, svg) in self.charts() {
            write(&stem, "svg", svg.as_bytes())?;
        }
        if !pictures.png && !pictures.pdf {
            return Ok(());
        }
        let maker = PictureMaker::with_system_fonts()?;
        for Figure { chart, .. } in page::sections(self).iter().flat_map(Section::figures) {
            say(&chart.stem);
            if pictures.png {
                write(&chart.stem, "png", &maker.png(chart, pictures.size)?)?;
            }
            if pictures.pdf {
                write(&chart.stem, "pdf", &maker.pdf(chart, pictures.size)?)?;
            }
        }
        Ok(())
    }
}
