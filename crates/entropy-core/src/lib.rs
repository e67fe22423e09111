//! Softmax-policy mathematics over slices of `f64`: entropy, covariance, the entropy-change lemma and
//! theorems with a rigorous bound, covariances of tokens, and the law that ties reward to entropy.
//!
//! Every formula has its derivation in `docs/theory.md`; the anchors are named in the items' own
//! documentation. The crate knows no tensors, files, clocks or threads.
//!
//! ```
//! use entropy_core::{Categorical, UpdateRule};
//!
//! let policy = Categorical::from_logits(&[1.0, -0.5, 0.25])?;
//! let advantage = [0.5, -1.0, 0.2];
//! let step = UpdateRule::NaturalPolicyGradient.step(&policy, &advantage, 1e-2);
//! let error = policy.entropy_change(&step) - policy.entropy_change_first_order(&step);
//! assert!(error.abs() <= policy.remainder_bound(&step));
//! # Ok::<(), entropy_core::LogitsError>(())
//! ```

mod binary_split;
mod categorical;
mod covariance_estimate;
mod covariance_summary;
mod entropy_band;
mod entropy_change;
mod exact;
mod exchange_rate;
mod finite_step;
mod forecast;
mod generalised_entropy;
mod group_clock;
mod input_error;
mod interval;
pub mod kernel;
mod line_fit;
mod log_linear;
pub mod logit_step;
mod natural_flow;
mod paired_moments;
mod performance_law;
mod policy_gradient_flow;
pub mod predicted_change;
mod prompt_information;
mod quadrants;
mod root;
mod sequence;
mod size_scaling;
mod summation;
mod token_covariance;
mod update_effect;

pub use binary_split::BinarySplit;
pub use categorical::{Categorical, LogitsError};
pub use covariance_estimate::{CovarianceDecomposition, CovarianceEstimate};
pub use covariance_summary::{CovarianceSummary, Quantile, TopMean, quantile};
pub use entropy_band::{
    AtTemperature, EntropyBand, entropy_at_temperature, temperature_of_entropy,
};
pub use exchange_rate::ExchangeRate;
pub use finite_step::{EntropyIdentities, StepDivergence};
pub use forecast::Forecast;
pub use group_clock::grpo_clock;
pub use input_error::{InputError, check_update};
pub use interval::Interval;
pub use line_fit::LineFit;
pub use log_linear::{FeatureState, StateFeatures, compatible_weights, shared_policy_gradient};
pub use logit_step::UpdateRule;
pub use natural_flow::{FlowPoint, NaturalFlow, same_curve_time};
pub use paired_moments::PairedMoments;
pub use performance_law::{FitError, PerformanceLaw};
pub use policy_gradient_flow::PolicyGradientFlow;
pub use prompt_information::{PromptInformation, prompt_information};
pub use quadrants::{Quadrant, Quadrants};
pub use sequence::{SequenceEntropyChange, StateGraph};
pub use size_scaling::SizeScaling;
pub use token_covariance::{
    TokenCentre, state_token_covariance, state_token_covariances, token_covariances,
};
pub use update_effect::UpdateEffect;

// The example of the page that a registry shows.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
