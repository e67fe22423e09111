//! Runs of the simulator.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::PyArrayDyn;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rl_losses::{Column, CustomLoss, LossOutput, LossSums, TokenBatch};
use serde::de::DeserializeOwned;
use softmax_sim::training::{CustomAdvantage, Method, Rows, Schedule, Trainer, prompt_information};

use crate::array::{Array, Floats, numpy_array};
use crate::environment::{Environment, described, sizes};
use crate::error::value_error;
use crate::repr::{attributes, record, shown};
use crate::settings::{json_of, parsed};

/// Exact figures of a policy over a run.
///
/// Attributes
/// ----------
/// rollouts: rollouts trained on before each evaluation, [points].
/// entropy: mean entropy of a token, [points], nats.
/// reward, cool_reward, greedy_reward: expected reward at temperature 1, at 0.6 and of the greedy response, [points].
#[pyclass(frozen, get_all, module = "entropy_rl")]
pub(crate) struct Curve {
    rollouts: Py<PyArrayDyn<i64>>,
    entropy: Py<PyArrayDyn<f64>>,
    reward: Py<PyArrayDyn<f64>>,
    cool_reward: Py<PyArrayDyn<f64>>,
    greedy_reward: Py<PyArrayDyn<f64>>,
}

shown!(Curve: rollouts, entropy, reward);

impl Curve {
    fn of(py: Python<'_>, curve: &softmax_sim::training::Curve) -> PyResult<Self> {
        type Point = softmax_sim::training::CurvePoint;
        let points = [curve.points.len()];
        let column = |value: fn(&Point) -> f64| {
            let values = curve.points.iter().map(value).collect();
            numpy_array(py, values, &points).map(Bound::unbind)
        };
        let rollouts = curve.points.iter().map(|point| signed(point.rollouts)).collect();
        Ok(Self {
            rollouts: numpy_array(py, rollouts, &points)?.unbind(),
            entropy: column(|point| point.entropy)?,
            reward: column(|point| point.reward)?,
            cool_reward: column(|point| point.cool_reward)?,
            greedy_reward: column(|point| point.greedy_reward)?,
        })
    }
}

record! {
    /// Measurements of one rollout and its updates.
    ///
    /// Attributes
    /// ----------
    /// rollout: its number, from 0.
    /// mean_reward: mean reward of its responses.
    /// entropy: exact mean entropy over the states of its prompts before the updates, nats.
    /// selected_fraction, clip_fraction: fraction of the tokens, over all updates, that the method singled out, and that
    ///     were clipped; NaN without updates.
    StepReport {
        rollout: usize,
        mean_reward: f64,
        entropy: f64,
        selected_fraction: f64,
        clip_fraction: f64,
    }
}

/// Responses of one rollout, without the groups that were left out.
///
/// Attributes
/// ----------
/// prompts: [prompts].
/// actions: [prompts, samples, positions].
/// states: state that each token was drawn in, [prompts, samples, positions]; its position unless the environment says more.
/// old_log_prob: log-probability of each token when it was sampled, [prompts, samples, positions], nats.
/// rewards: [prompts, samples].
/// advantage: [prompts, samples, positions].
#[pyclass(frozen, get_all, module = "entropy_rl")]
pub(crate) struct Rollout {
    prompts: Py<PyArrayDyn<i64>>,
    actions: Py<PyArrayDyn<i64>>,
    states: Py<PyArrayDyn<i64>>,
    old_log_prob: Py<PyArrayDyn<f64>>,
    rewards: Py<PyArrayDyn<f64>>,
    advantage: Py<PyArrayDyn<f64>>,
}

shown!(Rollout: prompts, rewards);

/// Tokens of one update, for a custom loss.
///
/// Attributes
/// ----------
/// log_prob, old_log_prob: log-probability of each token now and when it was sampled, [responses, positions], nats.
/// advantage: [responses, positions].
/// entropy: entropy of the policy where each token was drawn, now, [responses, positions], nats.
#[pyclass(frozen, get_all, module = "entropy_rl")]
pub(crate) struct MiniBatch {
    log_prob: Py<PyArrayDyn<f64>>,
    old_log_prob: Py<PyArrayDyn<f64>>,
    advantage: Py<PyArrayDyn<f64>>,
    entropy: Py<PyArrayDyn<f64>>,
}

shown!(MiniBatch: log_prob, advantage);

/// Error of a function of Python, until the step that called it ends.
type Raised = Arc<Mutex<Option<PyErr>>>;

/// Training of a softmax policy by sampled responses, measured exactly.
///
/// A run depends on its seed alone, not on the number of threads.
///
/// environment: questions and starting policy.
/// method: keys of `[settings.training.method]` of a sweep: loss, such as {"kl-cov": {"fraction": 0.02}}, advantage,
///     aggregation, entropy_bonus, adaptive_entropy, reference_kl, adaptive_kl, reward_kl, thermostat, annealing,
///     correction; by default GRPO, clipped at 0.2.
/// schedule: keys of `[settings.training.schedule]`: rollouts, evaluate_every, prompts, group_size, mini_batches,
///     epochs, learning_rate, step_size ("per-state"; for shared features and networks "token-mean"), drop_uninformative,
///     staleness, ratio_to, trust_region, critic_rate.
/// loss: custom loss: a function of a MiniBatch that returns the derivative of the loss by log_prob,
///     [responses, positions].
/// advantage: custom advantages: a function of rewards, [prompts, samples], that returns those of the responses, of
///     the same shape.
/// seed: of the responses.
///
/// Attributes
/// ----------
/// entropy_bonus, reference_kl: coefficients of the regularisers, reward per nat; may be set between steps.
#[pyclass(module = "entropy_rl")]
pub(crate) struct Simulation {
    trainer: Trainer<'static>,
    group_size: usize,
    raised: Raised,
    has_failed: bool,
}

attributes! { Simulation, self: {
    entropy_bonus: f64 = self.trainer.method.entropy_bonus;
    reference_kl: f64 = self.trainer.method.reference_kl;
}
    #[new]
    #[pyo3(signature = (environment, *, method=None, schedule=None, loss=None, advantage=None, seed=0))]
    fn new(
        environment: &Environment,
        method: Option<&Bound<'_, PyDict>>,
        schedule: Option<&Bound<'_, PyDict>>,
        loss: Option<Py<PyAny>>,
        advantage: Option<Py<PyAny>>,
        seed: u64,
    ) -> PyResult<Self> {
        let method: Method = settings("method", method)?;
        method.check().map_err(value_error)?;
        let schedule: Schedule = settings("schedule", schedule)?;
        schedule.check().map_err(value_error)?;
        let (raised, group_size) = (Raised::default(), schedule.group_size);
        let positions = environment.0.training().shape().positions;
        let mut trainer = Trainer::new(environment.0.clone(), method, schedule, seed);
        if let Some(loss) = loss {
            trainer = trainer.with_loss(custom_loss(loss, positions, raised.clone()));
        }
        if let Some(advantage) = advantage {
            trainer = trainer.with_advantage(custom_advantage(advantage, raised.clone()));
        }
        Ok(Self { trainer, group_size, raised, has_failed: false })
    }

    /// Sample one rollout and train on it; None when the schedule is done.
    fn step(&mut self, py: Python<'_>) -> PyResult<Option<StepReport>> {
        self.check()?;
        let report = py.detach(|| self.trainer.step());
        self.raise()?;
        Ok(report.map(|report| StepReport {
            rollout: report.rollout,
            mean_reward: report.mean_reward,
            entropy: report.entropy,
            selected_fraction: report.sums.selected_fraction(),
            clip_fraction: report.sums.clip_fraction(),
        }))
    }

    /// Train to the end of the schedule; the curve of the evaluations from here on.
    fn train(&mut self, py: Python<'_>) -> PyResult<Curve> {
        self.check()?;
        let raised = self.raised.clone();
        let curve = py.detach(|| {
            self.trainer.try_run(|_, _| match taken(&raised) {
                Some(error) => Err(error),
                None => Python::attach(|py| {
                    py.check_signals()?;
                    Ok(())
                }),
            })
        });
        let curve = curve.inspect_err(|_| self.has_failed = true)?;
        Curve::of(py, &curve)
    }

    /// Exact figures of the policy as it is: a curve of one point.
    fn evaluate(&self, py: Python<'_>) -> PyResult<Curve> {
        let points = vec![py.detach(|| self.trainer.evaluate())];
        Curve::of(py, &softmax_sim::training::Curve { points })
    }

    /// Log-probability of each action under the policy as it is, [prompts, states, actions], nats.
    fn log_prob<'py>(&self, py: Python<'py>) -> Floats<'py> {
        let questions = self.trainer.environment().training();
        let all: Vec<usize> = (0..questions.shape().prompts).collect();
        let rows = Rows::of(questions, self.trainer.parameters(), &all);
        numpy_array(py, rows.log_probs().to_vec(), &sizes(questions))
    }

    /// The responses of the last step.
    fn rollout(&self, py: Python<'_>) -> PyResult<Rollout> {
        let rollout = self.trainer.rollout();
        let prompts = rollout.prompts.len();
        let positions = self.trainer.environment().training().shape().positions;
        let tokens = [prompts, self.group_size, positions];
        let numbers = |values: &[f64], shape: &[usize]| {
            numpy_array(py, values.to_vec(), shape).map(Bound::unbind)
        };
        let indices = rollout.prompts.iter().map(|&prompt| signed(prompt)).collect();
        let places = |values: &[u32]| {
            let values = values.iter().map(|&value| i64::from(value)).collect();
            numpy_array(py, values, &tokens).map(Bound::unbind)
        };
        Ok(Rollout {
            prompts: numpy_array(py, indices, &[prompts])?.unbind(),
            actions: places(&rollout.actions)?,
            states: places(&rollout.states)?,
            old_log_prob: numbers(&rollout.old_log_prob, &tokens)?,
            rewards: numbers(&rollout.rewards, &tokens[..2])?,
            advantage: numbers(&rollout.advantage, &tokens)?,
        })
    }

    /// Mutual information of prompt and response under the policy as it is, nats; None where there are too many responses.
    fn prompt_information(&self, py: Python<'_>) -> Option<f64> {
        let questions = self.trainer.environment().training();
        py.detach(|| prompt_information(questions, self.trainer.parameters()))
    }

    fn __repr__(&self) -> String {
        let loss = self.trainer.method.loss.name();
        format!("Simulation({}, policy_loss={loss:?})", described(self.trainer.environment()))
    }

    #[setter]
    fn set_entropy_bonus(&mut self, entropy_bonus: f64) -> PyResult<()> {
        self.trainer.method.entropy_bonus = finite("entropy_bonus", entropy_bonus)?;
        Ok(())
    }

    #[setter]
    fn set_reference_kl(&mut self, reference_kl: f64) -> PyResult<()> {
        self.trainer.method.reference_kl = finite("reference_kl", reference_kl)?;
        Ok(())
    }
}

impl Simulation {
    fn check(&self) -> PyResult<()> {
        if self.has_failed {
            return Err(PyRuntimeError::new_err("the simulation ended with an error"));
        }
        Ok(())
    }

    fn raise(&mut self) -> PyResult<()> {
        taken(&self.raised).map_or(Ok(()), Err).inspect_err(|_| self.has_failed = true)
    }
}

/// A count as numpy's integer.
fn signed(count: usize) -> i64 {
    i64::try_from(count).expect("fewer than 2^63")
}

fn settings<T: DeserializeOwned + Default>(
    argument: &str,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<T> {
    settings.map_or_else(|| Ok(T::default()), |settings| parsed(argument, json_of(settings)?))
}

fn finite(name: &str, value: f64) -> PyResult<f64> {
    if value.is_finite() {
        return Ok(value);
    }
    Err(value_error(format!("`{name}` is {value}, expected a finite number")))
}

fn taken(raised: &Raised) -> Option<PyErr> {
    raised.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Numbers from Python, or zeros and the error kept. After an error, Python is not called again.
fn numbers_or_zeros(
    raised: &Raised,
    count: usize,
    numbers: impl FnOnce(Python<'_>) -> PyResult<Vec<f64>>,
) -> Vec<f64> {
    let mut raised = raised.lock().unwrap_or_else(PoisonError::into_inner);
    if raised.is_none() {
        match Python::attach(numbers) {
            Ok(numbers) => return numbers,
            Err(error) => *raised = Some(error),
        }
    }
    vec![0.0; count]
}

fn custom_loss(loss: Py<PyAny>, positions: usize, raised: Raised) -> CustomLoss {
    let gradient = move |py: Python<'_>, batch: &TokenBatch<'_>| -> PyResult<Vec<f64>> {
        let shape = [batch.len() / positions, positions];
        let column = |values: &[f64]| numpy_array(py, values.to_vec(), &shape).map(Bound::unbind);
        let entropy = batch.column(Column::Entropy).unwrap_or_default();
        let tokens = MiniBatch {
            log_prob: column(batch.log_prob())?,
            old_log_prob: column(batch.old_log_prob())?,
            advantage: column(batch.advantage())?,
            entropy: column(entropy)?,
        };
        finite_result("loss", loss.bind(py).call1((tokens,))?, &shape)
    };
    CustomLoss::of_batch(move |batch, _| {
        let tokens = batch.len();
        let grad_log_prob = numbers_or_zeros(&raised, tokens, |py| gradient(py, batch));
        let sums = LossSums { tokens, ..LossSums::default() };
        LossOutput { value: 0.0, grad_log_prob, sums }
    })
}

fn custom_advantage(advantage: Py<PyAny>, raised: Raised) -> CustomAdvantage {
    CustomAdvantage::new(move |rewards, group_size| {
        numbers_or_zeros(&raised, rewards.len(), |py| {
            let shape = [rewards.len() / group_size, group_size];
            let rewards = numpy_array(py, rewards.to_vec(), &shape)?;
            finite_result("advantage", advantage.bind(py).call1((rewards,))?, &shape)
        })
    })
}

/// Numbers that a function of this name returned.
fn finite_result(name: &str, result: Bound<'_, PyAny>, shape: &[usize]) -> PyResult<Vec<f64>> {
    let name = format!("result of {name}");
    let values = Array::shaped(&name, &result, shape)?;
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(values),
        Some(index) => Err(value_error(format!(
            "`{name}` is {} at index {index}, expected a finite number",
            values[index]
        ))),
    }
}
