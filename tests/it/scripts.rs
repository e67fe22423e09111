//! The scripts that start published runs start runs that there are.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use training_run::config::{Run, Zero};

use crate::architecture::root;

const METHODS: [&str; 4] = ["grpo", "clip-higher", "clip-cov", "kl-cov"];

fn script(name: &str) -> PathBuf {
    root().join("scripts").join(name)
}

/// Runs a script that only prints.
fn dry(name: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new("bash");
    command.arg(script(name)).args(arguments).envs(variables.iter().copied());
    command.env("MODEL", "/models/a model").env("DATA", "/data/questions.parquet");
    // What `plan` would choose; the rest is printed.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = folder.path().join("llm-trainer");
    let plan = "#!/bin/sh\n[ \"$1\" = plan ] && echo parallel.zero=3 && echo rollout.rows=64\n";
    std::fs::write(&program, plan).expect("a temporary folder is writable");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&program, executable).expect("a file of ours");
    command.env("DRY_RUN", "1").env("LLM_TRAINER", &program).env("SLURM_SUBMIT_DIR", root());
    command.output().expect("bash runs")
}

/// The words of the line that was printed, as bash quotes them.
fn words(output: &Output) -> Vec<String> {
    let line = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut words = vec![String::new()];
    let mut escaped = false;
    for c in line.trim_end().chars() {
        let word = words.last_mut().expect("there is one");
        match c {
            '\\' if !escaped => escaped = true,
            ' ' if !escaped => words.push(String::new()),
            _ => {
                word.push(c);
                escaped = false;
            }
        }
    }
    words
}

/// The run that `llm-trainer train ARGUMENTS` is.
fn run_of(words: &[String]) -> Run {
    let index = words.iter().position(|word| word == "train").expect("the command");
    assert!(words[index - 1].ends_with("/llm-trainer"), "{words:?}");
    let (mut preset, mut overrides) = (None, Vec::new());
    for pair in words[index + 1..].chunks(2) {
        match [pair[0].as_str(), pair[1].as_str()] {
            ["--preset", name] => preset = Some(name.to_owned()),
            ["--set", assignment] => overrides.push(assignment.to_owned()),
            ["--resume", "auto"] | ["--deadline", "@1790000000"] => {}
            other => panic!("{other:?} is no argument of train"),
        }
    }
    let preset = preset.expect("a published run");
    Run::from_preset(&preset, &overrides).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_published_run_is_started_on_one_machine_and_on_four() {
    for size in ["7b", "32b"] {
        for method in METHODS {
            for nodes in ["1", "4"] {
                let arguments = [method, nodes, "--", "--set", "training.steps=7"];
                let variables = [
                    ("RENDEZVOUS", "first:29500"),
                    ("NODE_RANK", "2"),
                    ("EVALUATION", "aime.jsonl"),
                ];
                let script = format!("train-{size}.sh");
                let command = words(&dry(&script, &arguments, &variables));
                assert_eq!(command[1..4], ["launch", "-n", "8"]);
                let several = ["--nnodes", "4", "--node-rank", "2", "--master-addr", "first"];
                assert_eq!(command[4..10] == several, nodes == "4", "{command:?}");
                let run = run_of(&command);
                let variables = [&variables[..], &[("LAUNCHER", "torchrun")]].concat();
                let other = words(&dry(&script, &arguments, &variables));
                assert_eq!(other[..3], ["torchrun", "--nnodes", nodes]);
                assert_eq!(run_of(&other), run);
                let config = run.config();
                assert_eq!(config.name, format!("qwen2.5-{size}-{method}"));
                assert_eq!(config.model.path.to_str(), Some("/models/a model"));
                assert_eq!(config.parallel.zero, Zero::Parameters);
                assert_eq!((config.training.steps, config.evaluation.every), (7, 4));
                // On four machines it is the published run.
                let published =
                    (config.algorithm.mini_batch_prompts, config.rollout.max_response_tokens);
                assert!(published == (32, 8192) || (size, nodes) == ("32b", "1"), "{published:?}");
            }
        }
    }
}

#[test]
fn a_job_of_slurm_is_the_same_run() {
    for size in ["7b", "32b"] {
        for method in METHODS {
            let variables = [
                ("METHOD", method),
                ("SLURM_JOB_NUM_NODES", "4"),
                ("SLURM_JOB_END_TIME", "1790000000"),
            ];
            let job = words(&dry(&format!("train-{size}.sbatch"), &[], &variables));
            assert_eq!(job[0], "srun");
            assert!(job.iter().any(|word| word == "@1790000000"), "{job:?}");
            let launched = words(&dry(
                &format!("train-{size}.sh"),
                &[method, "4"],
                &[("RENDEZVOUS", "first:29500"), ("NODE_RANK", "0")],
            ));
            assert_eq!(run_of(&job), run_of(&launched));
        }
    }
}

/// Slurm 22.05 has no `SLURM_JOB_END_TIME`; its `squeue` says `N/A` of a job without a limit.
#[test]
fn a_job_without_the_variable_asks_when_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let squeue = folder.path().join("squeue");
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let variables = [("SLURM_JOB_ID", "7"), ("TZ", "UTC"), ("PATH", path.as_str())];
    for (end, deadline) in [("2026-01-31T18:00:00", Some("@1769882400")), ("N/A", None)] {
        let answer = format!("[[ $* == '--noheader --jobs 7 --format %e' ]] && echo {end}");
        std::fs::write(&squeue, format!("#!/usr/bin/env bash\n{answer}\n")).unwrap();
        std::fs::set_permissions(&squeue, std::fs::Permissions::from_mode(0o755)).unwrap();
        let job = words(&dry("train-7b.sbatch", &[], &variables));
        let place = job.iter().position(|word| word == "--deadline");
        assert_eq!(place.map(|place| job[place + 1].as_str()), deadline, "{end}: {job:?}");
    }
}

#[test]
fn what_is_missing_is_said_before_anything_starts() {
    let wrong = dry("train-7b.sh", &["ppo"], &[]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&wrong.stderr).contains("grpo, clip-higher, clip-cov or kl-cov")
    );
    let several = dry("train-7b.sh", &["grpo", "4"], &[]);
    assert!(!several.status.success());
    assert!(String::from_utf8_lossy(&several.stderr).contains("RENDEZVOUS=HOST:PORT"));
    let nobody = dry("train-7b.sh", &["grpo", "4"], &[("RENDEZVOUS", "first:29500")]);
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("NODE_RANK, 0 on the first"));
    let mut command = Command::new("bash");
    command.arg(script("train-7b.sh")).arg("grpo").env_remove("MODEL").env("DATA", "x");
    let output = command.output().expect("bash runs");
    assert!(String::from_utf8_lossy(&output.stderr).contains("MODEL=DIR"));
}

#[test]
fn the_check_of_a_gpu_refuses_what_it_does_not_know() {
    for arguments in [["run", "--sections", "doctor,speed"], ["run", "--fast", "yes"]] {
        let output = Command::new("bash")
            .arg(script("gpu-check.sh"))
            .args(arguments)
            .output()
            .expect("bash runs");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains("doctor,parity,runs,step,rollout,update,grpo,peer"), "{message}");
    }
}

/// Stand-ins for the two programs on a machine with CUDA: every row of the two lists is measured, and a wrong device fails its section.
#[test]
fn the_check_of_a_gpu_measures_every_row_and_fails_where_numbers_differ() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a temporary folder is writable");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("ours");
    };
    for name in ["gpu-check.sh", "gpu-check-table.py"] {
        std::fs::copy(script(name), folder.path().join(name)).expect("a file of ours");
    }
    place("lm_bench", "#!/bin/sh\necho \"{\\\"what\\\": \\\"$1\\\"}\"\n");
    // It reads all that it is given, as the trainer does: a broken pipe would be another failure.
    let trainer = "#!/bin/sh\nif [ \"$1\" = doctor ]; then echo 'CUDA yes'; exit; fi\ncat >/dev/null\ncase \"$*\" in\n  \
                   *--device\\ cpu*) echo '{\"log_prob\": [-1.0], \"entropy\": [1.0]}' ;;\n  \
                   *) echo '{\"log_prob\": [-1.5], \"entropy\": [1.0]}' ;;\nesac\n";
    place("llm-trainer", trainer);
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").expect("a PATH"));
    let any_card =
        ["fwd:8x4096", "train-split:8x2048:0B", "train-split:8x4096:0B", "train-split:1x8192:0B"];
    let large_card = ["train-split:8x2048:48GB", "train:2x4096"];
    for (mebibytes, training) in
        [("81559", any_card.to_vec()), ("143771", [&any_card[..], &large_card].concat())]
    {
        place("nvidia-smi", &format!("#!/bin/sh\necho {mebibytes}\n"));
        let out = folder.path().join(mebibytes);
        let output = Command::new("bash")
            .arg(folder.path().join("gpu-check.sh"))
            .args(["run", "--sections", "parity,rollout,update", "--out"])
            .arg(&out)
            .env("PATH", &path)
            .output()
            .expect("bash runs");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let text = std::fs::read_to_string(out.join("gpu-check.json")).expect("it is written");
        let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let rows = |section: &str| -> Vec<String> {
            let rows = report["sections"][section]["rows"].as_array().expect("a list");
            rows.iter().filter_map(|row| row["what"].as_str().map(str::to_owned)).collect()
        };
        let decoding = ["gen1:512+64", "gen64:512+256", "plain64:512+256", "gen256:512+256"];
        let decoding = decoding.into_iter().chain(["plain256:512+256"]);
        let decoding: Vec<String> = decoding.map(|what| format!("7b:bf16:{what}")).collect();
        assert_eq!(rows("rollout"), decoding);
        let training = training.iter().map(|what| format!("7b:bf16:{what}"));
        let training: Vec<String> =
            std::iter::once("tiny:bf16:launch".to_owned()).chain(training).collect();
        assert_eq!(rows("update"), training, "{mebibytes} MiB");
        assert_eq!(report["sections"]["parity"]["status"], "exit 1", "{text}");
        assert_eq!(report["sections"]["rollout"]["status"], "ok", "{text}");
    }
}
