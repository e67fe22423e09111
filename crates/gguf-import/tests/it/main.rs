//! Importing GGUF files: block formats, whole tiny models, broken files, the real files if present.

mod blocks;
mod broken_files;
mod builder;
mod real_files;
mod tiny_models;
