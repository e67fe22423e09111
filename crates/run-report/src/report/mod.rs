//! One self-contained HTML page about one or several training runs.
//!
//! No script, no network: charts are inline SVG ([`figures`]), light and dark by CSS. Every number is
//! computed here from the step records; where a metric was not recorded a sentence says so.

#![expect(
    clippy::format_push_string,
    reason = "a page is built once: `write!` with results to discard would only be harder to read"
)]

mod covariance_tail;
mod curves;
mod differences;
mod entropy_change;
mod extrapolation;
mod glossary;
pub mod line_fit;
mod methods;
mod metric;
mod name_cell;
mod page;
mod read;
mod record;
mod reward_entropy;
mod samples;
mod summary;
mod verification;

use std::path::Path;

use figures::Section;
use figures::chart_svg::standalone_svg;
use thiserror::Error;
use whole_file::{WriteError, write_atomically};

pub use record::{Report, ReportRun, SampleRecord, StepRecord, Verification, VerificationRow};

/// A report that could not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The file could not be written; an older one is as it was.
    #[error(transparent)]
    Write(#[from] WriteError),
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

    /// Writes every chart to `directory/STEM.svg`; the directory must exist.
    ///
    /// # Errors
    ///
    /// [`ReportError`], naming the first file that could not be written.
    pub fn write_charts(&self, directory: &Path) -> Result<(), ReportError> {
        for (stem, svg) in self.charts() {
            write_atomically(&directory.join(format!("{stem}.svg")), svg.as_bytes())?;
        }
        Ok(())
    }
}
