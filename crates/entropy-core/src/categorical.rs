//! One softmax policy: a distribution over actions, parameterised by logits.

use crate::summation::Accumulator;
use thiserror::Error;

/// Why a slice of logits does not define a distribution.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum LogitsError {
    /// The slice is empty.
    #[error("no logits: a distribution needs at least one action")]
    Empty,
    /// A logit is NaN or `+∞`.
    #[error("logit {index} is {value}; logits must be finite or -inf")]
    NotANumber {
        /// Position of the offending logit.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// Every action is impossible.
    #[error("all {actions} logits are -inf: no action has positive probability")]
    NoSupport {
        /// Number of actions.
        actions: usize,
    },
}

/// A softmax distribution over actions `0..n`.
///
/// Checked once, on construction. Every function of this crate that takes a column beside it, such as a step or an advantage, is
/// then total for one value per action, and panics otherwise; sums that are exact also panic on a value that is not finite
/// at a possible action. A logit of `-∞` marks an impossible action: it has probability 0 and takes part in nothing.
///
/// All quantities are anchored at the most probable action ("mode"): with gaps `y_a = z_a - z_mode`
/// and `T = Σ_{a≠mode} e^{y_a}`, every sum has terms of one sign, so that entropies and covariances
/// keep their relative accuracy for policies as peaked as `f64` can hold. Derivation:
/// `docs/theory.md#numerics`.
#[derive(Debug, Clone, PartialEq)]
pub struct Categorical {
    /// Logits as passed in, `[actions]`: exact sums start from them.
    logits: Vec<f64>,
    log_probs: Vec<f64>,
    probs: Vec<f64>,
    /// `log π(a) + H`, the log-probability centred under the policy; `-∞` for impossible actions.
    centred_log_probs: Vec<f64>,
    entropy: f64,
    mode: usize,
}

impl Categorical {
    /// Normalises `logits` (natural-log scale, shape `[actions]`).
    ///
    /// # Errors
    ///
    /// [`LogitsError`] if `logits` is empty, holds NaN or `+∞`, or is all `-∞`.
    ///
    /// # Examples
    ///
    /// ```
    /// use entropy_core::Categorical;
    ///
    /// let coin = Categorical::from_logits(&[0.0, 0.0])?;
    /// assert!((coin.entropy() - 2f64.ln()).abs() < 1e-15);
    /// # Ok::<(), entropy_core::LogitsError>(())
    /// ```
    pub fn from_logits(logits: &[f64]) -> Result<Self, LogitsError> {
        let mode = mode_of(logits)?;
        let anchor = logits[mode];
        // Without the mode: T = Σ e^y and W = Σ -y e^y, all terms non-negative.
        let (mut others, mut weighted_gaps) = (Accumulator::default(), Accumulator::default());
        let mut centred_log_probs = Vec::with_capacity(logits.len());
        let mut probs = Vec::with_capacity(logits.len());
        for (action, logit) in logits.iter().enumerate() {
            let gap = logit - anchor;
            let odds = gap.exp();
            if action != mode && odds > 0.0 {
                others.add(odds);
                weighted_gaps.add(-gap * odds);
            }
            centred_log_probs.push(gap);
            probs.push(odds);
        }
        let others = others.total();
        let total = 1.0 + others;
        let mean_gap = weighted_gaps.total() / total;
        let log_total = others.ln_1p();
        let log_probs = centred_log_probs.iter().map(|gap| gap - log_total).collect();
        for (gap, odds) in std::iter::zip(&mut centred_log_probs, &mut probs) {
            *gap += mean_gap;
            *odds /= total;
        }
        Ok(Self {
            logits: logits.to_vec(),
            log_probs,
            probs,
            centred_log_probs,
            entropy: log_total + mean_gap,
            mode,
        })
    }

    /// Logits as passed to [`from_logits`](Self::from_logits), `[actions]`.
    pub(crate) fn logits(&self) -> &[f64] {
        &self.logits
    }

    /// Number of actions, impossible ones included.
    pub fn actions(&self) -> usize {
        self.probs.len()
    }

    /// Number of possible actions, those with a logit above `-∞`.
    pub fn support(&self) -> usize {
        self.possible().count()
    }

    /// The most probable action; the first of several.
    pub fn mode(&self) -> usize {
        self.mode
    }

    /// Log-probability of each action, in nats; shape `[actions]`, `-∞` where impossible.
    pub fn log_probs(&self) -> &[f64] {
        &self.log_probs
    }

    /// Probability of each action; shape `[actions]`.
    pub fn probs(&self) -> &[f64] {
        &self.probs
    }

    /// Log-probability of each action less its mean, `log π(a) + H`, in nats; shape `[actions]`.
    ///
    /// More accurate than the sum of the two for a policy that is peaked or nearly uniform.
    pub fn centred_log_probs(&self) -> &[f64] {
        &self.centred_log_probs
    }

    /// Shannon entropy `H = -Σ_a π(a) log π(a)`, in nats, within `0..=ln(support)`.
    pub fn entropy(&self) -> f64 {
        self.entropy
    }

    /// Mean of a function of the action, `E_{a~π}[x(a)]`.
    pub fn mean(&self, x: &[f64]) -> f64 {
        self.check_length(x);
        x[self.mode] + self.mean_over_mode(x)
    }

    /// Covariance of two functions of the action under this policy,
    /// `E[(x - E x)(y - E y)]`.
    ///
    /// Computed from differences to the mode, never as `E[xy] - E[x]E[y]`, so that it keeps its
    /// relative accuracy where almost all probability sits on one action. Values at actions of
    /// probability 0 are not read.
    pub fn covariance(&self, x: &[f64], y: &[f64]) -> f64 {
        self.check_length(x);
        self.check_length(y);
        let (anchor_x, anchor_y) = (x[self.mode], y[self.mode]);
        let (mean_x, mean_y) = (self.mean_over_mode(x), self.mean_over_mode(y));
        self.expect(|action| ((x[action] - anchor_x) - mean_x) * ((y[action] - anchor_y) - mean_y))
    }

    /// Entropy score of an action, `S_k = π_k (H + ln π_k)`, in nats.
    ///
    /// Minus the derivative of the entropy with respect to that action's logit: raising the logit
    /// of an action with a positive score lowers the entropy. Scores sum to 0.
    /// Derivation: `docs/theory.md#lemma-1`.
    ///
    /// # Panics
    ///
    /// If there is no such action.
    pub fn entropy_score(&self, action: usize) -> f64 {
        // 0 · (-∞) counts as 0: an impossible action has no influence.
        if self.probs[action] > 0.0 {
            self.probs[action] * self.centred_log_probs[action]
        } else {
            0.0
        }
    }

    /// `κ = Cov_{a~π}(log π(a), π(a)) = Σ π² (log π + H)`, in nats, never negative; 0 only where the
    /// policy is uniform on its support.
    ///
    /// Derivation: `docs/theory.md#uncentred-advantage`.
    pub fn log_prob_prob_covariance(&self) -> f64 {
        self.expect(|action| self.entropy_score(action))
    }

    /// Discriminator of each action: how one sample of it moves the entropy under the policy gradient,
    /// `G_a = π_a (log π_a + H) - κ`, in nats, with [`κ`](Self::log_prob_prob_covariance); shape
    /// `[actions]`, 0 where impossible. Its mean under the policy is 0.
    ///
    /// A positive advantage lowers the entropy where `G_a > 0`: being more likely than average is
    /// not enough. Derivation: `docs/theory.md#sampled-gradient`.
    pub fn discriminators(&self) -> Vec<f64> {
        let scores: Vec<f64> = (0..self.actions()).map(|a| self.entropy_score(a)).collect();
        // κ is the mean of the scores; centring from the mode keeps digits at peaked policies.
        self.centred(&scores)
    }

    /// Adds to `d_logits` the gradient that reaches the logits through `log π(action)`:
    /// `d_log_prob · (1[k = action] - π_k)` for every action `k`.
    ///
    /// # Panics
    ///
    /// If there is no such action, or `d_logits` does not hold one value per action.
    pub fn vjp_log_prob(&self, action: usize, d_log_prob: f64, d_logits: &mut [f64]) {
        self.check_length(d_logits);
        for (k, (d_logit, prob)) in d_logits.iter_mut().zip(&self.probs).enumerate() {
            // 1 - π without the rounding of 1 - π where π is nearly 1.
            let slope = if k == action { -self.log_probs[k].exp_m1() } else { -prob };
            *d_logit += d_log_prob * slope;
        }
    }

    /// Adds to `d_logits` the gradient that reaches the logits through the entropy:
    /// `-d_entropy · S_k` for every action `k`, with [`entropy_score`](Self::entropy_score) `S`.
    pub fn vjp_entropy(&self, d_entropy: f64, d_logits: &mut [f64]) {
        self.check_length(d_logits);
        for (action, d_logit) in d_logits.iter_mut().enumerate() {
            *d_logit -= d_entropy * self.entropy_score(action);
        }
    }

    /// `Σ π(a) f(a)` over the actions of positive probability.
    pub(crate) fn expect(&self, f: impl Fn(usize) -> f64) -> f64 {
        let mut total = Accumulator::default();
        for (action, prob) in self.probs.iter().enumerate() {
            if *prob > 0.0 {
                total.add(prob * f(action));
            }
        }
        total.total()
    }

    /// `E[x] - x(mode)`, from differences.
    pub(crate) fn mean_over_mode(&self, x: &[f64]) -> f64 {
        let anchor = x[self.mode];
        self.expect(|action| x[action] - anchor)
    }

    /// `f(a)` for each possible action, 0 elsewhere.
    pub(crate) fn over_support(&self, f: impl Fn(usize) -> f64) -> Vec<f64> {
        let value = |action| if self.is_possible(action) { f(action) } else { 0.0 };
        (0..self.actions()).map(value).collect()
    }

    /// `x(a) - E[x]` for each action; 0 where the action is impossible.
    pub(crate) fn centred(&self, x: &[f64]) -> Vec<f64> {
        self.check_length(x);
        let (anchor, mean) = (x[self.mode], self.mean_over_mode(x));
        self.over_support(|action| (x[action] - anchor) - mean)
    }

    /// The possible actions, in order.
    pub(crate) fn possible(&self) -> impl Iterator<Item = usize> {
        (0..self.actions()).filter(|&action| self.is_possible(action))
    }

    pub(crate) fn is_possible(&self, action: usize) -> bool {
        self.log_probs[action] > f64::NEG_INFINITY
    }

    pub(crate) fn check_length(&self, values: &[f64]) {
        assert!(
            values.len() == self.actions(),
            "{} values for {} actions: expected one per action",
            values.len(),
            self.actions()
        );
    }
}

/// The first largest logit, after checking all of them.
pub(crate) fn mode_of(logits: &[f64]) -> Result<usize, LogitsError> {
    if logits.is_empty() {
        return Err(LogitsError::Empty);
    }
    let mut mode = 0;
    for (index, &value) in logits.iter().enumerate() {
        if value.is_nan() || value == f64::INFINITY {
            return Err(LogitsError::NotANumber { index, value });
        }
        if value > logits[mode] {
            mode = index;
        }
    }
    if logits[mode] == f64::NEG_INFINITY {
        return Err(LogitsError::NoSupport { actions: logits.len() });
    }
    Ok(mode)
}
