//! The sandbox that runs programs: its interpreter, its limits, and the protections of this host.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rand::TryRngCore;
use rand::rngs::OsRng;
use serde::Deserialize;
use thiserror::Error;

use super::CodeSection;
use super::confinement::{Confinement, Isolation, NAMESPACES, REFUSED};
use super::run::{Allowance, Ended, ProcessOutcome, run};
use super::scratch::Scratch;

/// Name of the separate helper program, which starts faster than one that links libtorch.
const HELPER: &str = "llm-trainer-sandbox";

/// Script that prints the paths of the interpreter and its modules, as JSON.
const INSPECTION: &str = "import json, os, sys; print(json.dumps({'executable': sys.executable, \
    'version': list(sys.version_info[:2]), 'readable': sorted({os.path.realpath(path) for path in \
    [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, *sys.path] if path and \
    os.path.exists(path)})}))";

/// Script that tries forbidden actions and prints those that succeed.
const TRIAL: &str = include_str!("trial.py");

/// Paths that every program may read in addition to its interpreter.
const SYSTEM: [&str; 6] = ["/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/localtime"];

/// Isolations to be tried in turn where the host does not allow the best, and what a user is told of each.
const WEAKER: [(Isolation, &str); 2] = [
    (
        Isolation::Network,
        "files of programs are on the disk, and are counted while the programs run",
    ),
    (
        Isolation::Shared,
        "programs get no user and network of their own, and their files are counted while they run; system calls are \
         filtered all the same",
    ),
];

/// Why programs cannot be run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The interpreter cannot be used.
    #[error(
        "reward.code.interpreter is {interpreter:?}, expected a Python of version 3.8 or later: {why}"
    )]
    Interpreter {
        /// Interpreter as configured.
        interpreter: String,
        /// Reason, or the interpreter's own message.
        why: String,
    },
    /// The host lacks a protection.
    #[error(
        "programs cannot be run safely here: {why}; reward.code.allow_weak_sandbox = true runs them without"
    )]
    Unprotected {
        /// Missing protection.
        why: String,
    },
    /// The helper did not start the program.
    #[error("the sandbox's helper {helper}: {why}")]
    Helper {
        /// Path of the helper.
        helper: String,
        /// Message of the helper.
        why: String,
    },
    /// The interpreter does not run a script within the limits.
    #[error("{0}")]
    Trial(String),
    /// A process, a directory or a random number could not be obtained.
    #[error("a program cannot be run: {0}")]
    System(#[from] io::Error),
}

/// The program that restricts itself and becomes the interpreter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper {
    /// Path of the helper.
    pub program: PathBuf,
    /// Arguments before the confinement, which is passed last.
    pub arguments: Vec<String>,
}

impl Helper {
    /// Finds the helper beside this program, else takes this program itself with the argument `confined`.
    ///
    /// # Errors
    ///
    /// If the path of this program is unknown.
    pub fn find() -> io::Result<Self> {
        let this_program = std::env::current_exe()?;
        let beside = this_program.with_file_name(HELPER);
        if beside.is_file() {
            return Ok(Self { program: beside, arguments: Vec::new() });
        }
        Ok(Self { program: this_program, arguments: vec!["confined".to_owned()] })
    }
}

/// Runs programs, each in its own process and directory.
#[derive(Debug, Clone, PartialEq)]
pub struct Sandbox {
    settings: CodeSection,
    helper: Helper,
    interpreter: PathBuf,
    readable: Vec<PathBuf>,
    isolation: Isolation,
    notes: Vec<String>,
}

#[derive(Deserialize)]
struct Inspection {
    executable: PathBuf,
    version: (u32, u32),
    readable: Vec<PathBuf>,
}

impl Sandbox {
    /// Inspects the interpreter, and tests whether the host keeps a program from files, network, processes and signals.
    ///
    /// # Errors
    ///
    /// [`SandboxError`]; [`SandboxError::Unprotected`] if a protection is missing and the settings do not allow that.
    pub fn start(settings: &CodeSection, helper: Helper) -> Result<Self, SandboxError> {
        let Inspection { executable, readable, .. } = inspect(&settings.interpreter)?;
        let mut sandbox = Self {
            settings: settings.clone(),
            helper,
            interpreter: executable,
            readable: SYSTEM.iter().map(PathBuf::from).chain(readable).collect(),
            isolation: Isolation::Directory,
            notes: Vec::new(),
        };
        let mut open = sandbox.try_out();
        for (isolation, instead) in WEAKER {
            let Err(SandboxError::Helper { why, .. }) = &open else { break };
            if !why.starts_with(NAMESPACES) {
                break;
            }
            sandbox.notes = vec![format!("{instead} ({why})")];
            sandbox.isolation = isolation;
            open = sandbox.try_out();
        }
        let weak = settings.allow_weak_sandbox;
        let open = open.map_err(|error| match error {
            SandboxError::Helper { why, .. } if !weak => SandboxError::Unprotected { why },
            other => other,
        })?;
        if !open.is_empty() {
            let why = format!("a program can {open}");
            if !weak {
                return Err(SandboxError::Unprotected { why });
            }
            sandbox.notes.push(format!("the code sandbox is weak: {why}"));
        }
        Ok(sandbox)
    }

    /// Warnings about the protection on this host, one sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Settings of the sandbox.
    pub fn settings(&self) -> &CodeSection {
        &self.settings
    }

    /// End of the wall time of a response whose tests start now.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + Duration::from_secs_f64(self.settings.wall_seconds)
    }

    /// Runs `script` beside a file `program.py` with the text `program`, and feeds it `input`, until `until` at the latest. Nothing
    /// that a program does is an error.
    pub(super) fn run(
        &self,
        (program, script): (&str, &str),
        input: Vec<u8>,
        until: Instant,
    ) -> Result<ProcessOutcome, SandboxError> {
        let scratch = Scratch::new()?;
        std::fs::write(scratch.path().join("program.py"), program)?;
        let confinement = Confinement {
            interpreter: self.interpreter.clone(),
            arguments: ["-s", "-B", "-X", "utf8", "-c", script].map(str::to_owned).into(),
            folder: scratch.path().to_owned(),
            readable: self.readable.clone(),
            settings: self.settings.clone(),
            isolation: self.isolation,
            token: token()?,
        };
        let told = serde_json::to_string(&confinement).map_err(io::Error::other)?;
        let mut command = Command::new(&self.helper.program);
        command.args(&self.helper.arguments).arg(told).current_dir(scratch.path()).env_clear();
        // The helper may need the variable; the program does not get it.
        if let Some(path) = std::env::var_os("LD_LIBRARY_PATH") {
            command.env("LD_LIBRARY_PATH", path);
        }
        let allowance = Allowance {
            until,
            output_bytes: self.settings.output_bytes,
            folder_bytes: (self.isolation != Isolation::Directory)
                .then_some(self.settings.file_bytes),
        };
        let outcome = run(&mut command, input, &scratch, allowance)?;
        if outcome.ended == Ended::Exit(REFUSED.into())
            && let Some(why) = outcome.stderr.strip_prefix(&confinement.token)
        {
            let helper = self.helper.program.display().to_string();
            return Err(SandboxError::Helper { helper, why: why.trim().to_owned() });
        }
        Ok(outcome)
    }

    /// Runs the trial script; returns the forbidden actions that succeeded, in words, empty if none did.
    fn try_out(&self) -> Result<String, SandboxError> {
        let token = token()?;
        let outside = tempfile::NamedTempFile::new()?;
        let job = serde_json::json!({"token": token, "outside": outside.path()}).to_string();
        let until = Instant::now() + Duration::from_mins(1);
        let outcome = self.run(("", TRIAL), job.into_bytes(), until)?;
        let lines = outcome.stdout.lines().collect::<Vec<_>>();
        match lines.as_slice() {
            [only] if only.starts_with(&token) => Ok(only[token.len()..].to_owned()),
            _ => Err(SandboxError::Trial(format!(
                "{} does not run in the sandbox, expected one that needs no more than reward.code.memory_bytes = {}, cpu_seconds \
                 = {} and open_files = {}, and no files but the system's and its own: it ended by {:?} and printed {:?} {:?}",
                self.interpreter.display(),
                self.settings.memory_bytes,
                self.settings.cpu_seconds,
                self.settings.open_files,
                outcome.ended,
                outcome.stdout.trim_end(),
                outcome.stderr.trim_end()
            ))),
        }
    }
}

/// Asks the interpreter for its version and the paths of its modules. It runs unconfined here, without text from a
/// model.
fn inspect(interpreter: &str) -> Result<Inspection, SandboxError> {
    let fault =
        |why: String| SandboxError::Interpreter { interpreter: interpreter.to_owned(), why };
    let output = Command::new(interpreter)
        // Isolated: no path of this process's environment is opened to programs.
        .args(["-I", "-B", "-c", INSPECTION])
        .current_dir(Path::new("/"))
        .output()
        .map_err(|error| fault(error.to_string()))?;
    let inspection: Inspection = serde_json::from_slice(&output.stdout)
        .map_err(|_| fault(String::from_utf8_lossy(&output.stderr).trim().to_owned()))?;
    if inspection.version < (3, 8) {
        let (major, minor) = inspection.version;
        return Err(fault(format!("it is {major}.{minor}")));
    }
    // `-c` puts the working directory first in the path; the root directory holds no modules.
    let readable = inspection.readable.into_iter().filter(|path| path != Path::new("/")).collect();
    Ok(Inspection { readable, ..inspection })
}

/// Returns 128 random bits in hexadecimal, which a program cannot guess.
pub(super) fn token() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    OsRng.try_fill_bytes(&mut bytes).map_err(io::Error::other)?;
    Ok(format!("{:032x}", u128::from_le_bytes(bytes)))
}
