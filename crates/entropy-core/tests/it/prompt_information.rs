//! Information that responses carry about their prompts: low where a policy answers every prompt from one template.

use entropy_core::{PromptInformation, prompt_information};

/// A binary channel: each prompt is answered by its own letter in three of four responses. Then
/// `I = ln 2 - H(1/4)`, and the likelier prompt is right as often.
#[test]
fn a_binary_channel_has_its_closed_form() {
    let (likely, unlikely) = (0.75f64.ln(), 0.25f64.ln());
    let (first, second) = ([likely, unlikely], [unlikely, likely]);
    let responses = [first, first, first, second, second, second, second, first];
    let own_prompts = [0, 0, 0, 0, 1, 1, 1, 1];
    let PromptInformation { mutual_information, retrieval_accuracy } =
        prompt_information(responses.as_flattened(), &own_prompts, 2).unwrap();
    let entropy = -(0.75 * likely + 0.25 * unlikely);
    assert!((mutual_information - (2.0f64.ln() - entropy)).abs() < 1e-15);
    assert!((retrieval_accuracy - 0.75).abs() < 1e-15);
}

/// A template is as likely under every prompt; an answer that no other prompt gives says which one it was.
#[test]
fn a_template_tells_nothing_and_a_code_everything() {
    let template = prompt_information(&[-7.0; 12], &[0, 1, 2, 0], 3).unwrap();
    assert!(template.mutual_information.abs() < 1e-15);
    assert!((template.retrieval_accuracy - 1.0 / 3.0).abs() < 1e-15);
    let code = [-1.0, -900.0, -900.0, -900.0, -2.0, -900.0, -900.0, -900.0, -3.0];
    let code = prompt_information(&code, &[0, 1, 2], 3).unwrap();
    assert!((code.mutual_information - 3.0f64.ln()).abs() < 1e-15);
    assert!((code.retrieval_accuracy - 1.0).abs() < 1e-15);
}

#[test]
fn a_table_that_does_not_fit_is_refused() {
    let refusal = |scores: &[f64], own_prompts: &[usize]| {
        prompt_information(scores, own_prompts, 2).unwrap_err().to_string()
    };
    assert_eq!(refusal(&[0.0; 3], &[0, 1]), "`cross_log_prob` has 3 values; expected 4");
    assert_eq!(
        refusal(&[0.0; 4], &[0, 2]),
        "`own_prompts` is 2; expected a prompt below `prompts`"
    );
    assert_eq!(
        refusal(&[f64::NEG_INFINITY, 0.0], &[0]),
        "`cross_log_prob` is -inf at position 0; expected a finite number"
    );
}
