//! Behaviour of the losses: recorded cases, properties, snapshots, configuration.

mod advantages;
mod bad_input;
mod batches;
mod bucket_shares;
mod by_hand;
mod configuration;
mod conformance;
mod diagnostics;
mod edges;
mod exchange;
mod kl;
mod memory;
mod outcome_reward_model;
mod own_loss;
mod properties;
mod rollout_correction;
mod shares;
mod snapshots;
mod theory_vectors;
mod thermostat;
mod thermostat_on_a_policy;
mod torch_losses;
