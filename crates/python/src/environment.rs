//! Environments of the simulator.

use numpy::PyArrayDyn;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use softmax_sim::environment::{Features, Parameters, Questions, Shape};
use softmax_sim::experiment::World;

use crate::array::{Array, numpy_array};
use crate::error::value_error;
use crate::settings::{json_of, parsed};

/// Questions, and a softmax policy to answer them.
///
/// A response has a fixed number of tokens and is right (reward 1, else 0) with the product of the quality of its
/// tokens. So entropy and expected reward of a policy are exact.
///
/// quality: [prompts, positions, actions], 0 to 1.
/// start: parameters before training: the logits, [prompts, positions, actions], or with features the weights,
///     [1 + features], of prior and features.
/// prior, features: logits [prompts, positions, actions] and values [prompts, positions, actions, features]; the
///     policy has the logits `start[0] * prior + features @ start[1:]`, shared by all prompts.
/// validation: environment of the same number of features; reward is measured on its questions.
///
/// Attributes
/// ----------
/// prompts, positions, actions: sizes.
/// quality, start: as above.
#[pyclass(frozen, module = "entropy_rl")]
pub(crate) struct Environment(pub(crate) softmax_sim::environment::Environment);

#[pymethods]
impl Environment {
    #[new]
    #[pyo3(signature = (quality, start, *, prior=None, features=None, validation=None))]
    fn new(
        quality: &Bound<'_, PyAny>,
        start: &Bound<'_, PyAny>,
        prior: Option<&Bound<'_, PyAny>>,
        features: Option<&Bound<'_, PyAny>>,
        validation: Option<&Self>,
    ) -> PyResult<Self> {
        let quality = Array::of("quality", quality)?;
        let &[prompts, positions, actions] = &quality.shape[..] else {
            return Err(value_error(format!(
                "`quality` has shape {:?}, expected [prompts, positions, actions]",
                quality.shape
            )));
        };
        let (parameters, shape) = match (prior, features) {
            (None, None) => (Parameters::Logits, quality.shape.clone()),
            (Some(prior), Some(features)) => {
                let features = shared_features(&quality.shape, prior, features)?;
                let shape = vec![1 + features.count];
                (Parameters::Weights(features), shape)
            }
            _ => return Err(value_error("`prior` and `features` belong together")),
        };
        let start = Array::shaped("start", start, &shape)?;
        let shape = Shape { prompts, positions, actions };
        let questions = Questions::new(shape, quality.values, parameters).map_err(value_error)?;
        let validation = validation.map(|environment| environment.0.training().clone());
        let environment = softmax_sim::environment::Environment::new(questions, validation, start);
        environment.map(Self).map_err(value_error)
    }

    /// Draw an environment of one of the kinds that the findings use.
    ///
    /// kind: "tabular" (free logits), "shared" (features shared by all prompts, held-out questions) or "size" (a
    ///     model that sees part of the features).
    /// seed: another draws another.
    /// settings: keys of `[settings.training.environment.KIND]` of a sweep, such as prompts, positions, actions.
    #[staticmethod]
    #[pyo3(signature = (kind="tabular", *, seed=0, **settings))]
    fn draw(kind: &str, seed: u64, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let settings = settings.map_or(Ok(json!({})), |settings| json_of(settings))?;
        let world: World = parsed("kind", json!({ kind: settings }))?;
        world.check().map_err(value_error)?;
        Ok(Self(world.draw(seed)))
    }

    #[getter]
    fn prompts(&self) -> usize {
        self.0.training().shape().prompts
    }

    #[getter]
    fn positions(&self) -> usize {
        self.0.training().shape().positions
    }

    #[getter]
    fn actions(&self) -> usize {
        self.0.training().shape().actions
    }

    #[getter]
    fn quality<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let questions = self.0.training();
        let all = 0..questions.shape().prompts;
        let quality = all.flat_map(|prompt| questions.quality(prompt).to_vec()).collect();
        numpy_array(py, quality, &sizes(questions.shape()))
    }

    #[getter]
    fn start<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let (questions, start) = (self.0.training(), self.0.start().to_vec());
        match questions.parameters() {
            Parameters::Logits => numpy_array(py, start, &sizes(questions.shape())),
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

/// Sizes of a table `[prompts, positions, actions]`.
pub(crate) fn sizes(Shape { prompts, positions, actions }: Shape) -> [usize; 3] {
    [prompts, positions, actions]
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
