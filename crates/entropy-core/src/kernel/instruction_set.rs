//! Vector instructions that a kernel runs on.

use pulp::NullaryFnOnce;
#[cfg(target_arch = "x86_64")]
use pulp::x86::{V3, V4};
use std::fmt;
use std::sync::OnceLock;

/// Vector instructions that this machine has: proof that code which needs them may run.
///
/// Results are the same, bit for bit, on each of them.
#[derive(Debug, Clone, Copy)]
pub struct InstructionSet(Level);

#[derive(Debug, Clone, Copy)]
enum Level {
    /// Instructions that every machine of this architecture has.
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(V3),
    #[cfg(target_arch = "x86_64")]
    Avx512(V4),
}

impl InstructionSet {
    /// Returns the widest set of this machine; looked up once.
    pub fn widest() -> Self {
        static WIDEST: OnceLock<InstructionSet> = OnceLock::new();
        *WIDEST.get_or_init(|| Self::available().pop().unwrap_or(Self(Level::Portable)))
    }

    /// Returns all sets of this machine, the narrowest first.
    pub fn available() -> Vec<Self> {
        let mut sets = vec![Self(Level::Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            sets.extend(V3::try_new().map(|token| Self(Level::Avx2(token))));
            sets.extend(V4::try_new().map(|token| Self(Level::Avx512(token))));
        }
        sets
    }

    /// Runs code compiled for these instructions.
    pub(super) fn run<Kernel: NullaryFnOnce>(self, kernel: Kernel) -> Kernel::Output {
        match self.0 {
            Level::Portable => kernel.call(),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(token) => token.vectorize(kernel),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(token) => token.vectorize(kernel),
        }
    }
}

impl fmt::Display for InstructionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self.0 {
            Level::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => "avx512",
        })
    }
}
