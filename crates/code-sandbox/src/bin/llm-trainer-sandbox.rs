//! Restricts itself and becomes the interpreter of a program; `llm-trainer` starts it for a model's programs
//! (`docs/reward-math.md`). Its one argument holds the permissions of the program, in JSON.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    match std::env::args().nth(1) {
        Some(confinement) => code_sandbox::confine::confine(&confinement).into(),
        None => ExitCode::from(2),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("programs of responses are run on Linux only");
    ExitCode::from(2)
}
