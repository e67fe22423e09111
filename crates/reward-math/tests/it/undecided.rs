//! "Wrong" is said of what was compared; what was not read or not decided is "unparsed".

use reward_math::{Gold, Options, ParseError, Side, Verdict};

fn verdict(answer: &str, ground_truth: &str) -> Verdict {
    Gold::parse(ground_truth, &Options::default())
        .expect("a readable ground truth")
        .verify_answer(answer)
}

#[test]
fn a_comparison_that_gave_up_is_not_wrong() {
    for (answer, ground_truth) in [
        (r"\sqrt{f(x)}", r"\sqrt{g(x)}"),
        (r"\ln f(x)", r"\ln f(y)"),
        (r"1, \sqrt{f(x)}", r"1, \sqrt{f(y)}"),
    ] {
        let verdict = verdict(answer, ground_truth);
        let undecided = Verdict::Unparsed { which: Side::Response, why: ParseError::Undecided };
        assert_eq!(verdict, undecided, "{answer} | {ground_truth}");
    }
    assert!(verdict(r"\sqrt{f(x)}", r"\sqrt{f(x)}").is_right());
    assert!(matches!(verdict(r"\sqrt{2}", r"\sqrt{3}"), Verdict::Wrong { .. }));
}

#[test]
fn formulas_that_were_not_read_are_no_words() {
    for (answer, ground_truth, side) in [
        (r"\begin{foo}3\end{foo}", "3", Side::Response),
        (r"3 \frac{", "3", Side::Response),
        ("3", r"\oint_C x^2", Side::GroundTruth),
    ] {
        let verdict = verdict(answer, ground_truth);
        assert!(
            matches!(&verdict, Verdict::Unparsed { which, .. } if *which == side),
            "{answer} | {ground_truth}: {verdict:?}"
        );
    }
    assert!(matches!(verdict("the ellipse", "3"), Verdict::Wrong { .. }));
    assert!(verdict(r"\oint_C x^2", r"\oint_C  x^2").is_right());
}
