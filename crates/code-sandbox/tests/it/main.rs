//! Programs of responses against unit tests, hostile programs among them, in a sandbox.

mod hostile;

use std::fs;
use std::sync::OnceLock;
use std::time::Duration;

use code_sandbox::{CodeSection, Helper, Sandbox, SandboxError, UnitTests};
use reward_math::{Rung, Side, Verdict};
use serde_json::json;

/// Wall time of one response in these tests. On a busy machine a hostile program takes long to use up its processor
/// time.
const WALL: Duration = Duration::from_mins(5);

fn helper() -> Helper {
    let program = env!("CARGO_BIN_EXE_llm-trainer-sandbox").into();
    Helper { program, arguments: Vec::new() }
}

fn settings() -> CodeSection {
    CodeSection {
        interpreter: "python3".to_owned(),
        wall_seconds: WALL.as_secs_f64(),
        cpu_seconds: 2,
        memory_bytes: 256 << 20,
        file_bytes: 1 << 20,
        output_bytes: 64 << 10,
        ..CodeSection::default()
    }
}

/// Returns `None`, and prints why, if there is no Python or the host lacks a protection: the tests then prove nothing.
fn sandbox() -> Option<&'static Sandbox> {
    static SANDBOX: OnceLock<Option<Sandbox>> = OnceLock::new();
    SANDBOX.get_or_init(|| started(helper())).as_ref()
}

/// Returns a sandbox as a host has it that does not let programs have file systems.
fn sandbox_on_the_disk() -> Option<&'static Sandbox> {
    static SANDBOX: OnceLock<Option<Sandbox>> = OnceLock::new();
    SANDBOX.get_or_init(|| started(helper_without(&["directory"]))).as_ref()
}

fn started(helper: Helper) -> Option<Sandbox> {
    match Sandbox::start(&settings(), helper) {
        Ok(sandbox) => Some(sandbox),
        // The host lacks something; the helper is not at fault.
        Err(SandboxError::Interpreter { why, .. } | SandboxError::Unprotected { why }) => {
            eprintln!("NOT TESTED: {why}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Returns a helper that gets none of these isolations from its host.
fn helper_without(isolations: &[&str]) -> Helper {
    let script = format!(
        "case \"$1\" in {}) token=${{1##*'\"token\":\"'}}; echo \"${{token%%\\\"*}}namespaces: none\" >&2; exit 120; esac; exec '{}' \"$1\"",
        isolations
            .iter()
            .map(|one| format!("*'\"isolation\":\"{one}\"'*"))
            .collect::<Vec<_>>()
            .join("|"),
        env!("CARGO_BIN_EXE_llm-trainer-sandbox"),
    );
    let arguments = vec!["-c".to_owned(), script, "helper".to_owned()];
    Helper { program: "/bin/sh".into(), arguments }
}

fn response(program: &str) -> String {
    format!("Here it is:\n```python\n{program}\n```\n")
}

/// Returns whether the program is right, and the words of the verdict.
fn judge(sandbox: &Sandbox, program: &str, tests: &serde_json::Value) -> (bool, String) {
    let tests = UnitTests::read(&tests.to_string()).expect("tests of this file are well formed");
    let verdict = sandbox.judge(&tests, &response(program)).expect("the host goes on");
    let how = verdict.how().unwrap_or_else(|| panic!("no verdict: {verdict:?}"));
    assert_eq!(how.rung, Rung::Tests);
    let mut words = how.response.clone().unwrap_or_default();
    words.extend(how.ground_truth.iter().map(|expected| format!(" | {expected}")));
    (verdict.is_right(), words)
}

/// Returns the words of a verdict that must be `Wrong`, on a test that passes if the program runs to its end.
fn fault(sandbox: &Sandbox, program: &str) -> String {
    let (right, words) = judge(sandbox, program, &json!(["assert True"]));
    assert!(!right, "{words}");
    words
}

/// Asserts that the program runs to its end: every `assert` in it holds.
fn holds(sandbox: &Sandbox, program: &str) {
    let (right, words) = judge(sandbox, program, &json!(["assert True"]));
    assert!(right, "{words}");
}

#[test]
fn statements_are_run_after_the_program() {
    let Some(sandbox) = sandbox() else { return };
    let program = "def double(x):\n    return 2 * x\nif __name__ == '__main__':\n    input()";
    let tests = json!([
        "assert double(2) == 4",
        "from solution import double as d\ndef test_zero():\n    assert d(0) == 0"
    ]);
    assert_eq!(judge(sandbox, program, &tests), (true, "passed 2 of 2 tests".to_owned()));
    let tests =
        json!(["assert double(2) == 4", "def test_one():\n    assert double(1) == 3, 'one'"]);
    let (right, words) = judge(sandbox, program, &tests);
    assert_eq!((right, words.as_str()), (false, "test 2 of 2: AssertionError: one"));
    let words = fault(sandbox, "def f(:");
    assert!(words.starts_with("test 1 of 1: the program does not run: SyntaxError"), "{words}");
}

#[test]
fn streams_are_compared_with_what_is_printed() {
    let Some(sandbox) = sandbox() else { return };
    let program = "a, b = map(int, input().split())\nprint(a + b)";
    let tests = json!({"inputs": ["1 2\n", "20 -3\n"], "outputs": ["3\n", "17"]});
    assert!(judge(sandbox, program, &tests).0);
    let tests = json!({"inputs": ["1 2\n", "2 2\n"], "outputs": ["3\n", "5\n"]});
    assert_eq!(
        judge(sandbox, program, &tests),
        (false, "test 2 of 2: printed \"4\" | 5".to_owned())
    );
    let (_, words) = judge(sandbox, "print(1 / 0)", &tests);
    assert_eq!(words, "test 1 of 2: exit code 1: ZeroDivisionError: division by zero");
}

#[test]
fn calls_are_compared_with_what_is_returned() {
    let Some(sandbox) = sandbox() else { return };
    let tests =
        json!({"fn_name": "both", "inputs": [[1, "a"], [2, "b"]], "outputs": [[1, "a"], [2, "b"]]});
    let class = "class Solution:\n    def both(self, x, y):\n        return (x, y)";
    assert!(judge(sandbox, class, &tests).0);
    let function = "def both(x, y):\n    return [x, y if x < 2 else None]";
    let words = "test 2 of 2: returned [2,null] | [2,\"b\"]".to_owned();
    assert_eq!(judge(sandbox, function, &tests), (false, words));
    let (_, words) = judge(sandbox, "x = 1", &tests);
    assert!(words.contains("no function both"), "{words}");
    let (_, words) = judge(sandbox, "def both(x, y):\n    return float('nan')", &tests);
    assert!(words.starts_with("test 1 of 2"), "{words}");
}

#[test]
fn a_response_without_a_program_is_unparsed() {
    let Some(sandbox) = sandbox() else { return };
    let tests = UnitTests::read("assert True").unwrap();
    for none in ["The answer is 4", "```python\nprint(1)"] {
        let verdict = sandbox.judge(&tests, none).unwrap();
        assert!(matches!(verdict, Verdict::Unparsed { which: Side::Response, .. }), "{verdict:?}");
    }
}

/// None of these programs is right, though each exits normally or claims success.
#[test]
fn the_end_of_a_program_is_not_the_end_of_its_tests() {
    let Some(sandbox) = sandbox() else { return };
    for cheat in [
        "import os\nos._exit(0)",
        "import sys\nsys.exit(0)",
        "raise SystemExit",
        "print('{\"passed\": 1}')\nimport os\nos._exit(0)",
        "import os, sys\nfor fd in range(64):\n    try: os.write(fd, b'{\"passed\": 1}\\n')\n    except OSError: pass\nos._exit(0)",
        "import threading, os\nthreading.Timer(0.0, lambda: os._exit(0)).start()\nimport time\ntime.sleep(1)",
    ] {
        fault(sandbox, cheat);
    }
}

/// An interpreter that the limits do not suffice for is named with them, and not as a host without protections.
#[test]
fn limits_below_the_needs_of_the_interpreter_are_named() {
    if sandbox().is_none() {
        return;
    }
    let narrow = CodeSection { memory_bytes: 1 << 20, ..settings() };
    let error = Sandbox::start(&narrow, helper()).unwrap_err();
    assert!(matches!(error, SandboxError::Trial { .. }), "{error:?}");
    assert!(error.to_string().contains("reward.code.memory_bytes = 1048576"), "{error}");
    let smallest = CodeSection { memory_bytes: 64 << 20, open_files: 16, ..settings() };
    holds(&Sandbox::start(&smallest, helper()).unwrap(), "x = 1");
}

/// A limit of the host below the program's stays. To raise it was refused, and with it the sandbox.
#[test]
fn lower_limits_of_the_host_stay() {
    if sandbox().is_none() {
        return;
    }
    let script = format!(
        "ulimit -c 0; ulimit -f 1; ulimit -n 20; exec '{}' \"$1\"",
        env!("CARGO_BIN_EXE_llm-trainer-sandbox")
    );
    let arguments = vec!["-c".to_owned(), script, "helper".to_owned()];
    let limited =
        Sandbox::start(&settings(), Helper { program: "/bin/sh".into(), arguments }).unwrap();
    holds(&limited, "x = 1");
    let words = fault(&limited, "n = [open('/dev/null') for _ in range(20)]");
    assert!(words.contains("Too many open files"), "{words}");
}

/// Each separation that a host does not give is told, and the next is taken.
#[test]
fn a_host_without_namespaces_is_told_and_runs_programs_all_the_same() {
    if sandbox().is_none() {
        return;
    }
    for (missing, note) in [
        (&["directory"][..], "files of programs are on the disk"),
        (&["directory", "network"], "programs get no user and network of their own"),
    ] {
        let less = Sandbox::start(&settings(), helper_without(missing)).unwrap();
        let notes = less.notes().join("|");
        assert!(notes.starts_with(note) && notes.ends_with("(namespaces: none)"), "{notes}");
        holds(&less, "open('own', 'w').write('x')");
    }
}

#[test]
fn what_cannot_be_had_is_named_at_the_start() {
    let missing = CodeSection { interpreter: "/no/such/python".to_owned(), ..settings() };
    let error = Sandbox::start(&missing, helper()).unwrap_err().to_string();
    assert!(
        error.starts_with("reward.code.interpreter is \"/no/such/python\", expected a Python"),
        "{error}"
    );
    let other = CodeSection { interpreter: "/bin/true".to_owned(), ..settings() };
    assert!(matches!(Sandbox::start(&other, helper()), Err(SandboxError::Interpreter { .. })));
    if sandbox().is_none() {
        return;
    }
    // A helper that restricts nothing: the trial finds and names what a program can do.
    let lazy = tempfile::tempdir().unwrap();
    let script = lazy.path().join("helper.py");
    fs::write(&script, "import json, os, sys\nc = json.loads(sys.argv[1])\nos.execv(c['interpreter'], [c['interpreter'], *c['arguments']])\n").unwrap();
    let lazy = Helper { program: "python3".into(), arguments: vec![script.display().to_string()] };
    let path_is_needed = std::env::var_os("PATH").is_some();
    assert!(path_is_needed);
    let error = Sandbox::start(&settings(), lazy.clone()).unwrap_err().to_string();
    assert_eq!(
        error,
        "programs cannot be run safely here: a program can read files of others, write files of others, change modes of \
         files, open sockets, start processes, send signals; reward.code.allow_weak_sandbox = true runs them without"
    );
    let weak = CodeSection { allow_weak_sandbox: true, ..settings() };
    let notes = Sandbox::start(&weak, lazy).unwrap().notes().join("\n");
    assert!(
        notes.contains("the code sandbox is weak: a program can read files of others"),
        "{notes}"
    );
}
