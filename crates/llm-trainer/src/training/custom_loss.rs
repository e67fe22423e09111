//! A custom policy loss in place of the configured one.

use std::fmt;
use std::sync::Arc;

use rl_losses::{LossOutput, PlanPart, PolicyLoss, TokenBatch, TokenLoss, evaluate_loss};

type OfTokens = dyn Fn(&TokenBatch<'_>, PlanPart<'_>) -> LossOutput + Send + Sync;

/// A custom policy loss: value and derivative of each token. The configured `algorithm.policy_loss` still chooses the tokens that
/// [`Token::selected`](rl_losses::Token::selected) marks.
#[derive(Clone)]
pub struct CustomLoss(Arc<OfTokens>);

impl CustomLoss {
    /// Wraps a loss.
    pub fn new(loss: impl TokenLoss + Send + 'static) -> Self {
        Self(Arc::new(move |tokens, plan| evaluate_loss(&loss, tokens, plan)))
    }
}

/// Evaluates the custom loss if there is one, else that of the registry.
pub(super) fn evaluate(
    registered: &PolicyLoss,
    custom: Option<&CustomLoss>,
    tokens: &TokenBatch<'_>,
    plan: PlanPart<'_>,
) -> LossOutput {
    match custom {
        Some(CustomLoss(evaluate)) => evaluate(tokens, plan),
        None => registered.evaluate(tokens, plan),
    }
}

impl fmt::Debug for CustomLoss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CustomLoss")
    }
}
