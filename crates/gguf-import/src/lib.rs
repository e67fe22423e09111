//! GGUF files to Hugging Face directories, without any tensor library.
//!
//! | module | answers |
//! |---|---|
//! | `reader`, `metadata` | what stands in the file, every length checked against its size |
//! | [`dequantise`] | which numbers a quantised block means |
//! | `names`, `hyperparameters` | which Hugging Face tensor each of its tensors is, and the `config.json` |
//! | `tokenizer` | the `tokenizer.json` behind its vocabulary |
//! | `import` | all of it, into a directory that appears whole or not at all |
//!
//! Source of the format: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>.

pub mod dequantise;
mod error;
mod hyperparameters;
mod import;
mod metadata;
mod names;
mod reader;
mod safetensors_stream;
mod tensor_dtype;
mod tokenizer;

pub use error::GgufError;
pub use import::{ImportOptions, ImportProgress, ImportSummary, TiePolicy, import};
pub use reader::GgufFile;
pub use tensor_dtype::TensorDtype;
