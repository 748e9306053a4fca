//! Everything that was read, each object once.
//!
//! The same object may be read twice: Secrets of a provider's namespace are listed beside those of the moved
//! namespace, a class is fetched again by reference. What identifies an object is its UID; objects from hand-written
//! files may have none and are then told apart by their key. The later reading wins: it is the fresher one.

use std::collections::BTreeMap;

use crate::{Key, Object, Uid};

/// The objects of one side, sorted by key.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    objects: Vec<Object>,
    keys: Vec<Key>,
    by_uid: BTreeMap<Uid, usize>,
}

impl Inventory {
    /// Sorts objects and drops readings that a later one replaces.
    pub fn new(objects: Vec<Object>) -> Self {
        let mut by_key: BTreeMap<Key, Object> = BTreeMap::new();
        let mut key_of: BTreeMap<Uid, Key> = BTreeMap::new();
        for object in objects {
            let key = object.key();
            if !object.meta.uid.0.is_empty()
                && let Some(other) = key_of.insert(object.meta.uid.clone(), key.clone())
                && other != key
            {
                // One object served by two API groups, as Events once were.
                by_key.remove(&other);
            }
            by_key.insert(key, object);
        }
        let (keys, objects): (Vec<_>, Vec<_>) = by_key.into_iter().unzip();
        let by_uid = objects
            .iter()
            .enumerate()
            .filter(|(_, object)| !object.meta.uid.0.is_empty())
            .map(|(index, object)| (object.meta.uid.clone(), index))
            .collect();
        Self { objects, keys, by_uid }
    }

    /// The objects, sorted by key.
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// The objects' keys, in the same order.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// The object at an index.
    pub fn get(&self, index: usize) -> Option<&Object> {
        self.objects.get(index)
    }

    /// Where the object with this id is.
    pub fn by_uid(&self, uid: &Uid) -> Option<usize> {
        self.by_uid.get(uid).copied()
    }

    /// Where the object with this key is.
    pub fn by_key(&self, key: &Key) -> Option<usize> {
        self.keys.binary_search(key).ok()
    }
}
