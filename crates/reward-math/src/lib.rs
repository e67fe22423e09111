//! Decides whether a model's mathematical answer is right.
