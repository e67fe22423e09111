//! Policies whose states share parameters: logits linear in features.

use crate::categorical::{Categorical, LogitsError};
use crate::input_error::{InputError, check_all_finite, check_length, check_parameter};
use crate::summation::sum;

/// Features of the actions of one state, `[actions, width]`; logits are `z = Φ w` for weights `w`.
#[derive(Debug, Clone, PartialEq)]
pub struct StateFeatures {
    values: Vec<f64>,
    width: usize,
}

impl StateFeatures {
    /// Features row by row, one row of `width` values per action.
    ///
    /// # Errors
    ///
    /// [`InputError`] if there are no rows or no columns, a row is not whole, or a value is not
    /// finite.
    pub fn new(values: Vec<f64>, width: usize) -> Result<Self, InputError> {
        check_parameter("width", width as f64, width > 0, "at least 1")?;
        let actions = values.len().div_ceil(width).max(1);
        check_length("features", values.len(), actions * width)?;
        check_all_finite("features", &values)?;
        Ok(Self { values, width })
    }

    /// Number of actions.
    pub fn actions(&self) -> usize {
        self.values.len() / self.width
    }

    /// Logits `Φ w`, or the logit step `Φ Δw` of a step of the weights; shape `[actions]`.
    ///
    /// Lemma 1 and its bound hold with this step, whatever the features.
    ///
    /// # Panics
    ///
    /// If `weights` does not hold one value per feature.
    pub fn logits(&self, weights: &[f64]) -> Vec<f64> {
        assert!(
            weights.len() == self.width,
            "{} weights for {} features",
            weights.len(),
            self.width
        );
        let dot = |row: &[f64]| sum(std::iter::zip(row, weights).map(|(f, w)| f * w));
        self.values.chunks_exact(self.width).map(dot).collect()
    }

    /// The policy at these weights.
    ///
    /// # Errors
    ///
    /// [`LogitsError`] if the logits overflow.
    pub fn policy(&self, weights: &[f64]) -> Result<Categorical, LogitsError> {
        Categorical::from_logits(&self.logits(weights))
    }

    /// Covariance of each feature with a function of the action, `Cov_π(φ, y)`; shape `[width]`.
    ///
    /// With the advantage it is the policy gradient of this state; with the log-probability, minus
    /// the gradient of its entropy.
    pub fn covariances(&self, policy: &Categorical, y: &[f64]) -> Vec<f64> {
        policy.check_length(y);
        policy.check_length(&vec![0.0; self.actions()]);
        let y = policy.centred(y);
        let feature = |action: usize, k: usize| self.values[action * self.width + k];
        // Less that of the mode: covariances are the same, and peaked policies keep digits.
        let centred = |action, k| feature(action, k) - feature(policy.mode(), k);
        (0..self.width).map(|k| policy.expect(|a| centred(a, k) * y[a])).collect()
    }

    /// Gradient of the entropy in the weights, `-Cov_π(log π, φ)`, in nats; shape `[width]`.
    ///
    /// Derivation: `docs/theory.md#shared-features`.
    pub fn entropy_gradient(&self, policy: &Categorical) -> Vec<f64> {
        self.covariances(policy, policy.centred_log_probs()).into_iter().map(|c| -c).collect()
    }
}

/// One state of a policy with shared weights.
#[derive(Debug, Clone, Copy)]
pub struct FeatureState<'a> {
    /// How often the state is visited; not negative.
    pub visits: f64,
    /// Its features.
    pub features: &'a StateFeatures,
    /// Its policy at the current weights.
    pub policy: &'a Categorical,
    /// Its advantage, `[actions]`, in reward.
    pub advantage: &'a [f64],
}

impl FeatureState<'_> {
    /// How much the policy gradient of this state moves the entropy of `other`, per unit of `η`:
    /// `-ρ Cov_other(log π, φ)ᵀ Cov_self(φ, A)`, in nats.
    ///
    /// Summed over the states that are trained on, it is the first-order change of the entropy of
    /// `other`, which may itself have no advantage at all.
    ///
    /// Derivation: `docs/theory.md#shared-features`.
    ///
    /// # Panics
    ///
    /// If the states have different numbers of features, or a column does not fit its state.
    pub fn interference(&self, other: &StateFeatures, other_policy: &Categorical) -> f64 {
        let gradient = self.features.covariances(self.policy, self.advantage);
        let answer = other.entropy_gradient(other_policy);
        assert!(gradient.len() == answer.len(), "states of different numbers of features");
        self.visits * sum(std::iter::zip(gradient, answer).map(|(g, a)| g * a))
    }
}

/// Gradient of the expected advantage in the shared weights, `Σ_s ρ(s) Cov_s(φ, A)`; shape
/// `[width]`, empty of no states.
///
/// Derivation: `docs/theory.md#shared-features`.
///
/// # Panics
///
/// If the states have different numbers of features, or a column does not fit its state.
pub fn shared_policy_gradient(states: &[FeatureState<'_>]) -> Vec<f64> {
    let width = states.first().map_or(0, |state| state.features.width);
    let mut total = vec![0.0; width];
    for state in states {
        assert!(state.features.width == width, "states of different numbers of features");
        let gradient = state.features.covariances(state.policy, state.advantage);
        total.iter_mut().zip(gradient).for_each(|(t, g)| *t += state.visits * g);
    }
    total
}

/// Compatible weights: the natural-gradient direction `F⁻¹ g` with the Fisher information
/// `F = Σ_s ρ(s) Cov_s(φ, φ)` and [`shared_policy_gradient`] `g`; shape `[width]`.
///
/// They regress the advantage on the features; where it is a combination of them, the logit step
/// `Φ w` is the advantage up to a constant, which is Theorem 2. Directions of the weights that no
/// visited policy answers are left at 0.
///
/// Derivation: `docs/theory.md#shared-features`.
///
/// # Panics
///
/// If the states have different numbers of features, or a column does not fit its state.
pub fn compatible_weights(states: &[FeatureState<'_>]) -> Vec<f64> {
    let gradient = shared_policy_gradient(states);
    let width = gradient.len();
    let mut fisher = vec![0.0; width * width];
    for state in states {
        for k in 0..width {
            let feature: Vec<f64> = (0..state.features.actions())
                .map(|a| state.features.values[a * width + k])
                .collect();
            let row = state.features.covariances(state.policy, &feature);
            for (entry, value) in fisher[k * width..].iter_mut().zip(row) {
                *entry += state.visits * value;
            }
        }
    }
    solve_semidefinite(fisher, gradient)
}

/// A solution of `F w = g` for a symmetric, positive semidefinite `F`, row-major, and `g` in its
/// range: elimination with the largest diagonal as pivot, until only rounding is left.
fn solve_semidefinite(mut f: Vec<f64>, mut g: Vec<f64>) -> Vec<f64> {
    let width = g.len();
    let largest = (0..width).map(|k| f[k * width + k]).fold(0.0, f64::max);
    let mut pivots = Vec::new();
    let mut open: Vec<usize> = (0..width).collect();
    while let Some(at) = (0..open.len())
        .max_by(|&i, &j| diagonal(&f, width, open[i]).total_cmp(&diagonal(&f, width, open[j])))
    {
        let pivot = open[at];
        if diagonal(&f, width, pivot) <= 1e-13 * largest {
            break;
        }
        open.swap_remove(at);
        for &row in &open {
            let factor = f[row * width + pivot] / diagonal(&f, width, pivot);
            for &column in &open {
                f[row * width + column] -= factor * f[pivot * width + column];
            }
            g[row] -= factor * g[pivot];
        }
        pivots.push(pivot);
    }
    let mut weights = vec![0.0; width];
    for (index, &pivot) in pivots.iter().enumerate().rev() {
        let later = pivots[index + 1..].iter().map(|&k| f[pivot * width + k] * weights[k]);
        let rest = g[pivot] - sum(later.collect::<Vec<_>>());
        weights[pivot] = rest / diagonal(&f, width, pivot);
    }
    weights
}

fn diagonal(f: &[f64], width: usize, k: usize) -> f64 {
    f[k * width + k]
}
