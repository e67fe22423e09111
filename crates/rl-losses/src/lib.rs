//! Policy losses as value and gradient with respect to token log-probabilities; advantages and aggregation.
