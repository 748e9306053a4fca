//! Recognises references to dropped copies in labels and annotations.
//!
//! Providers keep the claim of a host in its spec, in its status, or in labels and annotations. Copies may have no status, so that a label
//! may be all that is left of a claim. Names of Machines are generated: an equal text is hardly a coincidence, and a coincidence only
//! prevents a drop.

use std::collections::BTreeMap;

use crate::copies::mark::claimed_original;
use crate::objects::names::GROUP_CLUSTER;
use crate::{Key, Meta};

/// The texts by which labels and annotations refer to dropped copies: names, names with a namespace, and UIDs.
#[derive(Debug)]
pub struct DroppedNames<'a> {
    by_text: BTreeMap<String, &'a Key>,
}

impl<'a> DroppedNames<'a> {
    /// Collects the names of copies. Other objects know the UIDs of their originals.
    ///
    /// Keys have the source's names of namespaces. Labels in the target may have the names that `in_target` returns.
    pub fn new(
        copies: impl Iterator<Item = (&'a Key, &'a Meta)>,
        in_target: impl Fn(&str) -> String,
    ) -> Self {
        // The objects of a Machine often have its name.
        let (machines, others): (Vec<_>, Vec<_>) =
            copies.partition(|(key, _)| key.group_kind.is(GROUP_CLUSTER, "Machine"));
        let mut by_text = BTreeMap::new();
        for (key, meta) in machines.into_iter().chain(others) {
            let namespace = key.namespace.as_deref().unwrap_or_default();
            let namespaces = [namespace.to_owned(), in_target(namespace)];
            let qualified = namespaces.iter().flat_map(|namespace| {
                ["/", "."].map(|separator| format!("{namespace}{separator}{}", key.name))
            });
            let uids =
                [Some(meta.uid.clone()), claimed_original(meta)].into_iter().flatten().map(|uid| uid.0);
            let texts = std::iter::once(key.name.clone()).chain(qualified).chain(uids);
            for text in texts.filter(|text| !text.is_empty()) {
                by_text.entry(text).or_insert(key);
            }
        }
        Self { by_text }
    }

    /// Returns the copy that a label or an annotation of another object refers to, and the name of the label or the annotation. A name
    /// alone doesn't refer to a copy in another namespace.
    pub fn find_reference<'m>(&self, meta: &'m Meta) -> Option<(&'a Key, &'m str)> {
        meta.labels.iter().chain(&meta.annotations).find_map(|(field, value)| {
            let key = *self.by_text.get(value)?;
            let is_here = meta.namespace.is_none() || meta.namespace == key.namespace;
            (is_here || *value != key.name).then_some((key, field.as_str()))
        })
    }
}
