//! Places of a rollout's tokens in tables over states and actions.

use std::iter::zip;
use std::ops::Range;

/// States and actions of the tokens of equally many samples of each prompt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tokens<'a> {
    pub(crate) states: &'a [u32],
    pub(crate) actions: &'a [u32],
    /// Tokens of one prompt.
    pub(crate) per_prompt: usize,
}

impl<'a> Tokens<'a> {
    /// State in a table `[prompts, states]` and action of each token, in their order.
    pub(crate) fn places(
        self,
        states_of_prompt: usize,
    ) -> impl Iterator<Item = (usize, usize)> + 'a {
        let tokens = zip(self.states, self.actions).enumerate();
        tokens.map(move |(token, (state, action))| {
            (token / self.per_prompt * states_of_prompt + *state as usize, *action as usize)
        })
    }

    /// State of each token of `prompts` in a table `[all prompts, states]`, and its action.
    pub(crate) fn places_in(
        self,
        prompts: &'a [usize],
        states_of_prompt: usize,
    ) -> impl Iterator<Item = (usize, usize)> + 'a {
        self.places(states_of_prompt).map(move |(place, action)| {
            let prompt = prompts[place / states_of_prompt];
            (prompt * states_of_prompt + place % states_of_prompt, action)
        })
    }

    /// Value of each token of `prompts` in a table over all prompts, `[all prompts, states, actions]`, of a row of states and
    /// actions a prompt.
    pub(crate) fn values_in(
        self,
        table: &'a [f64],
        prompts: &'a [usize],
        (states_of_prompt, actions): (usize, usize),
    ) -> impl Iterator<Item = f64> + 'a {
        let places = self.places_in(prompts, states_of_prompt);
        places.map(move |(state, action)| table[state * actions + action])
    }

    pub(crate) fn of_prompts(self, slots: &Range<usize>) -> Self {
        let span = slots.start * self.per_prompt..slots.end * self.per_prompt;
        Self { states: &self.states[span.clone()], actions: &self.actions[span], ..self }
    }

    /// Sum of `column`, `[tokens]`, over the tokens of each state, `[prompts, states]`.
    pub(crate) fn sums(self, states_of_prompt: usize, column: &[f64]) -> Vec<f64> {
        let prompts = self.actions.len() / self.per_prompt;
        let mut sums = vec![0.0; prompts * states_of_prompt];
        for ((state, _), value) in zip(self.places(states_of_prompt), column) {
            sums[state] += value;
        }
        sums
    }
}
