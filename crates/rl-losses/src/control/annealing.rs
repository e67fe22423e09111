//! A number of the policy loss that moves with the run.

use crate::{ControlError, Knob, PolicyLoss, parameter::settings};

settings! {
    /// A knob that moves on a straight line over a run, from where the policy loss has it to `end`.
    ///
    /// KL-Cov with its coefficient annealed to 0 has the stationary points of the plain objective; an entropy bonus that stays has others.
    ///
    /// Default: the coefficient, to 0.
    ///
    /// Source: Lei and Baehr 2026, [arXiv:2604.09676](https://arxiv.org/abs/2604.09676); row 64 of `docs/paper-vs-code.md`.
    pub struct Annealing {
        /// Number of the policy loss that moves from its own value to `end`: `"coefficient"`, `"fraction"` or
        /// `"clip-ratio-high"`.
        pub knob: Knob = Knob::Coefficient;
        /// Value of the knob just after the last step.
        pub end: f64 = 0.0;
    }
}

impl Annealing {
    /// Returns `loss` with the knob as it is when `share` of the run is done, in `0..1`.
    ///
    /// # Errors
    ///
    /// [`ControlError`] if the loss does not have the knob, or it is out of its range on the way.
    pub fn at(&self, loss: &PolicyLoss, share: f64) -> Result<PolicyLoss, ControlError> {
        let start = self.knob.read(loss)?;
        self.knob.set(loss, start + share * (self.end - start))
    }
}
