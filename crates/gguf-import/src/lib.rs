//! GGUF files to Hugging Face directories, without any tensor library.
//!
//! | module | answers |
//! |---|---|
//! | [`reader`], [`metadata`] | what stands in the file, every length checked against its size |
//! | [`dequantise`] | which numbers a quantised block means |
//! | [`names`], [`hyperparameters`] | which Hugging Face tensor each of its tensors is, and the `config.json` |
//! | [`tokenizer`] | the `tokenizer.json` behind its vocabulary |
//! | [`import`](mod@import) | all of it, into a directory that appears whole or not at all |
//!
//! Source of the format: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>.

pub mod dequantise;
pub mod error;
pub mod hyperparameters;
pub mod import;
pub mod metadata;
pub mod names;
pub mod reader;
mod safetensors_stream;
mod tensor_dtype;
pub mod tokenizer;

pub use error::GgufError;
pub use import::{ImportOptions, ImportProgress, ImportSummary, TiePolicy, import};
pub use reader::GgufFile;
pub use tensor_dtype::TensorDtype;
