//! Comparison of a program's output or result with the expected one.

use serde_json::Value;

/// Largest difference of two equal decimals, relative to the larger of them and 1.
const CLOSE: f64 = 1e-6;

/// Returns true if two texts are the same output, compared line by line.
///
/// White space at line ends and empty lines at the end do not count. An expected word with a decimal point is compared
/// by value, to one part in a million.
pub(super) fn same_output(found: &str, expected: &str) -> bool {
    let lines = [found, expected]
        .map(|text| text.trim_end().lines().map(str::trim_end).collect::<Vec<_>>());
    same_parts(&lines, same_line)
}

fn same_line(found: &str, expected: &str) -> bool {
    let words = || [found, expected].map(|line| line.split_whitespace().collect::<Vec<_>>());
    found == expected || same_parts(&words(), same_word)
}

/// Returns true if there are equally many parts on both sides, and each is the same.
fn same_parts([found, expected]: &[Vec<&str>; 2], same: fn(&str, &str) -> bool) -> bool {
    found.len() == expected.len() && found.iter().zip(expected).all(|(f, e)| same(f, e))
}

fn same_word(found: &str, expected: &str) -> bool {
    let decimal = |word: &str| word.parse::<f64>().ok().filter(|value| value.is_finite());
    found == expected
        || expected.contains('.')
            && decimal(found).zip(decimal(expected)).is_some_and(|(f, e)| close(f, e))
}

/// Returns true if a function's result is the expected one, which may also be the only item of a list, as in APPS.
pub(super) fn same_result(found: &Value, expected: &Value) -> bool {
    same_value(found, expected)
        || matches!(expected.as_array().map(Vec::as_slice), Some([only]) if same_value(found, only))
}

fn same_value(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Number(f), Value::Number(e)) => match (f.as_f64(), e.as_f64()) {
            (Some(near), Some(to)) if f.is_f64() || e.is_f64() => close(near, to),
            _ => f == e,
        },
        (Value::Array(f), Value::Array(e)) => {
            f.len() == e.len() && f.iter().zip(e).all(|(f, e)| same_value(f, e))
        }
        (Value::Object(f), Value::Object(e)) => {
            f.len() == e.len()
                && f.iter().all(|(key, f)| e.get(key).is_some_and(|e| same_value(f, e)))
        }
        _ => found == expected,
    }
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= CLOSE * found.abs().max(expected.abs()).max(1.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn white_space_at_ends_does_not_count_and_words_do() {
        for (printed, expected) in
            [("3\n", "3"), ("1 2 \n3\n\n", "1 2\n3"), ("", "\n"), ("0.3333333", "0.33333333 ")]
        {
            assert!(same_output(printed, expected), "{printed:?} {expected:?}");
        }
        for (printed, expected) in [
            ("3", "4"),
            ("1\n2", "1 2"),
            ("", "0"),
            ("3.0", "3"),
            ("1.1", "1.2"),
            ("nan", "1.0"),
            ("yes", "YES"),
            ("1 2", "12"),
        ] {
            assert!(!same_output(printed, expected), "{printed:?} {expected:?}");
        }
    }

    #[test]
    fn results_are_compared_by_value() {
        assert!(same_result(&json!([1, [2.0, "a"]]), &json!([1, [2.0, "a"]])));
        assert!(same_result(&json!(3), &json!([3])) && same_result(&json!([3]), &json!([[3]])));
        assert!(same_result(&json!(0.1 + 0.2), &json!(0.3)) && same_result(&json!(2.0), &json!(2)));
        assert!(same_result(&json!({"a": 1}), &json!({"a": 1})));
        for (returned, expected) in [
            (json!(3), json!(4)),
            (json!(true), json!(1)),
            (json!("3"), json!(3)),
            (json!([1, 2]), json!([2, 1])),
            (json!(null), json!(0)),
            (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992_u64)),
        ] {
            assert!(!same_result(&returned, &expected), "{returned} {expected}");
        }
    }
}
