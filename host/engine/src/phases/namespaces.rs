//! The target's namespaces: which are there, and making those that are not.
//!
//! Each is looked at once: beside the first reading of the source those that it is likely to name, the others when the plan is
//! made, or when an object of theirs first appears.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::FutureExt;
use pivot_core::scope::{Namespaces as Scoped, Scope};
use pivot_core::{GroupKind, Key, Kind, Side, names};
use pivot_places::{Change, PlaceError};
use serde_json::json;

use crate::base::Base;
use crate::discovery::kinds::Kinds;
use crate::events::Event;
use crate::job::Job;
use crate::outcome::failure::Failure;
use crate::requests::side::Handle;
use crate::requests::side_by_side::{self, NAMESPACES, Work};

/// Those that were looked at, and whether they are there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Namespaces {
    looked_at: BTreeMap<String, bool>,
    /// Those that were not looked at are not there.
    complete: bool,
}

impl Namespaces {
    /// Those that a plan is likely to name, before there is one: the one that was asked for, or all that there are.
    pub(crate) async fn likely(target: &Handle, kinds: &Kinds, scope: &Scope) -> Result<Self, Failure> {
        let mut likely = Self::default();
        if !target.can().judges {
            return Ok(likely);
        }
        // A server without them is told of when the first is to be made.
        let Some(kind) = kinds.target.get(&GroupKind::new("", "Namespace")) else { return Ok(likely) };
        match &scope.namespaces {
            Scoped::One(name) => {
                likely.looked_at.insert(name.clone(), is_there(target, kind, name).await?);
            }
            Scoped::All => match target.list_meta(kind, None).await {
                Ok(metas) => {
                    likely.looked_at.extend(metas.into_iter().map(|meta| (meta.name, true)));
                    likely.complete = true;
                }
                // Then each is asked for by name.
                Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => {}
                Err(failure) => return Err(failure),
            },
        }
        Ok(likely)
    }

    /// Those of a plan.
    pub(crate) async fn of(job: &Job, base: &Base) -> Result<Self, Failure> {
        let mut all = Self::default();
        all.look(job, base).await?;
        Ok(all)
    }

    /// Looks at those of a plan that were not looked at yet.
    pub(crate) async fn look(&mut self, job: &Job, base: &Base) -> Result<(), Failure> {
        if !job.target.can().judges {
            return Ok(());
        }
        let kind = job.core_kind(Side::Target, "", "Namespace")?;
        let unknown = base.namespaces().into_iter().filter(|name| !self.looked_at.contains_key(name));
        if self.complete {
            let absent: Vec<_> = unknown.map(|name| (name, false)).collect();
            self.looked_at.extend(absent);
            return Ok(());
        }
        let asked = unknown.map(|name| -> Work<'_, (String, bool)> {
            async move {
                let there = is_there(&job.target, kind, &name).await?;
                Ok((name, there))
            }
            .boxed()
        });
        let found = side_by_side::all(NAMESPACES, asked.collect()).await?;
        self.looked_at.extend(found);
        Ok(())
    }

    /// Those that are to be made.
    pub(crate) fn missing(&self) -> BTreeSet<String> {
        self.looked_at.iter().filter(|(_, there)| !**there).map(|(name, _)| name.clone()).collect()
    }
}

async fn is_there(target: &Handle, kind: &Arc<Kind>, name: &str) -> Result<bool, Failure> {
    let key = Key::new(kind.group_kind.clone(), None, name);
    match target.get(kind, &key).await {
        Ok(there) => Ok(there.is_some()),
        // A namespace's user who may not read it: creating in it will tell.
        Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => Ok(true),
        Err(failure) => Err(failure),
    }
}

/// The labels of namespaces, by name.
pub(crate) type Labels = BTreeMap<String, BTreeMap<String, String>>;

/// The labels that namespaces have in the source. They go along: pod security and network policies are chosen by them.
pub(crate) async fn labels(job: &Job, names: &BTreeSet<String>) -> Labels {
    let labelled = names.iter().map(|name| -> Work<'_, (String, BTreeMap<String, String>)> {
        async move { Ok((name.clone(), labels_of(job, name).await)) }.boxed()
    });
    side_by_side::each(NAMESPACES, labelled.collect()).await.into_iter().flatten().collect()
}

async fn labels_of(job: &Job, name: &str) -> BTreeMap<String, String> {
    let Ok(kind) = job.core_kind(Side::Source, "", "Namespace") else { return BTreeMap::new() };
    match job.source.get(kind, &Key::new(kind.group_kind.clone(), None, name)).await {
        Ok(there) => there.map(|there| there.meta.labels).unwrap_or_default(),
        Err(failure) => {
            let text =
                format!("namespace {name} is made without the labels that it has in the source: {failure}");
            job.tell(Event::warning("namespace-labels", text));
            BTreeMap::new()
        }
    }
}

/// Makes them, side by side.
pub(crate) async fn create(job: &Job, labelled: Labels) -> Result<(), Failure> {
    let work = labelled.into_iter().map(|(name, labels)| -> Work<'_, ()> {
        async move {
            let kind = job.core_kind(Side::Target, "", "Namespace")?;
            let body = json!({
                "apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": name, "labels": labels, "annotations": {names::MARK: job.move_id}},
            });
            match job.target.create(kind, &body, Change::Real).await {
                Ok(_) | Err(PlaceError::AlreadyExists(_)) => Ok(()),
                Err(error) => {
                    let key = Key::new(kind.group_kind.clone(), None, &name);
                    Err(job.target.failed("creating", Some(&key), error))
                }
            }
        }
        .boxed()
    });
    side_by_side::all(NAMESPACES, work.collect()).await.map(drop)
}
