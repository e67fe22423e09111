//! Findings of a study of several methods and seeds.

mod agreement;
mod cell;
mod finding;
mod findings;
mod measure;
