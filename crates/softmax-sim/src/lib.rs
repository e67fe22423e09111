//! CPU reference simulator: proves the formulas numerically and exercises the losses.
