//! The paper's findings in a set of runs: methods on models, several seeds each.
//!
//! | module | holds |
//! |---|---|
//! | [`cell`] | the runs of a method on a model, and what is read of each |
//! | [`method`] | the methods, and the part that each plays |
//! | [`measure`], [`finding`] | a number over seeds with its target; the verdict |
//! | `collapse`, `law`, `covariance`, `control`, `ablation` | one finding a function |
//! | [`agreement`] | comparison with a study of other seeds |
//! | [`page`] | HTML, JSON and the page of the book |

mod ablation;
pub mod agreement;
pub mod cell;
mod collapse;
mod control;
mod covariance;
mod curve;
pub mod finding;
mod law;
pub mod measure;
pub mod method;
pub mod page;

use cell::Study;
use finding::Finding;

/// Judges every finding, in the order of the page.
pub fn findings(study: &Study) -> Vec<Finding> {
    let mut findings = Vec::from(control::findings(study));
    findings.extend([collapse::finding(study), law::law(study), law::forecast(study)]);
    findings.extend([law::algorithms(study), law::sizes(study), covariance::finding(study)]);
    findings.extend([ablation::ablations(study), ablation::knobs(study)]);
    findings
}
