//! Answers with edits: a verdict, without a panic and in time.

use proptest::prelude::*;
use reward_math::{Options, Rule, extract, verify};
use serde::Deserialize;
use workspace_tests::fuzz::{edited, in_time};

/// Answers and ground truths of the recorded cases.
fn answers() -> Vec<Vec<u8>> {
    #[derive(Deserialize)]
    struct Case {
        prediction: String,
        #[serde(default)]
        gold: String,
    }
    let lines = include_str!("../data/language.jsonl").lines().step_by(7);
    let cases = lines.map(|line| serde_json::from_str::<Case>(line).expect("a case"));
    let mut all: Vec<String> = cases.flat_map(|case| [case.prediction, case.gold]).collect();
    // Numbers in a base, grouped digits, powers and repetitions, which once took long.
    all.extend(
        ["1010_2", r"777_{8}", r"(1.5\$16,386.1\cdot7!)^{325195}", "1,1,2,2,3", r"\{1,2\}^{2^{9}}"]
            .map(str::to_owned),
    );
    all.into_iter().map(String::into_bytes).collect()
}

/// Each recorded answer against others, as no row pairs them: right answers are rare, and none is a panic.
#[test]
fn answers_of_other_questions_are_judged() {
    let answers: Vec<String> =
        answers().into_iter().map(|answer| String::from_utf8(answer).expect("text")).collect();
    for apart in [1, 2, 3, 1000] {
        for (answer, truth) in answers.iter().zip(answers.iter().cycle().skip(apart)) {
            let _verdict = in_time(|| verify(answer, truth, &Options::lenient()));
        }
    }
}

proptest! {
    #[test]
    fn fuzz_answer(answer in edited(answers()), truth in edited(answers())) {
        let (answer, truth) = (String::from_utf8_lossy(&answer), String::from_utf8_lossy(&truth));
        for response in [answer.to_string(), format!("so \\boxed{{{answer}}}.")] {
            for options in [Options::default(), Options::strict(), Options::lenient()] {
                let _verdict = in_time(|| verify(&response, &truth, &options));
                if let Some(extracted) = in_time(|| extract(&response, &options)) {
                    let shown = response.get(extracted.span);
                    prop_assert!(shown.is_some());
                    // Several boxes make one answer, whose text is not that of the span.
                    if extracted.rule != Rule::Box {
                        prop_assert_eq!(shown, Some(extracted.text.as_str()));
                    }
                }
            }
        }
    }
}
