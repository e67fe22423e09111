//! Programs as answers: unit tests run against what the model wrote, in a process that can do no harm.
//!
//! [`program_of`] finds the program in a response, [`UnitTests`] reads the tests of a row, [`Sandbox`] runs the one against
//! the other. The layouts of rows, what is closed to a program and what is not are in `docs/reward-math.md`.

mod compare;
#[cfg(target_os = "linux")]
pub mod confine;
mod confinement;
#[cfg(target_os = "linux")]
mod deleted_files;
mod judge;
#[cfg(target_os = "linux")]
mod namespaces;
mod program;
mod run;
mod sandbox;
mod scratch;
mod settings;
#[cfg(target_os = "linux")]
mod system_calls;
mod unit_tests;

pub use program::program_of;
pub use sandbox::{Helper, Sandbox, SandboxError};
pub use settings::CodeSection;
pub use unit_tests::{Call, Stream, UnitTests, UnitTestsError};
