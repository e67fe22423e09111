//! Evaluation of a model: its accuracy, the intervals of it, and the diversity of responses.
//!
//! | module | answers |
//! |---|---|
//! | [`response`] | one response with its verdict |
//! | [`majority`], [`diversity`] | the majority's answer; word overlap |
//! | [`measures`] | every measure: its definition, and one value per problem |
//! | [`bootstrap`] | intervals, by resampling problems |
//! | [`comparison`] | two evaluations, problem by problem |
//! | [`settings`], [`identity`], [`folder`] | settings; fingerprints of model and questions; files |
//! | [`table`] | results in Markdown |
//!
//! Every measure has one value per problem; a set's value is their plain mean. Intervals resample problems, not responses.
//! `docs/evaluation.md` defines each number.

pub mod bootstrap;
pub mod comparison;
pub mod diversity;
pub mod folder;
pub mod identity;
pub mod majority;
pub mod measures;
pub mod response;
pub mod settings;
pub mod table;
