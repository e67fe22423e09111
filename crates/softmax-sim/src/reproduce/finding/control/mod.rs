//! Findings about the control of entropy: one baseline, two sizes of step, many methods.

mod arena;
pub(super) mod clip_higher;
pub(super) mod covariance_methods;
pub(super) mod entropy_bonus;
mod grids;
pub(super) mod knobs;
pub(super) mod reference_kl;
pub(super) mod same_budget;
mod show;
pub(super) mod thermostat;
