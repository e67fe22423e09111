//! A prompt and its response as token ids.

use std::ops::Range;

use decoder::routes::{RouteShape, Routes};
use decoder::sampling_mask::SamplingMask;
use serde::{Deserialize, Serialize};

/// A prompt and its response. Only response tokens are trained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence {
    /// Token ids of the prompt; at least one.
    pub prompt: Vec<u32>,
    /// Token ids that the policy drew, end-of-sequence tokens included; those of all turns.
    pub response: Vec<u32>,
    /// Sampling mask: one list of allowed tokens for each response token; `None` if all were sampled from the whole vocabulary.
    #[serde(default, rename = "kept", skip_serializing_if = "Option::is_none")]
    pub mask: Option<SamplingMask>,
    /// Experts of the first tokens, of prompt, response and given ones in order: every pass replays them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routes: Option<Routes>,
    /// Tokens between turns, ascending: the policy read them and did not draw them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<Given>,
}

/// Tokens that stand before a response token and were not drawn: a result of a tool, or a template's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// Index of the response token that follows.
    pub before: usize,
    /// Their ids; at least one.
    pub token_ids: Vec<u32>,
    /// True if they begin a new context: what stands before them is not read any more.
    pub restarts: bool,
}

/// Tokens that attend to each other.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Context {
    pub(super) token_ids: Vec<u32>,
    /// Indices of the drawn ones, ascending; never 0.
    pub(super) drawn: Vec<usize>,
}

impl Sequence {
    /// A sequence whose response was sampled, or is scored, over the whole vocabulary.
    pub fn new(prompt: Vec<u32>, response: Vec<u32>) -> Self {
        Self { prompt, response, mask: None, routes: None, given: Vec::new() }
    }

    /// Number of tokens of prompt and response, given ones included.
    pub(super) fn len(&self) -> usize {
        let given: usize = self.given.iter().map(|given| given.token_ids.len()).sum();
        self.prompt.len() + self.response.len() + given
    }

    /// Number of contexts but the first.
    pub(super) fn splits(&self) -> usize {
        self.given.iter().filter(|given| given.restarts).count()
    }

    /// Splits the tokens into contexts; the response tokens are the drawn ones of all, in order.
    pub(super) fn contexts(&self) -> Vec<Context> {
        let mut context = Context { token_ids: self.prompt.clone(), drawn: Vec::new() };
        let (mut contexts, mut first) = (Vec::new(), 0);
        for given in &self.given {
            context.draw(&self.response[first..given.before]);
            if given.restarts {
                contexts.push(std::mem::take(&mut context));
            }
            context.token_ids.extend(&given.token_ids);
            first = given.before;
        }
        context.draw(&self.response[first..]);
        contexts.push(context);
        contexts
    }

    /// All tokens behind the prompt, in order.
    pub(super) fn behind_prompt(&self) -> Vec<u32> {
        let all = self.contexts().into_iter().flat_map(|context| context.token_ids);
        all.skip(self.prompt.len()).collect()
    }

    /// The sequence up to its first `count` response tokens, without the sampling mask and the experts.
    pub(super) fn until(&self, count: usize) -> Self {
        let given = self.given.iter().filter(|given| given.before < count);
        let given = given.cloned().collect();
        Self { given, ..Self::new(self.prompt.clone(), self.response[..count].to_vec()) }
    }

    /// The fault of a sequence that was read from a file, for a model of so many tokens with `routes`; `None` if it has none.
    pub(super) fn fault(&self, vocab_size: usize, routes: Option<RouteShape>) -> Option<String> {
        if self.prompt.is_empty() {
            return Some("an empty prompt, expected at least one token".to_owned());
        }
        let given = self.given.iter().flat_map(|given| &given.token_ids);
        let mut all = self.prompt.iter().chain(&self.response).chain(given);
        if let Some(id) = all.find(|id| **id as usize >= vocab_size) {
            return Some(format!("token id {id}, expected ids below vocab_size = {vocab_size}"));
        }
        let is_behind = |pair: &[Given]| pair[0].before < pair[1].before;
        let last = self.given.last().map_or(0, |given| given.before + 1);
        let is_empty = |given: &Given| given.token_ids.is_empty();
        if !self.given.windows(2).all(is_behind)
            || last > self.response.len()
            || self.given.iter().any(is_empty)
        {
            let expected = "expected tokens before response tokens, ascending";
            return Some(format!("`given` is out of order or empty, {expected}"));
        }
        let of_mask = self.mask.as_ref().and_then(|mask| mask.fault(&self.response, vocab_size));
        of_mask.or_else(|| self.routes.as_ref()?.fault(self.len(), routes))
    }
}

impl Context {
    fn draw(&mut self, token_ids: &[u32]) {
        let start = self.token_ids.len();
        self.drawn.extend(start..start + token_ids.len());
        self.token_ids.extend(token_ids);
    }
}

/// Maps sequences to ranges of the columns that hold one value for each of their response tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TokenLayout {
    /// Number of response tokens of each sequence, `[sequences]`.
    lengths: Vec<usize>,
    /// First token of each sequence, then the number of all tokens, `[sequences + 1]`.
    bounds: Vec<usize>,
}

impl TokenLayout {
    pub(super) fn of<'a>(sequences: impl IntoIterator<Item = &'a Sequence>) -> Self {
        Self::new(sequences.into_iter().map(|sequence| sequence.response.len()).collect())
    }

    pub(super) fn new(lengths: Vec<usize>) -> Self {
        let ends = lengths.iter().scan(0, |end, length| {
            *end += length;
            Some(*end)
        });
        let bounds = std::iter::once(0).chain(ends).collect();
        Self { lengths, bounds }
    }

    pub(super) fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    pub(super) fn tokens(&self) -> usize {
        self.bounds[self.lengths.len()]
    }

    /// Column range of one sequence.
    pub(super) fn range(&self, sequence: usize) -> Range<usize> {
        self.span(sequence..sequence + 1)
    }

    /// Column range of neighbouring sequences.
    pub(super) fn span(&self, sequences: Range<usize>) -> Range<usize> {
        self.bounds[sequences.start]..self.bounds[sequences.end]
    }

    pub(super) fn sequence_of(&self, token: usize) -> usize {
        self.bounds.partition_point(|&first| first <= token) - 1
    }

    /// Splits a column into the parts of each sequence, in order.
    pub(super) fn split<'c>(&self, column: &'c [f64]) -> impl Iterator<Item = &'c [f64]> {
        self.bounds.windows(2).map(|bounds| &column[bounds[0]..bounds[1]])
    }

    /// The sum of a column over each sequence, `[sequences]`.
    pub(super) fn sums(&self, column: &[f64]) -> Vec<f64> {
        self.split(column).map(|of_sequence| of_sequence.iter().sum()).collect()
    }

    /// The parts of a column that belong to the `chosen` sequences, in their order.
    pub(super) fn select(&self, column: &[f64], chosen: &[usize]) -> Vec<f64> {
        chosen.iter().flat_map(|&index| column[self.range(index)].iter().copied()).collect()
    }

    /// Writes `values`, as [`select`](Self::select) returns them for `chosen`, back to a column.
    ///
    /// # Panics
    ///
    /// If the number of values is not the number of tokens of the chosen sequences.
    pub(super) fn scatter(&self, values: &[f64], chosen: &[usize], column: &mut [f64]) {
        let mut rest = values;
        for &index in chosen {
            let (of_sequence, after) = rest.split_at(self.lengths[index]);
            column[self.range(index)].copy_from_slice(of_sequence);
            rest = after;
        }
        assert!(rest.is_empty(), "a value more than tokens");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_turns(restarts: bool) -> Sequence {
        let given = vec![Given { before: 2, token_ids: vec![7, 8], restarts }];
        Sequence { given, ..Sequence::new(vec![1], vec![2, 3, 4]) }
    }

    #[test]
    fn given_tokens_stand_between_drawn_ones() {
        let expected = Context { token_ids: vec![1, 2, 3, 7, 8, 4], drawn: vec![1, 2, 5] };
        assert_eq!(two_turns(false).contexts(), [expected]);
        let first = Context { token_ids: vec![1, 2, 3], drawn: vec![1, 2] };
        let second = Context { token_ids: vec![7, 8, 4], drawn: vec![2] };
        assert_eq!(two_turns(true).contexts(), [first, second]);
        assert_eq!(two_turns(true).len(), 6);
    }

    #[test]
    fn a_sequence_is_cut_behind_a_drawn_token() {
        assert_eq!(two_turns(false).until(2), Sequence::new(vec![1], vec![2, 3]));
        assert_eq!(two_turns(false).until(3), two_turns(false));
    }

    #[test]
    fn faults_are_named() {
        assert_eq!(two_turns(true).fault(9, None), None);
        assert!(two_turns(true).fault(8, None).unwrap().contains("token id 8"));
        let behind = vec![Given { before: 3, token_ids: vec![7], restarts: false }];
        let empty = vec![Given { before: 1, token_ids: vec![], restarts: false }];
        let twice = [two_turns(true).given, two_turns(true).given].concat();
        for given in [behind, empty, twice] {
            let fault = Sequence { given, ..two_turns(true) }.fault(9, None).unwrap();
            assert!(fault.contains("`given`"), "{fault}");
        }
    }

    const COLUMN: [f64; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

    #[test]
    fn empty_sequences_have_no_tokens_and_others_all() {
        let layout = TokenLayout::new(vec![0, 2, 0, 3, 1, 0]);
        assert_eq!(layout.tokens(), 6);
        assert_eq!(layout.split(&COLUMN).collect::<Vec<_>>().concat(), COLUMN);
        assert_eq!(layout.sums(&COLUMN), [0.0, 3.0, 0.0, 12.0, 6.0, 0.0]);
        let owners: Vec<usize> = (0..6).map(|token| layout.sequence_of(token)).collect();
        assert_eq!(owners, [1, 1, 3, 3, 3, 4]);
        assert_eq!(layout.span(1..4), 0..5);
    }

    #[test]
    fn what_is_selected_goes_back_to_its_places() {
        let layout = TokenLayout::new(vec![2, 1, 3]);
        let chosen = [2, 0];
        let selected = layout.select(&COLUMN, &chosen);
        assert_eq!(selected, [4.0, 5.0, 6.0, 1.0, 2.0]);
        let mut column = vec![0.0; 6];
        layout.scatter(&selected, &chosen, &mut column);
        assert_eq!(column, [1.0, 2.0, 0.0, 4.0, 5.0, 6.0]);
    }
}
