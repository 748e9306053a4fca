//! The target's namespaces: the existing ones, and labels and annotations that the missing ones have in the source.
//!
//! Each namespace is looked up once. Likely ones are looked up during the first reading of the source, the others when the plan
//! is made, or when the first object in them appears.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::FutureExt;
use pivot_core::messages::refusal::Refusal;
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::shell::Kubectl;
use pivot_core::objects::names;
use pivot_core::request::scope::{Namespaces as Scoped, Scope};
use pivot_core::{GroupKind, Key, Kind, Meta, Side};
use pivot_places::PlaceError;
use serde_json::{Value, json};

use crate::base::events::Event;
use crate::base::job::Job;
use crate::base::kinds::Kinds;
use crate::base::outcome::failure::Failure;
use crate::base::requests::side::Handle;
use crate::base::requests::side_by_side::{self, NAMESPACES, Work};
use crate::read::snapshot::Snapshot;

/// The namespaces that were looked up, and whether they exist.
#[derive(Clone, Debug, Default)]
pub(crate) struct Namespaces {
    looked_at: BTreeMap<String, bool>,
    /// Namespaces that are being deleted. No object can be created in them.
    deleting: BTreeSet<String>,
    /// Whether all namespaces were listed. Other names then don't exist.
    complete: bool,
}

impl Namespaces {
    /// Looks up the namespaces that a plan is likely to name: the requested namespace, or all that exist.
    pub(crate) async fn look_up_likely(
        target: &Handle,
        kinds: &Kinds,
        scope: &Scope,
    ) -> Result<Self, Failure> {
        let mut likely = Self::default();
        if !target.capabilities().judges {
            return Ok(likely);
        }
        // A server without namespaces is reported by the first create of a namespace.
        let Some(kind) = kinds.target.get(&GroupKind::new("", "Namespace")) else { return Ok(likely) };
        match &scope.namespaces {
            Scoped::One(name) => {
                likely.insert(name, look_up_namespace(target, kind, name).await?);
            }
            Scoped::All => match target.list_meta(kind, None).await {
                Ok(metas) => {
                    for meta in metas {
                        likely.insert(&meta.name, NamespaceState::from(&meta));
                    }
                    likely.complete = true;
                }
                // Each namespace is then looked up by name.
                Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => {}
                Err(failure) => return Err(failure),
            },
        }
        Ok(likely)
    }

    /// Looks up the namespaces of a plan.
    pub(crate) async fn look_up_planned(job: &Job, snapshot: &Snapshot) -> Result<Self, Failure> {
        let mut all = Self::default();
        all.look_up(job, snapshot).await?;
        Ok(all)
    }

    /// Looks up the plan's namespaces that were not looked up yet.
    pub(crate) async fn look_up(&mut self, job: &Job, snapshot: &Snapshot) -> Result<(), Failure> {
        if !job.target.capabilities().judges {
            return Ok(());
        }
        let kind = job.core_kind(Side::Target, "", "Namespace")?;
        let unknown = snapshot.namespaces().into_iter().filter(|name| !self.looked_at.contains_key(name));
        if self.complete {
            let absent: Vec<_> = unknown.map(|name| (name, false)).collect();
            self.looked_at.extend(absent);
            return Ok(());
        }
        let asked = unknown.map(|name| -> Work<'_, (String, NamespaceState)> {
            async move {
                let found = look_up_namespace(&job.target, kind, &name).await?;
                Ok((name, found))
            }
            .boxed()
        });
        for (name, found) in side_by_side::try_all(NAMESPACES, asked.collect()).await? {
            self.insert(&name, found);
        }
        Ok(())
    }

    fn insert(&mut self, name: &str, found: NamespaceState) {
        self.looked_at.insert(name.to_owned(), found != NamespaceState::Absent);
        if found == NamespaceState::Deleting {
            self.deleting.insert(name.to_owned());
        }
    }

    /// Refuses the plan's namespaces that the target is deleting. A recent rollback may have started the deletion.
    pub(crate) fn refuse_deleting(&self, job: &Job, snapshot: &Snapshot) -> Vec<Refusal> {
        let planned = snapshot.namespaces();
        let deleting = self.deleting.iter().filter(|name| planned.contains(*name));
        let refusals = deleting.map(|name| {
            let name = job.target.own_namespace(name);
            let look = Kubectl::new(Side::Target, ["get", "namespace", name, "-o", "yaml"]);
            Refusal::target(
                "namespace-deleting",
                format!(
                    "namespace {name} is being deleted, and nothing can be created in it until it is gone"
                ),
                Remedy::kubectl(
                    "wait until it is gone (",
                    look,
                    " shows what it waits for), and run this again",
                ),
            )
        });
        refusals.collect()
    }

    /// Returns the namespaces to create.
    pub(crate) fn missing(&self) -> BTreeSet<String> {
        self.looked_at.iter().filter(|(_, there)| !**there).map(|(name, _)| name.clone()).collect()
    }
}

/// A namespace of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NamespaceState {
    Absent,
    There,
    Deleting,
}

impl From<&Meta> for NamespaceState {
    fn from(meta: &Meta) -> Self {
        if meta.is_being_deleted() { Self::Deleting } else { Self::There }
    }
}

async fn look_up_namespace(target: &Handle, kind: &Arc<Kind>, name: &str) -> Result<NamespaceState, Failure> {
    let key = Key::new(kind.group_kind.clone(), None, name);
    match target.get(kind, &key).await {
        Ok(there) => Ok(there.map_or(NamespaceState::Absent, |there| NamespaceState::from(&there.meta))),
        // Users of a namespace may have no permission to read it. A create in it shows whether it exists.
        Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => Ok(NamespaceState::There),
        Err(failure) => Err(failure),
    }
}

/// Labels and annotations that new namespaces take over from the source, by namespace.
pub(crate) type MetadataByNamespace = BTreeMap<String, NamespaceMetadata>;

/// Labels and annotations of a namespace. Pod security and network policies select by labels, and other systems keep their
/// settings in them.
#[derive(Clone, Debug, Default)]
pub(crate) struct NamespaceMetadata {
    labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
}

impl NamespaceMetadata {
    /// Returns the manifest of a namespace with this name.
    pub(crate) fn manifest(&self, name: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "labels": self.labels, "annotations": self.annotations},
        })
    }
}

/// Reads the labels and annotations that the namespaces have in the source.
pub(crate) async fn read_metadata(job: &Job, names: &BTreeSet<String>) -> MetadataByNamespace {
    let each = names.iter().map(|name| -> Work<'_, (String, NamespaceMetadata)> {
        async move { Ok((name.clone(), read_metadata_of(job, name).await)) }.boxed()
    });
    side_by_side::run_all(NAMESPACES, each.collect()).await.into_iter().flatten().collect()
}

async fn read_metadata_of(job: &Job, name: &str) -> NamespaceMetadata {
    let Ok(kind) = job.core_kind(Side::Source, "", "Namespace") else { return NamespaceMetadata::default() };
    match job.source.get(kind, &Key::new(kind.group_kind.clone(), None, name)).await {
        Ok(None) => NamespaceMetadata::default(),
        Ok(Some(there)) => {
            let Meta { labels, mut annotations, .. } = there.meta;
            // The new namespace has no applied configuration, and no earlier move created it.
            annotations.retain(|name, _| name != names::LAST_APPLIED && name != names::MARK);
            NamespaceMetadata { labels, annotations }
        }
        Err(failure) => {
            let text = format!(
                "namespace {name} is made without the labels and annotations that it has in the source: {failure}"
            );
            job.report(Event::warning("namespace-labels", text));
            NamespaceMetadata::default()
        }
    }
}
