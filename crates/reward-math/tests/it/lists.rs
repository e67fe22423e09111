//! Members of lists: repetitions, and two signs in one.

use reward_math::{Gold, Options, verify};

fn equal(left: &str, right: &str) -> bool {
    let gold = Gold::parse(right, &Options::default());
    gold.is_ok_and(|gold| gold.verify_answer(left).is_right())
}

#[test]
fn a_bare_list_keeps_its_repetitions() {
    for (left, right) in [
        ("1,1,2", "1,2,2"),
        ("1,1,2", "1,2"),
        ("1,1,1", "1,1"),
        ("3,3,5", "5,3"),
        ("2,2,3,3,3", "2,2,2,3"),
        (r"x,\sqrt2,\sqrt2", r"x,x,\sqrt2"),
        ("AB=4, CD=4, EF=5", "4, 5, 5"),
    ] {
        assert!(!equal(left, right) && !equal(right, left), "{left} | {right}");
    }
    for (left, right) in [
        ("1,1,2", "2,1,1"),
        (r"\sqrt2,x,\sqrt2", r"x,\sqrt2,2^{1/2}"),
        ("AB=4, CD=4, EF=5", "4, 4, 5"),
    ] {
        assert!(equal(left, right) && equal(right, left), "{left} | {right}");
    }
    // A ground truth without labels has no order, one with labels has.
    assert!(equal("AB=4, CD=4, EF=5", "4, 5, 4"));
    assert!(!equal("4, 5, 4", "AB=4, CD=4, EF=5"));
}

#[test]
fn sets_statements_and_single_values_forget_repetitions() {
    for (left, right) in [
        (r"\{1,1,2\}", r"\{1,2,2\}"),
        (r"\{1,1,2\}", "1,2"),
        ("1,1,2", r"\{1,2\}"),
        ("x=1, x=1, x=2", "x=1, x=2"),
        (r"\frac12, 0.5", "0.5"),
    ] {
        assert!(equal(left, right) && equal(right, left), "{left} | {right}");
    }
}

fn right(prediction: &str, gold: &str) -> bool {
    verify(&format!(r"\boxed{{{prediction}}}"), gold, &Options::strict()).is_right()
}

#[test]
fn either_sign_is_never_one_of_them() {
    let cases = [
        (r"(\pm1,2)", "(1,2)"),
        (r"(\pm1,\mp2)", "(1,-2)"),
        (r"(1,\pm2,\pm3,\pm4,\pm5,\pm6)", "(1,2,3,4,5,6)"),
        (r"((\pm1,2),3)", "((1,2),3)"),
        (r"[\pm1,2]", "[1,2]"),
        (r"\pm1:2", "1:2"),
        (r"(\pm1)", "1"),
        (r"(x,y)=(\pm1,2)", "(x,y)=(1,2)"),
        (r"\begin{pmatrix}\pm1\\2\end{pmatrix}", r"\begin{pmatrix}1\\2\end{pmatrix}"),
    ];
    for (prediction, gold) in cases {
        assert!(!right(prediction, gold), "{prediction} {gold}");
        assert!(!right(gold, prediction), "{gold} {prediction}");
        assert!(right(&prediction.replace('1', "1.0"), prediction), "{prediction}");
    }
}

#[test]
fn signs_are_chosen_each_for_itself_or_together() {
    assert!(right(r"(\pm1,\pm2)", "(1,2),(1,-2),(-1,2),(-1,-2)"));
    assert!(right(r"(\pm1,\mp2)", "(1,-2),(-1,2)"));
    assert!(right(r"\{\pm1,2\}", r"\{1,-1,2\}"));
}
