//! Tests of `perceptron`.

mod adam;
