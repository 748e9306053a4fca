//! The kinds that both sides serve, asked once per run.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use pivot_core::checks::served_versions::common_version;
use pivot_core::{Both, GroupKind, Kind, Side};

use crate::base::outcome::failure::Failure;
use crate::base::requests::side::Handle;

/// The kinds that both sides serve, at the versions they share.
pub(crate) struct Kinds(Both<BTreeMap<GroupKind, Arc<Kind>>>);

impl Deref for Kinds {
    type Target = Both<BTreeMap<GroupKind, Arc<Kind>>>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Kinds {
    /// Asks one side only, because the other is gone.
    pub(crate) async fn from_one_side(handle: &Handle) -> Result<Self, Failure> {
        let kinds =
            list_kinds(handle).await?.into_iter().map(|kind| (kind.group_kind.clone(), kind)).collect();
        Ok(match handle.side {
            Side::Source => Self(Both::new(kinds, BTreeMap::new())),
            Side::Target => Self(Both::new(BTreeMap::new(), kinds)),
        })
    }

    /// Asks both sides. If the target is confined, anyone may control the source: its statements about the kinds that move count no
    /// more than an agent's.
    pub(crate) async fn from_sides(
        source: &Handle,
        target: &Handle,
        confined: Option<Side>,
    ) -> Result<Self, Failure> {
        let vouches = source.place.vouches_for_kinds() && confined != Some(Side::Target);
        let (there, here) = tokio::try_join!(list_kinds(source), list_kinds(target))?;
        let mut served: BTreeMap<GroupKind, Arc<Kind>> =
            here.into_iter().map(|kind| (kind.group_kind.clone(), kind)).collect();
        let mut listed = BTreeMap::new();
        if !target.capabilities().judges {
            // A directory serves the kinds it is given.
            let learnt = target.retry(|| target.place.learn(&there)).await;
            learnt.map_err(|error| target.request_failure("naming the kinds", None, error))?;
            served.extend(there.iter().map(|kind| (kind.group_kind.clone(), kind.clone())));
        }
        for kind in there {
            let Some(other) = served.get(&kind.group_kind).cloned() else {
                listed.insert(kind.group_kind.clone(), kind);
                continue;
            };
            let kind = match (source.capabilities().judges, vouches) {
                (true, true) => kind,
                (true, false) => Arc::new(Kind {
                    namespaced: other.namespaced,
                    labels: other.labels,
                    ..Kind::clone(&kind)
                }),
                (false, _) => with_labels_of(&kind, &other),
            };
            // Read in a version in which the target can be written.
            match common_version(&kind, &other) {
                Some(version) => {
                    served.insert(kind.group_kind.clone(), at_version(&other, &version));
                    listed.insert(kind.group_kind.clone(), at_version(&kind, &version));
                }
                // Objects of this kind are not copied; existing ones can still be found.
                None => drop(listed.insert(kind.group_kind.clone(), kind)),
            }
        }
        Ok(Self(Both::new(listed, served)))
    }
}

async fn list_kinds(handle: &Handle) -> Result<Vec<Arc<Kind>>, Failure> {
    let kinds = handle.retry(|| handle.place.kinds()).await;
    kinds.map_err(|error| handle.request_failure("asking for the kinds", None, error))
}

/// Returns a kind in files, or of an agent, with the labels of its definition in the target cluster. The kind's own labels don't
/// count: the author of the files, or of a compromised agent, could have roles and bindings created with our permissions.
fn with_labels_of(kind: &Arc<Kind>, other: &Kind) -> Arc<Kind> {
    Arc::new(Kind { labels: other.labels, ..Kind::clone(kind) })
}

fn at_version(kind: &Arc<Kind>, version: &str) -> Arc<Kind> {
    if kind.version == version {
        return kind.clone();
    }
    Arc::new(Kind { version: version.to_owned(), ..Kind::clone(kind) })
}
