//! Properties of the verdict over arbitrary and generated text.

use proptest::prelude::*;
use reward_math::{Gold, Options, Reward, Side, Verdict, extract, verify};

/// Returns true if two bare answers are judged equal.
fn equal(left: &str, right: &str) -> bool {
    Gold::parse(right, &Options::default()).is_ok_and(|gold| gold.verify_answer(left).is_right())
}

/// Generates LaTeX of an expression in `x`, `y`, numbers and functions, nested up to four levels.
fn latex() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (0_i64..2000).prop_map(|n| n.to_string()),
        (0_i64..100, 1_i64..1000).prop_map(|(n, d)| format!("{n}.{d:03}")),
        prop_oneof!["x", "y", "n", r"\\pi", "e", "i", r"\\theta", r"\\infty"],
    ];
    leaf.prop_recursive(4, 48, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!(r"\frac{{{a}}}{{{b}}}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})+({b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} - {b}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!(r"({a})\cdot({b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})^{{{b}}}")),
            inner.clone().prop_map(|a| format!(r"\sqrt{{{a}}}")),
            inner.clone().prop_map(|a| format!(r"\sqrt[3]{{{a}}}")),
            inner.clone().prop_map(|a| format!(r"\sin({a})")),
            inner.clone().prop_map(|a| format!(r"\ln({a})")),
            inner.clone().prop_map(|a| format!("|{a}|")),
            inner.clone().prop_map(|a| format!("({a})!")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a},{b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} = {b}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} < {b}")),
            inner.prop_map(|a| format!(r"\{{{a}, 1\pm 2\}}")),
        ]
    })
}

/// Generates sums, products, fractions and roots of small numbers and variables.
fn arithmetic() -> impl Strategy<Value = String> {
    let leaf =
        prop_oneof![(1_i64..40).prop_map(|n| n.to_string()), Just("x".into()), Just("y".into())];
    leaf.prop_recursive(3, 12, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}+{b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!(r"{a}\cdot({b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!(r"\frac{{{a}}}{{{b}}}")),
            inner.prop_map(|a| format!(r"\sqrt{{{a}}}")),
        ]
    })
}

/// Generates formulas of numbers alone, in the spellings of answers.
fn of_numbers() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (0_i64..400).prop_map(|n| n.to_string()),
        (0_i64..40, 0_i64..1000).prop_map(|(n, d)| format!("{n}.{d:03}")),
        Just(r"\pi".to_owned()),
    ];
    leaf.prop_recursive(3, 10, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!(r"\dfrac{{{a}}}{{{b}}}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} + {b}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}-{b}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!(r"{a}\times {b}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}/{b}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} {b}")),
            inner.clone().prop_map(|a| format!("{a}^2")),
            inner.clone().prop_map(|a| format!("-{a}")),
            inner.prop_map(|a| format!(r"3\sqrt{{{a}}}")),
        ]
    })
}

/// Pieces of answers, with bars between.
const FRAGMENTS: [&str; 4] = [
    r"\frac¦\sqrt¦\boxed¦{¦}¦(¦)¦[¦]¦^¦_¦!¦1¦23¦4.5¦,¦x¦y¦\pi¦+¦-¦*¦/¦=¦<¦\le¦|¦\text{cm}¦\{",
    r"\}¦%¦$¦\cup¦[1; ¦0¦\overline{2¦\checkmark¦\operatorname{span}¦\angle¦0x¦\pm¦\quad",
    r"\Rightarrow¦\times\{¦~A¦\begin{pmatrix}¦\end{pmatrix}¦&¦\\¦\sin¦\log_¦\binom¦^\circ¦…",
    "①¦####¦answer is¦e¦i¦ ¦\n¦²¦½¦:¦9999999999",
];

/// Generates pieces of LaTeX in any order: mostly unreadable.
fn fragments() -> impl Strategy<Value = String> {
    let pieces = FRAGMENTS.iter().flat_map(|row| row.split('¦'));
    let piece = prop::sample::select(pieces.collect::<Vec<_>>());
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// No text panics or hangs, on either side, and a span is always inside the response.
    #[test]
    fn arbitrary_text_gets_a_verdict(response in ".{0,200}", gold in ".{0,40}") {
        let boxed = format!("\\boxed{{{response}}}");
        for text in [&response, &boxed] {
            for options in [Options::default(), Options::strict(), Options::lenient()] {
                let _ = verify(text, &gold, &options);
                if let Some(found) = extract(text, &options) {
                    prop_assert_eq!(&text[found.span], &found.text);
                }
            }
        }
    }

    #[test]
    fn fragments_of_latex_get_a_verdict(response in fragments(), gold in fragments()) {
        let _ = verify(&response, &gold, &Options::lenient());
        let _ = equal(&response, &gold);
    }

    /// A continued fraction is the fraction that it abbreviates; a partial quotient of 0 makes it none.
    #[test]
    fn continued_fractions_are_the_fractions(
        whole in 0..20_u32,
        parts in prop::collection::vec(0..9_u32, 2..8),
    ) {
        let list = parts.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let nested = parts.iter().rev().fold(String::new(), |rest, part| match rest.as_str() {
            "" => part.to_string(),
            rest => format!(r"{part}+\frac{{1}}{{{rest}}}"),
        });
        let written = format!("[{whole}; {list}]");
        let verdict = equal(&written, &format!(r"{whole}+\frac{{1}}{{{nested}}}"));
        prop_assert!(parts.contains(&0) || verdict, "{written}");
    }

    /// A formula of numbers is read at once; with a sign that says nothing behind it, as other answers are.
    #[test]
    fn formulas_of_numbers_are_read_as_others_are(text in of_numbers(), other in of_numbers()) {
        let read = |text: &str| {
            Gold::parse(&other, &Options::default()).map(|gold| gold.verify_answer(text))
        };
        let apart = |text: &str| format!(r"{text}\!");
        prop_assert_eq!(format!("{:?}", read(&text)), format!("{:?}", read(&apart(&text))));
        prop_assert_eq!(equal(&text, &text), equal(&apart(&text), &text), "{}", text);
    }

    /// A readable answer is right against itself, with any fuel.
    #[test]
    fn every_expression_equals_itself(text in latex()) {
        prop_assert!(equal(&text, &text), "{text}");
    }

    /// Comparison is symmetric if both directions reach a verdict.
    #[test]
    fn equality_is_symmetric(left in latex(), right in latex()) {
        prop_assert_eq!(equal(&left, &right), equal(&right, &left));
    }

    /// The normal form does not depend on the order of a sum or a product, nor on brackets.
    #[test]
    fn order_and_brackets_do_not_matter(a in arithmetic(), b in arithmetic()) {
        let options = Options::default();
        for (left, right) in [
            (format!("({a})+({b})"), format!("({b})+({a})")),
            (format!("({a})({b})"), format!(r"\left({b}\right)\cdot\left({a}\right)")),
        ] {
            let verdict = Gold::parse(&right, &options).map(|gold| gold.verify_answer(&left));
            let wrong = matches!(verdict, Ok(Verdict::Wrong { .. }));
            prop_assert!(!wrong, "{left} | {right} | {verdict:?}");
        }
    }

    /// Spellings of an integer are equal, and the next integer differs.
    #[test]
    fn spellings_of_an_integer_are_equal(n in 0_i64..10_000_000) {
        let digits = n.to_string();
        let grouped = group_by_three(&digits, ",");
        let spellings = [
            format!("{n}.0"), format!("{n}."), format!("+{n}"), format!("00{n}"), format!("${n}$"),
            format!(r"\text{{{n}}}"), format!("{}/2", 2 * n), format!(r"\frac{{{}}}{{3}}", 3 * n),
            grouped, group_by_three(&digits, r"{,}"), group_by_three(&digits, r"\,"),
            format!("({n})"), format!("{n} apples"), format!(r"\${n}"), format!(r"{n}\text{{ cm}}"),
            format!("{n}e0"), format!("{n}0e-1"), format!("x = {n}"), format!(r"\sqrt{{{}}}", n * n),
        ];
        for spelling in spellings {
            prop_assert!(equal(&spelling, &digits), "{spelling} = {digits}");
            prop_assert!(equal(&digits, &spelling), "{digits} = {spelling}");
            prop_assert!(!equal(&spelling, &(n + 1).to_string()), "{spelling} = {}", n + 1);
        }
    }

    /// Spellings of a fraction are equal, and its negative differs.
    #[test]
    fn spellings_of_a_fraction_are_equal(top in 1_i64..500, bottom in 2_i64..500, scale in 2_i64..9) {
        let fraction = format!(r"\frac{{{top}}}{{{bottom}}}");
        let (quotient, rest) = (top / bottom, top % bottom);
        let mut spellings = vec![
            format!("{top}/{bottom}"), format!(r"\dfrac{{{top}}}{{{bottom}}}"),
            format!(r"\tfrac{{{}}}{{{}}}", top * scale, bottom * scale),
            format!(r"\frac{{-{top}}}{{-{bottom}}}"), format!(r"-\frac{{-{top}}}{{{bottom}}}"),
            format!(r"{top}\cdot {bottom}^{{-1}}"), format!(r"{top} \div {bottom}"),
            format!(r"\sqrt{{\frac{{{}}}{{{}}}}}", top * top, bottom * bottom),
        ];
        if quotient > 0 && rest > 0 {
            spellings.push(format!(r"{quotient}\frac{{{rest}}}{{{bottom}}}"));
            spellings.push(format!("{quotient} {rest}/{bottom}"));
        }
        for spelling in spellings {
            prop_assert!(equal(&spelling, &fraction), "{spelling} = {fraction}");
            prop_assert!(!equal(&spelling, &format!("-{fraction}")), "{spelling} = -{fraction}");
        }
    }

    /// A product of linear factors equals its expansion, and not the expansion with one coefficient changed.
    #[test]
    fn factored_and_expanded_polynomials_are_equal(a in -9_i64..10, b in -9_i64..10, c in 1_i64..9) {
        let factored = format!("{c}(x-({a}))(x-({b}))");
        let expanded = |constant: i64| format!("{c}x^2 - ({})x + ({constant})", c * (a + b));
        prop_assert!(equal(&factored, &expanded(c * a * b)));
        prop_assert!(!equal(&factored, &expanded(c * a * b + 1)));
    }

    /// A decimal literal equals its digits over a power of ten.
    #[test]
    fn decimals_are_exact(whole in 0_i64..1_000_000, fraction in 0_i64..1000) {
        let decimal = format!("{whole}.{fraction:03}");
        let digits = whole * 1000 + fraction;
        let thousandths = [digits, digits + 1].map(|count| format!("{count}/1000"));
        prop_assert!(equal(&decimal, &thousandths[0]) && !equal(&decimal, &thousandths[1]));
    }

    /// Sets ignore order, tuples do not.
    #[test]
    fn order_counts_in_tuples_alone(items in prop::collection::hash_set(-50_i64..50, 2..6)) {
        let forward: Vec<String> = items.iter().map(ToString::to_string).collect();
        let backward: Vec<String> = forward.iter().rev().cloned().collect();
        let (f, b) = (forward.join(", "), backward.join(", "));
        let set = |items: &str| format!(r"\{{{items}\}}");
        let tuple = |items: &str| format!("({items})");
        let bare = equal(&f, &b);
        let sets = equal(&set(&f), &set(&b));
        let tuples = equal(&tuple(&f), &tuple(&b));
        prop_assert!(bare && sets && !tuples, "{} | {}", f, b);
    }
}

fn group_by_three(digits: &str, separator: &str) -> String {
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|g| std::str::from_utf8(g).ok()).collect();
    groups.join(separator)
}

#[test]
fn running_out_of_fuel_is_said_and_blames_the_right_side() {
    let options = Options { fuel: 50, ..Options::default() };
    // A first look in double precision sees no complex numbers.
    let verdict = verify(r"\boxed{(\sqrt{x}+\sqrt{y}+i)^{30}}", "x", &options);
    assert!(matches!(verdict, Verdict::Unparsed { which: Side::Response, .. }), "{verdict:?}");
    let verdict = verify(r"\boxed{x}", r"(\sqrt{x}+\sqrt{y}+i)^{30}", &options);
    assert!(matches!(verdict, Verdict::Unparsed { which: Side::GroundTruth, .. }), "{verdict:?}");
}

/// Regression tests of fuzzing findings.
#[test]
fn boxes_behind_characters_of_several_bytes_are_read() {
    for response in ["$x=\\boxed{2}$ or \u{fffd}x=\\boxed{3}$", "√2=\\boxed{3}", "√=\\boxed{3}"]
    {
        assert!(verify(response, "3", &Options::default()).is_right(), "{response}");
    }
}

/// One ground truth serves any number of threads, and each gets the same verdicts.
#[test]
fn a_ground_truth_is_shared_between_threads() {
    let gold = Gold::parse(r"\frac{7}{2}", &Options::default()).expect("a fraction is readable");
    let answers = ["3.5", "7/2", r"3\frac12", "3", "x", r"\sqrt{12.25}", "(a+b+c+d+e+f)^{60}"];
    let verdicts = || answers.map(|answer| gold.verify_answer(answer));
    let alone = verdicts();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(verdicts)).collect();
        for thread in threads {
            assert_eq!(thread.join().expect("the thread ends"), alone);
        }
    });
}

#[test]
fn each_verdict_has_its_own_reward() {
    let reward = Reward { right: 1.0, wrong: -1.0, unparsed: -0.5 };
    for (answer, expected) in [("\\boxed{7}", 1.0_f64), ("\\boxed{8}", -1.0), ("none", -0.5)] {
        let verdict = verify(answer, "7", &Options::default());
        assert_eq!(reward.of(&verdict).to_bits(), expected.to_bits(), "{answer}");
    }
}

#[test]
fn defaults_are_one_and_zero_and_unknown_keys_are_refused() {
    assert_eq!(serde_json::from_str::<Reward>("{}").unwrap(), Reward::default());
    let error = serde_json::from_str::<Reward>(r#"{"rigth": 2}"#).unwrap_err();
    assert!(error.to_string().contains("rigth"), "{error}");
}
