//! Tests of `study`.

mod agreement;
mod cell;
mod finding;
mod measure;
