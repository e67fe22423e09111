//! Description of a verdict in words.

use std::fmt::Write;

use crate::answer::Answer;
use crate::extract::extract;
use crate::gold::Gold;
use crate::normal_form;
use crate::options::Options;
use crate::verdict::{How, Side, Verdict};
use crate::verify;

/// Describes the comparison of a bare answer, without extraction from a text.
pub fn explain_answer(answer: &str, ground_truth: &str, options: &Options) -> String {
    let mut text = String::new();
    add_line(&mut text, "answer", answer);
    add_line(&mut text, "read as", &reading(answer));
    add_line(&mut text, "ground truth", ground_truth);
    add_line(&mut text, "read as", &reading(ground_truth));
    let verdict = match Gold::parse(ground_truth, &options.clone().explained()) {
        Ok(gold) => gold.verify_answer(answer),
        Err(why) => Verdict::Unparsed { which: Side::GroundTruth, why },
    };
    add_verdict(&mut text, &verdict);
    add_witness(&mut text, answer, ground_truth, options);
    text
}

/// Describes the extracted answer, the readings of both sides, and the deciding step.
pub fn explain(response: &str, ground_truth: &str, options: &Options) -> String {
    let mut text = String::new();
    let extracted = extract(response, options);
    let Some(answer) = &extracted else {
        // A text without an answer is more likely meant as a bare answer.
        add_line(&mut text, "extracted", "nothing: compared as it stands");
        text += &explain_answer(response, ground_truth, options);
        return text;
    };
    add_line(&mut text, "extracted", &answer.text);
    add_line(&mut text, "by rule", &format!("{}, bytes {:?}", answer.rule, answer.span));
    add_line(&mut text, "read as", &reading(&answer.text));
    add_line(&mut text, "ground truth", ground_truth);
    add_line(&mut text, "read as", &reading(ground_truth));
    let verdict = verify(response, ground_truth, &options.clone().explained());
    add_verdict(&mut text, &verdict);
    if matches!(verdict, Verdict::Wrong { .. }) {
        add_witness(&mut text, &answer.text, ground_truth, options);
    }
    text
}

/// Adds the evidence against a wrong answer, as JSON.
fn add_witness(text: &mut String, answer: &str, ground_truth: &str, options: &Options) {
    let witness = Gold::parse(ground_truth, options).ok().and_then(|gold| gold.witness(answer));
    if let Some(witness) = witness.and_then(|witness| serde_json::to_string(&witness).ok()) {
        add_line(text, "witness", &witness);
    }
}

/// Adds both sides as compared, and the verdict.
fn add_verdict(text: &mut String, verdict: &Verdict) {
    if let Some(How { response: Some(response), ground_truth: Some(ground_truth), .. }) =
        verdict.how()
    {
        add_line(text, "normal form", response);
        add_line(text, "against", ground_truth);
    }
    add_line(text, "verdict", &in_words(verdict));
}

fn add_line(text: &mut String, label: &str, value: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{label:<14}{value}");
}

fn in_words(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Right { how } => format!("right, decided by {}", how.rung),
        Verdict::Wrong { how } => format!("wrong, decided by {}", how.rung),
        Verdict::Unparsed { which: Side::Response, why } => format!("unparsed response: {why}"),
        Verdict::Unparsed { which: Side::GroundTruth, why } => {
            format!("unparsed ground truth: {why}")
        }
    }
}

fn reading(text: &str) -> String {
    match Answer::parse(text) {
        Err(why) => why.to_string(),
        Ok(answer) => match answer.readings {
            Err(why) => why.to_string(),
            Ok(readings) => readings
                .iter()
                .map(normal_form::as_read)
                .collect::<Vec<_>>()
                .join("\n          or: "),
        },
    }
}
