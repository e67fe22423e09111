//! Symbols and units.

use figures::Block;
use figures::html::Table;

const ROWS: [(&str, &str, &str); 11] = [
    ("H", "entropy of the next-token distribution, mean over the sampled tokens", "nat per token"),
    (
        "ΔH",
        "entropy after an optimiser step minus entropy before it, on the same tokens",
        "nat per token",
    ),
    ("π, log π", "the policy; log-probability it gives to a token", "1, nat"),
    ("A", "advantage: reward of a response relative to its group", "reward"),
    ("z, Δz", "logit; its change in a step", "nat"),
    (
        "Cov(log π, A)",
        "centred product of log-probability and advantage, mean over the tokens of a batch",
        "nat · reward",
    ),
    ("η", "step size of the theory", "1"),
    ("R", "reward: 1 for a right answer, 0 for a wrong one, mean over responses", "0 to 1"),
    ("a, b", "constants of R = −a·exp(H) + b; b − a is the reward at zero entropy", "reward"),
    ("fraction", "a share; never a percentage", "0 to 1"),
    ("KL", "Kullback–Leibler divergence", "nat per token"),
];

pub(super) fn blocks() -> Vec<Block> {
    let headings = ["Symbol", "Meaning", "Unit"];
    let mut table = Table::new("Symbols and units of this page.", &headings, |_| false);
    for (symbol, meaning, unit) in ROWS {
        table.html_row(vec![
            symbol.to_owned(),
            format!("<span class=\"wrap\">{meaning}</span>"),
            unit.to_owned(),
        ]);
    }
    vec![Block::Html(table.html())]
}
