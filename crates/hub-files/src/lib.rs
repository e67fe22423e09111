//! Models and data sets of the Hugging Face hub, by name.
//!
//! The cache is that of `huggingface_hub`: `models--OWNER--NAME/{blobs,refs,snapshots}` in `HF_HUB_CACHE`. [`Hub`] asks the hub for
//! the commit of a revision and downloads the missing files. Without a network, or with `HF_HUB_OFFLINE=1`, the cache answers alone.

mod cache;
mod client;
mod data_files;
mod download;
mod hub;
mod listing;
mod model_parts;

pub use hub::Hub;
pub use model_parts::ModelParts;
