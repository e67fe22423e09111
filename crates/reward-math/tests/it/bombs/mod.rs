//! Answers made to exhaust a verifier: each gets its verdict with bounded work and memory, never "right" by mistake.
//!
//! Work is counted in allocations, which are the same on every machine under every load; the bench and the fuzzing
//! example measure time.

#![expect(clippy::print_stdout, reason = "the measurements are read by people")]

mod answers;

use allocation_counter::measure;
use answers::{calculus, lengths, matrices, nests, statements, texts, towers, values};
use reward_math::{Gold, Options, ParseError, Verdict, verify};

/// Most memory that one verification may hold, in bytes.
const MOST_BYTES: u64 = 20 << 20;
/// Most allocations of one verification: about fifteen for each token of two answers of the greatest length, and one for
/// every step of the fuel.
const MOST_ALLOCATIONS: u64 = 1_000_000;

fn check(bombs: &[String]) {
    let (mut most_bytes, mut most_allocations) = (0, 0);
    for bomb in bombs {
        let boxed = format!("\\boxed{{{bomb}}}");
        let extended = format!("\\boxed{{{bomb}, -7}}");
        let list = format!("{bomb}, -8");
        // Normal forms in words, and a question to be found again, are bounded like the verdict.
        let spent = measure(|| {
            if let Ok(gold) = Gold::parse("195", &Options::lenient().explained()) {
                drop(gold.asked(bomb).verify(&extended));
            }
        });
        let shown: String = bomb.chars().take(40).collect();
        assert!(spent.bytes_max <= MOST_BYTES, "{shown}: {} bytes explained", spent.bytes_max);
        for (response, gold, text) in [
            (boxed.as_str(), "195", false),
            (bomb.as_str(), "195", false),
            (r"\boxed{195}", bomb.as_str(), false),
            (&extended, &list, false),
            (&boxed, bomb, true),
        ] {
            let mut verdict = None;
            let options = Options::lenient();
            let spent = measure(|| verdict = Some(verify(response, gold, &options)));
            let shown: String = bomb.chars().take(40).collect();
            let right = verdict.as_ref().is_some_and(Verdict::is_right);
            assert!(text || !right, "{shown}: {verdict:?}");
            assert!(spent.bytes_max <= MOST_BYTES, "{shown}: {} bytes", spent.bytes_max);
            assert!(
                spent.count_total <= MOST_ALLOCATIONS,
                "{shown}: {} allocations",
                spent.count_total
            );
            most_bytes = most_bytes.max(spent.bytes_max);
            most_allocations = most_allocations.max(spent.count_total);
        }
    }
    println!(
        "{} bombs: at most {most_bytes} bytes and {most_allocations} allocations a verdict",
        bombs.len()
    );
}

#[test]
fn towers_and_expansions_are_bounded() {
    check(&towers());
}

#[test]
fn derivatives_limits_and_derivations_are_bounded() {
    check(&calculus());
}

#[test]
fn statements_special_functions_and_prose_are_bounded() {
    check(&statements());
}

#[test]
fn values_behind_steps_and_roundings_are_bounded() {
    check(&values());
}

#[test]
fn products_and_powers_of_matrices_are_bounded() {
    check(&matrices());
}

#[test]
fn nests_are_bounded() {
    check(&nests());
}

#[test]
fn long_numbers_sums_and_lists_are_bounded() {
    check(&lengths());
}

#[test]
fn long_texts_are_bounded() {
    check(&texts());
}

/// Reading digits in a base takes the square of their number: it is bounded before it is done, for each and for all.
#[test]
fn numbers_in_a_base_are_bounded() {
    let why =
        |answer: &str| match verify(&format!("\\boxed{{{answer}}}"), "42", &Options::default()) {
            Verdict::Unparsed { why, .. } => Some(why),
            Verdict::Right { .. } | Verdict::Wrong { .. } => None,
        };
    let number = |digits: usize| "1".repeat(digits) + "_2";
    assert_eq!(why(&number(1024)), None);
    assert_eq!(why(&number(1025)), Some(ParseError::TooLong { found: 1025, limit: 1024 }));
    assert_eq!(why(&vec![number(1024); 8].join(", ")), None);
    assert_eq!(why(&vec![number(1024); 9].join(", ")), Some(ParseError::OutOfFuel));
    let value = verify(&format!("\\boxed{{{}}}", number(1024)), "2^{1024}-1", &Options::default());
    assert!(value.is_right(), "{value:?}");
}

/// Twice the fuel buys no more than twice the work, and none buys next to nothing.
#[test]
fn work_follows_the_fuel() {
    let work = |bomb: &str, fuel: u64| {
        let options = Options { fuel, ..Options::default() };
        measure(|| drop(verify(&format!("\\boxed{{{bomb}}}"), "195", &options))).count_total
    };
    // A first look in double precision sees no complex numbers.
    for bomb in ["(a+b+c+d+e+i)^{60}", r"(\sqrt{x}+\sqrt{y}+\sqrt z+i)^{40}"] {
        let (none, some, more) = (work(bomb, 0), work(bomb, 20_000), work(bomb, 40_000));
        assert!(none < 1000, "{bomb}: {none} allocations without fuel");
        assert!(some < more && more < 3 * some, "{bomb}: {some}, then {more} allocations");
    }
}
