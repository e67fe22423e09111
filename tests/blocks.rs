//! The book's blocks of commands, and what becomes of each in the tests: run as it stands, or not, and why.

use std::io;
use std::path::Path;
use std::process::{Command, Output};

use Fate::{Elsewhere, Not};

use crate::book::{block, root, scratch};

/// Treatment of a block in the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The test `book` of the program's crate runs it as it stands, where there is what the page says that the reader has.
    Run {
        /// Whose crate.
        program: &'static str,
        /// The exit code of the last command.
        code: i32,
        /// A text in its standard output.
        says: &'static str,
    },
    /// Other tests cover the block: where they are, and how they differ.
    Elsewhere(&'static str),
    /// Why it is not run.
    Not(&'static str),
}

const fn trainer(says: &'static str) -> Fate {
    Fate::Run { program: "llm-trainer", code: 0, says }
}

/// The model that stands in for the page's has random weights.
const CANNOT_LEARN: Fate =
    Fate::Run { program: "llm-trainer", code: 2, says: "this run cannot learn" };

const fn simulator(says: &'static str) -> Fate {
    Fate::Run { program: "softmax-sim", code: 0, says }
}

const fn verifier(says: &'static str) -> Fate {
    Fate::Run { program: "reward-math", code: 0, says }
}

const MEASUREMENT: Fate = Not("a measurement of minutes, whose numbers are those of a machine");
const PEER: Fate = Not("compares with programs of others that are not in the repository");
const TRAINS: Fate = Not("trains for minutes; the command and its configuration are parsed");
const DOWNLOADS: Fate = Not("downloads");

/// Every block: its page, a text that no other block of the page has, its fate.
pub const BLOCKS: &[(&str, &str, Fate)] = &[
    (
        "README.md",
        "make demo",
        Not("downloads and trains for minutes; its steps and the findings have tests of their own"),
    ),
    (
        "README.md",
        "-- micro-batch",
        Elsewhere("crates/softmax-sim/tests/it/micro_batch.rs: README shows what it prints"),
    ),
    ("README.md", "scripts/fetch-smollm2.sh", DOWNLOADS),
    ("README.md", "--preset qwen2.5-7b-kl-cov", trainer("name = \"qwen2.5-7b-kl-cov\"")),
    ("docs/benchmarks.md", "make benchmarks", MEASUREMENT),
    ("docs/benchmarks.md", "--bench softmax_entropy", MEASUREMENT),
    ("docs/benchmarks.md", "--bench row_kernels", MEASUREMENT),
    ("docs/benchmarks.md", "sim_peer.py", PEER),
    ("docs/benchmarks.md", "loss_peer.py", PEER),
    ("docs/benchmarks.md", "--bench verify", MEASUREMENT),
    ("docs/benchmarks.md", "math_verify_peer.py", PEER),
    ("docs/benchmarks.md", "--bench generation", MEASUREMENT),
    ("docs/benchmarks.md", "--what train", PEER),
    ("docs/benchmarks.md", "--what gen1", PEER),
    ("docs/benchmarks.md", "--set rollout.cpu_kernels=$own", MEASUREMENT),
    ("docs/benchmarks.md", "make demo", MEASUREMENT),
    ("docs/benchmarks.md", "configs/arithmetic.toml --set training.steps=1", MEASUREMENT),
    ("docs/benchmarks.md", "make test", MEASUREMENT),
    ("docs/benchmarks.md", "h200_peer.py", PEER),
    ("docs/choosing-a-method.md", "reproduce clip-cov-kl-cov", MEASUREMENT),
    ("docs/choosing-a-method.md", "name=no-penalty", TRAINS),
    ("docs/data.md", "data check dapo", Not("needs two data sets that are not in the repository")),
    ("docs/data.md", "--prompts 32", CANNOT_LEARN),
    (
        "docs/distributed.md",
        "torchrun",
        Elsewhere(
            "crates/llm-trainer/tests/trainer/launch.rs crates/llm-trainer/tests/trainer/ranks: few ranks of one machine",
        ),
    ),
    ("docs/evaluation.md", "gsm8k=", trainer("In out/contests: results.json")),
    ("docs/evaluation.md", "eval compare", trainer("| operations | avg@32 |")),
    ("docs/faq.md", "plan --model 7b", trainer("Qwen2.5-7B")),
    ("docs/faq.md", "reward-math explain", verifier("verdict       right")),
    ("docs/faq.md", "preflight", CANNOT_LEARN),
    ("docs/faq.md", "--dry-run", trainer("# longest sequence")),
    ("docs/faq.md", "merge", trainer("merged: ")),
    ("docs/faq.md", "--deadline", TRAINS),
    ("docs/faq.md", "inspect", trainer("KL-Cov: 400 steps")),
    (
        "docs/first-run.md",
        "make demo",
        Not("downloads and trains for minutes; its steps are tested one by one"),
    ),
    ("docs/first-run.md", "make setup", DOWNLOADS),
    ("docs/first-run.md", "llm-trainer doctor", trainer("self-test    cpu: ok")),
    (
        "docs/first-run.md",
        "softmax-sim verify",
        Elsewhere("crates/softmax-sim/tests/it/cli.rs: fewer policies"),
    ),
    (
        "docs/first-run.md",
        "reward-math explain",
        verifier("verdict       right, decided by normal-form"),
    ),
    ("docs/first-run.md", "data check", trainer("4 are questions")),
    ("docs/first-run.md", "--entropy --readable", trainer("entropy surprise")),
    ("docs/first-run.md", "--dry-run", trainer("this run can learn")),
    ("docs/first-run.md", "training.steps=20", TRAINS),
    ("docs/first-run.md", "llm-trainer report", trainer("mine: 4 problems, 4 samples each")),
    ("docs/first-run.md", "llm-trainer man --dir", trainer("pages: man1")),
    ("docs/hardware.md", "plan --model 32b", trainer("32 ranks: 4 nodes of 8 devices")),
    (
        "docs/hardware.md",
        "--sections grpo",
        Not("measures a GPU; crates/run-plan/tests/it/time.rs holds the plan to it"),
    ),
    ("docs/data.md", "CUDA=1 make setup", Not("downloads, and trains for weeks on eight GPUs")),
    (
        "docs/data.md",
        "--against data/math500",
        Not("needs data sets that are not in the repository"),
    ),
    ("docs/evaluation.md", "--entropy --readable", trainer("entropy surprise")),
    (
        "docs/evaluation.md",
        "--entropy-ceiling 1.0",
        trainer("stories: 64 problems, 8 samples each"),
    ),
    ("docs/data.md", "llm-trainer merge", trainer("merged: ")),
    (
        "docs/data.md",
        "import-gguf",
        Elsewhere(
            "crates/gguf-import/tests/it: files made up by the test, and the fetched ones where they are",
        ),
    ),
    ("docs/data.md", "KEEP_GGUF", DOWNLOADS),
    ("docs/architecture.md", "custom_loss", Elsewhere("crates/rl-losses/tests/it/own_loss.rs")),
    (
        "docs/architecture.md",
        "custom_run",
        Elsewhere("crates/llm-trainer/tests/trainer/examples.rs: a smaller model"),
    ),
    (
        "docs/architecture.md",
        "custom_simulation",
        Elsewhere("crates/softmax-sim/tests/it/example.rs"),
    ),
    (
        "docs/architecture.md",
        "minimal_loop",
        Elsewhere("crates/llm-trainer/tests/trainer/examples.rs"),
    ),
    (
        "docs/python.md",
        "maturin build",
        Elsewhere("scripts/test-python.sh: the same, in a fresh environment"),
    ),
    ("docs/reading-results.md", "inspect", trainer("report: runs/demo/GRPO/report.html")),
    ("docs/reading-results.md", "--pdf --width", Not("needs a font, which a machine may lack")),
    ("docs/reading-results.md", "points.csv", simulator("ceiling")),
    ("docs/reading-results.md", "--csv GRPO.csv", trainer("csv: GRPO.csv")),
    ("docs/reading-results.md", "fit-law GRPO.csv", simulator("ceiling")),
    ("docs/reading-results.md", "eval compare", trainer("| operations | pass@4 |")),
    ("docs/reading-results.md", "pip install tensorboard", DOWNLOADS),
    ("docs/reading-results.md", "--tensorboard exported", trainer("tensorboard: exported/KL-Cov")),
    ("docs/language-model.md", "reproduce --quick", MEASUREMENT),
    ("docs/reproduce.md", "reproduce --quick", MEASUREMENT),
    (
        "docs/reward-math.md",
        "reward-math explain",
        verifier("verdict       right, decided by normal-form"),
    ),
    ("docs/reward-math.md", "--skip-bad-rows", verifier("median")),
    ("docs/reward-math.md", "real-answers.py", DOWNLOADS),
    ("docs/rollout.md", "--replay-rollouts", trainer("again: 2 steps done")),
    ("docs/scaling.md", "plan --table", trainer("# Scaling")),
    ("docs/releasing.md", "PUBLISH=1", Not("publishes")),
    (
        "docs/rollout.md",
        "curl",
        Elsewhere(
            "crates/llm-trainer/tests/trainer/serve: other requests, and OpenAI's package where Python has it",
        ),
    ),
    (
        "docs/rollout.md",
        "--set rollout.engine=vllm",
        Elsewhere(
            "crates/llm-trainer/tests/trainer/external_engine.rs: our own server in its place",
        ),
    ),
    ("docs/rollout.md", "make test-engines", MEASUREMENT),
    ("docs/rollout.md", "make test-environments", MEASUREMENT),
    (
        "docs/evaluation.md",
        "eval lm-eval",
        Elsewhere("crates/llm-trainer/tests/trainer/harness_tasks.rs: a stand-in of lm-eval"),
    ),
    ("docs/sweeps.md", "sweep merge", MEASUREMENT),
    (
        "docs/sweeps.md",
        "--out curve.csv",
        Elsewhere("crates/softmax-sim/tests/it/train.rs: a smaller run"),
    ),
    ("docs/sweeps.md", "#SBATCH", Not("needs Slurm")),
    ("docs/sweeps.md", "scripts/show.sh", Not("downloads and trains for an hour")),
    (
        "docs/sweeps.md",
        "configs/evaluation/sums.toml",
        Not("evaluates the runs of the block before"),
    ),
    ("docs/sweeps.md", "warmup", TRAINS),
];

/// Runs the blocks that are `program`'s, by bash with `binary` under that name, each in a folder of its own: `crates` and `docs` are
/// those of the repository, `configs` and `scripts` copies, the rest is what `furnish` puts there for the
/// block. What went wrong.
///
/// # Panics
///
/// If there is no block, or a folder cannot be made.
pub fn faults_of_blocks(
    program: &str,
    binary: &Path,
    furnish: impl Fn(&Path, &str),
) -> Vec<String> {
    let mut faults = Vec::new();
    let mut count = 0;
    for (page, text, fate) in BLOCKS {
        let Fate::Run { program: of, code, says } = *fate else { continue };
        if of != program {
            continue;
        }
        count += 1;
        let folder = scratch();
        let script = block(page, text).1;
        furnish(&folder, &script);
        let output = run_block(program, binary, &script, &folder);
        let output = output.unwrap_or_else(|error| panic!("{page}, {text}: {error}"));
        let _ = std::fs::remove_dir_all(&folder);
        let (wrote, messages) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if output.status.code() != Some(code) {
            faults.push(format!("{page}, {text}: {}, expected {code}: {messages}", output.status));
        } else if !wrote.contains(says) {
            faults.push(format!("{page}, {text}: expected {says:?} in {wrote}"));
        }
    }
    assert!(count > 0, "no block is {program}'s");
    faults
}

#[cfg(unix)]
fn run_block(program: &str, binary: &Path, script: &str, folder: &Path) -> io::Result<Output> {
    let programs = folder.join("programs");
    std::fs::create_dir_all(&programs)?;
    std::os::unix::fs::symlink(binary, programs.join(program))?;
    for name in ["crates", "docs"] {
        std::os::unix::fs::symlink(root().join(name), folder.join(name))?;
    }
    for name in ["configs", "scripts"] {
        copy(&root().join(name), &folder.join(name))?;
    }
    let path = std::env::var("PATH").unwrap_or_default();
    // As a reader who has built it: `target/release/PROGRAM` is the program that is on the path too.
    let script = script.replace("target/release/", "");
    let mut command = Command::new("bash");
    command.args(["--norc", "--noprofile", "-euo", "pipefail", "-c", &script]).current_dir(folder);
    command.stdin(std::process::Stdio::null());
    command.env("PATH", format!("{}:{path}", programs.display())).output()
}

/// Copies a file, or a folder with all that is in it.
///
/// # Errors
///
/// If something cannot be read or written.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return std::fs::copy(from, to).map(drop);
    }
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}
