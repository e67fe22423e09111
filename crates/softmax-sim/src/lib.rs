//! The CPU reference: random softmax policies and decision processes on which every statement of the
//! theory is checked numerically, by its order of convergence and by its bound.
//!
//! ```
//! let report = softmax_sim::verify(7, 5);
//! assert!(report.passed(), "{}", report.table());
//! ```

pub mod cart_pole;
pub mod decision_process;
pub mod entropy_change;
pub mod environment;
pub mod perceptron;
pub mod policy_table;
pub mod population;
mod report;
pub mod reproduce;
pub mod statement;
pub mod sweep;
pub mod training;

pub use report::{Report, Row, WriteError};

use population::Population;

/// Numbers of actions of the random policies: the least, a few, and enough for a logarithm to show.
pub const ACTIONS: [usize; 3] = [2, 8, 64];

/// Checks Lemma 1, Proposition 1 and Theorems 1 and 2 on random policies drawn from `seed`:
/// `policies` of them for each of the [`ACTIONS`].
///
/// The result depends on the two arguments alone, never on the number of threads.
pub fn verify(seed: u64, policies: usize) -> Report {
    let populations = ACTIONS.map(|actions| Population::random(seed, policies, actions));
    let rows = [
        statement::lemma1::check(&populations, statement::lemma1::predict),
        statement::proposition1::check(&populations, seed, statement::proposition1::step),
        statement::theorem1::check(&populations, statement::theorem1::predict),
        statement::theorem2::check(&populations, statement::theorem2::predict),
    ];
    Report { seed, rows: rows.concat() }
}
