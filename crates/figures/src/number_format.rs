//! Numbers as a reader wants them: few digits, a real minus sign, powers of ten.

/// `value` with `digits` significant digits; `–` if it is not finite.
///
/// Below 0.001 and from 100 000 on as `1.2×10⁻⁵`.
pub fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{value:.*e}", digits.saturating_sub(1));
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-3..5).contains(&exponent) {
        return with_minus_sign(mantissa) + &power_of_ten(exponent);
    }
    let count = i32::try_from(digits).unwrap_or(i32::MAX);
    let decimals = usize::try_from(count - 1 - exponent).unwrap_or(0);
    with_minus_sign(&format!("{value:.decimals$}"))
}

/// `value` with a fixed number of decimals; `–` if it is not finite.
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let text = format!("{value:.decimals$}");
    let is_zero = text.bytes().all(|byte| matches!(byte, b'-' | b'0' | b'.'));
    if is_zero { text.trim_start_matches('-').to_owned() } else { with_minus_sign(&text) }
}

/// `×10⁻⁵` for −5.
pub fn power_of_ten(exponent: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let exponent = exponent.to_string();
    let raised = exponent.chars().map(|one| one.to_digit(10).map_or('⁻', |n| DIGITS[n as usize]));
    format!("×10{}", raised.collect::<String>())
}

fn with_minus_sign(text: &str) -> String {
    text.replacen('-', "−", 1)
}
