//! Questions, what an answer to them is worth, and how parameters become a policy on them.

use super::EnvironmentError;
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
    /// Values that one prompt has, one per position and action.
    pub fn row(self) -> usize {
        self.positions * self.actions
    }

    /// Number of states (prompt, position).
    pub fn states(self) -> usize {
        self.prompts * self.positions
    }

    /// Values of all prompts: the length of a table `[prompts, positions, actions]`.
    pub fn table(self) -> usize {
        self.prompts * self.row()
    }
}

/// How parameters become logits.
#[derive(Debug, Clone, PartialEq)]
pub enum Parameters {
    /// They are the logits: `[prompts, positions, actions]`.
    Logits,
    /// They weigh features: `[1 + features]`.
    Weights(Features),
}

/// `z = β z_0 + ψ·θ`, with parameters `(β, θ)` shared by all states.
#[derive(Debug, Clone, PartialEq)]
pub struct Features {
    /// Logits `z_0` of the pretrained-like prior, `[prompts, positions, actions]`.
    pub prior: Vec<f64>,
    /// Features `ψ`, `[prompts, positions, actions, count]`.
    pub values: Vec<f64>,
    /// Number of features.
    pub count: usize,
}

/// A set of questions.
#[derive(Debug, Clone, PartialEq)]
pub struct Questions {
    shape: Shape,
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
            if count == 0 {
                return Err(EnvironmentError::Empty { size });
            }
        }
        EnvironmentError::check_length("quality", quality.len(), shape.table())?;
        let bad = quality.iter().enumerate().find(|(_, value)| !(0.0..=1.0).contains(*value));
        if let Some((index, &value)) = bad {
            let (prompt, position) = (index / shape.row(), index % shape.row() / actions);
            let action = index % actions;
            return Err(EnvironmentError::Quality { prompt, position, action, value });
        }
        if let Parameters::Weights(Features { prior, values, count }) = &parameters {
            if *count == 0 {
                return Err(EnvironmentError::Empty { size: "features" });
            }
            EnvironmentError::check_table("prior", prior, shape.table())?;
            EnvironmentError::check_table("features", values, shape.table() * count)?;
        }
        Ok(Self { shape, quality, parameters })
    }

    /// Number of parameters of a policy.
    pub fn parameter_count(&self) -> usize {
        match &self.parameters {
            Parameters::Logits => self.shape.table(),
            Parameters::Weights(features) => 1 + features.count,
        }
    }

    /// How many of what.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// How parameters become logits here.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Quality of each token in answer to `prompt`, `[positions, actions]`.
    pub fn quality(&self, prompt: usize) -> &[f64] {
        &self.quality[self.rows(prompt)]
    }

    /// Writes the logits of the policy for `prompt`, `[positions, actions]`.
    ///
    /// # Panics
    ///
    /// If `parameters` or `logits` does not have the length it must have here.
    pub fn write_logits(&self, parameters: &[f64], prompt: usize, logits: &mut [f64]) {
        let rows = self.rows(prompt);
        match &self.parameters {
            Parameters::Logits => logits.copy_from_slice(&parameters[rows]),
            Parameters::Weights(features) => {
                let (prior_weight, weights) = parameters.split_first().expect("a prior's weight");
                let values = &features.values[scaled(&rows, features.count)];
                let each = features.prior[rows].iter().zip(values.chunks_exact(features.count));
                for (logit, (prior, values)) in logits.iter_mut().zip(each) {
                    let product: f64 = std::iter::zip(values, weights).map(|(v, w)| v * w).sum();
                    *logit = prior_weight * prior + product;
                }
            }
        }
    }

    /// Moves `parameters` by `-rate` times the gradient that reaches them through the logits of
    /// `prompts`: `d_logits` is `[prompts given, positions, actions]`.
    ///
    /// # Panics
    ///
    /// If a slice does not have the length it must have here.
    pub fn descend(&self, parameters: &mut [f64], prompts: &[usize], d_logits: &[f64], rate: f64) {
        let each = prompts.iter().zip(d_logits.chunks_exact(self.shape.row()));
        match &self.parameters {
            Parameters::Logits => {
                for (&prompt, slopes) in each {
                    for (logit, slope) in parameters[self.rows(prompt)].iter_mut().zip(slopes) {
                        *logit -= rate * slope;
                    }
                }
            }
            Parameters::Weights(features) => {
                let mut gradient = vec![0.0; parameters.len()];
                for (&prompt, slopes) in each {
                    let rows = self.rows(prompt);
                    let values = &features.values[scaled(&rows, features.count)];
                    let each = features.prior[rows].iter().zip(values.chunks_exact(features.count));
                    for (slope, (prior, values)) in slopes.iter().zip(each) {
                        gradient[0] += slope * prior;
                        for (total, value) in gradient[1..].iter_mut().zip(values) {
                            *total += slope * value;
                        }
                    }
                }
                for (parameter, slope) in parameters.iter_mut().zip(gradient) {
                    *parameter -= rate * slope;
                }
            }
        }
    }

    fn rows(&self, prompt: usize) -> Range<usize> {
        let row = self.shape.row();
        prompt * row..(prompt + 1) * row
    }
}

fn scaled(range: &Range<usize>, factor: usize) -> Range<usize> {
    range.start * factor..range.end * factor
}
