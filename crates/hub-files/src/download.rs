//! One file of the hub into the cache, whole or not at all.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use sha2::{Digest, Sha256};
use whole_file::FileError;

use crate::cache::{CachedRepository, on};
use crate::client::{Client, Failure, refused};
use crate::listing::RemoteFile;

/// Tries of a download, 1, 2, … seconds apart.
const TRIES: u64 = 3;

/// Reason why one try has failed.
enum Fault {
    /// The connection failed, and further tries may succeed; or the hub refuses the file.
    Hub(Failure),
    /// The content is not the listed one; `true` if a part of it was from an earlier try.
    Corrupt(String, bool),
    /// The cache cannot be written.
    Cache(io::Error),
}

/// Downloads `file` from the address `path` under the name of its checksum.
///
/// The content is written beside it as `….incomplete`, compared in length and checksum, then renamed.
pub(crate) fn download(
    client: &Client,
    name: &str,
    path: &str,
    file: &RemoteFile,
    repository: &CachedRepository,
) -> Result<(), FileError> {
    let blob = repository.blob(&file.checksum);
    let _lock = repository.lock(&file.checksum)?;
    if blob.is_file() {
        return Ok(());
    }
    let partial = blob.with_extension("incomplete");
    let mut tried = 1;
    loop {
        let place = format!("{name}: {}", file.name);
        let failed = |problem: String| Err(FileError::at(&place, problem));
        match attempt(client, path, file, &partial) {
            Ok(()) => return fs::rename(&partial, &blob).map_err(on(&blob)),
            Err(Fault::Cache(error)) => return Err(on(&partial)(error)),
            Err(Fault::Hub(Failure::Status(status))) => return failed(refused(status)),
            Err(Fault::Corrupt(problem, was_resumed)) => {
                fs::remove_file(&partial).map_err(on(&partial))?;
                if !was_resumed || tried >= TRIES {
                    return failed(format!("{problem}; nothing of it is kept"));
                }
            }
            Err(Fault::Hub(Failure::Unreachable(problem))) if tried >= TRIES => {
                let bytes = fs::metadata(&partial).map_or(0, |data| data.len());
                return failed(format!(
                    "the download broke off after {bytes} bytes: {problem} (the next start resumes it)"
                ));
            }
            Err(Fault::Hub(Failure::Unreachable(_))) => {
                std::thread::sleep(Duration::from_secs(tried));
            }
        }
        tried += 1;
    }
}

/// Continues or begins the file `partial`; it is whole and on the disk afterwards.
fn attempt(client: &Client, path: &str, file: &RemoteFile, partial: &Path) -> Result<(), Fault> {
    let mut options = File::options();
    let options = options.read(true).write(true).create(true).truncate(false);
    let mut into = options.open(partial).map_err(Fault::Cache)?;
    let kept = into.metadata().map_err(Fault::Cache)?.len();
    // A file without a checksum could not show that its beginning is the right one.
    let start = if file.sha256.is_some() && kept < file.bytes { kept } else { 0 };
    let (start, mut from) = client.open(path, start, file.bytes).map_err(Fault::Hub)?;
    let mut hash = Sha256::new();
    io::copy(&mut (&mut into).take(start), &mut hash).map_err(Fault::Cache)?;
    into.set_len(start).and_then(|()| into.seek(SeekFrom::Start(start))).map_err(Fault::Cache)?;
    let bytes = start + copy(&mut from, &mut into, &mut hash, file.bytes - start)?;
    if bytes < file.bytes {
        let problem = format!("{bytes} of {} bytes arrived", file.bytes);
        return Err(Fault::Hub(Failure::Unreachable(problem)));
    }
    if bytes > file.bytes {
        let problem =
            format!("the file is longer than {} bytes, its length on the hub", file.bytes);
        return Err(Fault::Corrupt(problem, start > 0));
    }
    let checksum = format!("{:x}", hash.finalize());
    if let Some(expected) = file.sha256.as_ref().filter(|expected| **expected != checksum) {
        let problem = format!("its SHA-256 is {checksum}, expected {expected}");
        return Err(Fault::Corrupt(problem, start > 0));
    }
    into.sync_all().map_err(Fault::Cache)
}

/// Copies at most one byte more than `most`.
fn copy(from: &mut impl Read, into: &mut File, hash: &mut Sha256, most: u64) -> Result<u64, Fault> {
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = 0;
    while bytes <= most {
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Fault::Hub(Failure::Unreachable(error.to_string()))),
        };
        into.write_all(&buffer[..count]).map_err(Fault::Cache)?;
        hash.update(&buffer[..count]);
        bytes += count as u64;
    }
    Ok(bytes)
}
