//! The shapes, moved by clusterctl.
//!
//! Two servers and some forty moves, for an end that depends on the versions of the programs and on the shapes alone. So it is
//! recorded.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use futures::{StreamExt, stream};
use pivot_lab::assets::{CLUSTER_API, CLUSTER_API_NEWEST, KUBERNETES};
use pivot_lab::{Dump, ObjectKey, Pair};
use pivot_scenarios::clusterctl::{Answer, clusterctl_of, recorded};
use serde::{Deserialize, Serialize};

use super::differences::comparable;
use super::shapes::Shape;
use super::{CONCURRENT, collect_garbage, fill, kinds, pair};

/// The end that clusterctl comes to.
#[derive(Serialize, Deserialize)]
pub(crate) struct Peer {
    /// The shapes that it moved, and its errors for the others.
    pub(crate) moved: BTreeMap<String, Result<(), String>>,
    source: Vec<Stored>,
    target: Vec<Stored>,
}

type Stored = (ObjectKey, serde_json::Value);

impl Peer {
    /// Moves the shapes, or finds out how that once ended: first `all`, then `first` alone, then the others.
    pub(crate) async fn move_shapes(all: &[Shape], first: &[Shape], others: &[Shape]) -> Answer<Self> {
        let input: Vec<_> = [all, first, others]
            .map(|shapes| {
                let input = |shape: &Shape| {
                    (shape.name.clone(), shape.source.clone(), shape.target.clone(), shape.applied.clone())
                };
                shapes.iter().map(input).collect::<Vec<_>>()
            })
            .into();
        // This file and the lab's objects decide how it is asked.
        let key = (CLUSTER_API, KUBERNETES, kinds::crds(), input, include_str!("peer.rs"));
        let ask = async || Self::ask(CLUSTER_API, all, first, others).await;
        recorded("clusterctl-move", &key, ask, Self::outcome).await.unwrap()
    }

    /// Lets the newest release move the shapes.
    pub(crate) async fn of_the_newest(all: &[Shape], first: &[Shape], others: &[Shape]) -> Self {
        Self::ask(CLUSTER_API_NEWEST, all, first, others).await.unwrap()
    }

    /// Returns the moves and objects in which two releases differ.
    pub(crate) fn differs_from(&self, other: &Self) -> Vec<String> {
        let (ours, theirs) = (self.outcome(), other.outcome());
        let names: BTreeSet<_> = ours.0.keys().chain(theirs.0.keys()).collect();
        let moves = names.into_iter().filter(|name| ours.0.get(*name) != theirs.0.get(*name));
        let moves = moves.map(|name| format!("{name}: {:?}, not {:?}", ours.0.get(name), theirs.0.get(name)));
        let sides = [("source", &ours.1, &theirs.1), ("target", &ours.2, &theirs.2)];
        let objects = sides.into_iter().flat_map(|(side, ours, theirs)| {
            let keys: BTreeSet<_> = ours.keys().chain(theirs.keys()).collect();
            let keys = keys.into_iter().filter(|key| ours.get(*key) != theirs.get(*key));
            keys.map(move |key| format!("{side}: {key:?}: {:?}, not {:?}", ours.get(key), theirs.get(key)))
        });
        moves.chain(objects).collect()
    }

    /// The moves that succeeded, and the state of both sides.
    fn outcome(&self) -> (BTreeMap<String, bool>, Dump, Dump) {
        let succeeded = self.moved.iter().map(|(name, moved)| (name.clone(), moved.is_ok())).collect();
        (succeeded, self.source(), self.target())
    }

    async fn ask(version: &str, all: &[Shape], first: &[Shape], others: &[Shape]) -> Result<Self> {
        let pair = pair().await;
        fill(&pair, all.iter()).await;
        let mut moved = move_each(version, &pair, all).await;
        fill(&pair, first.iter().chain(others)).await;
        let before = pair.source.dump(&[]).await?;
        for shapes in [first, others] {
            moved.extend(move_each(version, &pair, shapes).await);
        }
        collect_garbage(&pair, before).await;
        let stored = |dump: Dump| dump.into_iter().collect();
        let (source, target) = (pair.source.dump(&[]).await?, pair.target.dump(&[]).await?);
        Ok(Self { moved, source: stored(source), target: stored(target) })
    }

    /// What it left in the source.
    pub(crate) fn source(&self) -> Dump {
        comparable(self.source.iter().cloned().collect())
    }

    /// What it left in the target.
    pub(crate) fn target(&self) -> Dump {
        comparable(self.target.iter().cloned().collect())
    }
}

/// Moves each namespace; whether that succeeded.
async fn move_each(version: &str, pair: &Pair, shapes: &[Shape]) -> BTreeMap<String, Result<(), String>> {
    let (from, to) =
        (pair.source.kubeconfig().display().to_string(), pair.target.kubeconfig().display().to_string());
    let one = async |shape: &Shape| {
        let flags = ["--kubeconfig", &from, "--to-kubeconfig", &to, "--namespace", &shape.name];
        (shape.name.clone(), clusterctl_of(version, &flags).await.map_err(|error| format!("{error:#}")))
    };
    stream::iter(shapes).map(one).buffer_unordered(CONCURRENT).collect().await
}
