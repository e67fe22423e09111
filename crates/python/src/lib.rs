//! The Python package `entropy_rl`: the verifier, the diagnostics of entropy and covariance, the
//! selections of Clip-Cov and KL-Cov, and the law of reward and entropy, for training codes in Python.
//!
//! The crate converts and calls; each formula is in one of the other crates. Around it stand modules for torch and for
//! trainers, `python/entropy_rl`. `_native.pyi` and `docs/python.md` document it for users.

#![expect(clippy::needless_pass_by_value, reason = "a function owns what Python passes to it")]
#![expect(clippy::doc_markdown, reason = "docstrings of Python are plain text")]

mod array;
mod batch;
mod column;
mod diagnostics;
mod divergence;
mod environment;
mod error;
mod law;
mod plan;
mod repr;
mod selection;
mod settings;
mod simulation;
mod theory;
mod trained;
mod verifier;

use pyo3::pymodule;

/// The compiled part of `entropy_rl`.
#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::diagnostics::{
        CovarianceSummary, EntropyChange, PromptInformation, Quadrant, Quadrants, Quantile,
        TopMean, covariance_summary, predicted_entropy_change, prompt_information, quadrants,
        token_covariances,
    };
    #[pymodule_export]
    use crate::divergence::{ClipFractions, Divergence, clip_fractions, divergence};
    #[pymodule_export]
    use crate::environment::Environment;
    #[pymodule_export]
    use crate::law::{Forecast, Law, fit_law, forecast};
    #[pymodule_export]
    use crate::plan::{Evaluation, StepPlan, methods, plan, presets};
    #[pymodule_export]
    use crate::selection::{clip_cov_mask, high_entropy_mask, kl_cov_mask};
    #[pymodule_export]
    use crate::simulation::{Curve, MiniBatch, Rollout, Simulation, StepReport};
    #[pymodule_export]
    use crate::theory::{SoftmaxPolicy, TheoryCheck, check_theory};
    #[pymodule_export]
    use crate::verifier::{Extracted, Verdict, explain, extract, grade, verify, verify_many};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
