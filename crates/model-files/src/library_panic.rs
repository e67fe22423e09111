//! Panics of libraries on a stranger's file, as values.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Set while a panic of this thread becomes a value, so that it is not reported too.
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Calls a library; returns `None` if it panics, and prints nothing of that.
///
/// Nothing that the call has changed may be used afterwards.
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let report = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_CAUGHT.get() {
                report(panic);
            }
        }));
    });
    let before = IS_CAUGHT.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(call)).ok();
    IS_CAUGHT.set(before);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_value_and_ends_with_its_call() {
        assert_eq!(caught(|| caught(|| panic!("inner")).is_none()), Some(true));
        assert!(!IS_CAUGHT.get());
        assert_eq!(caught(|| 1), Some(1));
    }
}
