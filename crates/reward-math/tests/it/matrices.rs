//! Arithmetic of matrices against integers multiplied here.

use proptest::prelude::*;
use reward_math::{Gold, Options, Verdict};

type Matrix = [[i64; 3]; 3];

fn verdict(answer: &str, truth: &str) -> Verdict {
    let gold = Gold::parse(truth, &Options::default()).expect("a readable ground truth");
    gold.verify_answer(answer)
}

fn is_right(answer: &str, truth: &str) -> bool {
    verdict(answer, truth).is_right()
}

fn latex(rows: &Matrix) -> String {
    let rows: Vec<String> = rows.iter().map(|[a, b, c]| format!("{a} & {b} & {c}")).collect();
    format!(r"\begin{{pmatrix}} {} \end{{pmatrix}}", rows.join(r" \\ "))
}

fn map(entry: impl Fn(usize, usize) -> i64) -> Matrix {
    std::array::from_fn(|row| std::array::from_fn(|column| entry(row, column)))
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    map(|row, column| (0..3).map(|k| a[row][k] * b[k][column]).sum())
}

/// The rule of Sarrus.
fn determinant(m: &Matrix) -> i64 {
    let diagonal = |sign: usize| -> i64 {
        (0..3).map(|k| (0..3).map(|row| m[row][(k + sign * row) % 3]).product::<i64>()).sum()
    };
    diagonal(1) - diagonal(2)
}

fn matrices() -> impl Strategy<Value = Matrix> {
    prop::array::uniform3(prop::array::uniform3(-9_i64..10))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sums_products_and_powers_are_those_of_integers(
        a in matrices(), b in matrices(), k in -9_i64..10, place in 0_usize..9
    ) {
        let (left, right) = (latex(&a), latex(&b));
        let square = product(&a, &a);
        let results = [
            (format!("{left} - {k}{right}"), map(|r, c| a[r][c] - k * b[r][c])),
            (format!("{left}{right}"), product(&a, &b)),
            (format!(r"{left} \cdot {right}^T"), product(&a, &map(|r, c| b[c][r]))),
            (format!("{left}^3"), product(&square, &a)),
            (format!("-{left}({right} + {left})"), map(|r, c| {
                -product(&a, &map(|r, c| a[r][c] + b[r][c]))[r][c]
            })),
        ];
        for (answer, mut expected) in results {
            prop_assert!(is_right(&answer, &latex(&expected)), "{answer}");
            expected[place / 3][place % 3] += 1;
            let other = verdict(&answer, &latex(&expected));
            let wrong = matches!(other, Verdict::Wrong { .. });
            prop_assert!(wrong, "{answer} against {expected:?}: {other:?}");
        }
    }

    #[test]
    fn determinants_traces_and_inverses_are_those_of_integers(a in matrices(), b in matrices()) {
        let (left, right) = (latex(&a), latex(&b));
        let (size, other) = (determinant(&a), determinant(&b));
        let trace = a[0][0] + a[1][1] + a[2][2];
        for (answer, expected) in [
            (format!(r"\det {left}"), size),
            (format!(r"\left|{left}{right}\right|"), size * other),
            (format!("2\\begin{{vmatrix}}{}", &left["\\begin{pmatrix}".len()..]).replace("pmatrix", "vmatrix"), 2 * size),
            (format!(r"\operatorname{{tr}}{left} + 1"), trace + 1),
        ] {
            prop_assert!(is_right(&answer, &expected.to_string()), "{answer} is {expected}");
            prop_assert!(!is_right(&answer, &(expected + 1).to_string()), "{answer}");
        }
        let inverse = verdict(&format!("{left}^{{-1}}{left}"), &latex(&map(|r, c| i64::from(r == c))));
        let undefined = matches!(inverse, Verdict::Unparsed { .. });
        prop_assert!(if size == 0 { undefined } else { inverse.is_right() }, "{left}: {inverse:?}");
    }
}

#[test]
fn sizes_that_do_not_fit_are_undefined() {
    let (row, column) = (r"\begin{pmatrix}1&2\end{pmatrix}", r"\begin{pmatrix}3\\4\end{pmatrix}");
    for answer in [
        format!("{row}+{column}"),
        format!("{row}{row}"),
        format!("{row}^2"),
        format!("{row}+1"),
        format!("2^{row}"),
        format!(r"\sin{row}"),
        format!(r"\sqrt{{{column}}}"),
        format!(r"\frac{{1}}{{{column}}}"),
        format!(r"\det{row}"),
    ] {
        let verdict = verdict(&answer, "11");
        assert!(matches!(verdict, Verdict::Unparsed { .. }), "{answer}: {verdict:?}");
    }
    assert!(is_right(&format!("{row}{column}"), "11"));
    assert!(is_right(&format!(r"\left\|{column}\right\|"), "5"));
}
