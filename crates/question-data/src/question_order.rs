//! Order of the questions over the steps: shuffled epochs with a cursor.

use counter_rng::{Purpose, step_rng};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

/// Position of a run in its data: all that a checkpoint must store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataCursor {
    /// Complete passes over the data so far.
    pub epoch: u64,
    /// Questions of this epoch already asked.
    pub position: usize,
}

/// Endless order of `questions` indices: each epoch is a permutation made from (seed, epoch).
///
/// A batch may span two epochs; nothing is dropped at the end of one. Resuming from a [`DataCursor`] gives exactly the
/// remaining sequence.
#[derive(Debug, Clone)]
pub struct QuestionOrder {
    seed: u64,
    cursor: DataCursor,
    permutation: Vec<usize>,
}

impl QuestionOrder {
    /// Makes the order from `cursor` on; `DataCursor::default()` is the start.
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

    /// Returns the next `count` question indices.
    pub fn next_batch(&mut self, count: usize) -> Vec<usize> {
        (0..count).map(|_| self.next_question()).collect()
    }

    /// Position of the run, to be stored in a checkpoint.
    pub fn cursor(&self) -> DataCursor {
        self.cursor
    }

    fn next_question(&mut self) -> usize {
        if self.cursor.position >= self.permutation.len() {
            self.cursor = DataCursor { epoch: self.cursor.epoch.wrapping_add(1), position: 0 };
            self.shuffle();
        }
        let question = self.permutation[self.cursor.position];
        self.cursor.position += 1;
        question
    }

    fn shuffle(&mut self) {
        self.permutation.sort_unstable();
        let mut rng = step_rng(self.seed, self.cursor.epoch, Purpose::QuestionOrder);
        self.permutation.shuffle(&mut rng);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_epoch_asks_every_question_once_in_another_order() {
        let mut order = QuestionOrder::new(7, 50, DataCursor::default());
        let epochs: Vec<Vec<usize>> = (0..3).map(|_| order.next_batch(50)).collect();
        for epoch in &epochs {
            let mut sorted = epoch.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..50).collect::<Vec<_>>());
        }
        assert_ne!(epochs[0], epochs[1]);
        assert_ne!(epochs[1], epochs[2]);
        assert_ne!(epochs[0], QuestionOrder::new(8, 50, DataCursor::default()).next_batch(50));
    }

    proptest! {
        #[test]
        fn a_resumed_order_goes_on_exactly(
            questions in 1_usize..30,
            before in prop::collection::vec(1_usize..20, 0..6),
            after in 1_usize..40,
            seed: u64,
        ) {
            let mut order = QuestionOrder::new(seed, questions, DataCursor::default());
            for count in before {
                order.next_batch(count);
            }
            let saved = serde_json::to_string(&order.cursor()).unwrap();
            let cursor = serde_json::from_str(&saved).unwrap();
            let mut resumed = QuestionOrder::new(seed, questions, cursor);
            prop_assert_eq!(resumed.next_batch(after), order.next_batch(after));
            prop_assert_eq!(resumed.cursor(), order.cursor());
        }
    }
}
