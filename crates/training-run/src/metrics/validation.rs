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
    /// Returns the name of the metric on the questions of `source`.
    pub fn name_on(self, source: &str) -> String {
        match self {
            Self::Mean(n) => format!("val-core/{source}/acc/mean@{n}"),
            Self::Reward(n) => format!("val-core/{source}/reward/mean@{n}"),
            Self::Low(n) => format!("val-aux/{source}/acc/mean@{n}/low"),
            Self::High(n) => format!("val-aux/{source}/acc/mean@{n}/high"),
            Self::Pass(n) => format!("val-core/{source}/acc/pass@{n}"),
            Self::Majority(n) => format!("val-core/{source}/acc/maj@{n}"),
            Self::Extracted => format!("val-aux/{source}/extracted_fraction"),
            Self::Truncated => format!("val-aux/{source}/truncated_fraction"),
        }
    }
}
