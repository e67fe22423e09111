//! The formulas against values computed with 45 to 1600 digits.
//!
//! `tests/data/theory_vectors.json` holds decimal strings; its `meta` states the tolerances used here.

mod cancelling;
mod cases;
mod fits;
mod flows;
mod population;
mod tokens;
mod vectors;
