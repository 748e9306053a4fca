//! Which kinds both sides serve. Asked once per run.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use pivot_core::served::common_version;
use pivot_core::{Both, GroupKind, Kind, KindLabels, Side};

use crate::outcome::failure::Failure;
use crate::requests::side::Handle;

/// The kinds both sides serve, at the versions they share.
pub(crate) struct Kinds(Both<BTreeMap<GroupKind, Arc<Kind>>>);

impl Deref for Kinds {
    type Target = Both<BTreeMap<GroupKind, Arc<Kind>>>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Kinds {
    /// Asks one side alone: the other is gone.
    pub(crate) async fn of_one(handle: &Handle) -> Result<Self, Failure> {
        let kinds = handle.retry(|| handle.place.kinds()).await;
        let kinds = kinds.map_err(|error| handle.failed("asking for the kinds", None, error))?;
        let kinds = kinds.into_iter().map(|kind| (kind.group_kind.clone(), kind)).collect();
        Ok(match handle.side {
            Side::Source => Self(Both::new(kinds, BTreeMap::new())),
            Side::Target => Self(Both::new(BTreeMap::new(), kinds)),
        })
    }

    /// Asks both sides, once per run.
    pub(crate) async fn ask(source: &Handle, target: &Handle) -> Result<Self, Failure> {
        let ask = async |handle: &Handle| {
            let kinds = handle.retry(|| handle.place.kinds()).await;
            kinds.map_err(|error| handle.failed("asking for the kinds", None, error))
        };
        let (there, here) = tokio::try_join!(ask(source), ask(target))?;
        let mut served: BTreeMap<GroupKind, Arc<Kind>> =
            here.into_iter().map(|kind| (kind.group_kind.clone(), kind)).collect();
        let mut listed = BTreeMap::new();
        if !target.can().judges {
            // A directory serves what it is given.
            let learnt = target.retry(|| target.place.learn(&there)).await;
            learnt.map_err(|error| target.failed("naming the kinds", None, error))?;
            served.extend(there.iter().map(|kind| (kind.group_kind.clone(), kind.clone())));
        }
        for kind in there {
            let Some(other) = served.get(&kind.group_kind).cloned() else {
                listed.insert(kind.group_kind.clone(), kind);
                continue;
            };
            // Files may come without definitions; then those of the cluster they go to say what moves.
            let kind = if source.can().judges { kind } else { labelled(&kind, &other) };
            // Read in a version that the target can be written in.
            let version = common_version(&kind, &other).unwrap_or_else(|| kind.version.clone());
            served.insert(kind.group_kind.clone(), at_version(&other, &version));
            listed.insert(kind.group_kind.clone(), at_version(&kind, &version));
        }
        Ok(Self(Both::new(listed, served)))
    }
}

/// A kind of files, with what the other side's definition says of it as well.
fn labelled(kind: &Arc<Kind>, other: &Kind) -> Arc<Kind> {
    let KindLabels { discover, moves, hierarchy, unread } = kind.labels;
    let labels = KindLabels {
        discover: discover || other.labels.discover,
        moves: moves || other.labels.moves,
        hierarchy: hierarchy || other.labels.hierarchy,
        unread,
    };
    if labels == kind.labels { kind.clone() } else { Arc::new(Kind { labels, ..Kind::clone(kind) }) }
}

fn at_version(kind: &Arc<Kind>, version: &str) -> Arc<Kind> {
    if kind.version == version {
        return kind.clone();
    }
    Arc::new(Kind { version: version.to_owned(), ..Kind::clone(kind) })
}
