//! `data check` without libtorch: `cargo run --release -p question-data --example check_data -- FILE [AGAINST]`.

use std::io::Write;
use std::path::PathBuf;

use question_data::data_check::{CheckOptions, check_data};
use question_data::dataset::QuestionFile;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut files = std::env::args_os().skip(1).map(PathBuf::from);
    let file = files.next().ok_or("expected a file of questions")?;
    let against = files.next().map(QuestionFile::new);
    let options = CheckOptions { against: against.as_ref(), ..CheckOptions::default() };
    let report = check_data(&QuestionFile::new(file), options)?;
    write!(std::io::stdout().lock(), "{report}")?;
    Ok(())
}
