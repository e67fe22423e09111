//! Statistics of an evaluation, and its folder, through their public interface.

mod bootstrap;
mod comparison;
mod diversity;
mod identity;
mod majority;
mod measures;
mod response;
mod settings;
mod table;

use std::fs;
use std::path::Path;

use question_data::ground_truth::RewardKind;
use reward_math::Options;
use run_report::evaluation::bootstrap::{Bootstrap, Resampled};
use run_report::evaluation::comparison::{SetResponses, compare, sign_test};
use run_report::evaluation::diversity::self_bleu;
use run_report::evaluation::folder::{Results, ResultsFolder};
use run_report::evaluation::measures::{columns, summarise};
use run_report::evaluation::response::{Response, judge};
use run_report::evaluation::settings::EvaluationFile;
use serde::Deserialize;
use serde_json::json;

use crate::data;

/// A response to a question whose answer is 2; an empty one was cut.
pub(crate) fn response(problem: usize, sample: usize, text: &str) -> Response {
    let truth = RewardKind::Math.read("2", &Options::default()).expect("a number");
    let judged = judge(&truth, text);
    Response {
        problem,
        id: format!("q-{problem}"),
        sample,
        ground_truth: "2".to_owned(),
        answer: judged.answer,
        normal_form: judged.normal_form,
        verdict: judged.verdict,
        truncated: text.is_empty(),
        tokens: text.len(),
        entropy: 0.5,
        surprise: 0.25,
        text: text.to_owned(),
    }
}

/// Groups of four answers, each in a box.
fn responses(groups: &[[&str; 4]]) -> Vec<Response> {
    let group_responses = |(problem, group): (usize, &[&str; 4])| -> Vec<Response> {
        let text = |answer: &str| {
            if answer.is_empty() { String::new() } else { format!("so \\boxed{{{answer}}}") }
        };
        (0..).zip(group).map(|(sample, answer)| response(problem, sample, &text(answer))).collect()
    };
    groups.iter().enumerate().flat_map(group_responses).collect()
}

#[test]
fn self_bleu_is_that_of_nltk() {
    #[derive(Deserialize)]
    struct Case {
        texts: Vec<String>,
        self_bleu: f64,
    }
    let text = fs::read_to_string(data("self_bleu.json")).unwrap();
    let cases: Vec<Case> = serde_json::from_str(&text).unwrap();
    assert_eq!(cases.len(), 30);
    for Case { texts, self_bleu: expected } in cases {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let computed = self_bleu(&texts).unwrap();
        assert!((computed - expected).abs() < 1e-12, "{computed} {expected} of {texts:?}");
    }
}

/// `scipy.stats.binomtest(9, 40).pvalue` and of 30 in 100.
#[test]
fn the_sign_test_is_that_of_scipy() {
    assert!((sign_test(31, 9) / 0.000_679_548_254_993_278_5 - 1.0).abs() < 1e-10);
    assert!((sign_test(30, 70) / 7.850_139_645_593_67e-5 - 1.0).abs() < 1e-10);
}

#[test]
fn each_measure_is_what_its_definition_says() {
    // Two right in different spellings, one wrong twice the same, one cut.
    let responses = responses(&[["2", "\\frac{4}{2}", "3", ""], ["1", "3", "3.0", "2"]]);
    let columns = columns(&responses, 4);
    let get = |name: &str| -> &[f64] {
        &columns.iter().find(|column| column.name == name).expect("a measure").values
    };
    let near = |name: &str, expected: [f64; 2]| {
        for (value, expected) in std::iter::zip(get(name), expected) {
            assert!((value - expected).abs() < 1e-12, "{name}: {value} {expected}");
        }
    };
    near("avg@4", [0.5, 0.25]);
    // 1 - C(2,2)/C(4,2), 1 - C(3,2)/C(4,2).
    near("pass@2", [5.0 / 6.0, 0.5]);
    near("pass@4", [1.0, 1.0]);
    // Pairs of {2, 2, 3, -}: 22, 2-, 2- right, 23, 23 half, 3- wrong. Of {1, 3, 3, 2}: 12, 32, 32 half.
    near("maj@2", [(3.0 + 1.0) / 6.0, 1.5 / 6.0]);
    near("maj@4", [1.0, 0.0]);
    near("extracted_fraction", [0.75, 1.0]);
    near("truncated_fraction", [0.25, 0.0]);
    near("distinct_answers", [2.0, 3.0]);
    near("entropy", [0.5, 0.5]);
    near("surprise", [0.25, 0.25]);
    // so x3, \boxed{2}, \boxed{\frac{4}{2}}, \boxed{3}: 4 of 6 words.
    assert!((get("distinct_1")[0] - 4.0 / 6.0).abs() < 1e-12);
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let expected = [
        "avg@4",
        "pass@2",
        "pass@4",
        "maj@2",
        "maj@4",
        "extracted_fraction",
        "truncated_fraction",
        "response_tokens",
        "entropy",
        "surprise",
        "distinct_answers",
        "distinct_1",
        "distinct_2",
        "distinct_4",
        "self_bleu",
    ];
    assert_eq!(names, expected);
}

#[test]
fn a_summary_has_means_over_problems_and_intervals_around_them() {
    let responses = responses(&[["2", "2", "2", "2"], ["1", "1", "1", "1"], ["2", "1", "1", "2"]]);
    let (set, resampled) = summarise("x", &responses, 4, &Bootstrap::default(), 0);
    assert_eq!((set.problems, set.samples), (3, 4));
    let average = set.get("avg@4").unwrap();
    assert!((average.value - 0.5).abs() < 1e-15 && (resampled.value - 0.5).abs() < 1e-15);
    // All three draws alike have a chance of 1/27 each, above 0.025: the interval is the whole range.
    assert!(average.interval.low.abs() < 1e-15 && (average.interval.high - 1.0).abs() < 1e-15);
    assert!(set.measures.iter().all(|measure| {
        let interval = measure.estimate.interval;
        interval.low <= measure.estimate.value && measure.estimate.value <= interval.high
    }));
}

#[test]
fn two_evaluations_are_compared_problem_by_problem() {
    let first = responses(&[["1", "1", "1", "1"], ["2", "1", "1", "1"], ["2", "2", "2", "2"]]);
    let second = responses(&[["2", "2", "1", "1"], ["2", "2", "1", "1"], ["2", "2", "2", "2"]]);
    let side = |responses| SetResponses { responses, samples: 4 };
    let settings = Bootstrap::default();
    let sides = [side(&first), side(&second)];
    let (comparison, resampled) = compare("x", sides, None, &settings, 0).unwrap();
    assert_eq!((comparison.measure.as_str(), comparison.higher, comparison.lower), ("avg@4", 2, 0));
    assert!((comparison.difference.value - 0.25).abs() < 1e-15);
    assert!((comparison.sign_test_p - 0.5).abs() < 1e-12);
    // Paired: no resample can lose, where unpaired ones would.
    assert!(
        comparison.difference.interval.low >= 0.0
            && resampled.means.iter().all(|&mean| mean >= 0.0)
    );
    let (back, _) = compare("x", [sides[1], sides[0]], None, &settings, 0).unwrap();
    assert!((back.difference.value + 0.25).abs() < 1e-15);
    let mean = Resampled::plain_mean(&[&resampled, &resampled]);
    assert!((mean.value - 0.25).abs() < 1e-15);

    let (maj, _) = compare("x", sides, Some("pass@2"), &settings, 0).unwrap();
    assert!((maj.first - (0.0 + 0.5 + 1.0) / 3.0).abs() < 1e-12);
    let unknown = compare("x", sides, Some("pass@3"), &settings, 0).unwrap_err().to_string();
    assert!(
        unknown.starts_with("set `x`: no measure `pass@3` in the first, expected one of avg@4, ")
    );
    let fewer = [side(&first[..8]), side(&second)];
    let error = compare("x", fewer, None, &settings, 0).unwrap_err().to_string();
    let expected = "set `x`: problem 2 is none in the first and `q-2` (answer 2) in the second, expected the same problems";
    assert_eq!(error, expected);
}

#[test]
fn a_folder_goes_on_after_its_last_whole_group() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("eval");
    let settings = json!({ "seed": 1, "sets": [{ "name": "x" }] });
    let all = responses(&[["1", "2", "3", "4"]; 5]);
    let results = ResultsFolder::begin(&root, &settings).unwrap();
    assert_eq!(results.responses("x", 4, 2, 5).unwrap(), []);
    results.append("x", &all[..8]).unwrap();
    results.append("x", &all[8..11]).unwrap();
    let path = root.join("samples/x.jsonl");
    let mut torn = fs::read_to_string(&path).unwrap();
    torn.push_str("{\"problem\": 2, \"sam");
    fs::write(&path, torn).unwrap();
    let two = ResultsFolder::begin(&root, &settings).unwrap_err().to_string();
    assert!(two.ends_with("another process evaluates into it, expected one at a time"), "{two}");
    drop(results);
    // Two problems are whole, the third is not.
    let again = ResultsFolder::begin(&root, &settings).unwrap();
    assert_eq!(again.responses("x", 4, 2, 5).unwrap(), all[..8]);
    again.append("x", &all[8..16]).unwrap();
    again.append("x", &all[16..]).unwrap();
    // The last group may be smaller.
    assert_eq!(again.responses("x", 4, 2, 5).unwrap(), all);
    let expected: String =
        all.iter().map(|one| serde_json::to_string(one).unwrap() + "\n").collect();
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    // With groups of three, the fourth problem was not whole in its group.
    let first: String = expected.split_inclusive('\n').take(16).collect();
    fs::write(&path, first).unwrap();
    assert_eq!(again.responses("x", 4, 3, 5).unwrap(), all[..12]);
}

#[test]
fn a_folder_of_other_settings_is_refused_by_the_field_that_differs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    ResultsFolder::begin(path, &json!({ "sets": { "x": { "temperature": 0.6 } } })).unwrap();
    let other = ResultsFolder::begin(path, &json!({ "sets": { "x": { "temperature": 0.8 } } }));
    let message = other.unwrap_err().to_string();
    assert!(message.contains("other settings, expected the same"), "{message}");
    assert!(message.ends_with("`sets.x.temperature` was 0.6, and is 0.8"), "{message}");
    let unfinished = ResultsFolder::open(path).unwrap_err().to_string();
    assert!(unfinished.ends_with("holds no finished evaluation, expected results.json"));
}

#[test]
fn finished_results_are_read_back_to_the_bit() {
    let folder = tempfile::tempdir().unwrap();
    let settings = json!({ "seed": 1 });
    let results = ResultsFolder::begin(folder.path(), &settings).unwrap();
    let bootstrap = Bootstrap { resamples: 50, ..Bootstrap::default() };
    let all = responses(&[["2", "2", "3", ""], ["2", "1", "1", "3"]]);
    let (set, resampled) = summarise("x", &all, 4, &bootstrap, 0);
    let written = Results::new(settings, vec![set], bootstrap.estimate(&resampled));
    assert_eq!(results.results().unwrap(), None);
    results.finish(&written, "# table\n").unwrap();
    assert_eq!(ResultsFolder::open(folder.path()).unwrap().1, written);
    assert_eq!(fs::read_to_string(results.table()).unwrap(), "# table\n");
}

#[test]
fn damaged_samples_are_named_by_line() {
    let folder = tempfile::tempdir().unwrap();
    let results = ResultsFolder::begin(folder.path(), &json!({})).unwrap();
    let all = responses(&[["1", "2", "3", "4"]; 2]);
    results.append("x", &all[1..3]).unwrap();
    let error = results.responses("x", 4, 1, 2).unwrap_err().to_string();
    assert!(error.ends_with("line 1: problem 0 sample 1, expected problem 0 sample 0"), "{error}");
}

#[test]
fn every_committed_evaluation_can_start() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/evaluation");
    for entry in fs::read_dir(folder).unwrap() {
        let sets = EvaluationFile::load(&entry.unwrap().path()).unwrap();
        let mut given = toml::Table::new();
        given.insert("temperature".to_owned(), toml::Value::Float(1.0));
        assert!(!sets.resolve(&given).unwrap().is_empty());
    }
}
