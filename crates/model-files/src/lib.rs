//! A model's directory beside its weights.
//!
//! | module | holds |
//! |---|---|
//! | [`dtype`], [`device`], [`lora`] | settings of a model: number format, device, adapters |
//! | [`buffer_limits`] | sizes that limit the buffers of a computation |
//! | [`model_config`] | `config.json` as a checked type |
//! | [`hub_name`] | names of models and data sets on the hub |
//! | [`model_place`] | the advice where a path holds no model |
//! | [`text_tokenizer`] | `tokenizer.json` and the end-of-sequence tokens |
//! | [`chat_template`] | a conversation as text |
//! | [`sampling`] | the distribution that a token is drawn from |
//! | [`stop_strings`] | the texts that end a response |

pub mod buffer_limits;
pub mod chat_template;
pub mod device;
pub mod dtype;
pub mod hub_name;
mod library_panic;
pub mod lora;
pub mod model_config;
pub mod model_place;
pub mod sampling;
mod section;
pub mod stop_strings;
pub mod text_tokenizer;
mod tokenizer_bounds;
