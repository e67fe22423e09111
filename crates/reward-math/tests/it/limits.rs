//! Definite integrals, infinite series and elementary functions against closed forms and mpmath, which are the oracles.

use reward_math::{Gold, Options, Rung, Verdict};

fn verdict(response: &str, ground_truth: &str) -> Verdict {
    let options = Options::default();
    Gold::parse(ground_truth, &options).expect("readable").verify_answer(response)
}

/// Limits with their values, and a value that is near but another.
const LIMITS: &[(&str, &str, &str)] = &[
    (r"\int_0^1 x^2\,dx", r"\frac13", "0.33333333333333335"),
    (r"\int_1^0 x^2 dx", r"-\frac13", r"\frac13"),
    (r"\int_0^{\pi} \sin x \, dx", "2", r"\frac{355}{113}-1.1415929"),
    (r"\int_0^1 \frac{dx}{1+x^2}", r"\frac{\pi}{4}", "0.7853981633974486"),
    (r"\int_1^2 \ln x dx", r"2\ln 2 - 1", "0.3862943611198909"),
    (r"\int_1^e \frac{\ln x}{x} dx", r"\frac12", "0.49999999999999"),
    (r"\int_0^1 \sqrt{x} dx", r"\frac23", r"\frac{66666666}{99999999}+10^{-15}"),
    (r"\int_0^1 |x - \frac13| dx", r"\frac5{18}", r"\frac{5}{18}+10^{-12}"),
    (r"\int_0^{\pi/4} \tan x dx", r"\frac{\ln 2}{2}", "0.34657359027999"),
    (r"\int_0^{1/2} \frac{1}{\sqrt{1-x^2}} dx", r"\frac{\pi}{6}", r"\frac{\pi}{6.0000000001}"),
    (r"\int_0^1\int_0^2 x y^2 dy dx", r"\frac43", r"\frac23"),
    (r"\int_0^{2\pi} \frac{dx}{2+\cos x}", r"\frac{2\pi}{\sqrt3}", r"\frac{\pi}{\sqrt3}"),
    (r"2\int_0^1 x\,dx + 1", "2", "3"),
    (r"\int_{-1}^1 x^3 dx", "0", r"10^{-9}"),
    (r"\int_0^{2\pi} \sin x dx", "0", r"10^{-15}"),
    (r"\int_0^x t dt", r"\frac{x^2}{2}", r"\frac{x^2}{2}+10^{-9}"),
    (r"\int_a^b x dx", r"\frac{b^2-a^2}{2}", r"\frac{a^2-b^2}{2}"),
    (r"\sum_{n=1}^\infty \frac{1}{n^2}", r"\frac{\pi^2}{6}", "1.6449340668482268"),
    (r"\sum_{n=1}^\infty \frac{1}{n^4}", r"\frac{\pi^4}{90}", r"\frac{\pi^4}{90}-10^{-16}"),
    (r"\sum_{n=1}^\infty \frac{1}{n(n+1)}", "1", r"1-10^{-15}"),
    (r"\sum_{n=2}^\infty \frac{1}{n^2-1}", r"\frac34", r"\frac38"),
    (r"\sum_{n=1}^\infty \frac{1}{n^2+1}", r"\frac{\pi\coth\pi-1}{2}", r"\frac{\pi-1}{2}"),
    (r"\sum_{n=1}^\infty \frac{(-1)^{n+1}}{n}", r"\ln 2", r"-\ln 2"),
    (r"\sum_{n=0}^\infty \frac{(-1)^n}{2n+1}", r"\frac\pi4", r"\frac\pi4+10^{-15}"),
    (r"\sum_{n=1}^\infty \frac{(-1)^n}{n^2}", r"-\frac{\pi^2}{12}", r"\frac{\pi^2}{12}"),
    (
        r"\sum_{n=1}^\infty \frac{(-1)^n (n-100)}{n^2}",
        r"\frac{100\pi^2}{12}-\ln 2",
        r"\frac{100\pi^2}{12}+\ln 2",
    ),
    (
        r"\sum_{n=1}^\infty \frac{n^2-10000}{n^4}",
        r"\frac{\pi^2}{6}-\frac{1000\pi^4}{9}",
        r"\frac{1000\pi^4}{9}-\frac{\pi^2}{6}",
    ),
    (r"\sum_{n=1}^\infty \frac{n}{3^n}", r"\frac34", r"\frac34+10^{-15}"),
    (r"\sum_{n=1}^\infty \left(\frac1{2^n}+\frac1{3^n}\right)", r"\frac32", "2"),
    (r"\sum_{n=0}^\infty \frac{1}{n!}", "e", "2.718281828459049"),
    (
        r"\sum_{n=1}^\infty \frac{1}{\binom{2n}{n}}",
        r"\frac13+\frac{2\pi\sqrt3}{27}",
        "0.7363998597",
    ),
    (r"\sum_{n=0}^\infty ar^n", r"\frac{a}{1-r}", r"\frac{a}{1+r}"),
    (r"\sum_{k=0}^\infty \frac{(-1)^k x^{2k+1}}{(2k+1)!}", r"\sin x", r"\sinh x"),
];

#[test]
fn a_limit_is_its_value_and_no_other() {
    for (limit, value, other) in LIMITS {
        for (response, ground_truth) in [(limit, value), (value, limit)] {
            let verdict = verdict(response, ground_truth);
            let enclosed =
                matches!(&verdict, Verdict::Right { how } if how.rung == Rung::Enclosure);
            assert!(enclosed, "{response} against {ground_truth}: {verdict:?}");
        }
        let verdict = verdict(limit, other);
        assert!(matches!(verdict, Verdict::Wrong { .. }), "{limit} against {other}: {verdict:?}");
    }
}

#[test]
fn what_has_no_value_or_no_bound_is_undecided() {
    for limit in [
        r"\int_0^1 \frac1x dx",
        r"\int_{-1}^1 \frac{1}{x} dx",
        r"\int_0^\infty e^{-x} dx",
        r"\int_0^1 f(x) dx",
        r"\int_0^3 \lfloor x \rfloor dx",
        r"\sum_{n=1}^\infty \frac1n",
        r"\sum_{n=0}^\infty (-1)^n",
        r"\sum_{n=0}^\infty 2^n",
        r"\sum_{n=1}^\infty \frac{1}{n^2+\sin n}",
        r"\sum_{n=1}^\infty \frac{1}{\sqrt n}",
    ] {
        let verdict = verdict(limit, "1");
        assert!(matches!(verdict, Verdict::Unparsed { .. }), "{limit}: {verdict:?}");
    }
}

/// Values by mpmath with 40 digits: `data/limits.py` makes the file.
#[test]
fn random_limits_have_the_values_of_mpmath() {
    #[derive(serde::Deserialize)]
    struct Row {
        limit: String,
        value: String,
    }
    let rows = include_str!("../data/limits.jsonl").lines();
    let rows: Vec<Row> =
        rows.map(|row| serde_json::from_str(row).expect("a limit and its value")).collect();
    let mut decided = 0;
    for Row { limit, value } in &rows {
        let right = verdict(limit, value);
        assert!(!matches!(right, Verdict::Wrong { .. }), "{limit} is {value}: {right:?}");
        decided += usize::from(right.is_right());
        let near = format!(r"({value}) \cdot (1 + 10^{{-13}}) + 10^{{-14}}");
        let near = verdict(limit, &near);
        assert!(!near.is_right(), "{limit} is not {value} and more: {near:?}");
    }
    assert!(decided * 5 >= rows.len() * 4, "{decided} of {} decided", rows.len());
}

/// Values by mpmath with 60 digits behind leading zeros or more: `data/functions.py` makes the file.
#[test]
fn functions_of_numbers_of_any_size_have_the_values_of_mpmath() {
    #[derive(serde::Deserialize)]
    struct Row {
        function: String,
        value: String,
    }
    for row in include_str!("../data/functions.jsonl").lines() {
        let Row { function, value } = serde_json::from_str(row).expect("a function and its value");
        let right = verdict(&function, &value);
        assert!(right.is_right(), "{function} is {value}: {right:?}");
        // Three units of the last place beside it.
        let places = value.split_once('.').map_or(0, |(_, digits)| digits.len());
        for beside in ["+", "-"] {
            let near = verdict(&function, &format!(r"{value} {beside} 3 \cdot 10^{{-{places}}}"));
            assert!(matches!(near, Verdict::Wrong { .. }), "{function} {beside}: {near:?}");
        }
    }
}

#[test]
fn a_limit_may_have_all_fuel() {
    let options = Options { fuel: u64::MAX, ..Options::default() };
    let gold = Gold::parse(r"\frac13", &options).expect("readable");
    assert!(gold.verify_answer(r"\int_0^1 x^2 dx").is_right());
}
