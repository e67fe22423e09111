//! The closed set of policy losses and how one is evaluated.

use serde::{Deserialize, Serialize};

use crate::{
    CeGppo, Cispo, ClipCov, CovarianceControl, DppoKl, DppoTv, Dro, DynamicClip, EntropyRatioClip,
    Evaluation, Executor, Gmpo, Gspo, HighEntropy, KlCov, LossOutput, PlanPart, PpoClip, Real,
    Sapo, ScoreFunction, Scored, Serial, SignWeight, Steer, Token, TokenBatch, Treatment,
    evaluate::evaluate,
    surrogate::{Plain, Surrogate},
    token_loss::TokenLoss,
    treatment::{Detaching, Dropping, Penalising, Reweighing},
};

/// A policy loss: the configuration is the algorithm.
///
/// In TOML the table names the loss, and a key that is left out has the default of its struct:
///
/// ```toml
/// [policy_loss.clip-cov]
/// fraction = 2e-4
/// covariance_low = 1.0
/// covariance_high = 5.0
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum PolicyLoss {
    /// Clipped surrogate (PPO; GRPO with group advantages).
    PpoClip(PpoClip),
    /// Clip-Cov.
    ClipCov(ClipCov),
    /// KL-Cov.
    KlCov(KlCov),
    /// Any selector of tokens by covariance, with any treatment, over any surrogate.
    CovarianceControl(CovarianceControl),
    /// CISPO: the clipped ratio as a weight.
    Cispo(Cispo),
    /// GSPO: the ratio of the sequence.
    Gspo(Gspo),
    /// GMPO: the geometric mean of the ratios of a sequence.
    Gmpo(Gmpo),
    /// SAPO: a smooth gate in place of the clip.
    Sapo(Sapo),
    /// DPPO with total variation.
    DppoTv(DppoTv),
    /// DPPO with the KL divergence.
    DppoKl(DppoKl),
    /// REINFORCE and GPG: the score function alone.
    Reinforce(ScoreFunction),
    /// DRO: a quadratic pull to the old policy.
    Dro(Dro),
    /// 80/20: the tokens of highest entropy alone.
    HighEntropy(HighEntropy),
    /// STEER: weights by the change of entropy.
    Steer(Steer),
    /// CE-GPPO: clipped tokens keep a bounded gradient.
    CeGppo(CeGppo),
    /// Positive and negative advantages weighed apart (NSR, PSR, weighted REINFORCE).
    SignWeight(SignWeight),
    /// ERC: tokens whose entropy changed too much are dropped.
    EntropyRatioClip(EntropyRatioClip),
    /// DCPO: bounds that depend on the old probability.
    DynamicClip(DynamicClip),
}

impl PolicyLoss {
    /// Evaluates the loss on the mini-batch or on any run of its tokens.
    ///
    /// Values, gradients and sums of the parts of a split mini-batch add up to those of the whole.
    ///
    /// # Panics
    ///
    /// If `plan` is not as long as `batch`, or `batch` lacks a column of [`requirements`](Self::requirements).
    #[expect(clippy::needless_pass_by_value, reason = "a part is a view, made for this call")]
    pub fn evaluate<R: Real>(
        &self,
        batch: &TokenBatch<'_, R>,
        plan: PlanPart<'_>,
    ) -> LossOutput<R> {
        let mut grad_log_prob = vec![R::default(); batch.len()];
        let Evaluation { value, sums } =
            self.evaluate_into(&Serial, batch, &plan, &mut grad_log_prob);
        LossOutput { value, grad_log_prob, sums }
    }

    /// The same, in pieces that `executor` runs, into a gradient that is there already, `[tokens]`. No
    /// bit depends on the executor.
    ///
    /// # Panics
    ///
    /// If `plan` or `gradient` is not as long as `batch`, or `batch` lacks a column.
    pub fn evaluate_into<R: Real>(
        &self,
        executor: &impl Executor,
        batch: &TokenBatch<'_, R>,
        plan: &PlanPart<'_>,
        gradient: &mut [R],
    ) -> Evaluation {
        self.evaluate_detached(executor, batch, batch.log_prob(), plan, gradient)
    }

    /// The same with the method's stop-gradients taken at `detached_log_prob`, `[tokens]`: the function
    /// whose slope at `detached_log_prob = log_prob` the gradient is. Only a check by differences
    /// passes anything else than `log_prob`.
    ///
    /// # Panics
    ///
    /// If a column is not as long as `batch`, or `batch` lacks one.
    pub fn evaluate_detached<R: Real>(
        &self,
        executor: &impl Executor,
        batch: &TokenBatch<'_, R>,
        detached_log_prob: &[R],
        plan: &PlanPart<'_>,
        gradient: &mut [R],
    ) -> Evaluation {
        assert_eq!(plan.len(), batch.len(), "a plan of the same tokens");
        assert_eq!(gradient.len(), batch.len(), "one slope per token");
        assert_eq!(detached_log_prob.len(), batch.len(), "one log-probability per token");
        self.visit(Evaluate { executor, batch, detached: detached_log_prob, plan, gradient })
    }

    /// One token's loss and slope, and what became of it.
    pub fn term<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        self.visit(Score { token })
    }

    /// Hands the scalar function of this loss to `visitor`.
    fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
        match self {
            Self::PpoClip(loss) => visitor.visit(&loss.surrogate()),
            Self::ClipCov(loss) => visit_control(&loss.control(), visitor),
            Self::KlCov(loss) => visit_control(&loss.control(), visitor),
            Self::CovarianceControl(loss) => visit_control(loss, visitor),
            Self::Cispo(loss) => visitor.visit(loss),
            Self::Gspo(loss) => visitor.visit(loss),
            Self::Gmpo(loss) => visitor.visit(loss),
            Self::Sapo(loss) => visitor.visit(loss),
            Self::DppoTv(loss) => visitor.visit(loss),
            Self::DppoKl(loss) => visitor.visit(loss),
            Self::Reinforce(loss) => visitor.visit(loss),
            Self::Dro(loss) => visitor.visit(loss),
            Self::HighEntropy(loss) => visitor.visit(loss),
            Self::Steer(loss) => visitor.visit(loss),
            Self::CeGppo(loss) => visitor.visit(loss),
            Self::SignWeight(loss) => visitor.visit(loss),
            Self::EntropyRatioClip(loss) => visitor.visit(loss),
            Self::DynamicClip(loss) => visitor.visit(loss),
        }
    }
}

fn visit_control<V: Visitor>(control: &CovarianceControl, visitor: V) -> V::Output {
    let base = control.base.surrogate();
    match control.treatment {
        Treatment::Drop => visitor.visit(&Dropping(base)),
        Treatment::Detach => visitor.visit(&Detaching(base)),
        Treatment::Reweight(reweight) => {
            visitor.visit(&Reweighing { base, factor: reweight.factor })
        }
        // KL-Cov: two thirds of the work, as nothing is compared with bounds that are not there.
        Treatment::Penalise(penalty) if base == Surrogate::PLAIN => {
            visitor.visit(&Penalising { base: Plain, penalty })
        }
        Treatment::Penalise(penalty) => visitor.visit(&Penalising { base, penalty }),
    }
}

/// Something to do with the scalar function of a loss, compiled for each.
trait Visitor {
    type Output;
    fn visit<L: TokenLoss>(self, loss: &L) -> Self::Output;
}

struct Evaluate<'a, 'b, E, R> {
    executor: &'a E,
    batch: &'a TokenBatch<'b, R>,
    detached: &'a [R],
    plan: &'a PlanPart<'a>,
    gradient: &'a mut [R],
}

impl<E: Executor, R: Real> Visitor for Evaluate<'_, '_, E, R> {
    type Output = Evaluation;

    fn visit<L: TokenLoss>(self, loss: &L) -> Evaluation {
        evaluate(self.executor, loss, self.batch, self.detached, self.plan, self.gradient)
    }
}

struct Score<'a, R> {
    token: &'a Token<R>,
}

impl<R: Real> Visitor for Score<'_, R> {
    type Output = Scored<R>;

    fn visit<L: TokenLoss>(self, loss: &L) -> Scored<R> {
        loss.score(self.token)
    }
}
