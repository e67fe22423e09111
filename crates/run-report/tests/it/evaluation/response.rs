//! One response to one problem, with its verdict.

use question_data::ground_truth::RewardKind;
use reward_math::Options;
use run_report::evaluation::response::judge;

#[test]
fn answers_that_are_equal_vote_for_the_same() {
    let truth = RewardKind::Math.read("7", &Options::default()).unwrap();
    let form = |text: &str| judge(&truth, text).normal_form;
    assert_eq!(form(r"so \boxed{\frac{2}{4}}"), form("The answer is 0.5."));
    assert_ne!(form(r"\boxed{\frac{2}{4}}"), form(r"\boxed{0.25}"));
    assert_eq!(form("I do not know"), None);
    assert!(judge(&truth, r"\boxed{7.0}").verdict.is_right());
    assert_eq!(judge(&truth, r"\boxed{7.0}").answer.as_deref(), Some("7.0"));
}

#[test]
fn choices_and_texts_vote_too() {
    let options = Options::default();
    let choice = RewardKind::MultipleChoice.read("C", &options).unwrap();
    let form = |text: &str| judge(&choice, text).normal_form;
    assert_eq!(form(r"\boxed{(b)}"), form("The answer is B."));
    assert_ne!(form(r"\boxed{a}"), form(r"\boxed{b}"));
    let text = RewardKind::ExactMatch(question_data::ground_truth::ExactMatch::default());
    let text = text.read("New York", &options).unwrap();
    let form = |answer: &str| judge(&text, answer).normal_form;
    assert_eq!(form(r"\boxed{Los  Angeles}"), form(r"\boxed{ Los Angeles}"));
}
