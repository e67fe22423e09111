//! Findings about the control of entropy: one baseline, two sizes of step, many methods.

mod arena;
mod clip_higher;
mod covariance_methods;
mod entropy_bonus;
mod knobs;
mod methods;
mod reference_kl;
mod show;
mod thermostat;

use super::Finding;

/// In the order of the report.
pub(super) const FINDINGS: [Finding; 7] = [
    entropy_bonus::FINDING,
    reference_kl::FINDING,
    clip_higher::FINDING,
    covariance_methods::FINDING,
    knobs::FINDING,
    thermostat::FINDING,
    methods::FINDING,
];
