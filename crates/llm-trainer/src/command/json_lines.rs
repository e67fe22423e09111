//! Input of commands: one JSON object a line, from a file or from standard input.

use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, anyhow};
use messages::plain_words;
use serde::de::DeserializeOwned;
use whole_file::{LONGEST_LINE_BYTES, NumberedLine, NumberedLines, open_regular};

/// Calls `each` with every object of `path`, `-` for standard input; blank lines are passed over. Errors name file and
/// line.
pub(super) fn for_each<T: DeserializeOwned>(
    path: &Path,
    mut each: impl FnMut(T) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let reader: Box<dyn BufRead> = if path == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        let file = open_regular(path).with_context(|| path.display().to_string())?;
        Box::new(BufReader::new(file))
    };
    for line in NumberedLines::new(reader, LONGEST_LINE_BYTES) {
        let NumberedLine { number, bytes, .. } =
            line.with_context(|| path.display().to_string())?;
        let place = || format!("{}: line {number}", path.display());
        if !bytes.trim_ascii().is_empty() {
            let object = serde_json::from_slice(&bytes);
            let object = object.map_err(|error| anyhow!(plain_words(&error.to_string())));
            let object = object.with_context(place)?;
            each(object).with_context(place)?;
        }
    }
    Ok(())
}
