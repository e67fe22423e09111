//! The wording of messages: how a person is told what there is, and what is wrong with it.
//!
//! [`counted`] writes a number and its noun, [`Problem`] a value out of range, [`plain_words`] what a parser expected
//! without the names of Rust's types, [`nearest`] the names that a misspelt one may have meant, [`one_line`] an error
//! with its causes, [`shown`] a stranger's text in it.

mod counted;
mod nearest;
mod one_line;
mod plain_words;
mod problem;
mod shown;

pub use counted::counted;
pub use nearest::nearest;
pub use one_line::one_line;
pub use plain_words::plain_words;
pub use problem::Problem;
pub use shown::shown;
