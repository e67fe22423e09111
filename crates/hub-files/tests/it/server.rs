//! A server in the hub's place, with faults.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use sha2::{Digest, Sha256};

pub(crate) const COMMIT: &str = "c1899de289a04d12100db370d81485cdf75e47ca";

/// Fault of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The connection ends after so many bytes of the first answers; `usize` counts those answers.
    BreaksOff(usize, usize),
    /// Bytes are other ones than those that the listing's checksum is of.
    OtherBytes,
    /// The file is longer than the listing says.
    Longer,
}

/// A repository behind HTTP.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) endpoint: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Serves `files`: name, content, and true for a large file, which has a SHA-256.
    pub(crate) fn start(
        kind: &str,
        files: &[(&str, &[u8], bool)],
        fault: Option<(&str, Fault)>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the test goes on");
        let endpoint = format!("http://{}", listener.local_addr().expect("the test goes on"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let siblings: Vec<String> = files.iter().map(sibling).collect();
        let listing = format!(r#"{{"sha": "{COMMIT}", "siblings": [{}]}}"#, siblings.join(","));
        let mut answers: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        answers.insert(format!("/api/{kind}/o/n/revision/main?blobs=true"), listing.clone().into());
        answers.insert(format!("/api/{kind}/o/n/revision/{COMMIT}?blobs=true"), listing.into());
        let prefix = if kind == "datasets" { "/datasets" } else { "" };
        let mut faults = BTreeMap::new();
        for (name, content, _) in files {
            let path = format!("{prefix}/o/n/resolve/{COMMIT}/{name}");
            let mut content = content.to_vec();
            match fault.filter(|(of, _)| of == name) {
                Some((_, Fault::OtherBytes)) => content[0] ^= 1,
                Some((_, Fault::Longer)) => content.push(0),
                Some((_, Fault::BreaksOff(bytes, times))) => {
                    faults.insert(path.clone(), (bytes, times));
                }
                None => {}
            }
            answers.insert(path, content);
        }
        let told = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                answer(stream, &answers, &mut faults, &told);
            }
        });
        Self { endpoint, asked }
    }

    /// Requests since the last call: path, and the range if there is one.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().expect("the test goes on"))
    }
}

fn sibling((name, content, is_large): &(&str, &[u8], bool)) -> String {
    let size = content.len();
    let blob = format!("{:0>40x}", size + name.len());
    let sha256 = format!("{:x}", Sha256::digest(content));
    let large = format!(r#", "lfs": {{"sha256": "{sha256}", "size": {size}, "pointerSize": 134}}"#);
    let large = if *is_large { large } else { String::new() };
    format!(r#"{{"rfilename": "{name}", "size": {size}, "blobId": "{blob}"{large}}}"#)
}

fn answer(
    mut stream: TcpStream,
    answers: &BTreeMap<String, Vec<u8>>,
    faults: &mut BTreeMap<String, (usize, usize)>,
    told: &Mutex<Vec<String>>,
) {
    let mut lines = BufReader::new(stream.try_clone().expect("the test goes on")).lines();
    let first = lines.next().expect("the test goes on").expect("the test goes on");
    let path = first.split(' ').nth(1).expect("the test goes on").to_owned();
    let mut start = 0;
    for line in lines.map(|line| line.expect("a request")).take_while(|line| !line.is_empty()) {
        if let Some(range) = line.to_ascii_lowercase().strip_prefix("range: bytes=") {
            start = range.trim_end_matches('-').parse().expect("the test goes on");
        }
    }
    let range = if start > 0 { format!(" from {start}") } else { String::new() };
    told.lock().expect("the test goes on").push(format!("{path}{range}"));
    let Some(content) = answers.get(&path) else {
        let _ = stream
            .write_all(b"HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        return;
    };
    let status = if start > 0 { "206 Partial Content" } else { "200 OK" };
    let rest = &content[start..];
    let head =
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", rest.len());
    let mut sent = rest.len();
    if let Some((bytes, times)) = faults.get_mut(&path).filter(|(_, times)| *times > 0) {
        *times -= 1;
        sent = (*bytes).min(sent);
    }
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&rest[..sent]));
}
