//! Questions, what an answer to them is worth, and how parameters become a policy on them.

use super::{EnvironmentError, Parameters, states};
use entropy_core::StateGraph;
use serde::Serialize;
use std::ops::Range;

/// How many prompts, tokens in a response, actions for a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Shape {
    /// Number of prompts.
    pub prompts: usize,
    /// Tokens of a response.
    pub positions: usize,
    /// Actions for each token.
    pub actions: usize,
}

impl Shape {
    /// Values of all prompts where each position is one state: the length of a table `[prompts, positions, actions]`.
    pub fn table(self) -> usize {
        self.prompts * self.positions * self.actions
    }
}

/// A set of questions.
#[derive(Debug, Clone, PartialEq)]
pub struct Questions {
    shape: Shape,
    states: StateGraph,
    quality: Vec<f64>,
    parameters: Parameters,
}

impl Questions {
    /// Questions whose answers are right with the product of `quality` (`[prompts, positions,
    /// actions]`, each in `0..=1`) over the tokens.
    ///
    /// # Errors
    ///
    /// [`EnvironmentError`], naming the table and its value.
    pub fn new(
        shape: Shape,
        quality: Vec<f64>,
        parameters: Parameters,
    ) -> Result<Self, EnvironmentError> {
        let Shape { prompts, positions, actions } = shape;
        for (size, count) in [("prompts", prompts), ("positions", positions), ("actions", actions)]
        {
            EnvironmentError::check_some(size, count)?;
        }
        EnvironmentError::check_length("quality", quality.len(), shape.table())?;
        for (index, value) in quality.iter().enumerate() {
            EnvironmentError::check((0.0..=1.0).contains(value), || {
                let (state, action) = (index / actions, index % actions);
                let (prompt, position) = (state / positions, state % positions);
                let place = format!("for prompt {prompt}, position {position}, action {action}");
                format!("`quality` is {value} {place}, expected 0 to 1")
            })?;
        }
        parameters.check(quality.len())?;
        Ok(Self {
            shape,
            states: states::remembering(positions, actions, 0, 0.0),
            quality,
            parameters,
        })
    }

    /// Takes the states of `graph` in place of one for each position: the tables have one row for each of them, and a response
    /// has as many tokens as every way through them. Prompts share them.
    ///
    /// # Errors
    ///
    /// [`EnvironmentError`] if there are not as many states as positions so far, or ways through them differ in length.
    pub fn with_states(self, graph: StateGraph) -> Result<Self, EnvironmentError> {
        let Shape { positions, actions, .. } = self.shape;
        EnvironmentError::check_length("states", graph.states(), positions)?;
        let positions = states::length(&graph, actions)?;
        Ok(Self { shape: Shape { positions, ..self.shape }, states: graph, ..self })
    }

    /// The questions under another policy of the same features.
    pub(super) fn with_parameters(self, parameters: Parameters) -> Self {
        Self { parameters, ..self }
    }

    /// Number of parameters of a policy.
    pub fn parameter_count(&self) -> usize {
        self.parameters.count(self.quality.len())
    }

    /// How many of what.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// States of a response: where each action leads. The first one is that of its first token.
    pub fn states(&self) -> &StateGraph {
        &self.states
    }

    /// Values that one prompt has in a table, one per state and action.
    pub fn row(&self) -> usize {
        self.states.states() * self.shape.actions
    }

    /// Number of states of a prompt, and of actions.
    pub(crate) fn states_and_actions(&self) -> (usize, usize) {
        (self.states.states(), self.shape.actions)
    }

    /// How parameters become logits here.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Quality of each token in answer to `prompt`, `[states, actions]`; a state is a position unless
    /// [`states`](Self::states) says more.
    pub fn quality(&self, prompt: usize) -> &[f64] {
        &self.quality[self.rows(prompt)]
    }

    /// Writes the logits of the policy for `prompt`, `[states, actions]`.
    ///
    /// # Panics
    ///
    /// If `parameters` or `logits` does not have the length it must have here.
    pub fn write_logits(&self, parameters: &[f64], prompt: usize, logits: &mut [f64]) {
        self.parameters.write_logits(parameters, self.rows(prompt), logits);
    }

    /// Moves `parameters` by `-rate` times the gradient that reaches them through the logits.
    ///
    /// # Panics
    ///
    /// If a slice does not have the length it must have here.
    pub fn descend(&self, parameters: &mut [f64], prompts: &[usize], d_logits: &[f64], rate: f64) {
        if self.parameters == Parameters::Logits {
            for (&prompt, slopes) in prompts.iter().zip(d_logits.chunks_exact(self.row())) {
                for (logit, slope) in parameters[self.rows(prompt)].iter_mut().zip(slopes) {
                    *logit -= rate * slope;
                }
            }
            return;
        }
        let gradient = self.gradient(parameters, prompts, d_logits);
        for (parameter, slope) in parameters.iter_mut().zip(gradient) {
            *parameter -= rate * slope;
        }
    }

    /// Gradient that reaches the parameters through the logits of `prompts`: `d_logits` is `[prompts given, states, actions]`.
    pub(crate) fn gradient(
        &self,
        parameters: &[f64],
        prompts: &[usize],
        d_logits: &[f64],
    ) -> Vec<f64> {
        let mut gradient = vec![0.0; parameters.len()];
        for (&prompt, slopes) in prompts.iter().zip(d_logits.chunks_exact(self.row())) {
            self.parameters.add_gradient(parameters, self.rows(prompt), slopes, &mut gradient);
        }
        gradient
    }

    /// Slopes of the logits of `prompts` along `direction`, `[parameters]`: `[prompts given, states, actions]`.
    pub(crate) fn tangent(
        &self,
        parameters: &[f64],
        prompts: &[usize],
        direction: &[f64],
    ) -> Vec<f64> {
        let slopes = |&prompt| self.parameters.tangent(parameters, self.rows(prompt), direction);
        prompts.iter().flat_map(slopes).collect()
    }

    /// Expected reward of a response to `prompt` whose tokens have probabilities in proportion to `weights`,
    /// `[states, actions]`, with the given sum over the actions of a state.
    pub(crate) fn expected_reward(
        &self,
        prompt: usize,
        weights: &[f64],
        total: impl Fn(usize) -> f64,
    ) -> f64 {
        let (actions, end) = (self.shape.actions, self.states.states());
        let quality = self.quality(prompt);
        // Mean of the product of the qualities so far where the response comes to a state, and at its end.
        let mut products = vec![0.0; end + 1];
        products[0] = 1.0;
        let mut behind: Vec<(usize, f64)> = Vec::new();
        for state in 0..end {
            behind.clear();
            for action in 0..actions {
                let index = state * actions + action;
                let right = weights[index] * quality[index];
                let arrivals = self.states.arrivals(state, action);
                let arrivals = if arrivals.is_empty() { &[(end, 1.0)] } else { arrivals };
                for &(arrival, prob) in arrivals {
                    match behind.iter_mut().find(|(other, _)| *other == arrival) {
                        Some((_, sum)) => *sum += right * prob,
                        None => behind.push((arrival, right * prob)),
                    }
                }
            }
            for &(arrival, right) in &behind {
                products[arrival] += products[state] * (right / total(state));
            }
        }
        products[end]
    }

    fn rows(&self, prompt: usize) -> Range<usize> {
        let row = self.row();
        prompt * row..(prompt + 1) * row
    }
}
