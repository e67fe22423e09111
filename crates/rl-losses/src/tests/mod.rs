//! Properties of every method: the slope of the value, the bits on any number of threads, the tokens that come first.

#[path = "../../tests/it/batches.rs"]
#[expect(dead_code, reason = "some is for the tests from outside")]
mod batches;
mod selections;
mod slopes;
mod surrogates;
mod threads;
