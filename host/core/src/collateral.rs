//! What stays in the source must not die because its owners are deleted.

use std::sync::Arc;

use crate::plan::Plan;
use crate::refusal::Refusal;
use crate::relations::Relations;
use crate::scope::Scope;
use crate::{Kind, Meta};

/// An object that exists in the source, whatever its kind.
#[derive(Clone, Debug)]
pub struct Bystander {
    /// Its kind.
    pub kind: Arc<Kind>,
    /// Its metadata.
    pub meta: Meta,
}

/// What would be garbage-collected in the source.
pub fn collateral(
    plan: &Plan,
    scope: &Scope,
    relations: &Relations,
    bystanders: &[Bystander],
) -> Vec<Refusal> {
    let _ = (plan, scope, relations, bystanders);
    Vec::new()
}
