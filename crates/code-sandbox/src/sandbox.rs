//! Where programs are run: an interpreter, its limits, and what this host was found to protect.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rand::TryRngCore;
use rand::rngs::OsRng;
use serde::Deserialize;
use thiserror::Error;

use super::run::{Allowance, Ended, Outcome, run};
use super::scratch::Scratch;
use super::{CodeSection, Confinement};

/// Exit code of a helper that could not start the program.
#[cfg(target_os = "linux")]
const REFUSED: i32 = super::confine::REFUSED as i32;
#[cfg(not(target_os = "linux"))]
const REFUSED: i32 = 120;

/// Name of the helper's own program, which starts sooner than one that links libtorch.
const HELPER: &str = "llm-trainer-sandbox";

/// Says where the interpreter and its modules lie, as JSON.
const INSPECTION: &str = "import json, os, sys; print(json.dumps({'executable': sys.executable, \
    'version': list(sys.version_info[:2]), 'readable': sorted({os.path.realpath(path) for path in \
    [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, *sys.path] if path and \
    os.path.exists(path)})}))";

/// Tries what no program may do, and says which of it went well.
const TRIAL: &str = include_str!("trial.py");

/// What every program may read beside its interpreter.
const SYSTEM: [&str; 6] = ["/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/localtime"];

/// Why programs cannot be run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The interpreter is none.
    #[error(
        "reward.code.interpreter is {interpreter:?}, expected a Python of version 3.8 or later: {why}"
    )]
    Interpreter {
        /// As configured.
        interpreter: String,
        /// What it said.
        why: String,
    },
    /// The host lacks a protection.
    #[error(
        "programs cannot be run safely here: {why}; reward.code.allow_weak_sandbox = true runs them without"
    )]
    Unprotected {
        /// What is missing.
        why: String,
    },
    /// The helper did not start the program.
    #[error("the sandbox's helper {helper}: {why}")]
    Helper {
        /// Its path.
        helper: String,
        /// What it said.
        why: String,
    },
    /// No process, folder or random number could be had.
    #[error("a program cannot be run: {0}")]
    System(#[from] io::Error),
}

/// The program that restricts itself and becomes the interpreter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper {
    /// Its path.
    pub program: PathBuf,
    /// What comes before the confinement, its last argument.
    pub arguments: Vec<String>,
}

impl Helper {
    /// The helper beside this program, or this program itself with the argument `confined`.
    ///
    /// # Errors
    ///
    /// If the path of this program is unknown.
    pub fn find() -> io::Result<Self> {
        let own = std::env::current_exe()?;
        let beside = own.with_file_name(HELPER);
        if beside.is_file() {
            return Ok(Self { program: beside, arguments: Vec::new() });
        }
        Ok(Self { program: own, arguments: vec!["confined".to_owned()] })
    }
}

/// Runs programs, each in a process and folder of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Sandbox {
    settings: CodeSection,
    helper: Helper,
    interpreter: PathBuf,
    readable: Vec<PathBuf>,
    namespaces: bool,
    notes: Vec<String>,
}

#[derive(Deserialize)]
struct Inspection {
    executable: PathBuf,
    version: (u32, u32),
    readable: Vec<PathBuf>,
}

impl Sandbox {
    /// Looks at the interpreter, and tries whether the host keeps a program from files, network, processes and signals.
    ///
    /// # Errors
    ///
    /// [`SandboxError`]; [`SandboxError::Unprotected`] where a protection is missing and the settings do not allow that.
    pub fn start(settings: &CodeSection, helper: Helper) -> Result<Self, SandboxError> {
        let Inspection { executable, readable, .. } = inspect(&settings.interpreter)?;
        let mut sandbox = Self {
            settings: settings.clone(),
            helper,
            interpreter: executable,
            readable: SYSTEM.iter().map(PathBuf::from).chain(readable).collect(),
            namespaces: true,
            notes: Vec::new(),
        };
        let mut open = sandbox.try_out();
        if let Err(SandboxError::Helper { why, .. }) = &open
            && why.starts_with("namespaces")
        {
            sandbox.notes.push(format!(
                "programs get no user and network of their own ({why}); system calls are filtered all the same"
            ));
            sandbox.namespaces = false;
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

    /// What a person should know of the protection here: one sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Its settings.
    pub fn settings(&self) -> &CodeSection {
        &self.settings
    }

    /// When a response that is judged from now on has used up its wall time.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + Duration::from_secs_f64(self.settings.wall_seconds)
    }

    /// Runs `script` beside `program.py`, which holds `program`, and feeds it `input`, until it ends or has to be killed.
    ///
    /// # Errors
    ///
    /// [`SandboxError::System`], [`SandboxError::Helper`]: nothing that a program does is one.
    pub(super) fn run(
        &self,
        (program, script): (&str, &str),
        input: Vec<u8>,
        until: Instant,
    ) -> Result<Outcome, SandboxError> {
        let scratch = Scratch::new()?;
        std::fs::write(scratch.path().join("program.py"), program)?;
        let confinement = Confinement {
            interpreter: self.interpreter.clone(),
            arguments: ["-s", "-B", "-X", "utf8", "-c", script].map(str::to_owned).into(),
            folder: scratch.path().to_owned(),
            readable: self.readable.clone(),
            limits: self.settings.limits(),
            namespaces: self.namespaces,
            weak: self.settings.allow_weak_sandbox,
            token: token()?,
        };
        let told = serde_json::to_string(&confinement).map_err(io::Error::other)?;
        let mut command = Command::new(&self.helper.program);
        command.args(&self.helper.arguments).arg(told).current_dir(scratch.path()).env_clear();
        // The helper may need it; the program does not get it.
        if let Some(path) = std::env::var_os("LD_LIBRARY_PATH") {
            command.env("LD_LIBRARY_PATH", path);
        }
        let allowance = Allowance {
            until,
            output_bytes: self.settings.output_bytes,
            folder_bytes: self.settings.file_bytes,
        };
        let outcome = run(&mut command, input, &scratch, allowance)?;
        if outcome.ended == Ended::Exit(REFUSED)
            && let Some(why) = outcome.stderr.strip_prefix(&confinement.token)
        {
            return Err(self.helper_error(why));
        }
        Ok(outcome)
    }

    fn helper_error(&self, why: &str) -> SandboxError {
        let helper = self.helper.program.display().to_string();
        SandboxError::Helper { helper, why: why.trim().to_owned() }
    }

    /// What a program can do here that it should not, in words.
    fn try_out(&self) -> Result<String, SandboxError> {
        let token = token()?;
        let outside = tempfile::NamedTempFile::new()?;
        let job = serde_json::json!({"token": token, "outside": outside.path()}).to_string();
        let until = Instant::now() + Duration::from_mins(1);
        let outcome = self.run(("", TRIAL), job.into_bytes(), until)?;
        let lines = outcome.stdout.lines().collect::<Vec<_>>();
        match lines.as_slice() {
            [only] if only.starts_with(&token) => Ok(only[token.len()..].to_owned()),
            _ => Err(self.helper_error(&format!(
                "the trial ended by {:?} and said {:?} {:?}",
                outcome.ended,
                outcome.stdout.trim_end(),
                outcome.stderr.trim_end()
            ))),
        }
    }
}

/// Where the interpreter and its modules lie. It runs unconfined here, with nothing of a model's.
fn inspect(interpreter: &str) -> Result<Inspection, SandboxError> {
    let fault =
        |why: String| SandboxError::Interpreter { interpreter: interpreter.to_owned(), why };
    let output = Command::new(interpreter)
        .args(["-s", "-B", "-c", INSPECTION])
        .current_dir(Path::new("/"))
        .output()
        .map_err(|error| fault(error.to_string()))?;
    let inspection: Inspection = serde_json::from_slice(&output.stdout)
        .map_err(|_| fault(String::from_utf8_lossy(&output.stderr).trim().to_owned()))?;
    if inspection.version < (3, 8) {
        let (major, minor) = inspection.version;
        return Err(fault(format!("it is {major}.{minor}")));
    }
    // `-c` puts the working folder first; the root is no folder of modules.
    let readable = inspection.readable.into_iter().filter(|path| path != Path::new("/")).collect();
    Ok(Inspection { readable, ..inspection })
}

/// What a program cannot guess.
pub(super) fn token() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    OsRng.try_fill_bytes(&mut bytes).map_err(io::Error::other)?;
    Ok(format!("{:032x}", u128::from_le_bytes(bytes)))
}
