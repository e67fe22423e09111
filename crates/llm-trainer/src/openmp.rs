//! A bound on how long the OpenMP threads of libtorch spin while they wait.
//!
//! A thread that waits at a barrier spins, for milliseconds by libgomp's default, before it sleeps. If another program has
//! the processor, spinning threads keep it from the very threads they wait for.

use std::env;
use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::process::Command;

const SPIN_COUNT: &str = "GOMP_SPINCOUNT";

/// Spins before a thread sleeps: some ten microseconds. libgomp's default of 300,000 takes some milliseconds.
const TIMES: &str = "1000";

/// Variables that control waiting; one that the user has set takes precedence.
const WAITS: [&str; 2] = [SPIN_COUNT, "OMP_WAIT_POLICY"];

/// Returns the variable that bounds the spinning and its value, unless the environment controls waiting already.
pub fn variable() -> Option<(&'static str, &'static str)> {
    let is_controlled = WAITS.iter().any(|name| env::var_os(name).is_some());
    (!is_controlled).then_some((SPIN_COUNT, TIMES))
}

/// Restarts this program with [`variable`] in its environment: libgomp reads it once, when it is loaded, before `main`.
/// Call it first of all, while there is one thread. If the restart fails, the program continues.
pub fn bound_spinning() {
    let (Some((name, value)), Ok(program)) = (variable(), env::current_exe()) else { return };
    let mut arguments = env::args_os();
    let own_name = arguments.next();
    let mut again = Command::new(&program);
    again.arg0(own_name.as_deref().unwrap_or(OsStr::new("llm-trainer")));
    // Returns only if the program could not begin again.
    let _ = again.args(arguments).env(name, value).exec();
}
