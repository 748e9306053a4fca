//! A field that names an object, and the kinds that it can name.

use serde_json::Value;

use crate::{GroupKind, Key};

/// Group of the providers' kinds.
pub(crate) const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
/// Group of the providers' bootstrap configurations.
pub(crate) const BOOTSTRAP: &str = "bootstrap.cluster.x-k8s.io";
/// Path of the annotations. Their keys are chosen freely.
pub(crate) const ANNOTATIONS: &str = "metadata.annotations";

/// Kinds whose controllers ignore the pause: copies on both sides would act. Each side needs its own object.
///
/// cluster-api-provider-aws, exp/controllers/rosanetwork_controller.go and rosaroleconfig_controller.go, Reconcile.
const UNPAUSABLE: [&str; 2] = ["ROSANetwork", "ROSARoleConfig"];

/// A field that names an object.
pub(crate) struct Row {
    /// Group of the objects with the field. `*` stands for any beginning.
    pub(super) group: &'static str,
    /// Kinds of the objects with the field; empty for all of the group.
    pub(super) kinds: &'static [&'static str],
    /// Path of the map with the name. `[]` stands for each item of a list.
    pub(crate) parent: &'static str,
    /// Field with the name.
    pub(crate) name: &'static str,
    /// Path of the field that decides the kind; empty if there is none.
    pub(super) decides: &'static str,
    /// Kinds that can be named, by the text of the deciding field. An absent field has the text "".
    pub(super) referents: &'static [(&'static str, NamedKind)],
}

/// A kind that a field names, and where its objects are.
#[derive(Clone, Copy)]
pub(crate) enum NamedKind {
    /// A kind in the namespace that is written with the name, or else in the object's own.
    InNamespace(&'static str),
    /// A cluster-scoped kind.
    ClusterScoped(&'static str),
    /// A Secret in the namespace that is written with the name; usually this one.
    SecretInNamespace(&'static str),
    /// A Secret in the namespace of a provider's controllers: name of the provider, and its usual namespace.
    SecretOfProvider(&'static str, &'static str),
}

impl Row {
    pub(super) fn is_of_kind(&self, kind: &GroupKind) -> bool {
        let of_group = match self.group.strip_prefix('*') {
            Some(suffix) => kind.group.ends_with(suffix),
            None => kind.group == self.group,
        };
        of_group && (self.kinds.is_empty() || self.kinds.contains(&kind.kind.as_str()))
    }

    /// Returns true if the row is for single kinds of its group.
    pub(super) fn names_kinds(&self) -> bool {
        !self.kinds.is_empty()
    }

    /// Returns the kind that the field names in a body; none if nothing needs the named object.
    pub(crate) fn find_named(&self, body: &Value) -> Option<NamedKind> {
        let decided = self.decides.split('.').try_fold(body, |value, step| value.get(step));
        let decided = decided.and_then(Value::as_str).unwrap_or_default();
        self.referents.iter().find(|(text, _)| *text == decided).map(|(_, named)| *named)
    }

    /// Returns true if a bundled plugin relates the object with the field to an object that the field names. Plugins follow no
    /// namespace that the field's author chose, and see only some kinds of a group.
    pub(crate) fn is_related(&self, named: NamedKind, by: &Key, to: &Key) -> bool {
        let place = match named {
            NamedKind::InNamespace(_) => by.namespace.as_deref(),
            NamedKind::ClusterScoped(_) => None,
            NamedKind::SecretInNamespace(usual) | NamedKind::SecretOfProvider(_, usual) => Some(usual),
        };
        self.names_kinds() && to.namespace.as_deref() == place && !is_unpausable(&to.group_kind)
    }
}

/// Returns true if the controllers of a kind ignore the pause, so that its objects should neither move nor be copied.
pub(crate) fn is_unpausable(kind: &GroupKind) -> bool {
    UNPAUSABLE.iter().any(|name| kind.is(INFRASTRUCTURE, name))
}
