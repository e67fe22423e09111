//! Generated expressions: the verdict depends on their value, not on their spelling.
//!
//! The tests have their own expressions, values and spellings; they use none of the crate's arithmetic.
//! `EXPRESSION_SEEDS` sets the number of seeds of each property.

mod identity;
mod structure;
mod style;
mod tree;
mod value;
mod witness;

use identity::rewritten;
use reward_math::{Gold, Options, ParseError, Rung, Verdict, normal_form};
use style::Style;
use tree::{Kind, Random, Tree};
use value::{agree, coincide, evaluate, points};

const KINDS: [Kind; 4] = [Kind::Rational, Kind::Constant, Kind::Elementary, Kind::Complex];

/// Returns the seeds of a property: `few`, unless the environment says otherwise.
pub(crate) fn seeds(few: u64) -> std::ops::Range<u64> {
    let told = std::env::var("EXPRESSION_SEEDS").ok();
    0..told.and_then(|text| text.parse().ok()).unwrap_or(few)
}

pub(crate) fn verdict(left: &str, right: &str) -> Verdict {
    Gold::parse(right, &Options::default())
        .unwrap_or_else(|why| panic!("{right}: {why}"))
        .verify_answer(left)
}

pub(crate) fn normal(text: &str) -> Result<String, ParseError> {
    normal_form(text, &Options::default())
}

/// Generates an expression that has a value at some point.
pub(crate) fn defined(kind: Kind, depth: usize, random: &mut Random) -> Tree {
    loop {
        let tree = Tree::generated(kind, depth, random);
        let somewhere = points(4, true, random);
        let sizes: Vec<f64> =
            somewhere.iter().filter_map(|p| evaluate(&tree, p)).map(|(_, size)| size).collect();
        if sizes.len() > 2 && sizes.iter().all(|size| *size < 1e9) && tree.size() < 40 {
            return tree;
        }
    }
}

/// Returns true if the two certainly differ at one of some positive points.
fn differ(left: &Tree, right: &Tree, random: &mut Random) -> bool {
    points(6, true, random).iter().any(|point| agree(left, right, point) == Some(false))
}

fn is_defined(tree: &Tree, random: &mut Random) -> bool {
    points(4, true, random).iter().filter(|point| evaluate(tree, point).is_some()).count() > 2
}

/// Parser round trip: every spelling of an expression has the same normal form.
#[test]
fn every_style_reads_as_the_same_normal_form() {
    for seed in seeds(1500) {
        let random = &mut Random::new(seed);
        let kind = KINDS[random.below(KINDS.len())];
        let tree = defined(kind, 1 + random.below(3), random);
        let (first, second) = (Style::random(random), Style::random(random));
        let (first, second) = (first.whole(&tree), second.whole(&tree));
        let read = (normal(&first), normal(&second));
        assert!(read.0.is_ok() && read.0 == read.1, "seed {seed}\n{first}\n{second}\n{read:#?}");
        let outcome = verdict(&first, &second);
        assert!(outcome.is_right(), "seed {seed}: {first} | {second} | {outcome:?}");
    }
}

/// A printed normal form parses to an expression of that normal form.
#[test]
fn a_normal_form_is_its_own_normal_form() {
    for seed in seeds(1500) {
        let random = &mut Random::new(seed ^ (1 << 40));
        let kind = KINDS[random.below(KINDS.len())];
        let tree = defined(kind, 1 + random.below(3), random);
        let text = Style::random(random).whole(&tree);
        let once = normal(&text).unwrap_or_else(|why| panic!("seed {seed}: {text}: {why}"));
        let twice = normal(&once);
        assert_eq!(twice.as_deref(), Ok(once.as_str()), "seed {seed}: {text}");
        let outcome = verdict(&once, &text);
        assert!(outcome.is_right(), "seed {seed}: {once} | {text} | {outcome:?}");
    }
}

/// A change of one number, name, sign or operation that changes the value is never right, in any style.
#[test]
fn a_perturbed_expression_is_wrong() {
    let mut tried = 0;
    for seed in seeds(2500) {
        let random = &mut Random::new(seed ^ (2 << 40));
        let kind = KINDS[random.below(KINDS.len())];
        let tree = defined(kind, 1 + random.below(3), random);
        let other = tree.perturbed(random);
        if !is_defined(&other, random) || !differ(&tree, &other, random) {
            continue;
        }
        tried += 1;
        let (left, right) =
            (Style::random(random).whole(&other), Style::random(random).whole(&tree));
        let outcome = verdict(&left, &right);
        assert!(
            matches!(outcome, Verdict::Wrong { .. }),
            "seed {seed}: {left} | {right} | {outcome:?}"
        );
    }
    assert!(tried * 2 > seeds(2500).end, "only {tried} differed");
}

/// Laws of algebra, roots, angles and logarithms preserve a right answer.
#[test]
fn laws_are_known() {
    for seed in seeds(1500) {
        let random = &mut Random::new(seed ^ (3 << 40));
        let kind = KINDS[random.below(KINDS.len())];
        let tree = defined(kind, 1 + random.below(2), random);
        let mut other = tree.clone();
        for _ in 0..=random.below(3) {
            other = rewritten(&other, random);
        }
        let same = points(6, true, random).iter().all(|p| agree(&tree, &other, p) != Some(false));
        assert!(same, "seed {seed}: no law: {tree:?} {other:?}");
        if !is_defined(&other, random) {
            continue;
        }
        let (left, right) =
            (Style::random(random).whole(&other), Style::random(random).whole(&tree));
        let outcome = verdict(&left, &right);
        assert!(outcome.is_right(), "seed {seed}: {left} | {right} | {outcome:?}");
    }
}

/// A right verdict implies equal values at random points; a difference at one point implies a wrong verdict. No wrong verdict
/// is refuted by values that coincide at all of them.
#[test]
fn right_means_equal_in_value() {
    let (mut right, mut wrong) = (0, 0);
    for seed in seeds(4000) {
        let random = &mut Random::new(seed ^ (4 << 40));
        let kind = KINDS[random.below(KINDS.len())];
        let tree = defined(kind, random.below(3), random);
        // Small expressions of the same kind are sometimes equal; a law and a change may cancel.
        let mut other = match random.below(4) {
            0 => defined(kind, random.below(3), random),
            1 => tree.perturbed(random),
            _ => rewritten(&tree, random),
        };
        if random.one_in(2) {
            other = rewritten(&other, random);
        }
        if random.one_in(3) {
            other = other.perturbed(random);
        }
        if !is_defined(&other, random) {
            continue;
        }
        let (a, b) = (Style::random(random).whole(&other), Style::random(random).whole(&tree));
        let outcome = verdict(&a, &b);
        // Under roots and logarithms variables are positive by convention; elsewhere they may have either sign.
        let narrow = |tree: &Tree| {
            tree.any(&|node| {
                matches!(node, Tree::Root(..) | Tree::Of(tree::Function::Logarithm, _))
            })
        };
        let positive = narrow(&tree) || narrow(&other);
        let somewhere = points(12, positive, random);
        let known: Vec<bool> = somewhere.iter().filter_map(|p| agree(&tree, &other, p)).collect();
        if outcome.is_right() {
            right += 1;
            assert!(!known.contains(&false), "seed {seed}: {a} | {b} | {outcome:?}");
        }
        let by_value = outcome
            .how()
            .is_some_and(|how| how.rung >= Rung::NormalForm || how.rung == Rung::Number);
        if matches!(outcome, Verdict::Wrong { .. })
            && by_value
            && (!positive || kind == Kind::Constant)
        {
            let refuted = somewhere.iter().all(|point| coincide(&tree, &other, point));
            assert!(!refuted, "seed {seed}: {a} | {b} | {outcome:?}");
        }
        if known.contains(&false) {
            wrong += 1;
            let is_wrong = matches!(outcome, Verdict::Wrong { .. });
            assert!(is_wrong, "seed {seed}: {a} | {b} | {outcome:?}");
        }
    }
    assert!(right > 500 && wrong > 500, "{right} right and {wrong} wrong");
}
