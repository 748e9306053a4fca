//! Objects, read through the host. `check` and `settle` may use it; reads must be declared in [`About`](crate::About) and granted
//! by the operator.
//!
//! Ask for many at once: fifty questions in one call cost as much as one.

use crate::{Error, Key, Kind, Object, Result, Side, host};

pub use crate::query::Query;

/// Returns answers in the order of the queries, which run concurrently.
pub fn read_all(queries: &[Query]) -> Vec<Result<Vec<Object>>> {
    let mut answers = host::read_objects(queries).into_iter();
    let parsed = |texts: Vec<String>| texts.iter().map(|text| Object::parse(text)).collect();
    // If a host returns too few answers, that must not look like "there are none".
    let missing = || Err(Error::new("no-answer", "the host gave no answer"));
    queries.iter().map(|_| answers.next().unwrap_or_else(missing).and_then(parsed)).collect()
}

/// Returns all objects of a kind in the namespaces that move.
///
/// # Errors
/// If the read is denied or fails.
pub fn list(side: Side, kind: &Kind) -> Result<Vec<Object>> {
    first_answer(read_all(&[Query::for_kind(side, kind)]))
}

/// Returns all objects of a kind in one namespace; `*` for all, and for cluster-scoped kinds.
///
/// # Errors
/// If the read is denied or fails.
pub fn list_in(side: Side, kind: &Kind, namespace: &str) -> Result<Vec<Object>> {
    first_answer(read_all(&[Query::for_kind(side, kind).in_namespace(namespace)]))
}

/// Returns an object; none if it doesn't exist.
///
/// # Errors
/// If the read is denied or fails.
pub fn get(side: Side, key: &Key) -> Result<Option<Object>> {
    first_object(first_answer(read_all(&[Query::for_object(side, key)])))
}

/// Returns many objects, in the order of their keys; none for those that don't exist.
///
/// # Errors
/// The first error, if a read is denied or fails.
pub fn get_all<'a>(side: Side, keys: impl IntoIterator<Item = &'a Key>) -> Result<Vec<Option<Object>>> {
    let queries: Vec<Query> = keys.into_iter().map(|key| Query::for_object(side, key)).collect();
    read_all(&queries).into_iter().map(first_object).collect()
}

fn first_answer(answers: Vec<Result<Vec<Object>>>) -> Result<Vec<Object>> {
    answers.into_iter().next().unwrap_or_else(|| Ok(Vec::new()))
}

fn first_object(answer: Result<Vec<Object>>) -> Result<Option<Object>> {
    match answer {
        Ok(objects) => Ok(objects.into_iter().next()),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}
