//! Exact policy-gradient steps of one row, in place.

#![expect(clippy::inline_always, reason = "inlined, the code takes on its caller's instructions")]

use super::InstructionSet;
use super::lanes::{LANES, Lanes};
use super::row::{OddsAccumulator, OddsSums, position};
use crate::UpdateRule;
use pulp::NullaryFnOnce;

/// State of a row just before a step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StepSummary {
    /// Entropy `H`, in nats.
    pub entropy: f64,
    /// `Cov_π(log π, g)` with the direction `g` of the step, in nat·reward: `-η` times it is the change of entropy
    /// to first order.
    pub covariance: f64,
    /// Expected reward `V = E_π r`.
    pub value: f64,
}

/// An exact step of a tabular softmax policy with known rewards:
///
/// ```text
/// V = E_π r,  A = r - V,  z += η g,   g = π A  (policy gradient)  or  g = A  (natural)
/// ```
///
/// together with entropy and covariance, in two passes over the row. Covariance is summed from centred
/// terms. Source: arXiv:2505.22617, Theorems 1 and 2; derivation in `docs/theory.md#theorem-1`.
///
/// ```
/// use entropy_core::{UpdateRule, kernel::ExactStep};
///
/// let step = ExactStep::new(UpdateRule::NaturalPolicyGradient, 0.5);
/// let mut logits = [0.0, 0.0];
/// let mut scratch = Vec::new();
/// let mut summaries = [Default::default(); 1];
/// let mode = step.run(&mut logits, &[1.0, 0.0], 0, &mut scratch, &mut summaries);
/// assert_eq!((logits, mode, summaries[0].value), ([0.25, -0.25], 0, 0.5));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ExactStep {
    rule: UpdateRule,
    eta: f64,
    instructions: InstructionSet,
}

impl ExactStep {
    /// Steps of size `eta` (finite), on the widest instructions of the machine.
    pub fn new(rule: UpdateRule, eta: f64) -> Self {
        Self::on(InstructionSet::widest(), rule, eta)
    }

    /// Like [`new`](Self::new), on given instructions; only the speed differs.
    pub fn on(instructions: InstructionSet, rule: UpdateRule, eta: f64) -> Self {
        Self { rule, eta, instructions }
    }

    /// Takes as many steps as `summaries` has room for, and writes there the state of the row before each.
    ///
    /// `logits` and `reward` are `[actions]`; rewards are finite, logits finite or `-∞`. `mode` is the action of a
    /// largest logit ([`row::mode`](super::row::mode)). Returns the mode after the last step, to be passed in
    /// next time. If several actions share the largest logit, the mode stays the same, so that splitting a
    /// run in two changes no bit. Numbers out of these ranges give NaN, never a panic. `scratch` is memory to
    /// work in; its content does not matter.
    ///
    /// # Panics
    ///
    /// If `reward` does not hold one value per logit, or `mode` is no action.
    pub fn run(
        &self,
        logits: &mut [f64],
        reward: &[f64],
        mode: usize,
        scratch: &mut Vec<f64>,
        summaries: &mut [StepSummary],
    ) -> usize {
        assert_eq!(logits.len(), reward.len(), "one reward per logit");
        assert!(mode < logits.len(), "the mode {mode} of {} actions", logits.len());
        scratch.resize(logits.len().next_multiple_of(LANES), 0.0);
        let row = Row { logits, reward, mode, odds: scratch, eta: self.eta };
        match self.rule {
            UpdateRule::PolicyGradient => self.instructions.run(Steps::<false> { row, summaries }),
            UpdateRule::NaturalPolicyGradient => {
                self.instructions.run(Steps::<true> { row, summaries })
            }
        }
    }
}

struct Steps<'a, const NATURAL: bool> {
    row: Row<'a>,
    summaries: &'a mut [StepSummary],
}

impl<const NATURAL: bool> NullaryFnOnce for Steps<'_, NATURAL> {
    type Output = usize;

    #[inline(always)]
    fn call(mut self) -> usize {
        for summary in self.summaries {
            let (sums, mean_reward) = self.row.means();
            *summary = self.row.update::<NATURAL>(sums, mean_reward);
        }
        self.row.mode
    }
}

struct Row<'a> {
    logits: &'a mut [f64],
    reward: &'a [f64],
    mode: usize,
    /// `e^(z - z_mode)`, filled by the first pass for the second.
    odds: &'a mut [f64],
    eta: f64,
}

impl Row<'_> {
    /// The first pass: sums over the odds, and the mean reward under the policy less that of the mode, `E_π[r - r_mode]`.
    #[inline(always)]
    fn means(&mut self) -> (OddsSums, f64) {
        let Self { ref logits, reward, mode, ref mut odds, .. } = *self;
        let base = Lanes::splat(reward[mode]);
        let mut accumulator = OddsAccumulator::new(logits, mode);
        let mut weighted_reward = Lanes::splat(0.0);
        let (logit_blocks, logit_rest) = logits.as_chunks::<LANES>();
        let (reward_blocks, reward_rest) = reward.as_chunks::<LANES>();
        let (odds_blocks, _) = odds.as_chunks_mut::<LANES>();
        let blocks = logit_blocks.iter().zip(reward_blocks).zip(&mut *odds_blocks);
        for ((logits, reward), kept) in blocks {
            let odds = accumulator.add(Lanes(*logits));
            weighted_reward = Lanes(*reward).minus(base).fused(odds, weighted_reward);
            *kept = odds.0;
        }
        if let Some(kept) = odds_blocks.get_mut(logit_blocks.len()) {
            let odds = accumulator.add(Lanes::padded(logit_rest, f64::NEG_INFINITY));
            let reward = Lanes::padded(reward_rest, base.0[0]);
            weighted_reward = reward.minus(base).fused(odds, weighted_reward);
            *kept = odds.0;
        }
        let sums = accumulator.finish();
        (sums, weighted_reward.sum() / sums.total())
    }

    /// The second pass: moves the logits, and sums the covariance on the way.
    #[inline(always)]
    fn update<const NATURAL: bool>(&mut self, sums: OddsSums, mean_reward: f64) -> StepSummary {
        let base = self.reward[self.mode];
        let mut block = Update::<NATURAL> {
            anchor: Lanes::splat(self.logits[self.mode]),
            base: Lanes::splat(base),
            mean_gap: Lanes::splat(sums.mean_gap()),
            mean_reward: Lanes::splat(mean_reward),
            scale: Lanes::splat(1.0 / sums.total()),
            eta: Lanes::splat(self.eta),
            covariance: Lanes::splat(0.0),
            largest: Lanes::splat(f64::NEG_INFINITY),
        };
        let (logit_blocks, logit_rest) = self.logits.as_chunks_mut::<LANES>();
        let (reward_blocks, reward_rest) = self.reward.as_chunks::<LANES>();
        let (odds_blocks, _) = self.odds.as_chunks::<LANES>();
        for ((logits, reward), odds) in logit_blocks.iter_mut().zip(reward_blocks).zip(odds_blocks)
        {
            *logits = block.step(Lanes(*logits), Lanes(*reward), Lanes(*odds)).0;
        }
        if let Some(odds) = odds_blocks.get(logit_blocks.len()) {
            let logits = Lanes::padded(logit_rest, f64::NEG_INFINITY);
            let moved = block.step(logits, Lanes::padded(reward_rest, base), Lanes(*odds));
            logit_rest.copy_from_slice(&moved.0[..logit_rest.len()]);
        }
        let largest = block.largest.largest();
        if self.logits[self.mode] < largest {
            self.mode = position(self.logits, largest).unwrap_or(self.mode);
        }
        StepSummary {
            // Last, for the call of a logarithm drives the vectors out of their registers.
            entropy: sums.entropy(),
            covariance: block.covariance.sum(),
            value: base + mean_reward,
        }
    }
}

/// The second pass over one block.
struct Update<const NATURAL: bool> {
    anchor: Lanes,
    base: Lanes,
    mean_gap: Lanes,
    mean_reward: Lanes,
    scale: Lanes,
    eta: Lanes,
    covariance: Lanes,
    largest: Lanes,
}

impl<const NATURAL: bool> Update<NATURAL> {
    #[inline(always)]
    fn step(&mut self, logits: Lanes, reward: Lanes, odds: Lanes) -> Lanes {
        let prob = odds.times(self.scale);
        // log π - E log π, and A, both from differences to the mode.
        let log_prob = logits.minus(self.anchor).floored().minus(self.mean_gap);
        let advantage = reward.minus(self.base).minus(self.mean_reward);
        let weighted = prob.times(advantage);
        let direction = if NATURAL { advantage } else { weighted };
        let term = if NATURAL { weighted } else { prob.times(weighted) };
        self.covariance = term.fused(log_prob, self.covariance);
        let moved = self.eta.fused(direction, logits);
        self.largest = moved.max(self.largest);
        moved
    }
}
