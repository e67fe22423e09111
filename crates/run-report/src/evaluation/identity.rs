//! Fingerprints that tell if two evaluations use the same model and the same questions.

use std::path::{Path, PathBuf};

use question_data::prompt::Prompt;
use sha2::{Digest, Sha256};
use training_run::saved_rollouts::{fingerprint, weight_files};
use whole_file::FileError;

/// SHA-256 over configuration, tokenizer and weights of a model in one directory, or in two for an adapter. Files above 1 MiB
/// contribute their length and evenly spaced pieces.
///
/// # Errors
///
/// A file that cannot be read.
pub fn of_model(directories: &[&Path]) -> Result<String, FileError> {
    let mut files: Vec<PathBuf> = Vec::new();
    for directory in directories {
        let texts = ["config.json", "adapter_config.json", "tokenizer.json"];
        let texts = texts.map(|name| directory.join(name));
        files.extend(texts.into_iter().filter(|path| path.exists()));
        files.extend(weight_files(directory)?);
    }
    fingerprint(&files)
}

/// SHA-256 over prompts and answers: tokens of the prompts, and names and answers of the questions.
pub fn of_prompts(prompts: &[Prompt]) -> String {
    let mut hash = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    for Prompt { question, tokens } in prompts {
        add(question.id.as_bytes());
        add(question.answer.as_bytes());
        add(&tokens.iter().flat_map(|token| token.to_le_bytes()).collect::<Vec<u8>>());
    }
    format!("{:x}", hash.finalize())
}
