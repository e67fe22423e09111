//! Nothing to import: the tests stand in `it/`.
