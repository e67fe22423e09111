//! Which questions a step asks: shuffled epochs behind a cursor.

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use crate::counter_rng::{Purpose, step_rng};

/// Where a run stands in its data: all that a checkpoint must keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataCursor {
    /// Whole passes over the data so far.
    pub epoch: u64,
    /// Questions of this epoch already given.
    pub position: usize,
}

/// Endless order of `questions` indices: each epoch is a permutation made from (seed, epoch).
///
/// A batch may span two epochs; nothing is dropped at the end of one. Resuming from a [`DataCursor`] gives
/// exactly what would have come.
#[derive(Debug, Clone)]
pub struct QuestionOrder {
    seed: u64,
    cursor: DataCursor,
    permutation: Vec<usize>,
}

impl QuestionOrder {
    /// The order from `cursor` on; `DataCursor::default()` is the start.
    ///
    /// # Panics
    ///
    /// If there are no questions.
    pub fn new(seed: u64, questions: usize, cursor: DataCursor) -> Self {
        assert!(questions > 0, "an order needs a question");
        let mut order = Self { seed, cursor, permutation: (0..questions).collect() };
        order.shuffle();
        order
    }

    /// The next `count` question indices.
    pub fn next_batch(&mut self, count: usize) -> Vec<usize> {
        (0..count).map(|_| self.next_question()).collect()
    }

    /// Where the run stands, to be kept in a checkpoint.
    pub fn cursor(&self) -> DataCursor {
        self.cursor
    }

    fn next_question(&mut self) -> usize {
        if self.cursor.position >= self.permutation.len() {
            self.cursor = DataCursor { epoch: self.cursor.epoch + 1, position: 0 };
            self.shuffle();
        }
        let question = self.permutation[self.cursor.position];
        self.cursor.position += 1;
        question
    }

    fn shuffle(&mut self) {
        for (index, slot) in self.permutation.iter_mut().enumerate() {
            *slot = index;
        }
        let mut rng = step_rng(self.seed, self.cursor.epoch, Purpose::QuestionOrder);
        self.permutation.shuffle(&mut rng);
    }
}
