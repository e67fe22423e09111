//! A question and its row.

use crate::dataset::Question;

/// A question, its text, and where it stands.
#[derive(Debug)]
pub(super) struct Placed<'a> {
    pub(super) row: usize,
    pub(super) question: &'a Question,
    pub(super) text: String,
}
