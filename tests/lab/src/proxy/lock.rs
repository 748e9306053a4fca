//! Locking the proxy's state.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The guarded state is consistent between any two statements, so a panic elsewhere has not broken it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
