//! Advantage estimators one by one, on rewards by hand.

mod catalogue;
mod columns;
mod generalised;
mod group_baseline;
mod implicit_reward;
mod pass_at_k;
mod returns;
mod token_baseline;
mod whitening;
