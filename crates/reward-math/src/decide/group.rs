//! Direct products of cyclic groups: `\mathbb{Z}_2 \times \mathbb{Z}_3` is `\mathbb{Z}_6`.

use crate::expression::Expression;

/// Largest order of a factor.
const LARGEST: u32 = 1_000_000;

/// Most factors.
const MOST: usize = 64;

/// Returns true if both sides are products of cyclic groups with the same powers of primes as orders.
pub(super) fn isomorphic(a: &Expression, b: &Expression) -> bool {
    let Some(mut first) = orders(a) else { return false };
    let Some(mut second) = orders(b) else { return false };
    first.sort_unstable();
    second.sort_unstable();
    first == second
}

/// Returns the orders of the cyclic factors that are no products themselves: 2, 3 and 4 of `\mathbb{Z}_6 \times \mathbb{Z}_4`.
fn orders(group: &Expression) -> Option<Vec<u32>> {
    match group {
        Expression::Symbol(name) => {
            let order = name.strip_prefix("\\mathbb Z_")?.parse().ok()?;
            (1..=LARGEST).contains(&order).then(|| powers_of_primes(order))
        }
        Expression::Product(factors) if factors.len() <= MOST => {
            let all = factors.iter().map(orders).collect::<Option<Vec<_>>>()?;
            Some(all.concat()).filter(|orders| orders.len() <= MOST)
        }
        Expression::Power(base, exponent) => {
            let count = usize::try_from(exponent.as_integer()?).ok()?;
            let base = (count <= MOST).then(|| orders(base)).flatten()?;
            (base.len() * count <= MOST).then(|| base.repeat(count))
        }
        _ => None,
    }
}

/// Returns 4 and 3 of 12.
fn powers_of_primes(mut number: u32) -> Vec<u32> {
    let mut powers = Vec::new();
    let mut prime = 2;
    while prime * prime <= number {
        let mut power = 1;
        while number.is_multiple_of(prime) {
            (number, power) = (number / prime, power * prime);
        }
        powers.extend((power > 1).then_some(power));
        prime += 1;
    }
    powers.extend((number > 1).then_some(number));
    powers
}
