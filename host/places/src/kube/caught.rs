//! Turns a panic in kube into an ordinary error.
//!
//! Only kube sees what a credential plugin prints. It puts the token into a header and panics if that is invalid: if the token
//! has two lines, for example. Tokens in a kubeconfig are checked beforehand (`kubeconfig.rs`).

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Returns true if this thread runs code whose panic only means that a token can't be sent. That is not a bug, and a panic hook
/// should not report it.
pub fn catches_panics() -> bool {
    CATCHING.get()
}

/// A credential plugin's token can't be sent.
pub(super) struct Unsendable;

/// Runs code in which kube makes a header of a token.
pub(super) fn catch_unsendable<T>(work: impl FnOnce() -> T) -> Result<T, Unsendable> {
    CATCHING.set(true);
    // The state it worked on is dropped.
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
    fn only_an_invalid_header_is_caught() {
        assert!(matches!(catch_unsendable(|| 1), Ok(1)));
        let panics = |words: &str| {
            let words = words.to_owned();
            catch_unwind(|| catch_unsendable(|| -> () { resume_unwind(Box::new(words)) }).is_err())
        };
        assert!(panics("token is not valid header: InvalidHeaderValue").unwrap());
        assert!(panics("something else").is_err());
        assert!(!catches_panics());
    }
}
