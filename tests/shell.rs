//! A real bash, and a real formatter of manual pages.

use std::io::Write;
use std::process::{Command, Output, Stdio};

fn bash(arguments: &[&str], script: &str) -> Output {
    let mut child = Command::new("bash")
        .args(["--norc", "--noprofile"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("bash runs");
    child.stdin.take().expect("piped").write_all(script.as_bytes()).expect("bash reads a script");
    child.wait_with_output().expect("bash ends")
}

/// Runs a program and returns its standard output.
///
/// # Panics
///
/// If it cannot be started, fails, or writes something other than text.
pub fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Succeeds if bash parses a script without a message.
///
/// # Errors
///
/// The message of bash.
pub fn accepts(script: &str) -> Result<(), String> {
    let output = bash(&["-n", "-s"], script);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() && message.is_empty() { Ok(()) } else { Err(message) }
}

/// Returns bash's completions of the last of `words`, with the completion script loaded, by the function that `complete -p`
/// reports for the first word.
///
/// # Errors
///
/// If nothing is registered, or the message of bash.
///
/// # Panics
///
/// If there are fewer than two words.
pub fn completions(script: &str, words: &[&str]) -> Result<Vec<String>, String> {
    let [.., previous, current] = words else { panic!("a program and what is typed after it") };
    let program = words[0];
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    // `compopt` works only while bash itself completes.
    let question = format!(
        "\ncompopt() {{ :; }}\nregistered=$(complete -p '{program}') || exit 3\nset -- $registered\n\
         while [ \"$1\" != -F ]; do shift || exit 4; done\n\
         COMP_WORDS=({}); COMP_CWORD={}\n\"$2\" '{program}' '{current}' '{previous}'\n\
         [ ${{#COMPREPLY[@]}} -eq 0 ] || printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        quoted.join(" "),
        words.len() - 1,
    );
    let output = bash(&["-s"], &format!("{script}{question}"));
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

/// A manual page as a reader sees it, by `groff`; `None`, which is said on standard error, where there is none.
///
/// # Panics
///
/// If `groff` warns.
pub fn rendered(page: &str) -> Option<String> {
    let spawned = Command::new("groff")
        .args(["-man", "-Tutf8", "-ww", "-P-c", "-rLL=200n", "-rHY=0"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = spawned else {
        let _ = writeln!(std::io::stderr(), "no groff here: the page is not rendered");
        return None;
    };
    child.stdin.take().expect("piped").write_all(page.as_bytes()).expect("groff reads a page");
    let output = child.wait_with_output().expect("groff ends");
    let warnings = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && warnings.is_empty(), "{warnings}");
    // Bold and underlined letters are struck over.
    let mut text = String::new();
    for c in String::from_utf8_lossy(&output.stdout).chars() {
        if c == '\u{8}' {
            text.pop();
        } else {
            text.push(c);
        }
    }
    Some(text.replace(['\u{2010}', '\u{2212}'], "-"))
}
