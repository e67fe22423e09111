//! Filter of the samples.

use crate::run_view::ViewedSample;

/// Selects the samples that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filter {
    All,
    Right,
    Wrong,
    /// Without an answer that can be read.
    Unparsed,
    /// Cut at the longest length.
    Truncated,
}

impl Filter {
    pub(super) const ALL: [Self; 5] =
        [Self::All, Self::Right, Self::Wrong, Self::Unparsed, Self::Truncated];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Right => "right",
            Self::Wrong => "wrong",
            Self::Unparsed => "unparsed",
            Self::Truncated => "truncated",
        }
    }

    pub(super) fn passes(self, sample: &ViewedSample) -> bool {
        match self {
            Self::All => true,
            Self::Truncated => sample.truncated,
            Self::Right | Self::Wrong | Self::Unparsed => sample.verdict == self.name(),
        }
    }
}
