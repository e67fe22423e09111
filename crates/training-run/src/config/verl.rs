//! Keys of verl and the fields they stand for here.

/// Returns the keys of verl's `ppo_trainer.yaml`, and of its entropy recipe, each with the field of the same meaning.
///
/// # Panics
///
/// If a line of the table has no field.
pub fn verl_keys() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("verl.txt").lines().map(|line| line.split_once(' ').expect("a key and a field"))
}

/// Most keys of a file that a message names.
const NAMED: usize = 3;

/// Page with all keys.
const PAGE: &str = "docs/configuration.md#keys-of-verl";

/// Names our field for a key of verl; `None` for any other key.
pub(super) fn here(key: &str) -> Option<String> {
    let key = key.trim_start_matches('+');
    let (_, field) = verl_keys().find(|(verl, _)| *verl == key)?;
    Some(format!("`{key}` is a key of verl, here it is `{field}` ({PAGE})"))
}

/// Names our fields for the keys of verl in a file that contain the name `unknown`.
pub(super) fn keys_here<'a>(keys: impl Iterator<Item = &'a str>, unknown: &str) -> Option<String> {
    let of_verl = |key: &str| verl_keys().find(|(verl, _)| *verl == key);
    let with_name = keys.filter(|key| key.split('.').any(|part| part == unknown));
    let named: Vec<String> = with_name
        .filter_map(of_verl)
        .take(NAMED)
        .map(|(key, field)| format!("`{key}` is `{field}`"))
        .collect();
    (!named.is_empty()).then(|| format!("of verl's keys, {} here ({PAGE})", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::super::load::check_known;
    use super::*;

    #[test]
    fn every_key_of_verl_leads_to_a_field_and_stands_once() {
        for (index, (verl, field)) in verl_keys().enumerate() {
            assert_eq!(check_known(field), Ok(()), "{verl}");
            assert!(!verl_keys().take(index).any(|(other, _)| other == verl), "{verl} twice");
        }
    }
}
