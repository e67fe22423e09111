//! A reader that closes its end of the pipe, as `head` does.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitStatus, Stdio};

/// Exit status that a shell shows for a program that `SIGPIPE` ended.
const CLOSED_PIPE: i32 = 141;

/// Runs the command with `lines` lines of input, and closes its output after `read` lines, or before it starts if that is 0.
/// Returns its exit status and standard error.
fn closed_after(
    read: usize,
    arguments: &[&str],
    input: &str,
    lines: usize,
) -> (ExitStatus, String) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut reader = (read > 0).then(|| BufReader::with_capacity(1, reader));
    let mut child = Command::new(env!("CARGO_BIN_EXE_softmax-sim"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built with the tests");
    let mut to_child = child.stdin.take().expect("a pipe");
    let input = input.to_owned();
    let feeder = std::thread::spawn(move || {
        for _ in 0..lines {
            // The command ends before it has read all.
            if to_child.write_all(input.as_bytes()).is_err() {
                return;
            }
        }
    });
    for _ in 0..read {
        let mut line = String::new();
        let out = reader.as_mut().expect("there is something to read");
        assert!(out.read_line(&mut line).expect("output is text") > 0, "no line to read");
    }
    drop(reader);
    let ended = child.wait_with_output().expect("the command ends");
    feeder.join().expect("the feeder ends with the command");
    (ended.status, String::from_utf8(ended.stderr).expect("complaints are text"))
}

#[test]
fn a_calculator_that_nobody_reads_ends_quietly() {
    let line = "{\"logits\": [0, 1], \"advantages\": [1, 0], \"eta\": 0.5, \"rule\": \"pg\"}\n";
    let (status, complaints) = closed_after(1, &["entropy-change"], line, 100_000);
    assert_eq!((status.code(), complaints.as_str()), (Some(CLOSED_PIPE), ""));
}

#[test]
fn a_table_that_nobody_reads_is_no_error_and_its_file_is_written() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let file = folder.path().join("rows.json");
    let path = file.to_str().expect("a path of text");
    let arguments = ["verify", "--policies", "8", "--cases", "20", "--json", path];
    let (status, complaints) = closed_after(0, &arguments, "", 0);
    assert_eq!(status.code(), Some(CLOSED_PIPE), "{complaints}");
    assert!(complaints.lines().all(|line| line.starts_with("verify: ")), "{complaints}");
    assert!(std::fs::metadata(&file).is_ok_and(|file| file.len() > 0));
}

#[test]
fn other_commands_end_as_quietly() {
    let rows = "entropy,reward\n0.5,0.6\n0.4,0.7\n0.2,0.8\n0.1,0.85\n";
    for (arguments, input) in [
        (vec!["fit-law"], rows),
        (vec!["reproduce", "--list"], ""),
        (vec!["bench", "--sizes", "1x8", "--seconds", "0.01"], ""),
    ] {
        let (status, complaints) = closed_after(0, &arguments, input, 1);
        assert_eq!((status.code(), complaints.as_str()), (Some(CLOSED_PIPE), ""), "{arguments:?}");
    }
}
