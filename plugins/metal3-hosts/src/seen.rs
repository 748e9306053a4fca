//! What a check looks at: whole lists, one per kind and side, because a question per host would be thousands.

use std::collections::BTreeMap;

use pivot_sdk::objects::{self, Query};
use pivot_sdk::prelude::*;

/// Objects of one side, by name.
#[derive(Default)]
pub(crate) struct Seen(BTreeMap<Key, Object>);

impl Seen {
    /// Everything of some kinds in the namespaces that move.
    ///
    /// A kind that is not served has no objects: older operators lack some.
    pub(crate) fn of(side: Side, kinds: &[&Kind]) -> Result<Self> {
        let queries: Vec<Query> = kinds.iter().map(|kind| Query::all(side, kind)).collect();
        let mut all = BTreeMap::new();
        for (kind, answer) in kinds.iter().zip(objects::read(&queries)) {
            let found = match answer {
                Ok(found) => found,
                Err(error) if error.is_not_found() => Vec::new(),
                Err(error) => return Err(error.context(format!("reading {kind} of the {}", side.as_str()))),
            };
            all.extend(found.into_iter().map(|object| (object.key(), object)));
        }
        Ok(Self(all))
    }

    /// The object of that name.
    pub(crate) fn get(&self, key: &Key) -> Option<&Object> {
        self.0.get(key)
    }

    /// The object of a kind that has a host's name: hardware, firmware settings and the like.
    pub(crate) fn beside(&self, host: &Object, kind: &Kind) -> Option<&Object> {
        self.get(&kind.named(host.namespace()?, host.name()))
    }

    /// All of a kind.
    pub(crate) fn all<'a>(&'a self, kind: &Kind) -> impl Iterator<Item = &'a Object> + use<'a> {
        let kind = kind.clone();
        self.0.iter().filter(move |(key, _)| key.kind == kind).map(|(_, object)| object)
    }
}
