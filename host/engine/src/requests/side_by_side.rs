//! Concurrent requests, never more than a limit. All limits are here.
//!
//! Work is boxed before it starts: the compiler can't prove futures made inside a stream to be `Send`, and a command must be able
//! to run on any thread.

use futures::future::BoxFuture;
use futures::stream::{self, StreamExt, TryStreamExt};

use crate::outcome::failure::Failure;

/// Lists of moving objects, some with whole bodies.
pub(crate) const LISTS: usize = 24;
/// Lists that are mostly empty and cost a round trip each.
pub(crate) const EMPTY_LISTS: usize = 64;
/// Single objects: looks, pauses, resumes.
pub(crate) const OBJECTS: usize = 64;
/// Dry runs: admission takes a server some time.
pub(crate) const DRY_RUNS: usize = 24;
/// Namespaces: a whole management cluster has many.
pub(crate) const NAMESPACES: usize = 16;

/// A piece of work.
pub(crate) type Work<'a, T> = BoxFuture<'a, Result<T, Failure>>;

/// Does all of it, in any order; the first failure ends it.
pub(crate) async fn all<T: Send>(limit: usize, work: Vec<Work<'_, T>>) -> Result<Vec<T>, Failure> {
    stream::iter(work).buffer_unordered(limit).try_collect().await
}

/// Does all of it, even if some of it fails.
pub(crate) async fn each<T: Send>(limit: usize, work: Vec<Work<'_, T>>) -> Vec<Result<T, Failure>> {
    stream::iter(work).buffer_unordered(limit).collect().await
}
