use std::path::Path;

use question_data::question_order::DataCursor;
use training_run::config::RunConfig;
use training_run::dynamic_sampling::{GroupSampler, SampledGroup, SamplingStatistics, StepGroups};
use training_run::saved_rollouts::{RolloutOrigin, SavedRollouts, SavedStep};
use workspace_tests::files::{folder, message};

fn model() -> tempfile::TempDir {
    folder(&[("config.json", "{}"), ("tokenizer.json", "[]"), ("model.safetensors", "weights")])
}

fn origin(model: &Path, overrides: &[&str]) -> RolloutOrigin {
    let text = "name = \"x\"\nmodel = { path = \"m\" }\ntraining = { steps = 1 }\ndata.train.arithmetic = {}\n";
    let mut overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    overrides.push(format!("model.path={:?}", model.display().to_string()));
    let config = RunConfig::parse(text, Path::new("x.toml"), &overrides).expect("it parses");
    RolloutOrigin::of(&config).expect("the model has its files")
}

fn step(step: u64) -> SavedStep<String> {
    let group = |name: &str| SampledGroup {
        rewards: vec![0.1 + 0.2, 1.0 / 3.0],
        right: 1,
        sampled_at: step,
        responses: name.to_owned(),
    };
    SavedStep {
        step,
        weights: "abc".to_owned(),
        cursor: DataCursor { epoch: 1, position: 7 },
        sampled: StepGroups {
            groups: vec![group("first\nline"), group("second")],
            statistics: SamplingStatistics { asked: 2, ..SamplingStatistics::default() },
        },
        waiting: GroupSampler::default(),
    }
}

#[test]
fn a_step_comes_back_to_the_bit() {
    let (model, target) = (model(), tempfile::tempdir().unwrap());
    let directory = target.path().join("new/rollouts");
    let files = SavedRollouts::create(&directory, origin(model.path(), &[])).unwrap();
    files.write(&step(3)).unwrap();
    // Settings of speed are no difference.
    let now =
        origin(model.path(), &["rollout.rows=3", "reward.threads=2", "optimizer.learning_rate=1"]);
    let read = SavedRollouts::open(&directory, now).unwrap().read::<String>(3).unwrap();
    assert_eq!(read, step(3));
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn another_run_is_told_by_what_differs() {
    let (model, target) = (model(), tempfile::tempdir().unwrap());
    SavedRollouts::create(target.path(), origin(model.path(), &[]))
        .unwrap()
        .write(&step(1))
        .unwrap();
    let refused = |origin| {
        message(
            SavedRollouts::open(target.path(), origin).unwrap().read::<String>(1),
            target.path(),
        )
    };
    for (assignment, expected) in [
        ("rollout.temperature=0.5", "`rollout.temperature` was 1.0, and is 0.5"),
        ("seed=4", "`seed` was 0, and is 4"),
        (
            "reward.kind_by_source={a=\"multiple-choice\"}",
            "`reward.kind_by_source.a` was null, and is \"multiple-choice\"",
        ),
        ("reward.values.right=2.0", "`reward.values.right` was 1.0, and is 2.0"),
    ] {
        let text = refused(origin(model.path(), &[assignment]));
        assert_eq!(text, format!("DIR/step-1.jsonl: sampled by another run: {expected}"));
    }
    std::fs::write(model.path().join("model.safetensors"), "weighty").unwrap();
    assert!(refused(origin(model.path(), &[])).contains("the weights of model.path were others"));
    std::fs::write(model.path().join("tokenizer.json"), "[0]").unwrap();
    assert!(
        refused(origin(model.path(), &[])).contains("tokenizer.json of model.path was another")
    );
}

#[test]
fn a_large_file_of_weights_is_told_by_its_pieces() {
    let model = model();
    let mut bytes = vec![7; 3 << 20];
    let path = model.path().join("model.safetensors");
    std::fs::write(&path, &bytes).unwrap();
    let before = origin(model.path(), &[]);
    bytes[(2 << 20) + 100] = 8;
    std::fs::write(&path, &bytes).unwrap();
    assert_ne!(origin(model.path(), &[]), before);
}

#[test]
fn missing_and_damaged_files_say_what_is_there() {
    let (model, target) = (model(), tempfile::tempdir().unwrap());
    let origin = origin(model.path(), &[]);
    let none = SavedRollouts::open(&target.path().join("none"), origin.clone());
    let error = message(none, target.path());
    assert!(error.starts_with("DIR/none: cannot read: "), "{error}");
    let files = SavedRollouts::create(target.path(), origin).unwrap();
    let read = |step| message(files.read::<String>(step), target.path());
    assert_eq!(read(1), "DIR: no rollout of step 1, nor of any other");
    for number in [2, 3, 10] {
        files.write(&step(number)).unwrap();
    }
    assert_eq!(read(1), "DIR: no rollout of step 1, expected one of the 3 from step 2 to step 10");
    let text = std::fs::read_to_string(files.path(3)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    std::fs::write(files.path(3), lines[..3].join("\n")).unwrap();
    assert_eq!(read(3), "DIR/step-3.jsonl: line 4: the file ends here, expected another line");
    std::fs::write(files.path(3), format!("{text}{}\n", lines[3])).unwrap();
    assert!(read(3).ends_with("more than 2 groups"));
    std::fs::write(files.path(3), &text[..text.len() - 9]).unwrap();
    assert!(read(3).starts_with("DIR/step-3.jsonl: line 4: EOF"), "{}", read(3));
    std::fs::copy(files.path(2), files.path(3)).unwrap();
    assert_eq!(read(3), "DIR/step-3.jsonl: line 1: step 2, expected 3");
}
