//! Values of options that have names.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use tch::Kind;

/// Parses one of these names to its value; each comes with its meaning, for the help.
pub(super) fn named<T: Copy + Send + Sync + 'static, const N: usize>(
    rows: [(&'static str, &'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    let names = rows.map(|(name, meaning, _)| PossibleValue::new(name).help(meaning));
    PossibleValuesParser::new(names).map(move |named| {
        let row = rows.iter().find(|row| row.0 == named);
        row.expect("the name of a row").2
    })
}

/// A kind of weights, or none in particular.
pub(super) type MaybeKind = Option<Kind>;

/// Parses a kind of weights; `auto` is the meaning of that name, which is for none in particular.
pub(super) fn kind(auto: &'static str) -> impl TypedValueParser<Value = MaybeKind> {
    named([
        ("auto", auto, None),
        ("f32", "32-bit floats", Some(Kind::Float)),
        ("bf16", "16-bit floats with the range of f32", Some(Kind::BFloat16)),
    ])
}
