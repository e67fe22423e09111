//! Vector instructions that a kernel runs on.

#[cfg(target_arch = "x86_64")]
use pulp::x86::{V3, V4};
use pulp::{Arch, NullaryFnOnce};
use std::fmt;
use std::sync::OnceLock;

/// Vector instructions that this machine has: proof that code which needs them may run.
///
/// Results are the same, bit for bit, on each of them.
#[derive(Debug, Clone, Copy)]
pub struct InstructionSet(Arch);

impl InstructionSet {
    /// Returns the widest set of this machine; looked up once.
    pub fn widest() -> Self {
        static WIDEST: OnceLock<InstructionSet> = OnceLock::new();
        *WIDEST.get_or_init(|| Self::available().pop().unwrap_or(Self(Arch::Scalar)))
    }

    /// Returns all sets of this machine, the narrowest first.
    pub fn available() -> Vec<Self> {
        let mut sets = vec![Self(Arch::Scalar)];
        #[cfg(target_arch = "x86_64")]
        {
            sets.extend(V3::try_new().map(|token| Self(Arch::V3(token))));
            sets.extend(V4::try_new().map(|token| Self(Arch::V4(token))));
        }
        sets
    }

    /// Runs code compiled for these instructions.
    pub(super) fn run<Kernel: NullaryFnOnce>(self, kernel: Kernel) -> Kernel::Output {
        self.0.dispatch(kernel)
    }
}

impl fmt::Display for InstructionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self.0 {
            #[cfg(target_arch = "x86_64")]
            Arch::V3(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Arch::V4(_) => "avx512",
            _ => "portable",
        })
    }
}
