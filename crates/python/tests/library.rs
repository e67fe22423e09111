//! The library as Python loads it, where Python is installed: numbers against closed forms, and masks
//! against the plan of the crate that owns them.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use rl_losses::{Aggregation, ClipCov, KlCov, PolicyLoss, TokenBatch, TokenColumns};
use serde_json::json;

/// The library that Cargo built beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("this test is a file");
    let folder = test.parent().expect("a file stands in a folder");
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    folder.join(format!("{prefix}entropy_rl{suffix}"))
}

/// The masks that rl-losses plans over a column of drawn numbers.
fn masks(tokens: usize, seed: u64) -> serde_json::Value {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut column = |scale: f64| -> Vec<f64> {
        (0..tokens).map(|_| scale * (f64::from(rng.next_u32()) / f64::from(u32::MAX))).collect()
    };
    let (log_prob, old_log_prob) = (column(-4.0), column(-4.0));
    let advantage: Vec<f64> = column(4.0).into_iter().map(|a| a - 2.0).collect();
    let columns =
        TokenColumns { log_prob: &log_prob, old_log_prob: &old_log_prob, advantage: &advantage };
    let lengths = [tokens];
    let batch = TokenBatch::new(columns, &lengths).expect("columns of one length");
    let selected = |loss: PolicyLoss| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let plan = loss.plan(&batch, &Aggregation::TokenMean, &mut rng);
        plan.expect("a loss that needs three columns").selected_tokens().to_vec()
    };
    json!({
        "seed": seed,
        "clip_cov": selected(PolicyLoss::ClipCov(ClipCov::default())),
        "kl_cov": selected(PolicyLoss::KlCov(KlCov::default())),
        "log_prob": log_prob,
        "old_log_prob": old_log_prob,
        "advantage": advantage,
    })
}

#[test]
fn python_gets_the_numbers_of_the_crates() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let package = folder.path().join("entropy_rl");
    std::fs::create_dir(&package).expect("a temporary folder is writable");
    let module = if cfg!(windows) { "_native.pyd" } else { "_native.so" };
    std::fs::copy(library(), package.join(module)).expect("Cargo built the library");
    let init = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/entropy_rl/__init__.py");
    std::fs::copy(init, package.join("__init__.py")).expect("the package is beside the crate");
    let cases = serde_json::Value::from_iter([masks(20_000, 7), masks(9, 8)]);
    let cases_file = folder.path().join("cases.json");
    std::fs::write(&cases_file, cases.to_string()).expect("a temporary folder is writable");

    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/closed_forms.py");
    let output = Command::new(&python).arg(script).arg(folder.path()).arg(cases_file).output();
    let output = match output {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            eprintln!("not run: no `{python}` here, set PYTHON to an interpreter of 3.9 or newer");
            return;
        }
        output => output.expect("Python starts"),
    };
    let (stdout, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{errors}");
    eprintln!("{stdout}");
    let expected = ["closed forms hold", "not run: Python is "];
    assert!(expected.iter().any(|words| stdout.starts_with(words)), "{stdout}{errors}");
}
