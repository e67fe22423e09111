//! Rows of a file, each read on its own: a bad one costs no other.

use softmax_sim::fit_law::Points;

fn read(text: &str) -> (Points, Vec<String>) {
    let (points, problems) =
        Points::read(text.as_bytes(), "H", "R").expect("a head with both columns");
    (points, problems.iter().map(ToString::to_string).collect())
}

#[test]
fn a_bad_csv_row_is_located_and_the_others_are_used() {
    let (points, problems) = read(
        "step, H, R\n1, 1.5, 0.25\n2, NaN, 0.3\n3, 1.0\n4,,0.5\n5, x, 0.5\n\n\
         6, 800, 0.5\n7, 0,5, 0,6\n8, 0.5, 0.75\n",
    );
    assert_eq!(points.entropy, [1.5, 0.5]);
    assert_eq!(points.reward, [0.25, 0.75]);
    assert_eq!(
        problems,
        [
            "line 3: column `H` is `NaN`; expected a finite number",
            "line 4: column `R` is missing; expected a finite number",
            "line 5: column `H` is ``; expected a finite number",
            "line 6: column `H` is `x`; expected a finite number",
            "line 8: column `H` is `800`; expected nats, below 709",
            "line 9: 5 values; expected 3, as in the header",
        ]
    );
}

#[test]
fn a_quote_that_is_not_closed_costs_its_own_row() {
    let (points, problems) =
        read("\"H\",R,note\n\"1.5\",0.25,\"a, b\"\n\"1.0,0.3,c\n0.5,0.75,\"d\n0.25,0.8,e\n");
    assert_eq!(points.entropy, [1.5, 0.5, 0.25]);
    assert_eq!(problems, ["line 3: column `H` is `1.0,0.3,c`; expected a finite number"]);
}

#[test]
fn json_lines_and_arrays_are_read_too() {
    let rows = [
        r#"{"H": 1.5, "R": 1, "note": "a, ] \" b"}"#,
        r#"{"H": null, "R": 2, "of": [1, {"x": 2}]}"#,
        r#"{"H": NaN, "R": 2}"#,
        r#"{"H": 0.5, "R": 3}"#,
    ];
    let (from_lines, line_problems) = read(&rows.join("\n\n"));
    let (from_array, array_problems) = read(&format!(" [{}]\n", rows.join(",\n")));
    assert_eq!(from_lines, from_array);
    assert_eq!(from_lines.reward, [1.0, 3.0]);
    let expected = |places: [&str; 2]| {
        [
            format!("{}: column `H` is `null`; expected a finite number", places[0]),
            format!("{}: not JSON (expected value); expected {{\"H\": x, \"R\": y}}", places[1]),
        ]
    };
    assert_eq!(line_problems, expected(["line 3", "line 5, column 7"]));
    assert_eq!(array_problems, expected(["element 2", "element 3, column 7"]));
}

#[test]
fn an_array_that_is_cut_off_costs_its_last_element() {
    let (points, problems) = read(r#"[{"H": 1, "R": 1}, {"H": 2, "R"#);
    assert_eq!(points.entropy, [1.0]);
    assert!(problems[0].starts_with("element 2, column"), "{problems:?}");
    assert_eq!(read("[]").1, [""; 0]);
    assert_eq!(read("[1, ").1.len(), 2);
}
