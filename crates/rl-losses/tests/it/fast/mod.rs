//! Tests of `fast`.

mod real;
