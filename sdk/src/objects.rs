//! Objects, read through the host. `check` and `settle` may; what is read has to be declared in
//! [`About`](crate::About) and granted by the operator.
//!
//! Ask for many at once: fifty questions in one call cost what one costs.

use crate::{Error, Key, Kind, Object, Result, Side, host};

pub use crate::query::Query;

/// Answers in the order of the questions, asked side by side.
pub fn read(queries: &[Query]) -> Vec<Result<Vec<Object>>> {
    let mut answers = host::read(queries).into_iter();
    let parsed = |texts: Vec<String>| texts.iter().map(|text| Object::parse(text)).collect();
    // A host that gives fewer answers than it was asked for must not look like "there are none".
    let missing = || Err(Error::new("no-answer", "the host gave no answer"));
    queries.iter().map(|_| answers.next().unwrap_or_else(missing).and_then(parsed)).collect()
}

/// All objects of a kind in the namespaces that move.
///
/// # Errors
/// Where it may not be read, or can't.
pub fn list(side: Side, kind: &Kind) -> Result<Vec<Object>> {
    only(read(&[Query::all(side, kind)]))
}

/// All objects of a kind in one namespace; `*` for all, and for cluster-scoped kinds.
///
/// # Errors
/// Where it may not be read, or can't.
pub fn list_in(side: Side, kind: &Kind, namespace: &str) -> Result<Vec<Object>> {
    only(read(&[Query::all(side, kind).in_namespace(namespace)]))
}

/// One object; none where there is none.
///
/// # Errors
/// Where it may not be read, or can't.
pub fn get(side: Side, key: &Key) -> Result<Option<Object>> {
    one(only(read(&[Query::one(side, key)])))
}

/// Many objects, in the order of their keys; none where there is none.
///
/// # Errors
/// The first where one may not be read, or can't.
pub fn get_all<'a>(side: Side, keys: impl IntoIterator<Item = &'a Key>) -> Result<Vec<Option<Object>>> {
    let queries: Vec<Query> = keys.into_iter().map(|key| Query::one(side, key)).collect();
    read(&queries).into_iter().map(one).collect()
}

fn only(answers: Vec<Result<Vec<Object>>>) -> Result<Vec<Object>> {
    answers.into_iter().next().unwrap_or_else(|| Ok(Vec::new()))
}

fn one(answer: Result<Vec<Object>>) -> Result<Option<Object>> {
    match answer {
        Ok(objects) => Ok(objects.into_iter().next()),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}
