//! An error and its causes as one line.

/// The error and its causes, with a colon between two; a cause that the line ends with already is not repeated.
pub fn one_line(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |line, cause| {
        if line.is_empty() {
            cause
        } else if line.ends_with(&cause) {
            line
        } else {
            format!("{line}: {cause}")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_that_an_error_repeats_stands_there_once() {
        let error = anyhow::anyhow!("disk full").context("a.txt: disk full").context("step 3");
        assert_eq!(one_line(&error), "step 3: a.txt: disk full");
    }
}
