//! Arithmetic that is fast and exact.

mod real;
