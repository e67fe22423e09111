//! The losses and estimators that a trainer can feed.

use rl_losses::{AdvantageEstimator, Column, EstimatorEntry, PolicyLoss, estimators};

/// Lists the estimators that a trainer can feed.
pub(super) fn feedable() -> impl Iterator<Item = EstimatorEntry> {
    estimators().into_iter().filter(|entry| unfed_column_of_estimator(&entry.default).is_none())
}

/// The column that an estimator needs and the trainer does not have.
pub(super) fn unfed_column_of_estimator(estimator: &AdvantageEstimator) -> Option<&'static str> {
    // The trainer has the column of an implicit reward model, and the policy's own.
    const FED: [&str; 2] = ["process_log_ratio", "squared_scores"];
    estimator.required_column().filter(|column| !FED.contains(column))
}

/// The column that a loss needs and the trainer does not have.
pub(super) fn unfed_column_of_loss(loss: &PolicyLoss, has_reference: bool) -> Option<Column> {
    let unfed = |column: &Column| *column == Column::ReferenceLogProb && !has_reference;
    loss.requirements().into_iter().find(unfed)
}
