//! Shared by the tests of several places.

use std::sync::Arc;

use pivot_core::{GroupKind, Kind, KindLabels};

/// A kind with a status subresource.
pub(crate) fn kind(group: &str, version: &str, kind: &str, plural: &str, namespaced: bool) -> Arc<Kind> {
    Arc::new(Kind {
        group_kind: GroupKind::new(group, kind),
        version: version.to_owned(),
        plural: plural.to_owned(),
        namespaced,
        status_subresource: !group.is_empty(),
        served: vec![version.to_owned()],
        labels: KindLabels::default(),
    })
}
