//! The CPU reference: random softmax policies and decision processes on which every statement of the
//! theory is checked numerically, by its order of convergence and by its bound.
//!
//! ```
//! let settings = softmax_sim::Settings { seed: 7, policies: 8, cases: 500 };
//! let report = softmax_sim::verify(&settings);
//! assert!(report.passed(), "{}", report.table(false));
//! ```

pub mod cart_pole;
#[cfg(feature = "cli")]
pub mod entropy_change;
pub mod environment;
pub mod experiment;
#[cfg(feature = "cli")]
pub mod fit_law;
#[cfg(feature = "cli")]
pub mod micro_batch;
pub mod perceptron;
pub mod population;
mod report;
#[cfg(feature = "cli")]
pub mod reproduce;
#[cfg(feature = "cli")]
pub mod result_file;
mod settings;
pub mod statement;
#[cfg(feature = "cli")]
pub mod sweep;
pub mod training;
mod verification;

pub use report::{Report, Row};
pub use verification::{Settings, verify, verify_watched};

// The example of the page that a registry shows.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
