//! Fingerprints that tell if two evaluations use the same model and the same questions.

use question_data::dataset::Question;
use question_data::prompt::Prompt;
use run_report::evaluation::identity::{of_model, of_prompts};

fn prompt(id: &str, answer: &str, tokens: &[u32]) -> Prompt {
    let [id, answer, problem, source] = [id, answer, "p", "s"].map(str::to_owned);
    let question = Question { id, problem, answer, source, context: Vec::new() };
    Prompt { question, tokens: tokens.to_vec() }
}

#[test]
fn another_question_answer_or_prompt_is_another_set() {
    let fingerprint_of = |prompt: Prompt| of_prompts(&[prompt]);
    let one = fingerprint_of(prompt("a", "1", &[1, 2]));
    assert_eq!(one, fingerprint_of(prompt("a", "1", &[1, 2])));
    for other in [prompt("b", "1", &[1, 2]), prompt("a", "2", &[1, 2]), prompt("a", "1", &[1])] {
        assert_ne!(one, fingerprint_of(other));
    }
    assert_ne!(fingerprint_of(prompt("a1", "", &[])), fingerprint_of(prompt("a", "1", &[])));
}

#[test]
fn other_weights_are_another_model() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("config.json", "{}");
    write("model.safetensors", "one");
    let first = of_model(&[folder.path()]).unwrap();
    write("model.safetensors", "two");
    assert_ne!(of_model(&[folder.path()]).unwrap(), first);
    assert!(of_model(&[&folder.path().join("none")]).is_err());
}
