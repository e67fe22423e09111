//! Figures of the findings as PNG.

use super::run::Finished;
use crate::result_file::{FileError, write_whole};
use figures::picture::{PictureError, PictureMaker};
use figures::print_size::PrintSize;
use std::path::Path;
use thiserror::Error;

/// Writes every figure of `finished` as `figures/*.png` under `folder`.
///
/// # Errors
///
/// [`RasterError`], naming the chart or the file.
pub fn write(
    folder: &Path,
    finished: &[Finished],
    pictures: &PictureMaker,
) -> Result<(), RasterError> {
    for figure in finished.iter().flat_map(|one| &one.record.outcome.figures) {
        let path = folder.join("figures").join(format!("{}.png", figure.chart.stem));
        write_whole(&path, &pictures.png(&figure.chart, PrintSize::PAGE)?)?;
    }
    Ok(())
}

/// Why a figure has no PNG.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RasterError {
    /// It could not be drawn.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// It could not be written.
    #[error(transparent)]
    Store(#[from] FileError),
}
