//! Files of runs and of evaluations with edits: read or refused, without a panic and in time.

use std::fs;

use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use run_report::evaluation::folder::ResultsFolder;
use run_report::evaluation::settings::{EvaluationFile, SetEntry};
use run_report::evaluation::table::page;
use run_report::inspect::{Inspector, Palette, draw, summary};
use run_report::report::{Report, ReportRun};
use run_report::run_view::RunView;
use run_report::tensorboard::{frame, read_events, read_records};
use workspace_tests::files::folder;
use workspace_tests::fuzz::{edited, in_time};

use crate::data;
use crate::evaluation::response;

const METRICS: &str = r#"{"step":1,"actor/entropy":0.9,"critic/rewards/mean":0.1,"entropy/measured_change":-0.1}
{"step":2,"actor/entropy":0.5,"critic/rewards/mean":0.4,"cov/mean":0.25,"timing_s/step":1e3}
"#;

const SAMPLES: &str = r#"{"group":0,"question":"q","problem":"2+3?","answer":"5","response":"It is 5","reward":1.0,"advantage":0.5,"response_tokens":2,"truncated":false,"verdict":"right","how":{"rung":"number"}}
{"group":1,"question":"r","problem":"2+4?","answer":"6","response":"\u001b[31m","reward":0.0,"advantage":null,"verdict":"wrong"}
"#;

const TOKENS: &str = r#"{"sample":0,"token_ids":[1,2],"text":["It is"," 5"],"log_prob":[-0.5,-2.0],"entropy":[0.25,0.5],"advantage":[1.0,1.0],"covariance":[0.125,-4.0],"selected":[1]}
"#;

const RESULTS: &str = r#"{"format":1,"settings":{"model":"m"},"sets":[{"name":"a","problems":1,"samples":2,"measures":[{"name":"avg@2","estimate":{"value":0.5,"interval":{"low":0.25,"high":0.75}}}]}],"plain_mean":{"value":0.5,"interval":{"low":0.25,"high":0.75}}}"#;

const EVALUATION: &str = "seed = 3\n[sampling]\nsamples = 4\ntemperature = 0.6\n[bootstrap]\nresamples = 100\n\
    [[set]]\nname = \"a\"\nquestions = { file = { path = \"a.jsonl\", limit = 9 } }\nsampling = { samples = 32 }\n";

fn sample(text: &str) -> Vec<Vec<u8>> {
    vec![text.as_bytes().to_vec()]
}

/// Two responses to one problem.
fn responses() -> String {
    let line =
        |sample, text| serde_json::to_string(&response(0, sample, text)).expect("JSON") + "\n";
    line(0, "\\boxed{2}") + &line(1, "")
}

fn events() -> Vec<Vec<u8>> {
    vec![fs::read(data("tensorboard/golden.tfevents")).expect("it is there")]
}

/// The contents of events, without the checksums that no edit survives.
fn contents() -> Vec<Vec<u8>> {
    read_records(&events()[0]).0.into_iter().map(<[u8]>::to_vec).collect()
}

proptest! {
    #[test]
    fn fuzz_run_folder(
        metrics in edited(sample(METRICS)),
        samples in edited(sample(SAMPLES)),
        tokens in edited(sample(TOKENS)),
    ) {
        let folder = folder(&[("samples/step-2.jsonl", "")]);
        let write = |name: &str, bytes| fs::write(folder.path().join(name), bytes).unwrap();
        write("metrics.jsonl", metrics);
        write("samples/step-1.jsonl", samples);
        write("samples/step-1.tokens.jsonl", tokens);
        in_time(|| {
            if let Ok(run) = ReportRun::read(folder.path()) {
                Report { runs: vec![run], ..Report::default() }.render();
            }
            let view = RunView::open(folder.path()).ok()?;
            summary(&view).ok()?;
            let mut terminal = Terminal::new(TestBackend::new(80, 24)).ok()?;
            let inspector = Inspector::new(view, Palette::from_variables(|_| None));
            terminal.draw(|frame| draw(frame, &inspector)).ok()?;
            Some(())
        });
    }

    #[test]
    fn fuzz_responses(bytes in edited(sample(&responses()))) {
        let folder = folder(&[("samples/a.jsonl", "")]);
        fs::write(folder.path().join("samples/a.jsonl"), bytes).unwrap();
        let results = ResultsFolder::begin(folder.path(), &serde_json::json!({})).unwrap();
        let _read = in_time(|| results.responses("a", 2, 1, 1));
    }

    #[test]
    fn fuzz_results(bytes in edited(sample(RESULTS))) {
        let folder = folder(&[]);
        fs::write(folder.path().join("results.json"), bytes).unwrap();
        in_time(|| {
            let (_, results) = ResultsFolder::open(folder.path()).ok()?;
            Some(page("a", &results))
        });
    }

    #[test]
    fn fuzz_evaluation_settings(bytes in edited(sample(EVALUATION))) {
        let folder = folder(&[]);
        let path = folder.path().join("set.toml");
        fs::write(&path, bytes).unwrap();
        in_time(|| EvaluationFile::load(&path).ok()?.resolve(&toml::Table::new()).ok());
    }

    #[test]
    fn fuzz_set_option(bytes in edited(sample("a=b.jsonl:n=8,kind=math,limit=5,temperature=0.5"))) {
        let _read = in_time(|| SetEntry::parse(&String::from_utf8_lossy(&bytes)));
    }

    #[test]
    fn fuzz_events(file in edited(events()), content in edited(contents())) {
        let folder = folder(&[]);
        let path = folder.path().join("events");
        for bytes in [file, frame(&content)] {
            fs::write(&path, bytes).unwrap();
            let _read = in_time(|| read_events(&path).map(|(events, _)| events.len()).ok());
        }
    }
}

/// Unedited samples are read without a fault.
#[test]
fn samples_of_the_fuzz_tests_are_read() {
    let folder = folder(&[
        ("metrics.jsonl", METRICS),
        ("samples/step-1.jsonl", SAMPLES),
        ("samples/step-1.tokens.jsonl", TOKENS),
        ("samples/a.jsonl", &responses()),
        ("results.json", RESULTS),
        ("set.toml", EVALUATION),
    ]);
    let view = RunView::open(folder.path()).unwrap();
    assert_eq!((view.metrics().len(), view.samples(1).unwrap().len()), (2, 2));
    let results = ResultsFolder::begin(folder.path(), &serde_json::json!({})).unwrap();
    assert_eq!(results.responses("a", 2, 1, 1).unwrap().len(), 2);
    assert_eq!(results.results().unwrap().unwrap().sets.len(), 1);
    let settings = EvaluationFile::load(&folder.path().join("set.toml")).unwrap();
    assert_eq!(settings.resolve(&toml::Table::new()).unwrap().len(), 1);
}
