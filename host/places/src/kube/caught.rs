//! A panic of kube's that is an ordinary error.
//!
//! What a credential plugin prints is seen by kube alone, which makes a header of the token and panics if that can't be one: if it
//! has two lines, say. Tokens that stand in a kubeconfig are looked at before (`kubeconfig.rs`).

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is where a panic is caught that says no more than that a token can't be sent: it is no bug, and a panic hook
/// has nothing to say of it.
pub fn catches_panics() -> bool {
    CATCHING.get()
}

/// A credential plugin's token can't be sent.
pub(super) struct Unsendable;

/// What comes of work in which kube makes a header of a token.
pub(super) fn sendable<T>(work: impl FnOnce() -> T) -> Result<T, Unsendable> {
    CATCHING.set(true);
    // What it was working on is dropped.
    let done = catch_unwind(AssertUnwindSafe(work));
    CATCHING.set(false);
    done.map_err(|panic| if is_of_a_header(&*panic) { Unsendable } else { resume_unwind(panic) })
}

fn is_of_a_header(panic: &(dyn Any + Send)) -> bool {
    panic.downcast_ref::<String>().is_some_and(|words| words.contains("is not valid header"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_header_that_is_none_is_caught() {
        assert!(matches!(sendable(|| 1), Ok(1)));
        let panics = |words: &str| {
            let words = words.to_owned();
            catch_unwind(|| sendable(|| -> () { resume_unwind(Box::new(words)) }).is_err())
        };
        assert!(panics("token is not valid header: InvalidHeaderValue").unwrap());
        assert!(panics("something else").is_err());
        assert!(!catches_panics());
    }
}
