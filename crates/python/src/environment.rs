//! Environments of the simulator.

use entropy_core::StateGraph;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use softmax_sim::environment::{Features, Parameters, Questions, Shape};
use softmax_sim::experiment::{Experiment, World};

use crate::array::{Array, Floats, numpy_array};
use crate::error::value_error;
use crate::repr::attributes;
use crate::settings::{json_of, parsed};

/// Questions, and a softmax policy to answer them.
///
/// A response has a fixed number of tokens and is right (reward 1, else 0) with the product of the quality of its
/// tokens. So entropy and expected reward of a policy are exact.
///
/// quality: [prompts, states, actions], 0 to 1; a state is a position unless `transitions` says more.
/// start: parameters before training: the logits, [prompts, states, actions], or with features the weights,
///     [1 + features], of prior and features.
/// prior, features: logits [prompts, states, actions] and values [prompts, states, actions, features]; the
///     policy has the logits `start[0] * prior + features @ start[1:]`, shared by all prompts.
/// transitions: probability of the state behind each state and action, [states, actions, states]: of later states alone,
///     each row a sum of 1, or 0 where the response ends. A response begins in state 0, and all ways through the states
///     have as many tokens.
/// validation: environment of the same number of features; reward is measured on its questions.
///
/// Attributes
/// ----------
/// prompts, positions, actions, states: sizes; a response has `positions` tokens.
/// quality, start: as above.
#[pyclass(frozen, module = "entropy_rl")]
pub(crate) struct Environment(pub(crate) softmax_sim::environment::Environment);

attributes! { Environment, self: {
    prompts: usize = self.0.training().shape().prompts;
    positions: usize = self.0.training().shape().positions;
    actions: usize = self.0.training().shape().actions;
    states: usize = self.0.training().states().states();
}
    #[new]
    #[pyo3(signature = (quality, start, *, prior=None, features=None, transitions=None, validation=None))]
    fn new(
        quality: &Bound<'_, PyAny>,
        start: &Bound<'_, PyAny>,
        prior: Option<&Bound<'_, PyAny>>,
        features: Option<&Bound<'_, PyAny>>,
        transitions: Option<&Bound<'_, PyAny>>,
        validation: Option<&Self>,
    ) -> PyResult<Self> {
        let expected = "[prompts, positions, actions]";
        let (quality, sizes) = Array::with_sizes("quality", quality, expected)?;
        let [prompts, positions, actions] = sizes;
        let (parameters, shape) = match (prior, features) {
            (None, None) => (Parameters::Logits, sizes.to_vec()),
            (Some(prior), Some(features)) => {
                let features = shared_features(&sizes, prior, features)?;
                let shape = vec![1 + features.count];
                (Parameters::Weights(features), shape)
            }
            _ => return Err(value_error("`prior` and `features` belong together")),
        };
        let start = Array::shaped("start", start, &shape)?;
        let shape = Shape { prompts, positions, actions };
        let mut questions = Questions::new(shape, quality, parameters).map_err(value_error)?;
        if let Some(transitions) = transitions {
            let graph = graph(transitions, positions, actions)?;
            questions = questions.with_states(graph).map_err(value_error)?;
        }
        let validation = validation.map(|environment| environment.0.training().clone());
        let environment = softmax_sim::environment::Environment::new(questions, validation, start);
        environment.map(Self).map_err(value_error)
    }

    /// Draw an environment of one of the kinds that the findings use.
    ///
    /// kind: "tabular" (free logits), "shared" (features shared by all prompts, held-out questions) or "size" (a
    ///     model that sees part of the features).
    /// seed: another draws another.
    /// states: keys of `[settings.training.states]`: memory, the tokens before it that a state remembers, and noise, the
    ///     probability that one of them is changed at random. By default a state is a position.
    /// network: keys of `[settings.training.network]`: hidden, features; a network policy in place of logits or weights.
    /// settings: keys of `[settings.training.environment.KIND]` of a sweep, such as prompts, positions, actions.
    #[staticmethod]
    #[pyo3(signature = (kind="tabular", *, seed=0, states=None, network=None, **settings))]
    fn draw(
        kind: &str,
        seed: u64,
        states: Option<&Bound<'_, PyDict>>,
        network: Option<&Bound<'_, PyDict>>,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let settings = settings.map_or(Ok(json!({})), |settings| json_of(settings))?;
        let environment: World = parsed("kind", json!({ kind: settings }))?;
        let states = states.map(|states| parsed("states", json_of(states)?)).transpose()?;
        let network = network.map(|network| parsed("network", json_of(network)?)).transpose()?;
        let states = states.unwrap_or_default();
        let experiment = Experiment { environment, states, network, ..Experiment::default() };
        experiment.check().map_err(value_error)?;
        Ok(Self(experiment.draw(seed)))
    }

    /// Put a network of one hidden layer over features in place of the policy's parameters; the starting logits stay its
    /// prior.
    ///
    /// hidden: units of the hidden layer.
    /// features: random features of each action, where the environment has none.
    /// seed: of the network and of random features.
    #[pyo3(signature = (*, hidden=32, features=16, seed=0))]
    fn with_network(&self, hidden: usize, features: usize, seed: u64) -> PyResult<Self> {
        self.0.clone().with_network(features, hidden, seed).map(Self).map_err(value_error)
    }

    #[getter]
    fn quality<'py>(&self, py: Python<'py>) -> Floats<'py> {
        let questions = self.0.training();
        let all = 0..questions.shape().prompts;
        let quality = all.flat_map(|prompt| questions.quality(prompt).to_vec()).collect();
        numpy_array(py, quality, &sizes(questions))
    }

    #[getter]
    fn start<'py>(&self, py: Python<'py>) -> Floats<'py> {
        let (questions, start) = (self.0.training(), self.0.start().to_vec());
        match questions.parameters() {
            Parameters::Logits => numpy_array(py, start, &sizes(questions)),
            Parameters::Weights(_) | Parameters::Network(..) => {
                numpy_array(py, start, &[questions.parameter_count()])
            }
        }
    }

    fn __repr__(&self) -> String {
        described(&self.0)
    }
}

/// Text of an environment.
pub(crate) fn described(environment: &softmax_sim::environment::Environment) -> String {
    let Shape { prompts, positions, actions } = environment.training().shape();
    format!("Environment(prompts={prompts}, positions={positions}, actions={actions})")
}

/// Sizes of a table `[prompts, states, actions]`.
pub(crate) fn sizes(questions: &Questions) -> [usize; 3] {
    let Shape { prompts, actions, .. } = questions.shape();
    [prompts, questions.states().states(), actions]
}

/// The states that `transitions`, `[states, actions, states]`, lead to.
fn graph(transitions: &Bound<'_, PyAny>, states: usize, actions: usize) -> PyResult<StateGraph> {
    let values = Array::shaped("transitions", transitions, &[states, actions, states])?;
    let arrivals = |row: &[f64]| -> Vec<(usize, f64)> {
        row.iter().copied().enumerate().filter(|(_, prob)| *prob != 0.0).collect()
    };
    let rows: Vec<Vec<(usize, f64)>> = values.chunks_exact(states).map(arrivals).collect();
    let next = rows.chunks_exact(actions).map(<[_]>::to_vec).collect();
    StateGraph::new(next).map_err(|error| value_error(format!("`transitions`: {error}")))
}

fn shared_features(
    shape: &[usize],
    prior: &Bound<'_, PyAny>,
    features: &Bound<'_, PyAny>,
) -> PyResult<Features> {
    let prior = Array::shaped("prior", prior, shape)?;
    let Array { values, shape: found } = Array::of("features", features)?;
    match found.split_last() {
        Some((&count, rest)) if rest == shape => Ok(Features { prior, values, count }),
        _ => Err(value_error(format!(
            "`features` has shape {found:?}, expected {shape:?} and the number of features"
        ))),
    }
}
