//! Findings about the control of entropy: one baseline, two sizes of step, many methods.

mod arena;
mod clip_higher;
mod covariance_methods;
mod entropy_bonus;
mod grids;
mod knobs;
mod methods;
mod reference_kl;
mod same_budget;
mod show;
mod thermostat;

use super::Finding;

/// In the order of the report.
pub(super) const FINDINGS: [Finding; 8] = [
    entropy_bonus::FINDING,
    reference_kl::FINDING,
    clip_higher::FINDING,
    covariance_methods::FINDING,
    knobs::FINDING,
    thermostat::FINDING,
    methods::FINDING,
    same_budget::FINDING,
];
