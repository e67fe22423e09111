//! The half of the trainer that needs no libtorch: configuration, data, prompts, metrics, manifests, reports.
//!
//! | module | answers |
//! |---|---|
//! | [`config`] | what a run is, checked before anything starts |
//! | [`dataset`], [`question_key`], [`data_check`], [`arithmetic`], [`prompt`], [`chat_template`], [`text_tokenizer`] | which tokens a question becomes |
//! | [`counter_rng`], [`schedule`], [`packing`], [`dealing`] | the numbers a step needs: noise, learning rate, micro-batches, who does what |
//! | [`stop_strings`], [`ground_truth`], [`code_tasks`] | where a response ends, and whether it is right |
//! | [`dynamic_sampling`], [`overlong`] | which responses a step trains on |
//! | [`evaluation`] | how often a model is right, how sure that is, and how varied its responses are |
//! | [`metrics`], [`tensorboard`], [`run_directory`], [`saved_rollouts`], [`atomic_write`] | what a run leaves on disk |
//! | [`bounded_read`] | how much of a stranger's file is read |
//! | [`resume`], [`manifest`], [`retention`], [`deadline`] | where a run starts, whether a checkpoint is whole, which stay, and when the last must be written |
//! | [`report`], [`export`] | what a person sees of it, and other programs |
//! | [`run_law`], [`token_record`] | what reward cost in entropy, and what is known of each token |
//! | [`run_view`], [`inspect`] | a run as its folder shows it, and on a terminal |
//! | [`plan`] | whether a run fits, what it sends, how long it takes |
//! | [`preflight`] | whether it can learn, from a few samples |
//! | [`model_config`], [`gguf`] | what a model is, and how one comes out of a GGUF file |

pub mod arithmetic;
pub mod atomic_write;
pub mod bounded_read;
pub mod chat_template;
pub mod code_tasks;
pub mod config;
pub mod counted;
pub mod counter_rng;
pub mod data_check;
pub mod dataset;
pub mod deadline;
pub mod dealing;
pub mod dynamic_sampling;
pub mod evaluation;
pub mod export;
pub mod gguf;
pub mod ground_truth;
pub mod inspect;
pub mod manifest;
pub mod metrics;
pub mod model_config;
pub mod model_place;
pub mod overlong;
pub mod packing;
pub mod plain_words;
pub mod plan;
pub mod preflight;
pub mod prompt;
pub mod question_key;
pub mod question_order;
pub mod report;
pub mod resume;
pub mod retention;
pub mod run_directory;
pub mod run_law;
pub mod run_view;
pub mod saved_rollouts;
pub mod schedule;
pub mod stop_strings;
pub mod tensorboard;
pub mod text_tokenizer;
pub mod token_record;
