//! Error messages for damaged files of a checkpoint.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tch::{Device, Kind, Tensor};
use training_run::config::OptimizerSection;

use super::*;

const BOUNDS: Bounds = Bounds {
    groups: GroupBounds { questions: 5, group_size: 1, vocab_size: 10, routes: None },
    asked_per_step: Some(4),
    ahead: 0,
};

fn optimizer() -> AdamW {
    let named =
        ["v", "w"].map(|name| (name.to_owned(), Tensor::ones([3], (Kind::Float, Device::Cpu))));
    AdamW::of(named, &OptimizerSection::default(), 0)
}

/// A checkpoint with only the trainer's files.
struct Saved(tempfile::TempDir);

impl Saved {
    fn new() -> Self {
        let saved = Self(tempfile::tempdir().unwrap());
        fs::create_dir(saved.0.path().join(TRAINER_FOLDER)).unwrap();
        optimizer().save(&saved.file("optimizer.safetensors")).unwrap();
        saved.write(STATE_FILE, &serde_json::to_value(TrainerState::default()).unwrap());
        saved
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(TRAINER_FOLDER).join(name)
    }

    fn write(&self, name: &str, value: &Value) {
        fs::write(self.file(name), value.to_string()).unwrap();
    }

    /// The error with all its causes, on one line.
    fn said(&self) -> String {
        let error = restore(self.0.path(), &mut optimizer(), BOUNDS).unwrap_err();
        let message = format!("{error:#}").replace(&self.0.path().display().to_string(), "DIR");
        assert_eq!(message.lines().count(), 1, "{message}");
        message
    }

    fn assert_refused(&self, file: &str, expected: &str) {
        let message = self.said();
        assert!(message.starts_with(&format!("DIR/trainer/{file}: {expected}")), "{message}");
    }
}

/// Other questions than the run's next ones were asked, without a word.
#[test]
fn a_place_in_the_data_that_the_run_cannot_have_reached_is_refused() {
    let saved = Saved::new();
    let state = |step: u64, epoch: u64, position: u64| {
        let mut state = serde_json::to_value(TrainerState::default()).unwrap();
        state["step"] = json!(step);
        state["cursor"] = json!({ "epoch": epoch, "position": position });
        saved.write(STATE_FILE, &state);
    };
    for (step, epoch, position) in [(0, 0, 0), (3, 2, 2), (3, 1, 5), (10, 0, 0)] {
        state(step, epoch, position);
        restore(saved.0.path(), &mut optimizer(), BOUNDS).unwrap();
    }
    for (step, epoch, position, expected) in [
        (3, 0, 1 << 63, "`cursor.position` is 9223372036854775808, expected at most 5"),
        (3, 2, 3, "`cursor` stands after 13 questions, expected at most 12 after step 3"),
        (
            3,
            u64::MAX,
            0,
            "`cursor` stands after 92233720368547758075 questions, expected at most 12",
        ),
    ] {
        state(step, epoch, position);
        saved.assert_refused(STATE_FILE, expected);
        // A branch may have other data.
        let any = Bounds { asked_per_step: None, ..BOUNDS };
        restore(saved.0.path(), &mut optimizer(), any).unwrap();
    }
}

#[test]
fn a_state_that_no_run_leaves_is_refused_by_field() {
    let saved = Saved::new();
    restore(saved.0.path(), &mut optimizer(), BOUNDS).unwrap();
    let state = serde_json::to_value(TrainerState::default()).unwrap();
    let counts =
        ["step", "updates", "reward_model_updates", "skipped_in_a_row", "mismatched_in_a_row"];
    let refused = |field| format!("`{field}` is 18446744073709551615, expected at most");
    let counts = counts.map(|field| (field, json!(u64::MAX), refused(field)));
    let others = [
        ("back_offs", json!(1000), "`back_offs` is 1000, expected at most 20"),
        ("step", json!("two"), "not a trainer state: invalid type: string \"two\""),
        ("more", json!(1), "not a trainer state: unknown field `more`"),
    ];
    let others = others.map(|(field, value, expected)| (field, value, expected.to_owned()));
    for (field, value, expected) in counts.into_iter().chain(others) {
        let mut changed = state.clone();
        changed[field] = value;
        saved.write(STATE_FILE, &changed);
        saved.assert_refused(STATE_FILE, &expected);
    }
    let endless = fs::File::create(saved.file(STATE_FILE)).unwrap();
    endless.set_len(1 << 40).unwrap();
    assert_eq!(saved.said(), "DIR/trainer/state.json: longer than 8388608 bytes");
    fs::remove_file(saved.file(STATE_FILE)).unwrap();
    saved.assert_refused(STATE_FILE, "No such file");
}

/// One waiting group, with the fields that a test changes.
fn waiting(question: usize, prompt: &[u32], response: &[u32], log_prob: &[f64]) -> Value {
    let gold = reward_math::Gold::parse("1", &reward_math::Options::default()).unwrap();
    let verdict = serde_json::to_value(gold.verify("\\boxed{1}")).unwrap();
    let sample = json!({
        "sequence": { "prompt": prompt, "response": response },
        "rollout_log_prob": log_prob, "truncated": false, "text": "", "verdict": verdict, "reward": 1.0,
    });
    let group = json!({
        "rewards": [1.0], "right": 1, "sampled_at": 1,
        "responses": { "question": question, "samples": [sample] },
    });
    let mut sampler = serde_json::to_value(GroupSampler::<QuestionGroup>::default()).unwrap();
    sampler["waiting"] = json!([group]);
    sampler
}

#[test]
fn groups_that_do_not_fit_the_run_are_refused() {
    let saved = Saved::new();
    let good = waiting(4, &[1], &[2, 3], &[-0.5, -0.5]);
    saved.write(WAITING, &good);
    let (_, sampler) = restore(saved.0.path(), &mut optimizer(), BOUNDS).unwrap();
    assert_eq!(sampler.waiting_groups().count(), 1);
    for (value, expected) in [
        (waiting(5, &[1], &[2], &[-0.5]), "group 0: question 5 of 5: other data"),
        (
            waiting(0, &[10], &[2], &[-0.5]),
            "group 0: token id 10, expected ids below vocab_size = 10",
        ),
        (waiting(0, &[], &[2], &[-0.5]), "group 0: an empty prompt, expected at least one token"),
        (waiting(0, &[1], &[2], &[]), "group 0: 0 log-probabilities of 1 response tokens"),
        (json!({ "waiting": 3 }), "not groups that wait"),
    ] {
        saved.write(WAITING, &value);
        saved.assert_refused(WAITING, expected);
    }
}

/// Replaces one tensor of an optimiser's file.
fn damaged(path: &Path, name: &str, tensor: &Tensor) {
    let mut tensors = Tensor::read_safetensors(path).unwrap();
    for (key, old) in &mut tensors {
        if key == name {
            *old = tensor.shallow_clone();
        }
    }
    Tensor::write_safetensors(&tensors, path).unwrap();
}

#[test]
fn an_optimiser_state_of_another_model_or_of_no_numbers_is_refused() {
    let path = |saved: &Saved| saved.file("optimizer.safetensors");
    for (name, tensor, expected) in [
        (
            "first_moment/w",
            Tensor::from_slice(&[1f32, f32::NAN, 0.0]),
            "has 1 values that are not finite, expected none",
        ),
        // Its root would be no number.
        (
            "second_moment/w",
            Tensor::from_slice(&[-1f32, 0.0, 0.0]),
            "holds -1, expected none below 0",
        ),
        ("master/w", Tensor::from_slice(&[1f32, 2.0]), "has shape [2], expected [3]"),
        ("second_moment/w", Tensor::from_slice(&[1f64, 2.0, 3.0]), "is F64, expected F32"),
        // The bias correction of a negative count is no number.
        ("step/w", Tensor::from(-1f32), "is -1, expected a number of steps"),
        ("step/v", Tensor::from(0.5f32), "is 0.5, expected a number of steps"),
        ("step/w", Tensor::from(3f32), "is 3, expected 0, as for the other tensors"),
    ] {
        let saved = Saved::new();
        damaged(&path(&saved), name, &tensor);
        let expected = format!("DIR/trainer/optimizer.safetensors: tensor `{name}` {expected}");
        assert_eq!(saved.said(), expected);
    }
    let saved = Saved::new();
    let mut more = Tensor::read_safetensors(path(&saved)).unwrap();
    more.push(("master/u".to_owned(), Tensor::from(1f32)));
    Tensor::write_safetensors(&more, path(&saved)).unwrap();
    let expected =
        "DIR/trainer/optimizer.safetensors: holds 3 parameters, expected 2: another model's";
    assert_eq!(saved.said(), expected);
    let other = Saved::new();
    let foreign =
        AdamW::of([("u".to_owned(), Tensor::from(1f32))], &OptimizerSection::default(), 0);
    foreign.save(&path(&other)).unwrap();
    assert!(other.said().contains("tensor `master/v` is missing, expected shape [3]"));
}

/// Each shard has a count of its own: one of another step would correct the bias of its elements otherwise.
#[test]
fn shards_of_different_steps_are_refused() {
    let saved = Saved::new();
    let single = saved.file("optimizer.safetensors");
    let tensors = Tensor::read_safetensors(&single).unwrap();
    fs::remove_file(single).unwrap();
    let shards =
        [1, 2].map(|rank| saved.file(&format!("optimizer-0000{rank}-of-00002.safetensors")));
    for (path, (start, length)) in shards.iter().zip([(0, 2), (2, 1)]) {
        let run = |(name, tensor): &(String, Tensor)| {
            let is_step = name.starts_with("step/");
            let run = if is_step { tensor.copy() } else { tensor.narrow(0, start, length).copy() };
            (format!("{name}@{start}"), run)
        };
        Tensor::write_safetensors(&tensors.iter().map(run).collect::<Vec<_>>(), path).unwrap();
    }
    restore(saved.0.path(), &mut optimizer(), BOUNDS).unwrap();
    damaged(&shards[1], "step/w@2", &Tensor::from(3f32));
    let expected = "DIR/trainer: tensor `step/w@2` is 3, expected 0, as for the other tensors";
    assert_eq!(saved.said(), expected);
}
