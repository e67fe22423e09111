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
    /// Pattern of the name, with placeholders `<source>` and `<n>`.
    pub fn pattern(self) -> &'static str {
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
