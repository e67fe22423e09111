//! `llm-trainer reproduce`: parts as processes, findings, and what a second call leaves alone.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn reproduce(folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-trainer"));
    command.current_dir(folder).args(["reproduce", "--quick", "--seeds", "1", "--steps", "2"]);
    command.args(["--methods", "GRPO,KL-Cov", "--output", "study"]);
    command.output().expect("the binary of this crate runs")
}

#[test]
fn a_study_is_completed_once_and_goes_on_where_it_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let study = folder.path().join("study");
    let first = reproduce(folder.path());
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    let text = String::from_utf8(first.stdout).unwrap();
    assert!(
        text.contains("no verdicts") && text.ends_with("report: study/report.html\n"),
        "{text}"
    );
    let metrics =
        |run: &str| std::fs::read_to_string(study.join(run).join("metrics.jsonl")).unwrap();
    let (grpo, kl_cov) = (metrics("0.1M/GRPO-41"), metrics("0.1M/KL-Cov-41"));
    assert_eq!((grpo.lines().count(), kl_cov.lines().count()), (3, 3));

    let json = std::fs::read_to_string(study.join("reproduce.json")).unwrap();
    let findings: Vec<Value> = serde_json::from_str(&json).unwrap();
    let measures = findings[0]["measures"].as_array().unwrap();
    let values = |quantity: &str| {
        let measure = measures.iter().find(|measure| measure["quantity"] == quantity);
        measure.unwrap_or_else(|| panic!("no {quantity}: {json}"))["values"][0].as_f64().unwrap()
    };
    // Recounted from the responses.
    let right = |run: &str| {
        let path = study.join("end/0.1M").join(run).join("samples/operations.jsonl");
        let text = std::fs::read_to_string(path).unwrap();
        let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let right: Vec<bool> = rows.map(|row| row["verdict"]["verdict"] == "right").collect();
        right.iter().filter(|&&right| right).count() as f64 / right.len() as f64
    };
    let grpo_accuracy = right("GRPO-41");
    assert!(grpo_accuracy > 0.1 && grpo_accuracy < 0.9, "{grpo_accuracy}");
    assert!((values("0.1M, GRPO: held-out avg@n") - grpo_accuracy).abs() < 1e-12);
    let difference = values("0.1M, KL-Cov less GRPO: held-out avg@n");
    assert!((difference - (right("KL-Cov-41") - grpo_accuracy)).abs() < 1e-12);

    // A second call runs what is missing and nothing else: the same metrics, times included.
    std::fs::remove_dir_all(study.join("0.1M/KL-Cov-41")).unwrap();
    std::fs::remove_dir_all(study.join("end/0.1M/KL-Cov-41")).unwrap();
    std::fs::remove_file(study.join("report.html")).unwrap();
    assert!(reproduce(folder.path()).status.success());
    assert_eq!(metrics("0.1M/GRPO-41"), grpo);
    assert_ne!(metrics("0.1M/KL-Cov-41"), kl_cov);
    assert!(study.join("report.html").is_file());

    // A part that fails is named, with its last line.
    std::fs::write(study.join("warmup/0.1M-41/model.safetensors"), "no weights").unwrap();
    let failed = reproduce(folder.path());
    let errors = String::from_utf8(failed.stderr).unwrap();
    assert_eq!(failed.status.code(), Some(2), "{errors}");
    let last = errors.lines().last().unwrap();
    assert!(
        last.starts_with("error: warmup-0.1M-41: study/warmup/0.1M-41/model.safetensors: "),
        "{last}"
    );
    assert!(last.ends_with("(exit status: 2; study/logs/warmup-0.1M-41.log)"), "{last}");
}
