//! Questions with known answers, from files or made up.

mod csv_rows;
mod error;
mod layout;
mod load;
mod packed_size;
mod parquet_pages;
mod parquet_rows;
mod question;
mod question_file;
mod row;
mod rows;
mod source;

pub(crate) use error::LONGEST_PROBLEM;
pub use error::{BadRow, KINDS_OF_FILE, RowPlace, RowProblem};
pub use layout::Layout;
pub use load::{QuestionSet, read_questions};
pub(crate) use load::{read_rows, same_answer};
pub use question::Question;
pub use question_file::{BadRows, Duplicates, QuestionFile};
pub use source::DataSource;
