//! Findings of a preflight on made-up samples.

use std::path::Path;

use run_plan::preflight::{
    Finding, ModelFacts, Preflight, PreflightGroup, PreflightSample, SampleGrade,
};
use training_run::config::{Run, RunConfig};

const CONFIGURATION: &str = "
name = \"x\"
model = { path = \"m\" }
data = { train = \"arithmetic\", max_prompt_tokens = 50 }
rollout = { max_response_tokens = 100, group_size = 4, prompts_per_step = 8 }
reward = { grading = { strict = true } }
training = { steps = 1 }
";

const MODEL: ModelFacts =
    ModelFacts { has_chat_template: true, has_generation_prompt: true, vocabulary: 1000 };

/// The run with settings overridden.
fn run(overrides: &[&str]) -> Run {
    let overrides: Vec<String> = overrides.iter().map(|&one| one.to_owned()).collect();
    let config = RunConfig::parse(CONFIGURATION, Path::new("x.toml"), &overrides);
    config.and_then(RunConfig::resolve).expect("a run")
}

/// A response of 20 tokens with 0.5 nats each that ended by itself; `number` makes its text unique.
fn sample(number: usize, outcome: SampleGrade) -> PreflightSample {
    PreflightSample {
        text: format!("so it is {number}"),
        tokens: 20,
        truncated: false,
        ended_by_token: true,
        outcome,
        reason: "decided by number".to_owned(),
        reward: if outcome == SampleGrade::Right { 1.0 } else { 0.0 },
        entropy_sum: 10.0,
    }
}

/// Groups of four responses with `right` right ones each, changed by `change`.
fn groups(right: &[usize], change: impl Fn(&mut PreflightSample)) -> Vec<PreflightGroup> {
    let group = |(index, &right): (usize, &usize)| PreflightGroup {
        question: format!("q{index}"),
        problem: format!("3 + {index}?"),
        answer: "7".to_owned(),
        prompt_tokens: 12,
        samples: (0..4)
            .map(|number| {
                let outcome = if number < right { SampleGrade::Right } else { SampleGrade::Wrong };
                let mut sample = sample(number, outcome);
                change(&mut sample);
                sample
            })
            .collect(),
    };
    right.iter().enumerate().map(group).collect()
}

fn seen(groups: Vec<PreflightGroup>, overrides: &[&str]) -> Preflight {
    Preflight::new("Q: 3 + 4?\nA:".to_owned(), groups, &run(overrides), MODEL)
}

/// The settings that the fatal findings name first, and those of the warnings.
fn named(seen: &Preflight) -> (Vec<&'static str>, Vec<&'static str>) {
    let first_settings = |fatal| {
        let findings = seen.findings.iter().filter(|finding| finding.fatal == fatal);
        findings.map(|finding| finding.settings[0]).collect()
    };
    (first_settings(true), first_settings(false))
}

#[test]
fn a_run_that_can_learn_has_no_finding() {
    let seen = seen(groups(&[0, 1, 3, 4], |_| {}), &[]);
    assert_eq!(seen.findings, []);
    assert!(!seen.cannot_learn());
    assert_eq!(seen.groups_by_right, [1, 1, 0, 1, 1]);
    assert!((seen.right_fraction - 0.5).abs() < 1e-15);
    assert!((seen.teaching_group_fraction - 0.5).abs() < 1e-15);
    assert!((seen.mean_entropy - 0.5).abs() < 1e-15);
}

#[test]
fn lengths_have_quantiles() {
    let mut groups = groups(&[1, 2], |_| {});
    for (length, sample) in groups.iter_mut().flat_map(|group| &mut group.samples).enumerate() {
        sample.tokens = 10 * (length + 1);
    }
    let seen = seen(groups, &[]);
    // Of 10, 20, …, 80, linear between neighbours.
    let quantiles = seen.length_quantiles.map(|length| format!("{length}"));
    assert_eq!(quantiles, ["10", "27.5", "45", "73", "80"]);
    // 8 · 10 nats over 360 tokens.
    assert!((seen.mean_entropy - 80.0 / 360.0).abs() < 1e-15);
}

#[test]
fn pass_rates_of_none_and_all_cannot_teach() {
    let none = seen(groups(&[0, 0, 0], |_| {}), &[]);
    assert_eq!(named(&none), (vec!["data.train"], vec![]));
    assert!(none.cannot_learn());
    let all = seen(groups(&[4, 4], |_| {}), &[]);
    assert_eq!(named(&all), (vec!["data.train"], vec![]));
    assert!(all.findings[0].seen.contains("every response is right"));
}

#[test]
fn groups_that_agree_within_teach_nothing_by_comparison() {
    let split = groups(&[0, 4, 0, 4], |_| {});
    let compared = seen(split.clone(), &[]);
    assert_eq!(named(&compared), (vec!["rollout.group_size"], vec![]));
    // Smaller groups than the run's may agree by chance.
    let larger = seen(split.clone(), &["rollout.group_size=16"]);
    assert_eq!(named(&larger), (vec![], vec!["rollout.group_size"]));
    let alone = seen(split, &["algorithm.advantage=\"reinforce-plus-plus\""]);
    assert_eq!(alone.findings, []);
    let few = seen(groups(&[0, 4, 0, 0, 0, 4, 0, 0, 0, 2], |_| {}), &[]);
    assert_eq!(named(&few), (vec![], vec!["dynamic_sampling.enabled"]));
}

#[test]
fn where_no_answer_is_found_the_form_of_answers_is_named() {
    let silent = |sample: &mut PreflightSample| {
        sample.outcome = SampleGrade::Unparsed;
        sample.reward = 0.0;
    };
    let strict = seen(groups(&[0, 0], silent), &[]);
    assert_eq!(named(&strict).0, ["data.prompt.template"]);
    assert!(strict.findings[0].settings.contains(&"reward.grading.strict"));
    assert!(strict.findings[0].advice.contains("\\boxed{}"));
    let lenient = seen(groups(&[0, 0], silent), &["reward.grading.strict=false"]);
    assert!(lenient.findings[0].advice.contains("reward.grading.last_number = true"));
}

#[test]
fn a_share_of_cut_responses_is_a_warning_with_the_fraction_and_the_limit() {
    let cut = |of_eight: usize| {
        let mut groups = groups(&[1, 2], |_| {});
        for sample in groups.iter_mut().flat_map(|group| &mut group.samples).take(of_eight) {
            (sample.truncated, sample.ended_by_token) = (true, false);
        }
        seen(groups, &[])
    };
    let half = cut(4);
    assert_eq!(named(&half), (vec![], vec!["rollout.max_response_tokens"]));
    assert_eq!(half.findings[0].seen, "0.50 of the responses were cut at 100 tokens");
    assert_eq!(cut(2).findings.len(), 1, "a quarter");
    assert_eq!(cut(1).findings, [], "one in eight");
}

#[test]
fn responses_that_never_end_name_length_and_stops() {
    let cut = |sample: &mut PreflightSample| {
        sample.truncated = true;
        sample.ended_by_token = false;
        sample.tokens = 100;
    };
    let lost = seen(groups(&[0, 0], cut), &[]);
    let length = lost.findings.iter().find(|f| f.seen.contains("cut at 100 tokens")).unwrap();
    assert!(length.fatal);
    assert_eq!(
        length.settings,
        ["rollout.max_response_tokens", "data.prompt.chat", "rollout.stop"]
    );
    // Some are right all the same: it can learn.
    let some = seen(groups(&[1, 2], cut), &[]);
    assert!(!some.cannot_learn());
    assert_eq!(named(&some).1, ["rollout.max_response_tokens"]);
    // Most are cut.
    let mut groups = groups(&[1, 2], cut);
    let ended = &mut groups[0].samples[0];
    (ended.truncated, ended.ended_by_token) = (false, true);
    let most = seen(groups, &[]);
    assert!(most.findings[0].seen.starts_with("0.88 of the responses were cut"), "{most}");
}

#[test]
fn prompts_that_are_not_as_the_model_was_taught_are_said() {
    let findings_of = |overrides: &[&str], model: ModelFacts| {
        let (rendered, groups) = ("Q: 3 + 4?\nA:".to_owned(), groups(&[1, 2], |_| {}));
        let findings = Preflight::new(rendered, groups, &run(overrides), model).findings;
        let first = |finding: Finding| (finding.fatal, finding.settings[0]);
        findings.into_iter().map(first).collect::<Vec<_>>()
    };
    let closed = ModelFacts { has_generation_prompt: false, ..MODEL };
    assert_eq!(findings_of(&[], closed), [(false, "data.prompt.chat")]);
    let plain = ["data.prompt.chat=false"];
    assert_eq!(findings_of(&plain, MODEL), [(false, "data.prompt.chat")]);
    assert_eq!(findings_of(&plain, ModelFacts { has_chat_template: false, ..MODEL }), []);
    assert_eq!(
        findings_of(&["data.max_prompt_tokens=12"], MODEL),
        [(false, "data.max_prompt_tokens")]
    );
}

#[test]
fn too_little_and_too_much_entropy_are_said() {
    let with_entropy = |sum: f64| seen(groups(&[1, 2], |sample| sample.entropy_sum = sum), &[]);
    assert_eq!(named(&with_entropy(0.1)).1, ["rollout.temperature"]);
    // ln 1000 is 6.9 nats.
    assert_eq!(named(&with_entropy(20.0 * 6.5)).1, ["model.path"]);
    let repeated = seen(groups(&[1, 2], |sample| sample.text = "7".to_owned()), &[]);
    assert_eq!(named(&repeated).1, ["rollout.temperature"]);
}

#[test]
fn a_preflight_is_written_out() {
    let mut text = String::new();
    let mut groups = groups(&[0, 1, 0, 2], |sample| {
        sample.truncated = sample.outcome == SampleGrade::Wrong;
        sample.ended_by_token = !sample.truncated;
    });
    let lost = &mut groups[2].samples[0];
    (lost.outcome, lost.reason) = (SampleGrade::Unparsed, "the answer is empty".to_owned());
    (lost.truncated, lost.tokens) = (false, 1);
    seen(groups, &[]).write(3, &mut text).unwrap();
    insta::assert_snapshot!(text);
}
