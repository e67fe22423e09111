//! A browser of Chromium's family, headless and without network.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Names of the executable.
const NAMES: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];

/// Hosts that the browser contacts by itself, whatever page it shows.
const ITS_OWN: [&str; 4] = ["google.com", "googleapis.com", "gstatic.com", "googleusercontent.com"];

/// An installed browser.
pub(crate) struct Chromium(PathBuf);

/// Output and requests of a visit to a page.
#[derive(Debug)]
pub(crate) struct Visit {
    /// Standard output of the browser.
    pub(crate) output: String,
    /// Lines of the page's console.
    pub(crate) console: Vec<String>,
    /// First lines of the requests that the page sent; the browser's own are left out.
    pub(crate) asked: Vec<String>,
}

impl Chromium {
    /// Finds the browser that `BROWSER` names, or one on the path.
    pub(crate) fn find() -> Option<Self> {
        if let Some(named) = std::env::var_os("BROWSER") {
            return Some(Self(named.into()));
        }
        let path = std::env::var_os("PATH")?;
        let places: Vec<PathBuf> = std::env::split_paths(&path).collect();
        NAMES
            .iter()
            .flat_map(|name| places.iter().map(move |place| place.join(name)))
            .find(|candidate| candidate.is_file())
            .map(Self)
    }

    /// Opens a file with a fresh profile; every request that would leave the machine ends at a proxy that records it.
    pub(crate) fn visit(&self, page: &Path, options: &[&str]) -> Visit {
        let profile = tempfile::tempdir().expect("a temporary folder");
        let proxy = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = proxy.local_addr().expect("a bound address").port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in proxy.incoming().flatten() {
                note(stream, &notes);
            }
        });
        let output = Command::new(&self.0)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ])
            .args(["--disable-extensions", "--disable-default-apps", "--hide-scrollbars"])
            // The probe reads the page beside it.
            .args(["--allow-file-access-from-files", "--enable-logging=stderr"])
            .arg(format!("--proxy-server=http://127.0.0.1:{port}"))
            .arg("--proxy-bypass-list=<-loopback>")
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .args(options)
            .arg(format!("file://{}", page.display()))
            .stdin(Stdio::null())
            .output()
            .unwrap_or_else(|error| panic!("{} does not start: {error}", self.0.display()));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let console = errors.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned);
        let asked = asked.lock().expect("no thread panicked").clone();
        Visit {
            output: String::from_utf8_lossy(&output.stdout).into_owned(),
            console: console.collect(),
            asked: asked.into_iter().filter(|line| !is_its_own(line)).collect(),
        }
    }
}

/// Records the first line of a request and refuses it.
fn note(mut stream: TcpStream, notes: &Mutex<Vec<String>>) {
    let mut buffer = [0; 2048];
    let waited = stream.set_read_timeout(Some(Duration::from_secs(2)));
    if let (Ok(()), Ok(length)) = (waited, stream.read(&mut buffer)) {
        let request = String::from_utf8_lossy(&buffer[..length]);
        if let (Some(line), Ok(mut notes)) = (request.lines().next(), notes.lock()) {
            notes.push(line.to_owned());
        }
        // A browser that has quit needs no answer.
        let _ = stream
            .write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }
}

/// True if a request goes to the maker of the browser: `GET http://HOST/… HTTP/1.1` or `CONNECT HOST:443 HTTP/1.1`.
fn is_its_own(line: &str) -> bool {
    let target = line.split(' ').nth(1).unwrap_or_default();
    let host =
        target.split("://").last().unwrap_or_default().split(['/', ':']).next().unwrap_or_default();
    ITS_OWN.iter().any(|suffix| host == *suffix || host.ends_with(&format!(".{suffix}")))
}
