//! A bound on how long the threads of OpenMP, which libtorch computes with, wait by spinning.
//!
//! A thread that waits at a barrier spins, for milliseconds by libgomp's default, before it sleeps. Where another program has
//! the processor, the threads that spin keep those from it that they wait for.

use std::env;
use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// How often libgomp looks before a thread sleeps.
const SPIN_COUNT: &str = "GOMP_SPINCOUNT";

/// Looks before a thread sleeps: some ten microseconds, where libgomp takes 300,000, some milliseconds.
const TIMES: &str = "1000";

/// What says how threads wait; where a user has set one of them, it stands.
const WAITS: [&str; 2] = [SPIN_COUNT, "OMP_WAIT_POLICY"];

/// The variable that bounds the spinning, unless the environment says how threads wait.
pub fn variable() -> Option<(&'static str, &'static str)> {
    chosen(|name| env::var_os(name).is_some())
}

fn chosen(is_set: impl Fn(&str) -> bool) -> Option<(&'static str, &'static str)> {
    (!WAITS.into_iter().any(is_set)).then_some((SPIN_COUNT, TIMES))
}

/// Begins this program again with [`variable`] in its environment: libgomp reads it once, when it is loaded, before `main`.
/// Before anything else, and while there is one thread. Where that fails the program goes on as it is.
pub fn bound_spinning() {
    let (Some((name, value)), Ok(program)) = (variable(), env::current_exe()) else { return };
    let mut arguments = env::args_os();
    let own_name = arguments.next();
    let mut again = Command::new(&program);
    again.arg0(own_name.as_deref().unwrap_or(OsStr::new("llm-trainer")));
    // Returns only if the program could not begin again.
    let _ = again.args(arguments).env(name, value).exec();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_has_set_stands() {
        assert_eq!(chosen(|_| false), Some((SPIN_COUNT, TIMES)));
        for name in WAITS {
            assert_eq!(chosen(|set| set == name), None, "{name}");
        }
    }
}
