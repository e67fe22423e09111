//! Description of a verdict in words.

use crate::answer::Answer;
use crate::extract::extract;
use crate::gold::Gold;
use crate::normal_form;
use crate::options::Options;
use crate::verdict::{How, Side, Verdict};
use crate::verify;

/// Describes the comparison of a bare answer, without extraction from a text.
pub fn explain_answer(answer: &str, ground_truth: &str, options: &Options) -> String {
    let gold = Gold::parse(ground_truth, &options.clone().explained());
    let verdict = gold.map_or_else(Verdict::of_faulty_gold, |gold| gold.verify_answer(answer));
    line("answer", answer) + &comparison(answer, ground_truth, &verdict, options)
}

/// Describes the extracted answer, the readings of both sides, and the deciding step.
pub fn explain(response: &str, ground_truth: &str, options: &Options) -> String {
    let Some(answer) = extract(response, options) else {
        // A text without an answer is more likely meant as a bare answer.
        return line("extracted", "nothing: compared as it stands")
            + &explain_answer(response, ground_truth, options);
    };
    let verdict = verify(response, ground_truth, &options.clone().explained());
    line("extracted", &answer.text)
        + &line("by rule", &format!("{}, bytes {:?}", answer.rule, answer.span))
        + &comparison(&answer.text, ground_truth, &verdict, options)
}

/// Returns the readings of both sides, the verdict, and the evidence against a wrong answer as JSON.
fn comparison(answer: &str, ground_truth: &str, verdict: &Verdict, options: &Options) -> String {
    let mut text = line("read as", &reading(answer))
        + &line("ground truth", ground_truth)
        + &line("read as", &reading(ground_truth));
    if let Some(How { response: Some(response), ground_truth: Some(ground_truth), .. }) =
        verdict.how()
    {
        text += &line("normal form", response);
        text += &line("against", ground_truth);
    }
    text += &line("verdict", &in_words(verdict));
    if matches!(verdict, Verdict::Wrong { .. })
        && let Some(witness) =
            Gold::parse(ground_truth, options).ok().and_then(|g| g.witness(answer))
        && let Ok(witness) = serde_json::to_string(&witness)
    {
        text += &line("witness", &witness);
    }
    text
}

fn line(label: &str, value: &str) -> String {
    format!("{label:<14}{value}\n")
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
    match Answer::parse(text).and_then(|answer| answer.readings) {
        Err(why) => why.to_string(),
        Ok(readings) => {
            readings.iter().map(normal_form::as_read).collect::<Vec<_>>().join("\n          or: ")
        }
    }
}
