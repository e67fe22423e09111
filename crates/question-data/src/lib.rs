//! Questions with known answers.
//!
//! | module | holds |
//! |---|---|
//! | [`dataset`] | questions of a file, whatever the layout of its rows |
//! | [`arithmetic`] | made-up questions |
//! | [`question_key`], [`data_check`] | equal questions, and the defects of a file |
//! | [`ground_truth`] | a known answer, and the verdict on a response |
//! | [`prompt`] | a question as token ids |
//! | [`question_order`] | the order that a run asks in |

pub mod arithmetic;
pub mod data_check;
pub mod dataset;
pub mod ground_truth;
pub mod prompt;
pub mod question_key;
pub mod question_order;
