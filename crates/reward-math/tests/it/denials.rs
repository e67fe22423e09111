//! Responses that deny a value, doubt it, or make another of it: the value is right in none of them.

#![expect(clippy::print_stdout, reason = "the measurement is read by people")]

use reward_math::{Options, verify};

/// Responses, each in a line, with `⏎` for its breaks: `_` stands for the value, `~` for another.
const DENIALS: &str = include_str!("../data/denials.txt");

/// Values, each with another.
const VALUES: [(&str, &str); 6] = [
    ("12", "13"),
    (r"\frac{5}{8}", r"\frac{6}{8}"),
    (r"2\sqrt{3}", r"3\sqrt{3}"),
    ("x^2+1", "x^2+2"),
    (r"\$4.50", r"\$5.50"),
    ("-7", "-8"),
];

#[test]
fn a_denied_value_is_not_right() {
    for denial in DENIALS.lines() {
        for (value, other) in VALUES {
            let text = denial.replace('⏎', "\n");
            let response = text.replace('_', value).replace('~', other);
            let verdict = verify(&response, value, &Options::lenient());
            assert!(!verdict.is_right(), "{response:?} gold {value:?}");
        }
    }
    let denials = DENIALS.lines().count() * VALUES.len();
    println!("none of {denials} denied values is right");
}
