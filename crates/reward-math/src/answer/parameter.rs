//! Integer that numbers a family of answers: `k` in `x = k\pi, k \in \mathbb{Z}`. It may have any name.

/// Returns the name that the text declares an integer: `k \in \mathbb{Z}`.
pub(super) fn integer_parameter(folded: &str) -> Option<String> {
    if !folded.contains("\\in") {
        return None;
    }
    let plain = without_decoration(folded);
    let words = words(&plain);
    words.windows(3).find_map(|three| match three {
        [name, "\\in", "Z"] if is_name(name) => Some((*name).to_owned()),
        _ => None,
    })
}

fn is_name(word: &str) -> bool {
    word.len() == 1 && word.starts_with(|c: char| c.is_ascii_lowercase())
}

fn without_decoration(folded: &str) -> String {
    let mut plain = folded.replace("\\in", " \\in ").replace("\\Z", " Z");
    for decoration in ["\\mathbb", "\\mathbf", "\\mathrm", "\\text"] {
        plain = plain.replace(decoration, " ");
    }
    plain
}

fn words(plain: &str) -> Vec<&str> {
    const BETWEEN: [char; 10] = ['{', '}', ' ', ',', ';', '(', ')', '$', '.', ':'];
    plain.split(BETWEEN).filter(|word| !word.is_empty()).collect()
}
