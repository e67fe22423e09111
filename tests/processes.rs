//! Processes that a test starts: none outlives it, and none keeps it waiting for ever.

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::ops::Deref;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Far longer than any test takes: only what hangs is ended by it.
const HANG: Duration = Duration::from_mins(5);
/// How often a process is asked whether it has ended.
const LOOK: Duration = Duration::from_millis(5);

/// A TCP port of this host that no other process gets, and that one process may listen on.
///
/// The end of a closed connection holds it: the system hands out no port in use, yet lets a process listen on it, as no other
/// does.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _connection: [TcpStream; 2],
}

impl Port {
    /// Takes a free one.
    ///
    /// # Panics
    ///
    /// If this host has no loopback, or no port left.
    pub fn reserve() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let client = TcpStream::connect(address).expect("it listens");
        let (server, _client) = listener.accept().expect("somebody has connected");
        Self { number: address.port(), _connection: [client, server] }
    }

    /// Its number.
    pub fn number(&self) -> u16 {
        self.number
    }
}

/// A process, what it writes, and its end with the test that started it.
#[derive(Debug)]
pub struct Process {
    child: Child,
    stdout: Pipe,
    stderr: Pipe,
}

impl Process {
    /// Starts it.
    ///
    /// # Panics
    ///
    /// If there is no such program.
    pub fn start(command: &mut Command) -> Self {
        let spawned = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = spawned.expect("the program of a test runs");
        let stdout = Pipe::read(child.stdout.take().expect("piped"));
        let stderr = Pipe::read(child.stderr.take().expect("piped"));
        Self { child, stdout, stderr }
    }

    /// Standard output so far.
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.stdout.bytes()).into_owned()
    }

    /// Standard error so far.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr.bytes()).into_owned()
    }

    /// Waits for the end of the process, which must have ended, and returns all its output.
    fn output(&mut self) -> Output {
        let status = self.child.wait().expect("it was started here");
        let [stdout, stderr] = [&mut self.stdout, &mut self.stderr].map(Pipe::all);
        Output { status, stdout, stderr }
    }

    /// Returns true if it has ended with success, false if with failure, `None` if it still runs.
    fn ended(&mut self) -> Option<bool> {
        Some(self.child.try_wait().expect("it was started here")?.success())
    }

    fn kill(&mut self) {
        // It may have ended by now.
        let _ = self.child.kill();
    }
}

impl Deref for Process {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.child
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

/// A pipe, read as data arrives.
#[derive(Debug)]
struct Pipe {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Pipe {
    fn read(mut pipe: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&bytes);
        let reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = pipe.read(&mut buffer) {
                let mut bytes = into.lock().unwrap_or_else(PoisonError::into_inner);
                bytes.extend_from_slice(&buffer[..length]);
            }
        });
        Self { bytes, reader: Some(reader) }
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads to the end.
    fn all(&mut self) -> Vec<u8> {
        if let Some(reader) = self.reader.take() {
            reader.join().expect("reading does not panic");
        }
        self.bytes().clone()
    }
}

/// Waits until all have ended, and returns their outputs.
///
/// # Panics
///
/// If they hang.
pub fn finish(mut processes: Vec<Process>) -> Vec<Output> {
    let began = Instant::now();
    while processes.iter_mut().any(|process| process.ended().is_none()) {
        if began.elapsed() > HANG {
            processes.iter_mut().for_each(Process::kill);
            let outputs: Vec<String> =
                processes.iter_mut().map(|process| text(&process.output())).collect();
            panic!("{} s were not enough for\n{}", HANG.as_secs(), outputs.join("\n"));
        }
        thread::sleep(LOOK);
    }
    processes.iter_mut().map(Process::output).collect()
}

/// Waits until all have succeeded, and returns their outputs. A failure ends the others, which might wait for it.
///
/// # Panics
///
/// If one fails, with its output, or if they hang.
pub fn succeed(mut processes: Vec<Process>) -> Vec<Output> {
    let began = Instant::now();
    loop {
        let ended: Vec<_> = processes.iter_mut().map(Process::ended).collect();
        if let Some(failed) = ended.iter().position(|ended| *ended == Some(false)) {
            let output = text(&processes[failed].output());
            panic!("process {failed} of {}: {output}", processes.len());
        }
        if ended.iter().all(Option::is_some) || began.elapsed() > HANG {
            return finish(processes);
        }
        thread::sleep(LOOK);
    }
}

/// Status and all that was written, to be read by people.
pub fn text(output: &Output) -> String {
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    format!("{}: {stdout}{stderr}", output.status)
}

/// Waits until something is so.
///
/// # Panics
///
/// If it does not come about.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < HANG, "waited {} s until {what}", HANG.as_secs());
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Process {
        Process::start(Command::new("sh").args(["-c", script]))
    }

    #[test]
    fn a_reserved_port_is_given_to_nobody_and_may_be_listened_at() {
        let port = Port::reserve();
        let address = ("127.0.0.1", port.number());
        // A process that another test starts holds the listener until it becomes its program.
        wait_until("nobody listens", || {
            let refused = TcpStream::connect(address).err().map(|error| error.kind());
            refused == Some(std::io::ErrorKind::ConnectionRefused)
        });
        let _listener = TcpListener::bind(address).unwrap();
        TcpStream::connect(address).unwrap();
    }

    /// The other would sleep for longer than anybody waits.
    #[test]
    fn one_that_fails_ends_the_others() {
        let processes = vec![shell("exec sleep 100000"), shell("echo words; exit 3")];
        let sleeper = processes[0].id();
        let together = std::panic::AssertUnwindSafe(|| succeed(processes));
        let failed = std::panic::catch_unwind(together).unwrap_err();
        let message = failed.downcast_ref::<String>().unwrap();
        assert_eq!(message, "process 1 of 2: exit status: 3: words\n");
        assert!(!std::path::Path::new("/proc").join(sleeper.to_string()).exists());
    }

    #[test]
    fn all_that_is_written_is_kept() {
        // More than a pipe holds.
        let long = "i=0; while [ $i -lt 20000 ]; do echo 12345678; i=$((i+1)); done";
        let outputs = succeed(vec![shell("echo a"), shell(long)]);
        assert_eq!((outputs[0].stdout.as_slice(), outputs[1].stdout.len()), (&b"a\n"[..], 180_000));
        assert_eq!(finish(vec![shell("exit 7")])[0].status.code(), Some(7));
    }
}
