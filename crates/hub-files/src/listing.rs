//! Files of a repository, as the hub lists them.

use std::path::{Component, Path};

use serde::Deserialize;
use whole_file::FileError;

use crate::cache::is_commit;

/// A revision's commit and files.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) commit: String,
    pub(crate) files: Vec<RemoteFile>,
}

/// One file of the hub.
#[derive(Debug, Clone)]
pub(crate) struct RemoteFile {
    /// Path within the repository, of plain parts alone.
    pub(crate) name: String,
    pub(crate) bytes: u64,
    /// Name of its content in the cache: SHA-256 of a large file, Git's hash of a small one.
    pub(crate) checksum: String,
    /// SHA-256 of the content; of large files alone.
    pub(crate) sha256: Option<String>,
}

#[derive(Deserialize)]
struct Answer {
    sha: String,
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sibling {
    rfilename: String,
    size: Option<u64>,
    blob_id: Option<String>,
    lfs: Option<LargeFile>,
}

#[derive(Deserialize)]
struct LargeFile {
    sha256: String,
    size: u64,
}

impl Listing {
    /// Reads the answer to `api/…/revision/…?blobs=true`.
    pub(crate) fn read(name: &str, text: &[u8]) -> Result<Self, FileError> {
        let wrong =
            |problem: String| FileError::at(name, format_args!("the hub's answer {problem}"));
        let answer: Answer = serde_json::from_slice(text)
            .map_err(|error| wrong(format!("is no listing of files: {error}")))?;
        if !is_commit(&answer.sha) {
            return Err(wrong(format!("names the commit {:?}, expected 40 digits", answer.sha)));
        }
        let file = |Sibling { rfilename, size, blob_id, lfs }: Sibling| {
            let plain = |part| matches!(part, Component::Normal(_));
            let is_plain = !rfilename.is_empty() && Path::new(&rfilename).components().all(plain);
            // A control character would command the terminal that is told of the file.
            if !is_plain || rfilename.contains("//") || rfilename.contains(char::is_control) {
                return Err(wrong(format!(
                    "lists the file {rfilename:?}, expected a path below it"
                )));
            }
            let sha256 = lfs.as_ref().map(|lfs| lfs.sha256.clone());
            let bytes = lfs.map(|lfs| lfs.size).or(size);
            let checksum = sha256.clone().or(blob_id).filter(|text| is_hash(text));
            match (bytes, checksum) {
                (Some(bytes), Some(checksum)) => {
                    Ok(RemoteFile { name: rfilename, bytes, checksum, sha256 })
                }
                _ => Err(wrong(format!("has no size or no hash of {rfilename}"))),
            }
        };
        let files = answer.siblings.into_iter().map(file).collect::<Result<_, _>>()?;
        Ok(Self { commit: answer.sha, files })
    }
}

fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(sibling: &str) -> String {
        let commit = "c".repeat(40);
        let text = format!(r#"{{"sha": "{commit}", "siblings": [{sibling}]}}"#);
        Listing::read("o/n", text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_listing_cannot_name_a_file_outside_of_the_cache() {
        let blob = "b".repeat(40);
        for name in ["../x", "/etc/passwd", "a/../b", "", "./x", "a//b"] {
            let text =
                problem(&format!(r#"{{"rfilename": "{name}", "size": 1, "blobId": "{blob}"}}"#));
            assert_eq!(
                text,
                format!("o/n: the hub's answer lists the file {name:?}, expected a path below it")
            );
        }
        let text = problem(r#"{"rfilename": "x\u001b[2J"}"#);
        assert!(text.contains(r#"lists the file "x\u{1b}[2J", expected"#), "{text}");
        let text = problem(r#"{"rfilename": "x", "size": 1, "blobId": "../../x"}"#);
        assert_eq!(text, "o/n: the hub's answer has no size or no hash of x");
    }
}
