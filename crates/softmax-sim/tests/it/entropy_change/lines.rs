//! Lines of the input: their order, blank ones, and an input that breaks off.

use softmax_sim::entropy_change::{Tally, stream};
use std::io;

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the answers are text")
}

fn answered(input: &[u8]) -> (Tally, String, String) {
    let (mut answers, mut problems) = (Vec::new(), Vec::new());
    let tally = stream(input, &mut answers, &mut problems).expect("the writers are in memory");
    (tally, text(&answers), text(&problems))
}

#[test]
fn many_chunks_keep_the_order_of_the_lines() {
    let rows = 3000;
    let row = |id: i32| {
        let eta = if id % 500 == 7 { "\"big\"" } else { "0.1" };
        format!(
            "{{\"id\": {id}, \"logits\": [0, {id}e-3], \"advantages\": [1, 0], \"eta\": {eta}, \
             \"rule\": \"npg\"}}"
        )
    };
    let input = (0..rows).map(row).collect::<Vec<String>>().join("\n");
    let (tally, answers, problems) = answered(input.as_bytes());
    assert_eq!(tally, Tally { answers: 2994, problems: 6 });
    let ids: Vec<i64> = answers
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].as_i64())
        .map(|id| id.expect("ids are numbers"))
        .collect();
    assert!(ids.is_sorted() && ids.len() == 2994);
    assert!(problems.starts_with("line 8, column 65: `eta`: "), "{problems}");
    assert_eq!(problems.lines().count(), 6);
}

#[test]
fn blank_lines_and_a_missing_last_line_break_are_no_rows() {
    let row = r#"{"logits": [0, 1], "advantages": [1, 0], "eta": 0, "rule": "pg"}"#;
    let (tally, answers, problems) = answered(format!("\n  \r\n{row}\r\n\n{row}").as_bytes());
    assert_eq!(tally, Tally { answers: 2, problems: 0 }, "{problems}");
    assert!(answers.starts_with(r#"{"id":null,"entropy_before":"#), "{answers}");
    assert_eq!(answered(b"").0, Tally::default());
}

#[test]
fn an_input_that_cannot_be_read_on_loses_no_earlier_line() {
    struct Broken;
    impl io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the cable is out"))
        }
    }
    let row = r#"{"logits": [0, 1], "advantages": [1, 0], "eta": 0, "rule": "pg"}"#;
    let head = format!("{row}\n");
    let input = io::BufReader::new(io::Read::chain(head.as_bytes(), Broken));
    let mut answers = Vec::new();
    let error = stream(input, &mut answers, &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "cannot read line 2");
    assert_eq!(String::from_utf8(answers).unwrap().lines().count(), 1);
}
