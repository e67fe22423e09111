//! A verdict in words, for people.

use std::fmt::Write;

use crate::answer::Answer;
use crate::extract::extract;
use crate::options::Options;
use crate::verdict::{Side, Verdict};
use crate::verify;

/// Says what was extracted, how both sides are read and which step decides.
pub fn explain(response: &str, ground_truth: &str, options: &Options) -> String {
    let mut text = String::new();
    let extracted = extract(response, options);
    let mut line = |label: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{label:<14}{value}");
    };
    match &extracted {
        Some(found) => {
            line("extracted", found.text.clone());
            line("by rule", format!("{:?}, bytes {:?}", found.rule, found.span));
            line("read as", reading(&found.text));
        }
        None => line("extracted", "nothing".to_owned()),
    }
    line("ground truth", ground_truth.to_owned());
    line("read as", reading(ground_truth));
    line(
        "verdict",
        match verify(response, ground_truth, options) {
            Verdict::Right { how } => format!("right, decided by {how:?}"),
            Verdict::Wrong { how } => format!("wrong, decided by {how:?}"),
            Verdict::Unparsed { which: Side::Response, why } => format!("unparsed response: {why}"),
            Verdict::Unparsed { which: Side::GroundTruth, why } => {
                format!("unparsed ground truth: {why}")
            }
        },
    );
    text
}

fn reading(text: &str) -> String {
    match Answer::parse(text) {
        Err(why) => why.to_string(),
        Ok(answer) => match answer.readings {
            Err(why) => why.to_string(),
            Ok(readings) => readings
                .iter()
                .map(|node| format!("{node:?}"))
                .collect::<Vec<_>>()
                .join("\n          or: "),
        },
    }
}
