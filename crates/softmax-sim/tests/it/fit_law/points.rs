//! Points of a run: entropy and reward, read from CSV or JSON.

use softmax_sim::fit_law::Points;

#[test]
fn a_file_without_the_columns_or_without_anything_is_refused() {
    let error = |text: &str| Points::read(text.as_bytes(), "H", "R").unwrap_err().to_string();
    let expected = "line 1: no column `R`; expected it among: step, H, reward";
    assert_eq!(error("step,H,reward\n1,2,3\n"), expected);
    assert!(error(" \n").starts_with("no points: expected CSV"));
    let expected = "no row has a value of `H` or `R`; expected numbers in both columns";
    assert_eq!(error("H,R\n,\n"), expected);
    assert_eq!(error("{\"entropy\": 1, \"reward\": 2}\n"), expected);
}

/// A run's metrics have a row for the evaluation before its first step.
#[test]
fn rows_without_either_value_are_no_steps() {
    for text in [
        "step,H,R,accuracy\n0,,,0.3\n1,1.5,0.25,\n2,1.25,0.5,\n",
        "{\"step\": 0, \"accuracy\": 0.3}\n{\"H\": 1.5, \"R\": 0.25}\n{\"H\": 1.25, \"R\": 0.5}\n",
    ] {
        let (points, problems) = Points::read(text.as_bytes(), "H", "R").unwrap();
        assert_eq!((&points.entropy[..], problems.len()), (&[1.5, 1.25][..], 0));
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_header() {
    let (points, problems) = Points::read(&b"\xef\xbb\xbfH,R\r\n1,0.5\r\n"[..], "H", "R").unwrap();
    assert_eq!(
        (&points.entropy[..], &points.reward[..], problems.len()),
        (&[1.0][..], &[0.5][..], 0)
    );
}
