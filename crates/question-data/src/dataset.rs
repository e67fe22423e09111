//! Questions with known answers, from files or made up.

mod csv_rows;
mod error;
mod json_list;
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
pub use error::{BadRow, DatasetError, KINDS_OF_FILE, RowPlace, RowProblem};
pub use layout::Layout;
pub(crate) use load::same_answer;
pub use load::{QuestionSet, ReadRow, ReadRows, read_questions, read_rows};
pub use question::Question;
pub use question_file::{BadRows, Duplicates, QuestionFile};
pub use source::DataSource;
