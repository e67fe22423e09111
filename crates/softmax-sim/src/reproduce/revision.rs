//! The revision of a finding: a digest of the engine and of the code that its result depends on.

use super::engine::ENGINE;
use super::experiment::Finding;
use sha2::{Digest, Sha256};

/// Digest of all that the result of a finding depends on beside its setting: the engine and the finding's pages of
/// code; tests are left out.
pub fn revision(finding: &Finding) -> String {
    let code = finding.sources.iter().map(|code| code.split("#[cfg(test)]").next().unwrap_or(code));
    digest(&code.fold(ENGINE.to_owned(), |text, code| text + code))
}

/// SHA-256 of a text, its first 16 hexadecimal digits.
pub fn digest(text: &str) -> String {
    format!("{:.16x}", Sha256::digest(text))
}
