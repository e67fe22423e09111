//! Families of metrics that are named after a source of questions.

/// A metric of an evaluation on the questions of one source: the families `val-core/…` and `val-aux/…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validation {
    /// Mean accuracy over so many responses to each question.
    Mean(usize),
    /// Mean reward of a harness over so many rollouts of each question.
    Reward(usize),
    /// Lower end of the mean's interval.
    Low(usize),
    /// Upper end of the mean's interval.
    High(usize),
    /// Chance that at least one of so many responses is right.
    Pass(usize),
    /// Chance that the majority of so many responses is right.
    Majority(usize),
    /// Fraction of responses with a readable answer.
    Extracted,
    /// Fraction of responses cut at the longest length.
    Truncated,
}

impl Validation {
    /// Every family once, for a table.
    pub(super) const FAMILIES: [Self; 8] = [
        Self::Mean(0),
        Self::Reward(0),
        Self::Low(0),
        Self::High(0),
        Self::Pass(0),
        Self::Majority(0),
        Self::Extracted,
        Self::Truncated,
    ];

    /// Pattern of the name, with placeholders `<source>` and `<n>`.
    pub(super) fn pattern(self) -> &'static str {
        match self {
            Self::Mean(_) => "val-core/<source>/acc/mean@<n>",
            Self::Reward(_) => "val-core/<source>/reward/mean@<n>",
            Self::Low(_) => "val-aux/<source>/acc/mean@<n>/low",
            Self::High(_) => "val-aux/<source>/acc/mean@<n>/high",
            Self::Pass(_) => "val-core/<source>/acc/pass@<n>",
            Self::Majority(_) => "val-core/<source>/acc/maj@<n>",
            Self::Extracted => "val-aux/<source>/extracted_fraction",
            Self::Truncated => "val-aux/<source>/truncated_fraction",
        }
    }

    /// Definition for the table of metrics.
    pub(super) fn definition(self) -> &'static str {
        match self {
            Self::Mean(_) => {
                "Right answers, mean over `n` responses to each question, then over the source's questions."
            }
            Self::Reward(_) => {
                "With `[rollout.environment]`: reward of the harness, mean over `n` rollouts of each question, then over the source's questions."
            }
            Self::Low(_) => {
                "Lower end of its 0.95 interval, by bootstrap over questions (docs/evaluation.md)."
            }
            Self::High(_) => "Upper end of that interval.",
            Self::Pass(_) => {
                "Chance that at least one of `n` responses is right, unbiased; `n` runs over powers of two and the number of samples, if there are several."
            }
            Self::Majority(_) => {
                "Chance that the most frequent answer of `n` responses is right, ties drawn."
            }
            Self::Extracted => "Responses with a readable answer.",
            Self::Truncated => "Responses cut at max_response_tokens.",
        }
    }

    pub(super) fn number(self) -> String {
        match self {
            Self::Mean(n)
            | Self::Reward(n)
            | Self::Low(n)
            | Self::High(n)
            | Self::Pass(n)
            | Self::Majority(n) => n.to_string(),
            Self::Extracted | Self::Truncated => String::new(),
        }
    }
}
