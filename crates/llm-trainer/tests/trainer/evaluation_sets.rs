//! `evaluation.by_source`: samples and temperature of each set, while a run goes on.

use std::fs;
use std::path::Path;

use training_run::metrics::{StepMetrics, read_metrics};

use crate::training_run::{assert_success, train};

fn names(step: &StepMetrics, source: &str) -> Vec<String> {
    let prefix = format!("val-core/{source}/acc/");
    let names = step.iter().map(|(name, _)| name);
    names.filter_map(|name| Some(name.strip_prefix(&prefix)?.to_owned())).collect()
}

fn evaluated(root: &Path, overrides: &[&str]) -> StepMetrics {
    let questions = [("easy", "1+1"), ("hard", "2+3"), ("easy", "3+3"), ("hard", "9+9")];
    let line = |(source, sum): (&str, &str)| {
        let terms: Vec<u32> = sum.split('+').map(|term| term.parse().expect("a digit")).collect();
        let answer: u32 = terms.iter().sum();
        format!(
            "{{\"question\": \"{sum}=\", \"answer\": \"{answer}\", \"source\": \"{source}\"}}\n"
        )
    };
    let lines = questions.map(line).concat();
    let path = root.join("held_out.jsonl");
    fs::write(&path, lines).expect("a temporary folder is writable");
    let data = format!("data.evaluation={}", path.display());
    let overrides = [&[data.as_str(), "evaluation.temperature=0.0"], overrides].concat();
    assert_success(&train(root, &overrides));
    read_metrics(&root.join("run/metrics.jsonl")).expect("a run leaves metrics").remove(0)
}

#[test]
fn a_set_has_samples_and_temperature_of_its_own() {
    let [plain, by_source] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let alike = evaluated(plain.path(), &[]);
    let setting = "evaluation.by_source={ hard = { samples = 4, temperature = 1.0 } }";
    let apart = evaluated(by_source.path(), &[setting]);
    assert_eq!(names(&alike, "hard"), ["mean@1"]);
    assert_eq!(names(&apart, "easy"), ["mean@1"]);
    let expected = ["maj@2", "maj@4", "mean@4", "pass@2", "pass@4"];
    assert_eq!(names(&apart, "hard"), expected);
    for what in ["val-core/easy/acc/mean@1", "val-aux/easy/acc/mean@1/high"] {
        assert_eq!(apart.get(what), alike.get(what), "{what}: the likeliest tokens");
    }
}

#[test]
fn a_source_without_questions_and_settings_that_contradict_are_refused() {
    for (setting, expected) in [
        (
            "{ easi = { samples = 1 } }",
            "evaluation.by_source.easi: no question of data.evaluation has this source",
        ),
        (
            "{ easy = { samples = 4, temperature = 0.0 } }",
            "`evaluation.by_source.easy.samples` is 4, expected 1 to 65536, and 1 where its temperature is 0",
        ),
        (
            "{ easy = { temperature = -1.0 } }",
            "`evaluation.by_source.easy.temperature` is -1.0, expected 0 or at least 0.000001",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let output = train(folder.path(), &[&format!("evaluation.by_source={setting}")]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(expected), "{text}");
    }
}
