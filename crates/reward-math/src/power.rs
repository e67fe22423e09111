//! Powers by repeated squaring.

/// Returns a power of a value, calculated within a context; `None` for an exponent of 0.
pub(crate) fn power<C, T: Clone, E>(
    context: &mut C,
    value: T,
    exponent: u64,
    multiply: fn(&mut C, &T, &T) -> Result<T, E>,
    square: fn(&mut C, &T) -> Result<T, E>,
) -> Result<Option<T>, E> {
    let (mut result, mut power, mut left): (Option<T>, T, u64) = (None, value, exponent);
    while left > 0 {
        if left & 1 == 1 {
            result = Some(match &result {
                Some(result) => multiply(context, result, &power)?,
                None => power.clone(),
            });
        }
        left >>= 1;
        if left > 0 {
            power = square(context, &power)?;
        }
    }
    Ok(result)
}
