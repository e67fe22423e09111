//! On-policy distillation: a teacher as the reference whose divergence is the reward of each token.

use std::fs;
use std::path::Path;

use decoder::model::Decoder;
use decoder::scoring::score;
use serde_json::Value;
use tch::{Device, Kind};

use crate::fixture::{directory, said_beside_the_device};
use crate::training_run::{
    assert_success, column, goes_on_bit_for_bit, steps, train, train_process,
};

/// Nothing but the teacher counts, and each token for itself.
const DISTILLATION: [&str; 6] = [
    "algorithm.policy_loss=ppo-clip",
    "algorithm.advantage.reinforce.discount=0.0",
    "algorithm.reference_kl.placement=reward",
    "algorithm.reference_kl.estimator=k1",
    "algorithm.reference_kl.coefficient.fixed=1.0",
    "reward.values={ right = 0.0, wrong = 0.0, unparsed = 0.0 }",
];

fn teacher(path: &Path) -> String {
    format!("model.reference={}", path.display())
}

fn distil(root: &Path, more: &[&str]) {
    let teacher = teacher(&directory("tiny_qwen2_untied"));
    let overrides = [&DISTILLATION[..], &[&teacher], more].concat();
    assert_success(&train(root, &overrides));
}

fn rows(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a run leaves samples");
    text.lines().map(|line| serde_json::from_str(line).expect("a row is JSON")).collect()
}

fn numbers(value: &Value) -> Vec<f64> {
    serde_json::from_value(value.clone()).expect("a column of numbers")
}

#[test]
fn an_advantage_is_the_teachers_log_probability_above_the_policys() {
    let folder = tempfile::tempdir().unwrap();
    distil(folder.path(), &["training.steps=1"]);
    let samples = folder.path().join("run/samples");
    let path = directory("tiny_qwen2_untied");
    let teacher = Decoder::load(&path, Device::Cpu, Kind::Float).unwrap();
    let mut compared = 0;
    for tokens in rows(&samples.join("step-1.tokens.jsonl")) {
        let index = usize::try_from(tokens["sample"].as_u64().unwrap()).unwrap();
        let sample = &rows(&samples.join("step-1.jsonl"))[index];
        // A token of these models is a byte.
        let prompt = sample["problem"].as_str().unwrap().bytes().map(u32::from);
        let response = tokens["token_ids"].as_array().unwrap().iter();
        let response = response.map(|id| u32::try_from(id.as_u64().unwrap()).unwrap());
        let ids: Vec<u32> = prompt.chain(response).collect();
        let (log_prob, advantage) = (numbers(&tokens["log_prob"]), numbers(&tokens["advantage"]));
        let scored = score(&teacher, &ids, 1.0).log_prob;
        let of_teacher = &scored[scored.len() - log_prob.len()..];
        for ((old, teachers), advantage) in log_prob.iter().zip(of_teacher).zip(advantage) {
            // The file has five digits.
            assert!((advantage - (teachers - old)).abs() < 1e-3, "{advantage} {teachers} {old}");
            compared += 1;
        }
    }
    assert!(compared >= 10, "{compared}");
}

#[test]
fn a_policy_comes_near_its_teacher() {
    let folder = tempfile::tempdir().unwrap();
    let more = ["training.steps=40", "optimizer.learning_rate=3e-3", "rollout.group_size=16"];
    distil(folder.path(), &more);
    let divergence = column(&steps(folder.path()), "actor/reference_kl");
    // Processors round in their own ways and then draw other tokens: it falls to 0.39 to 0.42 of the start.
    let last = divergence[35..].iter().sum::<f64>() / 5.0;
    assert!(last < divergence[0] / 2.0, "{divergence:?}");
}

#[test]
fn a_run_with_a_teacher_goes_on_bit_for_bit() {
    let teacher = teacher(&directory("tiny_qwen2_untied"));
    let overrides = [&DISTILLATION[..], &[&teacher]].concat();
    goes_on_bit_for_bit(&overrides);
    // The teacher is not the model below the adapter.
    let divergence = |more: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        distil(folder.path(), more);
        column(&steps(folder.path()), "actor/reference_kl")[0]
    };
    let (plain, adapter) = (divergence(&[]), divergence(&["lora.rank=2"]));
    assert!((plain - adapter).abs() < 1e-5 && plain > 0.1, "{plain} {adapter}");
}

#[test]
fn a_teacher_needs_the_policys_tokens_and_a_use() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |overrides: &[&str]| {
        let output = train_process(folder.path(), overrides);
        assert_eq!(output.status.code(), Some(2));
        said_beside_the_device(&output.stderr)
    };
    let other = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(directory("tiny_qwen2_untied")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, other.path().join(path.file_name().unwrap())).unwrap();
    }
    let path = other.path().join("tokenizer.json");
    let mut tokenizer: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let vocabulary = tokenizer["model"]["vocab"].as_object_mut().unwrap();
    let (one, two) = (vocabulary["1"].clone(), vocabulary["2"].clone());
    vocabulary.insert("1".to_owned(), two);
    vocabulary.insert("2".to_owned(), one);
    fs::write(&path, tokenizer.to_string()).unwrap();
    let teacher = teacher(other.path());
    let text = refused(&[&DISTILLATION[..], &[&teacher]].concat());
    assert!(text.contains(": it has other tokens than "), "{text}");
    let text = refused(&[&teacher]);
    assert!(text.contains("absent unless algorithm.reference_kl is given"), "{text}");
    let text = refused(&["model.reference=nowhere", "algorithm.reference_kl.estimator=k1"]);
    assert!(text.contains("`model.reference` is nowhere, expected a Hugging Face"), "{text}");
    let text = refused(&["reward.values.right=0.25"]);
    assert!(text.contains("more than reward.values.wrong = 0.25, or as much with"), "{text}");
}
