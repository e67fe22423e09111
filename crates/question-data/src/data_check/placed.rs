//! A question and its row.

use crate::dataset::Question;

/// A question and where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed<'a> {
    pub(super) row: usize,
    pub(super) question: &'a Question,
}
