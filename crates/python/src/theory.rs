//! The theory of softmax policies: entropy, steps, and the change of entropy that they make.

use entropy_core::{Categorical, UpdateRule};
use pyo3::prelude::*;
use softmax_sim::Settings;

use crate::array::{Array, Floats, numpy_array};
use crate::error::value_error;
use crate::repr::{attributes, repr};

/// Softmax policies of independent states.
///
/// logits: [states, actions]; -inf makes an action impossible.
///
/// Attributes
/// ----------
/// log_prob: log-probability of each action, [states, actions], nats.
/// entropy: exact entropy of each state, [states], nats.
#[pyclass(frozen, module = "entropy_rl")]
pub(crate) struct SoftmaxPolicy {
    states: Vec<Categorical>,
    shape: [usize; 2],
}

#[pymethods]
impl SoftmaxPolicy {
    #[new]
    fn new(logits: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (values, shape) = Array::with_sizes("logits", logits, "[states, actions]")?;
        let [states, actions] = shape;
        if states * actions == 0 {
            return Err(value_error(format!("`logits` has shape {shape:?}, expected a policy")));
        }
        let policy = |(state, logits)| {
            let error = |error| value_error(format!("`logits` of state {state}: {error}"));
            Categorical::from_logits(logits).map_err(error)
        };
        let policies = values.chunks_exact(actions).enumerate().map(policy);
        Ok(Self { states: policies.collect::<PyResult<_>>()?, shape })
    }

    #[getter]
    fn log_prob<'py>(&self, py: Python<'py>) -> Floats<'py> {
        let rows = self.states.iter().flat_map(|policy| policy.log_probs().iter().copied());
        numpy_array(py, rows.collect(), &self.shape)
    }

    #[getter]
    fn entropy<'py>(&self, py: Python<'py>) -> Floats<'py> {
        self.of_states(py, self.states.iter().map(Categorical::entropy))
    }

    /// Covariance of two functions of the action under the policy of each state, [states].
    ///
    /// x, y: [states, actions].
    fn covariance<'py>(&self, x: &Bound<'py, PyAny>, y: &Bound<'py, PyAny>) -> Floats<'py> {
        let py = x.py();
        let (x, y) = (Array::shaped("x", x, &self.shape)?, Array::shaped("y", y, &self.shape)?);
        let rows = self.rows(&x).zip(y.chunks_exact(self.shape[1]));
        self.of_states(py, rows.map(|((policy, x), y)| policy.covariance(x, y)))
    }

    /// Exact step of the logits along a gradient of the expected advantage, [states, actions].
    ///
    /// advantage: [states, actions].
    /// rule: "policy_gradient" (`η π A`, A centred; Theorem 1) or "natural_policy_gradient" (`η A`; Theorem 2).
    /// eta: step size.
    #[pyo3(signature = (advantage, *, rule="policy_gradient", eta=1.0))]
    fn logit_step<'py>(
        &self,
        py: Python<'py>,
        advantage: &Bound<'py, PyAny>,
        rule: &str,
        eta: f64,
    ) -> Floats<'py> {
        let rule = match rule {
            "policy_gradient" => UpdateRule::PolicyGradient,
            "natural_policy_gradient" => UpdateRule::NaturalPolicyGradient,
            _ => {
                return Err(value_error(format!(
                    "`rule` is {rule:?}, expected \"policy_gradient\" or \"natural_policy_gradient\""
                )));
            }
        };
        let advantage = Array::shaped("advantage", advantage, &self.shape)?;
        let steps = self.rows(&advantage).flat_map(|(policy, a)| rule.step(policy, a, eta));
        numpy_array(py, steps.collect(), &self.shape)
    }

    /// Exact change of entropy by a step of the logits, [states], nats.
    ///
    /// step: [states, actions].
    fn entropy_change<'py>(&self, step: &Bound<'py, PyAny>) -> Floats<'py> {
        self.of_steps(step, Categorical::entropy_change)
    }

    /// Change of entropy that Lemma 1 predicts, `-Cov(log π, δ)`, [states], nats.
    ///
    /// step: [states, actions].
    fn entropy_change_first_order<'py>(&self, step: &Bound<'py, PyAny>) -> Floats<'py> {
        self.of_steps(step, Categorical::entropy_change_first_order)
    }

    /// Add the term of second order to that prediction, [states], nats.
    ///
    /// step: [states, actions].
    fn entropy_change_second_order<'py>(&self, step: &Bound<'py, PyAny>) -> Floats<'py> {
        self.of_steps(step, Categorical::entropy_change_second_order)
    }

    /// Rigorous bound on the error of Lemma 1 for a step, [states], nats.
    ///
    /// step: [states, actions].
    fn remainder_bound<'py>(&self, step: &Bound<'py, PyAny>) -> Floats<'py> {
        self.of_steps(step, Categorical::remainder_bound)
    }

    fn __repr__(&self) -> String {
        let [states, actions] = self.shape;
        format!("SoftmaxPolicy(states={states}, actions={actions})")
    }
}

impl SoftmaxPolicy {
    /// Each policy with its row of a table.
    fn rows<'a>(&'a self, table: &'a [f64]) -> impl Iterator<Item = (&'a Categorical, &'a [f64])> {
        std::iter::zip(&self.states, table.chunks_exact(self.shape[1]))
    }

    fn of_states<'py>(&self, py: Python<'py>, values: impl Iterator<Item = f64>) -> Floats<'py> {
        numpy_array(py, values.collect(), &self.shape[..1])
    }

    fn of_steps<'py>(
        &self,
        step: &Bound<'py, PyAny>,
        change: fn(&Categorical, &[f64]) -> f64,
    ) -> Floats<'py> {
        let py = step.py();
        let step = Array::shaped("step", step, &self.shape)?;
        let bad = step.iter().position(|value| !value.is_finite());
        if let Some(index) = bad {
            let (state, action) = (index / self.shape[1], index % self.shape[1]);
            return Err(value_error(format!(
                "`step` of state {state}, action {action} is {}, expected a finite number",
                step[index]
            )));
        }
        self.of_states(py, self.rows(&step).map(|(policy, step)| change(policy, step)))
    }
}

/// One numerical check of one statement of the theory.
///
/// Attributes
/// ----------
/// statement: name of the statement, such as "Lemma 1".
/// check: quantity measured.
/// cases: number of cases.
/// worst, allowed: largest value measured, and largest that passes.
/// estimate, interval: mean over the cases with its 0.95 interval, where the check measures a quantity itself.
/// passed: true if the worst is allowed.
#[pyclass(frozen, eq, module = "entropy_rl")]
#[derive(PartialEq)]
pub(crate) struct TheoryCheck(softmax_sim::Row);

attributes! { TheoryCheck, self: {
    statement: &str = &self.0.statement;
    check: &str = &self.0.check;
    cases: usize = self.0.cases;
    worst: f64 = self.0.worst;
    allowed: f64 = self.0.allowed;
    estimate: Option<f64> = self.0.estimate;
    interval: Option<(f64, f64)> = self.0.interval.map(|[low, high]| (low, high));
    passed: bool = self.0.passed;
}
    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        repr(slf, &["statement", "check", "cases", "worst", "allowed", "passed"])
    }
}

/// Check every statement of the theory numerically, as `softmax-sim verify` does.
///
/// seed: of the random policies, advantages and decision processes.
/// policies: random policies for each number of actions, at least 8.
/// cases: cases of the bound on the remainder.
#[pyfunction]
#[pyo3(signature = (*, seed=0, policies=Settings::DEFAULT.policies, cases=Settings::DEFAULT.cases))]
pub(crate) fn check_theory(
    py: Python<'_>,
    seed: u64,
    policies: usize,
    cases: u64,
) -> PyResult<Vec<TheoryCheck>> {
    let fewest = Settings::LEAST_POLICIES as u64;
    for (name, value, least) in [("policies", policies as u64, fewest), ("cases", cases, 1)] {
        if value < least {
            return Err(value_error(format!("`{name}` is {value}, expected at least {least}")));
        }
    }
    let settings = Settings { seed, policies, cases };
    let report = py.detach(|| softmax_sim::verify(&settings));
    Ok(report.rows.into_iter().map(TheoryCheck).collect())
}
