//! The Python package `entropy_rl`: the verifier, the diagnostics of entropy and covariance, the
//! selections of Clip-Cov and KL-Cov, and the law of reward and entropy, for training codes in Python.
//!
//! The package converts and calls; each formula is in one of the other crates. `entropy_rl.pyi` and
//! `docs/python.md` document it for users.

#![expect(clippy::needless_pass_by_value, reason = "a function owns what Python passes to it")]
#![expect(clippy::doc_markdown, reason = "docstrings of Python are plain text")]

mod column;
mod diagnostics;
mod divergence;
mod error;
mod law;
mod selection;
mod verifier;

use pyo3::pymodule;

/// Verifier of mathematical answers, entropy diagnostics, Clip-Cov and KL-Cov masks, and the R-H law.
///
/// Columns are numpy arrays of float32 or float64, or sequences of floats, with one value per trained
/// token: sequences are concatenated without padding. Log-probabilities and entropies are in nats; shares
/// are fractions. An invalid value raises ValueError, an argument of a wrong type TypeError.
#[pymodule]
mod entropy_rl {
    #[pymodule_export]
    use crate::diagnostics::{
        CovarianceSummary, EntropyChange, Quadrant, Quadrants, Quantile, TopMean,
        covariance_summary, predicted_entropy_change, quadrants, token_covariances,
    };
    #[pymodule_export]
    use crate::divergence::{ClipFractions, Divergence, clip_fractions, divergence};
    #[pymodule_export]
    use crate::law::{Forecast, Law, fit_law, forecast};
    #[pymodule_export]
    use crate::selection::{clip_cov_mask, high_entropy_mask, kl_cov_mask};
    #[pymodule_export]
    use crate::verifier::{Extracted, Verdict, explain, extract, grade, verify, verify_many};
}
