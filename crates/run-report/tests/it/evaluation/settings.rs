//! Settings of an evaluation: its sets, and their sampling.

use std::path::Path;

use question_data::dataset::{BadRows, DataSource, QuestionFile};
use question_data::ground_truth::RewardKind;
use run_report::evaluation::settings::{EvaluationFile, EvaluationSet, SetEntry, SetSampling};
use toml::Table;

fn sets(file: &str, arguments: &[&str], overrides: &str) -> Result<Vec<EvaluationSet>, String> {
    let mut file: EvaluationFile = toml::from_str(file).map_err(|error| error.to_string())?;
    for text in arguments {
        file.sets.push(SetEntry::parse(text).map_err(|error| error.to_string())?);
    }
    let overrides: Table = toml::from_str(overrides).expect("a table");
    file.resolve(&overrides).map_err(|error| error.to_string())
}

fn file(set: &EvaluationSet) -> &QuestionFile {
    let DataSource::File(file) = &set.questions else { panic!("{set:?} has no file") };
    file
}

#[test]
fn a_set_is_read_from_the_command_line() {
    let text = "aime=a:b/c.jsonl:n=32,temperature=0.6,top_k=5,limit=7,kind=multiple-choice";
    let set = &sets("", &[text], "").unwrap()[0];
    assert_eq!((set.name.as_str(), set.kind), ("aime", RewardKind::MultipleChoice));
    assert_eq!((file(set).path.as_path(), file(set).limit), (Path::new("a:b/c.jsonl"), 7));
    let expected =
        SetSampling { samples: 32, temperature: 0.6, top_k: 5, ..SetSampling::default() };
    assert_eq!(set.sampling, expected);
    let plain = &sets("", &["x=C:\\x.jsonl:bad_rows=drop"], "").unwrap()[0];
    assert_eq!(file(plain).path, Path::new("C:\\x.jsonl"));
    assert_eq!(file(plain).bad_rows, BadRows::Drop);
}

#[test]
fn a_set_has_the_last_word_then_the_options_then_the_file() {
    let file = "sampling = { samples = 2, temperature = 0.3, top_p = 0.9 }\n[[set]]\nname = \"a\"\n\
                questions = { file = { path = \"a.jsonl\" } }\nsampling = { samples = 8 }";
    let resolved =
        sets(file, &["b=b.jsonl:temperature=1"], "temperature = 0.5\nsamples = 4").unwrap();
    let values: Vec<(usize, f64, f64)> = resolved
        .iter()
        .map(|set| (set.sampling.samples, set.sampling.temperature, set.sampling.top_p))
        .collect();
    assert_eq!(values, [(8, 0.5, 0.9), (4, 1.0, 0.9)]);
}

#[test]
fn what_cannot_be_meant_is_named() {
    let refused = |text: &str| sets("", &[text], "").unwrap_err();
    let cases = [
        ("x", "there is no `=`"),
        ("=f", "name or file is empty"),
        ("x=f:m=2", "\"m\" is no option"),
        ("x=f:n=two", "\"n=two\" is no number"),
        ("x=f:n=1,temperature", "\"temperature\" has no value"),
        ("x=f:n=0", "set `x`: samples is 0, expected 1 to 1000"),
        (
            "x=f:n=4",
            "set `x`: temperature is 0, expected above 0 with 4 samples, which would all be the same",
        ),
        ("x=f:temperature=-1", "set `x`: temperature is -1, expected 0 or at least 0.000001"),
        ("x=f:top_p=0", "set `x`: top_p is 0, expected above 0 and at most 1"),
        ("x=f:min_p=1", "set `x`: min_p is 1, expected at least 0 and below 1"),
        ("x=f:max_response_tokens=0", "set `x`: max_response_tokens is 0, expected at least 1"),
        ("x=f:entropy_floor=1", "set `x`: temperature is 0, expected above 0 with an entropy band"),
        ("x=f:temperature=1,entropy_floor=-1", "entropy floor` is -1"),
        ("a/b=f", "set `a/b`: name is \"a/b\", expected letters, digits"),
    ];
    for (text, expected) in cases {
        let message = refused(text);
        assert!(message.contains(expected), "{text}: {message}");
    }
    let twice = sets("", &["x=f", "x=g"], "").unwrap_err();
    assert_eq!(twice, "two sets are named `x`, expected different names");
    assert_eq!(
        sets("", &[], "").unwrap_err(),
        "no set, expected --set NAME=FILE or [[set]] in a file"
    );
    let unknown = sets("sampling = { heat = 1 }", &["x=f"], "").unwrap_err();
    assert!(unknown.starts_with("set `x`: unknown field `heat`"), "{unknown}");
    let wrong = sets("sampling = { temperature = \"hot\" }", &["x=f"], "").unwrap_err();
    assert_eq!(wrong, "set `x`: invalid type: string \"hot\", expected a number");
}
