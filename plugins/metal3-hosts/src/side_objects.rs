//! The objects a check looks at, read as whole lists, one per kind and side: a query per host would mean thousands.

use std::collections::{BTreeMap, BTreeSet};

use pivot_sdk::objects::{self, Query};
use pivot_sdk::prelude::*;

/// Objects of one side, by name.
#[derive(Default)]
pub(crate) struct SideObjects {
    objects: BTreeMap<Key, Object>,
    names: BTreeSet<Key>,
}

impl SideObjects {
    /// Reads whole objects of some kinds in the namespaces that move, and only the keys of others.
    ///
    /// A kind that is not served has no objects: older operators lack some.
    pub(crate) fn read(side: Side, kinds: &[&Kind], only_names: &[&Kind]) -> Result<Self> {
        let mut seen = Self::default();
        seen.objects.extend(read_kinds(side, kinds)?.into_iter().map(|object| (object.key(), object)));
        // One after the other: the inspection results of a thousand hosts are not needed all at once, if at all.
        for kind in only_names {
            seen.names.extend(read_kinds(side, &[kind])?.iter().map(Object::key));
        }
        Ok(seen)
    }

    /// Returns the object with a key.
    pub(crate) fn get(&self, key: &Key) -> Option<&Object> {
        self.objects.get(key)
    }

    /// Returns true if an object with a key exists.
    pub(crate) fn contains(&self, key: &Key) -> bool {
        self.names.contains(key) || self.objects.contains_key(key)
    }

    /// Returns the object of a kind that shares a host's name: firmware settings and the like.
    pub(crate) fn find_namesake(&self, host: &Object, kind: &Kind) -> Option<&Object> {
        self.get(&kind.key_in(host.namespace()?, host.name()))
    }

    /// Returns all objects of a kind.
    pub(crate) fn of_kind<'a>(&'a self, kind: &Kind) -> impl Iterator<Item = &'a Object> + use<'a> {
        let kind = kind.clone();
        self.objects.iter().filter(move |(key, _)| key.kind == kind).map(|(_, object)| object)
    }
}

fn read_kinds(side: Side, kinds: &[&Kind]) -> Result<Vec<Object>> {
    let queries: Vec<Query> = kinds.iter().map(|kind| Query::for_kind(side, kind)).collect();
    let mut all = Vec::new();
    for (query, answer) in queries.iter().zip(objects::read_all(&queries)) {
        match answer {
            Ok(found) => all.extend(found),
            Err(error) if error.is_not_found() => {}
            Err(error) => {
                return Err(error.with_context(format!("reading {} of the {}", query.kind, side.as_str())));
            }
        }
    }
    Ok(all)
}
