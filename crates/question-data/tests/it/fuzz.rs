//! Files of questions with edits: read or refused, without a panic and in time.

use crate::read_questions;
use proptest::prelude::*;
use question_data::dataset::QuestionFile;
use workspace_tests::fuzz::{edited, in_time};

use crate::data;

const ROWS: &str = "{\"problem\": \"2+2?\", \"answer\": \"4\", \"id\": \"a\", \"source\": \"s\"}\n\
    {\"prompt\": [{\"role\": \"user\", \"content\": \"1+1?\"}], \"reward_model\": {\"ground_truth\": \"2\"}}\n\n\
    {\"question\": \"Q\", \"answer\": \"6*12 = 72.\\n#### 1,072\"}\n";

/// Files of each kind, with their names.
fn files() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let read = |name: &str| std::fs::read(data(name)).expect("it is there");
    let list = b"[{\"problem\": \"2+2?\", \"answer\": 4}, {\"problem\": \"a\", \"answer\": \"1\"}]"
        .to_vec();
    vec![
        ("set.jsonl", vec![ROWS.as_bytes().to_vec()]),
        ("set.json", vec![list, ROWS.as_bytes().to_vec()]),
        ("set.csv", vec![b"problem,answer\n2+2?,4\n\"a \"\"b\"\"\n\",1\n".to_vec()]),
        ("set.jsonl.zst", vec![read("three.jsonl.zst")]),
        ("set.parquet", parquet_files()),
    ]
}

fn parquet_files() -> Vec<Vec<u8>> {
    let folder = std::fs::read_dir(data("tables")).expect("it is there");
    let paths = folder.map(|entry| entry.expect("it can be read").path());
    let tables = paths.filter(|path| path.extension().is_some_and(|ending| ending == "parquet"));
    tables.map(|path| std::fs::read(path).expect("it is there")).collect()
}

fn any_file() -> impl Strategy<Value = (&'static str, Vec<u8>)> {
    prop::sample::select(files())
        .prop_flat_map(|(name, samples)| edited(samples).prop_map(move |bytes| (name, bytes)))
}

proptest! {
    #[test]
    fn fuzz_files_of_questions((name, bytes) in any_file()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let _read = in_time(|| read_questions(&QuestionFile::new(&path)));
    }
}
