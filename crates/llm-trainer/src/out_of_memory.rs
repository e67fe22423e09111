//! libtorch's out-of-memory as an error: `tch` turns it into a panic where a method has no `Result`.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};

use thiserror::Error;

use ranks::between_ranks;

/// libtorch ran out of memory.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("out of memory: {said}")]
pub struct OutOfMemory {
    /// First line of its message.
    pub said: String,
}

/// Beginnings of such messages: of CUDA's allocator, of CUDA itself, of cuBLAS, of the CPU's allocator, of C++.
const BEGINNINGS: [&str; 6] = [
    "CUDA out of memory",
    "CUDA error: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "DefaultCPUAllocator: can't allocate memory",
    "DefaultCPUAllocator: not enough memory",
    "std::bad_alloc",
];

/// Runs `work`; turns an out-of-memory error or panic of libtorch into [`OutOfMemory`]. Other panics continue.
///
/// # Errors
///
/// The error of `work`, or [`OutOfMemory`].
pub fn caught<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    // Nothing that `work` has left half done is used again: the command ends.
    match panic::catch_unwind(AssertUnwindSafe(work)) {
        // Errors from other ranks are theirs.
        Ok(Err(error)) if error.is::<OutOfMemory>() || between_ranks(&error).is_some() => {
            Err(error)
        }
        Ok(Err(error)) => Err(of_text(&format!("{error:#}")).map_or(error, anyhow::Error::from)),
        Ok(done) => done,
        Err(payload) => match of_payload(payload.as_ref()) {
            Some(error) => Err(error.into()),
            None => panic::resume_unwind(payload),
        },
    }
}

/// Silences panics that [`caught`] handles; call it at the start of a program.
pub fn quiet_panics() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
        if of_payload(info.payload()).is_none() {
            before(info);
        }
    }));
}

fn of_payload(payload: &(dyn Any + Send)) -> Option<OutOfMemory> {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    of_text(text.or_else(|| payload.downcast_ref::<&str>().copied())?)
}

/// Extracts the message from its beginning to the end of the line, which a panic writes as an escape.
fn of_text(text: &str) -> Option<OutOfMemory> {
    let start = BEGINNINGS.iter().filter_map(|beginning| text.find(beginning)).min()?;
    let line = text[start..].split(['\n', '"']).next()?.split("\\n").next()?;
    // Hints of libtorch on its own settings.
    let message = line.split(" If reserved but unallocated memory").next()?;
    Some(OutOfMemory { said: message.trim_end().trim_end_matches('.').to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(work: impl FnOnce() -> anyhow::Result<()>) -> String {
        caught(work).unwrap_err().to_string()
    }

    #[test]
    fn a_panic_of_tch_for_want_of_memory_is_an_error_of_one_line() {
        let torch = tch::TchError::Torch(
            "CUDA out of memory. Tried to allocate 2.00 GiB. If reserved but unallocated memory is\nException raised from malloc".into(),
        );
        let panics = || -> anyhow::Result<()> { panic!("called `unwrap()` on {torch:?}") };
        assert_eq!(said(panics), "out of memory: CUDA out of memory. Tried to allocate 2.00 GiB");
    }

    #[test]
    fn an_error_for_want_of_memory_is_one_line_and_others_stay() {
        let failed = |text: &'static str| move || Err(anyhow::anyhow!(text).context("step 3"));
        assert_eq!(
            said(failed("CUDA error: out of memory\nCUDA kernel errors might be")),
            "out of memory: CUDA error: out of memory"
        );
        assert_eq!(said(failed("disk full")), "step 3");
    }

    #[test]
    fn other_panics_stay_panics() {
        let outcome = panic::catch_unwind(|| caught(|| -> anyhow::Result<()> { panic!("a bug") }));
        assert!(outcome.is_err());
    }
}
