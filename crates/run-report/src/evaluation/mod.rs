//! What an evaluation says: how often a model is right, how sure that is, and how varied its responses are.
//!
//! | module | answers |
//! |---|---|
//! | [`response`] | what is kept of one response |
//! | [`majority`], [`diversity`] | the majority's answer; words in common |
//! | [`measures`] | every measure: its definition, and one value a problem |
//! | [`repeated_draws`] | verl's `best@k`, to compare with its logs |
//! | [`bootstrap`] | intervals, by drawing problems again |
//! | [`comparison`] | two evaluations, problem by problem |
//! | [`settings`], [`identity`], [`folder`] | what is evaluated and how; what it leaves on disk |
//! | [`table`] | the same for people |
//!
//! Every measure has one value a problem, and a set's value is their plain mean: problems, not responses, are what an
//! interval is drawn over. `docs/evaluation.md` defines each number.

pub mod bootstrap;
pub mod comparison;
pub mod diversity;
pub mod folder;
pub mod identity;
pub mod majority;
pub mod measures;
pub mod repeated_draws;
pub mod response;
pub mod settings;
pub mod table;
