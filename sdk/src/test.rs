//! A host for tests.
pub(crate) mod fake;
