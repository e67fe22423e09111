//! Tests of `method`.

mod vespo;
