//! The helper's side: a process restricts itself for good and becomes the program.
//!
//! Nothing here can be done between `fork` and `exec` without unsafe code, so that a helper of its own is started, which
//! has one thread, restricts itself by safe calls and calls `exec`. What was given up stays given up.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    Scope, path_beneath_rules,
};
use rustix::process::{
    Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit,
};
use rustix::thread::set_no_new_privs;
use seccompiler::BpfProgram;

use super::confinement::{Confinement, Isolation, NAMESPACES, REFUSED};
use super::namespaces::{separate_directory, separate_network};
use super::system_calls;

/// Most threads of a program, where they can be counted.
const THREADS: u64 = 64;

/// All that a program finds in its environment, beside two names for its folder. Sets of texts have one order.
const ENVIRONMENT: [(&str, &str); 5] = [
    ("LANG", "C.UTF-8"),
    ("OMP_NUM_THREADS", "1"),
    ("OPENBLAS_NUM_THREADS", "1"),
    ("PATH", "/usr/bin:/bin"),
    ("PYTHONHASHSEED", "0"),
];

/// Restricts this process to what `confinement`, in JSON, allows, and becomes its program; comes back, with the exit code, only
/// where that fails.
///
/// To be called by a process of one thread that has done nothing else.
pub fn confine(confinement: &str) -> u8 {
    let confinement: Confinement = match serde_json::from_str(confinement) {
        Ok(confinement) => confinement,
        Err(error) => return refuse("", &format!("what is allowed cannot be read: {error}")),
    };
    let Err(why) = enter(&confinement);
    refuse(&confinement.token, &why)
}

fn refuse(token: &str, why: &str) -> u8 {
    eprintln!("{token}{why}");
    REFUSED
}

fn enter(confinement: &Confinement) -> Result<std::convert::Infallible, String> {
    let Confinement { interpreter, arguments, folder, settings, isolation, .. } = confinement;
    let weak = settings.allow_weak_sandbox;
    let missing = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    set_no_new_privs(true).map_err(|error| missing("no_new_privs", &error))?;
    match isolation {
        Isolation::Directory => separate_directory(folder, settings.file_bytes),
        Isolation::Network => separate_network(),
        Isolation::Shared => Ok(()),
    }
    .map_err(|error| missing(NAMESPACES, &error))?;
    // After the namespaces, which take it away.
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| missing("death signal", &error))?;
    let limit = |resource, value: u64| {
        // A limit of the host that is lower stays: it cannot be raised.
        let value = getrlimit(resource).maximum.map_or(value, |highest| highest.min(value));
        setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) })
            .map_err(|error| missing(&format!("limit of {resource:?}"), &error))
    };
    limit(Resource::Core, 0)?;
    limit(Resource::Cpu, settings.cpu_seconds)?;
    limit(Resource::Fsize, settings.file_bytes)?;
    limit(Resource::Nofile, settings.open_files)?;
    if *isolation != Isolation::Shared {
        // Counted within the new namespace only.
        limit(Resource::Nproc, THREADS)?;
    }
    let files = close_files(folder, confinement);
    if !weak {
        files.map_err(|error| missing("Landlock (needs Linux 6.2 or later, enabled)", &error))?;
    }
    let filters = system_calls::filters().map_err(|error| error.to_string());
    let mut command = Command::new(interpreter);
    command.args(arguments).current_dir(folder).env_clear().envs(ENVIRONMENT);
    command.env("HOME", folder).env("TMPDIR", folder);
    limit(Resource::As, settings.memory_bytes)?;
    let apply =
        |filter: &BpfProgram| seccompiler::apply_filter(filter).map_err(|error| error.to_string());
    let filtered = filters.and_then(|filters| filters.iter().try_for_each(apply));
    if !weak {
        filtered.map_err(|error| missing("seccomp", &error))?;
    }
    Err(format!("{}: {}", interpreter.display(), command.exec()))
}

/// Closes all files but those that may be read and the folder; the third version of Landlock knows truncation.
fn close_files(folder: &Path, confinement: &Confinement) -> Result<(), landlock::RulesetError> {
    let all = AccessFs::from_all(ABI::V3);
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(all)?
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::from_all(ABI::V6))?
        .create()?
        .set_compatibility(CompatLevel::BestEffort);
    let devices = ["/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"];
    let writable = all & !(AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock);
    let _status = rules
        .add_rules(path_beneath_rules(&confinement.readable, AccessFs::from_read(ABI::V3)))?
        .add_rules(path_beneath_rules(devices, AccessFs::ReadFile | AccessFs::WriteFile))?
        .add_rules(path_beneath_rules([folder], writable))?
        .restrict_self()?;
    Ok(())
}
