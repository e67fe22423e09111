//! How parameters become logits: one each, weights of features, or a network over the features.

use super::EnvironmentError;
use crate::perceptron::Layers;
use ndarray::Array2;
use std::iter::zip;
use std::ops::Range;

/// How parameters become logits.
#[derive(Debug, Clone, PartialEq)]
pub enum Parameters {
    /// They are the logits: `[prompts, states, actions]`.
    Logits,
    /// They weigh features: `[1 + features]`.
    Weights(Features),
    /// `z = β z_0 + f(ψ)`, with parameters `β` and those of the network `f` of one output, shared by all states:
    /// `[1 + parameters of the layers]`.
    Network(Features, Layers),
}

/// `z = β z_0 + ψ·θ`, with parameters `(β, θ)` shared by all states.
#[derive(Debug, Clone, PartialEq)]
pub struct Features {
    /// Logits `z_0` of the pretrained-like prior, `[prompts, states, actions]`.
    pub prior: Vec<f64>,
    /// Features `ψ`, `[prompts, states, actions, count]`.
    pub values: Vec<f64>,
    /// Number of features.
    pub count: usize,
}

impl Parameters {
    /// Their number, for a table of `table` values.
    pub(super) fn count(&self, table: usize) -> usize {
        match self {
            Self::Logits => table,
            Self::Weights(features) => 1 + features.count,
            Self::Network(_, layers) => 1 + layers.parameter_count(),
        }
    }

    /// The features, if they are not the logits themselves.
    pub(super) fn features(&self) -> Option<&Features> {
        match self {
            Self::Logits => None,
            Self::Weights(features) | Self::Network(features, _) => Some(features),
        }
    }

    /// Checks the tables of features, for a table of `table` values.
    pub(super) fn check(&self, table: usize) -> Result<(), EnvironmentError> {
        let Some(features) = self.features() else { return Ok(()) };
        EnvironmentError::check_some("features", features.count)?;
        EnvironmentError::check_table("prior", &features.prior, table)?;
        EnvironmentError::check_table("features", &features.values, table * features.count)
    }

    pub(super) fn write_logits(&self, parameters: &[f64], rows: Range<usize>, logits: &mut [f64]) {
        match self {
            Self::Logits => logits.copy_from_slice(&parameters[rows]),
            Self::Weights(features) => {
                let (prior_weight, weights) = split(parameters);
                for (logit, (prior, values)) in zip(logits, features.rows(rows)) {
                    let product: f64 = zip(values, weights).map(|(v, w)| v * w).sum();
                    *logit = prior_weight * prior + product;
                }
            }
            Self::Network(features, layers) => {
                let (prior_weight, weights) = split(parameters);
                let trace = layers.forward(weights, features.input(rows.clone()));
                for (logit, (prior, output)) in
                    zip(logits, zip(&features.prior[rows], &trace.output))
                {
                    *logit = prior_weight * prior + output;
                }
            }
        }
    }

    /// Adds to `gradient`, `[parameters]`, that of a function whose derivatives by the logits of `rows` are `d_logits`.
    pub(super) fn add_gradient(
        &self,
        parameters: &[f64],
        rows: Range<usize>,
        d_logits: &[f64],
        gradient: &mut [f64],
    ) {
        match self {
            Self::Logits => {
                for (total, slope) in zip(&mut gradient[rows], d_logits) {
                    *total += slope;
                }
            }
            Self::Weights(features) => {
                for (slope, (prior, values)) in zip(d_logits, features.rows(rows)) {
                    gradient[0] += slope * prior;
                    for (total, value) in zip(&mut gradient[1..], values) {
                        *total += slope * value;
                    }
                }
            }
            Self::Network(features, layers) => {
                let (_, weights) = split(parameters);
                gradient[0] +=
                    zip(d_logits, &features.prior[rows.clone()]).map(|(d, z)| d * z).sum::<f64>();
                let trace = layers.forward(weights, features.input(rows));
                let d_output = column(d_logits);
                for (total, slope) in
                    zip(&mut gradient[1..], layers.backward(weights, &trace, d_output))
                {
                    *total += slope;
                }
            }
        }
    }

    /// Slopes of the logits of `rows` along `direction`, `[parameters]`.
    pub(super) fn tangent(
        &self,
        parameters: &[f64],
        rows: Range<usize>,
        direction: &[f64],
    ) -> Vec<f64> {
        let mut slopes = vec![0.0; rows.len()];
        if let Self::Network(features, layers) = self {
            let (prior_slope, d_weights) = split(direction);
            let (_, weights) = split(parameters);
            let trace = layers.forward(weights, features.input(rows.clone()));
            let outputs = layers.tangent(weights, &trace, d_weights);
            for (slope, (prior, output)) in zip(&mut slopes, zip(&features.prior[rows], &outputs)) {
                *slope = prior_slope * prior + output;
            }
        } else {
            // Linear: the slope along a direction is what it makes of the direction itself.
            self.write_logits(direction, rows, &mut slopes);
        }
        slopes
    }
}

impl Features {
    fn rows(&self, rows: Range<usize>) -> impl Iterator<Item = (&f64, &[f64])> {
        let values = &self.values[rows.start * self.count..rows.end * self.count];
        self.prior[rows].iter().zip(values.chunks_exact(self.count))
    }

    /// Features of `rows`, `[rows, count]`.
    fn input(&self, rows: Range<usize>) -> Array2<f64> {
        let values = self.values[rows.start * self.count..rows.end * self.count].to_vec();
        Array2::from_shape_vec((rows.len(), self.count), values).expect("a row of each logit")
    }
}

fn split(parameters: &[f64]) -> (f64, &[f64]) {
    let (first, rest) = parameters.split_first().expect("a prior's weight");
    (*first, rest)
}

/// Values as a column, `[values, 1]`.
fn column(values: &[f64]) -> Array2<f64> {
    Array2::from_shape_vec((values.len(), 1), values.to_vec()).expect("one value a row")
}
