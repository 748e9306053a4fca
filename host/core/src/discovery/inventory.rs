//! All objects that were read, each once.
//!
//! An object may be read twice: Secrets of a provider's namespace are listed next to those of the moved namespace, and a class is
//! read again by reference. Objects are identified by UID. Objects from hand-written files may have no UID and are identified by
//! key. The later reading wins, because it is fresher.

use std::collections::{BTreeMap, BTreeSet};

use crate::objects::selector::Part;
use crate::{Key, Object, Uid};

/// Objects of one side, sorted by key.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    objects: Vec<Object>,
    keys: Vec<Key>,
    by_uid: BTreeMap<Uid, usize>,
    only_reached: BTreeSet<usize>,
    replaced: Vec<Object>,
}

impl Inventory {
    /// Sorts objects and drops readings that a later one superseded.
    pub fn new(objects: Vec<Object>) -> Self {
        let mut latest: BTreeMap<Uid, usize> = BTreeMap::new();
        for (reading, object) in objects.iter().enumerate() {
            latest.insert(object.meta.uid.clone(), reading);
        }
        let mut slots: Vec<Option<Object>> = objects.into_iter().map(Some).collect();
        let mut order: Vec<(Key, usize)> = slots
            .iter()
            .flatten()
            .enumerate()
            .filter(|(reading, object)| has_no_uid(object) || latest.get(&object.meta.uid) == Some(reading))
            .map(|(reading, object)| (object.key(), reading))
            .collect();
        // The later of two readings of one key sorts first, and is kept.
        order.sort_by(|(a, earlier), (b, later)| a.cmp(b).then(later.cmp(earlier)));
        order.dedup_by(|(next, _), (kept, _)| next == kept);

        let mut inventory = Self {
            objects: Vec::with_capacity(order.len()),
            keys: Vec::with_capacity(order.len()),
            ..Self::default()
        };
        for (key, reading) in order {
            let Some(object) = slots.get_mut(reading).and_then(Option::take) else { continue };
            inventory.keys.push(key);
            inventory.objects.push(object);
        }
        let with_uid = inventory.objects.iter().enumerate().filter(|(_, object)| !has_no_uid(object));
        inventory.by_uid = with_uid.map(|(index, object)| (object.meta.uid.clone(), index)).collect();
        inventory
    }

    /// Builds an inventory that also contains objects read only because plugins reach them.
    pub fn with_reached(objects: Vec<Object>, reached: Vec<Object>) -> Self {
        if reached.is_empty() {
            return Self::new(objects);
        }
        let looked_for: BTreeSet<Key> = objects.iter().map(Object::key).collect();
        let mut inventory = Self::new(reached.into_iter().chain(objects).collect());
        let all = inventory.keys.iter().enumerate();
        inventory.only_reached =
            all.filter(|(_, key)| !looked_for.contains(*key)).map(|(index, _)| index).collect();
        inventory
    }

    /// Marks objects as read only because plugins reach them.
    pub(crate) fn mark_only_reached(&mut self, objects: impl IntoIterator<Item = usize>) {
        self.only_reached.extend(objects);
    }

    /// Adds objects from elsewhere. Each replaces the object with its key.
    pub(crate) fn with_added(self, added: Vec<Object>) -> Self {
        let reached: BTreeSet<Key> =
            self.only_reached.iter().filter_map(|index| self.keys.get(*index).cloned()).collect();
        let named: BTreeSet<Key> = added.iter().map(Object::key).collect();
        let (replaced, objects) =
            self.objects.into_iter().partition::<Vec<_>, _>(|object| named.contains(&object.key()));
        let mut inventory = Self::new(objects.into_iter().chain(added).collect());
        inventory.replaced = replaced;
        let all = inventory.keys.iter().enumerate();
        inventory.only_reached =
            all.filter(|(_, key)| reached.contains(*key)).map(|(index, _)| index).collect();
        inventory
    }

    /// Drops all objects but these, with the memory of their bodies.
    #[must_use]
    pub fn keep_only(self, is_kept: impl Fn(&Key) -> bool) -> Self {
        let kept = self.keys.into_iter().zip(self.objects).filter(|(key, _)| is_kept(key));
        Self::new(kept.map(|(_, object)| object).collect())
    }

    /// Returns true if an object's own content (labels, owner references, body) counts. An object that was read only because a
    /// plugin reaches it has no effect until a plugin adds it: users of namespaces outside the scope must not be able to change
    /// or stop a move.
    pub(crate) fn is_trusted(&self, index: usize) -> bool {
        !self.only_reached.contains(&index)
    }

    /// Returns the objects, sorted by key.
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// Returns the objects that added objects replaced under their names.
    pub fn replaced_objects(&self) -> &[Object] {
        &self.replaced
    }

    /// Returns the objects' keys, in the same order.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Returns the parts that cover any of the objects.
    pub fn parts_covering<'a>(
        &self,
        parts: &BTreeSet<Part>,
        keys: impl IntoIterator<Item = &'a Key>,
    ) -> BTreeSet<Part> {
        let objects: Vec<&Object> = keys.into_iter().filter_map(|key| self.get_by_key(key)).collect();
        parts.iter().filter(|part| objects.iter().any(|object| part.covers(object))).cloned().collect()
    }

    /// Returns the object at an index.
    pub fn get(&self, index: usize) -> Option<&Object> {
        self.objects.get(index)
    }

    /// Returns the object with a key.
    pub fn get_by_key(&self, key: &Key) -> Option<&Object> {
        self.get(self.index_of_key(key)?)
    }

    /// Returns the index of the object with a UID.
    pub(crate) fn index_of_uid(&self, uid: &Uid) -> Option<usize> {
        self.by_uid.get(uid).copied()
    }

    /// Returns the index of the object with a key.
    pub fn index_of_key(&self, key: &Key) -> Option<usize> {
        self.keys.binary_search(key).ok()
    }
}

fn has_no_uid(object: &Object) -> bool {
    object.meta.uid.0.is_empty()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{key, kind, objects};

    fn widget(name: &str, uid: &str, version: &str) -> Object {
        let body =
            json!({"metadata": {"name": name, "namespace": "ns", "uid": uid, "resourceVersion": version}});
        Object::from_value(kind("Widget"), &body).unwrap()
    }

    fn versions(objects: Vec<Object>) -> String {
        let inventory = Inventory::new(objects);
        let all = inventory.objects().iter().enumerate();
        all.map(|(index, object)| {
            assert_eq!(inventory.index_of_key(&object.key()), Some(index));
            format!("{}@{} ", object.meta.name, object.meta.resource_version)
        })
        .collect()
    }

    #[test]
    fn objects_are_found_by_key_and_uid() {
        let inventory = Inventory::new(objects("Widget b/x\nSecret z/x\nWidget a/x"));
        let keys: Vec<String> = inventory.keys().iter().map(Key::to_string).collect();
        assert_eq!(keys, ["Secret z/x", "Widget a/x", "Widget b/x"]);
        assert_eq!(inventory.index_of_uid(&Uid("Widget:b/x".into())), Some(2));
        assert_eq!(inventory.index_of_key(&key("Widget b/x")), Some(2));
        assert_eq!(inventory.index_of_key(&key("Widget c/x")), None);
    }

    #[test]
    fn later_reading_of_an_object_wins() {
        assert_eq!(versions(vec![widget("a", "1", "1"), widget("a", "1", "2")]), "a@2 ");
        assert_eq!(versions(vec![widget("a", "1", "1"), widget("a", "2", "2")]), "a@2 ");
        assert_eq!(versions(vec![widget("a", "1", "1"), widget("b", "1", "2")]), "b@2 ");
    }

    #[test]
    fn dropped_objects_are_found_no_more() {
        let inventory = Inventory::new(objects("Widget b/x\nSecret z/x\nWidget a/x"));
        let secrets = inventory.keep_only(|key| key.group_kind.is_secret());
        assert_eq!(secrets.index_of_key(&key("Secret z/x")), Some(0));
        assert_eq!((secrets.objects().len(), secrets.index_of_key(&key("Widget a/x"))), (1, None));
    }

    #[test]
    fn objects_without_uid_are_identified_by_key() {
        assert_eq!(versions(vec![widget("a", "", "1"), widget("b", "", "1")]), "a@1 b@1 ");
        assert_eq!(Inventory::new(vec![widget("a", "", "1")]).index_of_uid(&Uid::default()), None);
    }
}
