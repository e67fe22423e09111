//! The formulas against closed forms, recorded oracles and properties, through the public interface.

mod binary_split;
mod covariance_summary;
mod docs;
mod entropy_band;
mod exchange_rate;
mod generalised_entropy;
mod group_clock;
mod kernel;
mod law_intervals;
mod line_fit;
mod oracle;
mod paired_moments;
mod performance_law;
mod policy_gradient_flow;
mod prompt_information;
mod properties;
mod quadrants;
mod regularised_steps;
mod sequence;
mod shared_features;
mod size_scaling;
mod token_covariance;
