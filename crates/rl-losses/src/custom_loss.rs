//! A custom policy loss in place of one of the registry.

use std::{fmt, sync::Arc};

use crate::{LossOutput, PlanPart, TokenBatch, TokenLoss, evaluate_loss};

type Evaluate = dyn Fn(&TokenBatch<'_>, PlanPart<'_>) -> LossOutput + Send + Sync;

/// A custom policy loss, for the trainers of this workspace. The configured loss still chooses the tokens that
/// [`Token::selected`](crate::Token::selected) marks.
#[derive(Clone)]
pub struct CustomLoss(Arc<Evaluate>);

impl CustomLoss {
    /// Wraps the value and derivative of a token.
    pub fn new(loss: impl TokenLoss + Send + 'static) -> Self {
        Self::of_batch(move |batch, plan| evaluate_loss(&loss, batch, plan))
    }

    /// Wraps a function of the tokens of a micro-batch: value, derivatives by log-probability `[tokens]` and sums, such that those
    /// of the parts of a mini-batch add up.
    pub fn of_batch(
        evaluate: impl Fn(&TokenBatch<'_>, PlanPart<'_>) -> LossOutput + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(evaluate))
    }

    /// Evaluates the loss.
    pub fn evaluate(&self, batch: &TokenBatch<'_>, plan: PlanPart<'_>) -> LossOutput {
        (self.0)(batch, plan)
    }
}

impl fmt::Debug for CustomLoss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CustomLoss")
    }
}
