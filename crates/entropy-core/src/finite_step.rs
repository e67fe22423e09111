//! Exact effects of a step of any size: the change of entropy and the divergences, without
//! cancellation.

use crate::categorical::Categorical;
use crate::exact::{self, Direction, Figure};
use crate::summation::sum;

/// Range of the step beyond which `e^δ` is not finite.
const LARGEST_RANGE: f64 = 700.0;

/// Divergences between the policies before and after a step, in nats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepDivergence {
    /// `KL(π_new ‖ π)`.
    pub new_from_old: f64,
    /// `KL(π ‖ π_new)`.
    pub old_from_new: f64,
}

/// Exact change of entropy in three equal forms, in nats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EntropyIdentities {
    /// `-Cov_π(log π, π_new/π) - KL(π_new ‖ π)`: Lemma 1 with the whole ratio in the place of the
    /// step.
    pub from_old: f64,
    /// `-Σ (π_new - π) log π_new + KL(π ‖ π_new)`: the same change, seen from the end of the step.
    pub from_new: f64,
    /// `-½ Σ (π_new - π)(log π + log π_new) + ½ (KL(π ‖ π_new) - KL(π_new ‖ π))`: their mean.
    pub symmetric: f64,
}

impl Categorical {
    /// Exact change of entropy when the logits move by `step`, in nats, without cancellation.
    ///
    /// Summed from the step itself, by
    ///
    /// ```text
    /// ΔH = -Cov(log π, δ) - Σ π [(log π + H) ψ(x) + φ(x)],   x = log(π_new/π)
    /// ```
    ///
    /// with `ψ = e^x - 1 - x` and `φ = x e^x - (e^x - 1)`. Its relative error is at most 1e-13, whatever cancels: tiny
    /// steps, peaked policies, orders that vanish or outweigh each other. Derivation: `docs/theory.md#exact-change`
    /// and `docs/theory.md#cancellation`.
    pub fn entropy_change(&self, step: &[f64]) -> f64 {
        exact::figure(self, Direction::step(step), Figure::Change)
    }

    /// The exact change of entropy in three forms.
    ///
    /// Source: an exact version of arXiv:2505.22617, Lemma 1; proof in
    /// `docs/theory.md#finite-step-identities`.
    pub fn entropy_change_identities(&self, step: &[f64]) -> EntropyIdentities {
        let finite = FiniteStep::new(self, step);
        let StepDivergence { new_from_old, old_from_new } = finite.divergence();
        let centred = self.centred_log_probs();
        // The differences π_new - π sum to 0, so log π may be centred under them.
        let along = |value: &dyn Fn(usize) -> f64| {
            sum(self.possible().map(|action| finite.difference(action) * value(action)))
        };
        let from_old = -along(&|action| centred[action]) - new_from_old;
        let from_new = -along(&|action| centred[action] + finite.log_ratio[action]) + old_from_new;
        let middle = along(&|action| centred[action] + 0.5 * finite.log_ratio[action]);
        let symmetric = -middle + 0.5 * (old_from_new - new_from_old);
        EntropyIdentities { from_old, from_new, symmetric }
    }

    /// Divergences between this policy and the one after `step`, in both directions, accurate for
    /// steps of any size.
    ///
    /// Derivation: `docs/theory.md#relative-entropy`.
    pub fn step_divergence(&self, step: &[f64]) -> StepDivergence {
        FiniteStep::new(self, step).divergence()
    }

    /// Divergence `KL(π ‖ π_ref) = Σ π (log π - log π_ref)`, in nats; never negative, infinite where
    /// the reference lacks an action of this policy.
    ///
    /// Summed from terms that are never negative. Derivation: `docs/theory.md#relative-entropy`.
    pub fn relative_entropy(&self, reference: &Self) -> f64 {
        self.check_length(reference.log_probs());
        let mut out_of_reach = 0.0; // what the reference gives to actions impossible here
        for action in 0..self.actions() {
            match (self.is_possible(action), reference.is_possible(action)) {
                (true, false) => return f64::INFINITY,
                (false, true) => out_of_reach += reference.probs()[action],
                _ => {}
            }
        }
        if out_of_reach > 0.0 {
            // Both policies on the support of this one: KL is what they differ by there, plus
            // the mass the reference has to spare.
            let term = |action: usize| {
                let log_ratio = self.log_probs()[action] - reference.log_probs()[action];
                divergence_term(self.probs()[action], reference.probs()[action], log_ratio)
            };
            return sum(self.possible().map(term)) + out_of_reach;
        }
        // Differences to one action are exact where log-probabilities, each rounded, are not.
        let mode = reference.mode();
        let (current, other) = (self.centred_log_probs(), reference.centred_log_probs());
        let step = self.over_support(|action| {
            (current[action] - current[mode]) - (other[action] - other[mode])
        });
        reference.step_divergence(&step).new_from_old
    }

    /// The policy after the part `time` of the step.
    pub(crate) fn moved(&self, step: &[f64], time: f64) -> Self {
        let move_logit = |(action, log_odds): (usize, &f64)| {
            if self.is_possible(action) { time.mul_add(step[action], *log_odds) } else { *log_odds }
        };
        let logits: Vec<f64> =
            self.centred_log_probs().iter().enumerate().map(move_logit).collect();
        Self::from_logits(&logits).expect("a finite step keeps possible actions possible")
    }
}

/// The policies before and after a step, and their ratio.
struct FiniteStep<'a> {
    old: &'a Categorical,
    new: Categorical,
    /// `log π_new - log π` at each possible action, 0 elsewhere.
    log_ratio: Vec<f64>,
}

impl<'a> FiniteStep<'a> {
    fn new(old: &'a Categorical, step: &[f64]) -> Self {
        let new = old.moved(step, 1.0);
        let log_ratio = if old.step_range(step) <= LARGEST_RANGE {
            // From the step itself.
            let anchor = step[old.mode()];
            let log_mean = old.expect(|action| (step[action] - anchor).exp_m1()).ln_1p();
            old.over_support(|action| (step[action] - anchor) - log_mean)
        } else {
            old.over_support(|action| new.log_probs()[action] - old.log_probs()[action])
        };
        Self { old, new, log_ratio }
    }

    /// `π_new - π`.
    fn difference(&self, action: usize) -> f64 {
        let (old, new) = (self.old.probs()[action], self.new.probs()[action]);
        let log_ratio = self.log_ratio[action];
        if log_ratio.abs() < 1.0 { old * log_ratio.exp_m1() } else { new - old }
    }

    fn divergence(&self) -> StepDivergence {
        let (old, new) = (self.old.probs(), self.new.probs());
        let log_ratio = &self.log_ratio;
        let sum_of = |term: &dyn Fn(usize) -> f64| sum(self.old.possible().map(term));
        StepDivergence {
            new_from_old: sum_of(&|a| divergence_term(new[a], old[a], log_ratio[a])),
            old_from_new: sum_of(&|a| divergence_term(old[a], new[a], -log_ratio[a])),
        }
    }
}

/// `p log(p/q) - p + q`, never negative, with `x = log(p/q)`.
fn divergence_term(p: f64, q: f64, x: f64) -> f64 {
    if x.abs() > 1.0 { p * (x - 1.0) + q } else { q * relative_entropy_term(x) }
}

/// `φ(x) = e^x (x - 1) + 1 = Σ_{n≥2} (n-1) xⁿ / n!`, non-negative; its mean under the policy, at
/// `x = log(π_new / π)`, is `KL(π_new ‖ π)`.
fn relative_entropy_term(x: f64) -> f64 {
    if x.abs() > 1.0 {
        return x.exp() * (x - 1.0) + 1.0;
    }
    let mut power = x; // xⁿ / n!
    let mut sum = 0.0;
    for n in 2..=22 {
        power *= x / f64::from(n);
        let term = f64::from(n - 1) * power;
        sum += term;
        if term.abs() <= 1e-18 * sum {
            break;
        }
    }
    sum
}
