//! The objects that no plugin adapts.
//!
//! `adapt` is a pure hook: it answers the same for the same object. It is called before the pause, so that a refusal comes early, and
//! most answers are that nothing changes. Such an object is not passed to plugins again when it is copied.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use pivot_core::Object;

/// The objects of the source that no plugin adapts, by content. A source may answer with other content for the same UID and version,
/// and the move itself changes objects in its reading.
#[derive(Default)]
pub(crate) struct UnchangedObjects(Mutex<BTreeSet<[u8; 32]>>);

impl UnchangedObjects {
    /// Returns true if plugins were asked about an object with this content, and none changed it.
    pub(crate) fn contains(&self, object: &Object) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&object.digest())
    }

    /// Keeps in mind that no plugin changes an object with this content.
    pub(crate) fn insert(&self, object: &Object) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(object.digest());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pivot_core::{GroupKind, Kind, KindLabels};
    use serde_json::json;

    use super::*;

    fn object(kind: &str, spec: &str) -> Object {
        let kind = Kind {
            group_kind: GroupKind::new("x.io", kind),
            version: "v1".into(),
            plural: "things".into(),
            namespaced: true,
            status_subresource: false,
            served: Vec::new(),
            labels: KindLabels::default(),
        };
        let body = json!({"metadata": {"name": "a", "namespace": "ns", "uid": "1", "resourceVersion": "1"}, "spec": spec});
        Object::from_value(Arc::new(kind), &body).unwrap()
    }

    /// A hostile source could otherwise have an object copied that no plugin was asked about.
    #[test]
    fn equal_versions_with_other_contents_differ() {
        let unchanged = UnchangedObjects::default();
        unchanged.insert(&object("Thing", "a"));
        assert!(unchanged.contains(&object("Thing", "a")));
        assert!(!unchanged.contains(&object("Thing", "b")));
        assert!(!unchanged.contains(&object("Other", "a")));
    }
}
