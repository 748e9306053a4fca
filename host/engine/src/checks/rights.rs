//! The permissions that the users of both sides need: checked before a run does anything, and listed for those who grant them.

use std::collections::BTreeSet;

use pivot_core::hooks::Hook;
use pivot_core::plan::Fate;
use pivot_core::reach::{EVERYWHERE, is_read};
use pivot_core::refusal::{Refusal, some_of};
use pivot_core::remedy::Remedy;
use pivot_core::scope::Namespaces;
use pivot_core::{Both, Kind, Side, names};
use pivot_places::Access;
use serde_json::Value;

use crate::discovery::planning;
use crate::job::Job;
use crate::outcome::failure::Failure;
use crate::phases::namespaces::Carried;
use crate::snapshot::Snapshot;

/// The permissions that a move needs on one side, in that side's names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rights {
    /// Without any of these it is refused.
    pub needed: BTreeSet<Access>,
    /// Without any of these it goes on, and knows less: what its checks and plugins read.
    pub checks: BTreeSet<Access>,
    /// Manifests of the namespaces that it would create: nobody can be given permissions in what does not exist.
    pub namespaces: Vec<Value>,
}

impl Rights {
    /// Those of a plan, after everything was read for it and checked.
    pub(crate) fn of(job: &Job, snapshot: &Snapshot, carried: &Carried, side: Side) -> Result<Self, Failure> {
        let handle = job.handle(side);
        let own = |access: Access| handle.own_access(access);
        let needed: BTreeSet<Access> = needed(job, snapshot)?.of(side).iter().cloned().map(own).collect();
        let used = handle.place.used().into_iter().filter(|access| !needed.contains(access));
        let (checks, more): (BTreeSet<Access>, BTreeSet<Access>) =
            used.partition(|access| is_only_checked(job, side, access));
        let of_plugins = of_plugins(job, snapshot, side).into_iter().map(own);
        let needed: BTreeSet<Access> = needed.into_iter().chain(more).collect();
        let checks = checks.into_iter().chain(of_plugins).filter(|access| !needed.contains(access)).collect();
        let namespaces = match side {
            Side::Source => Vec::new(),
            Side::Target => {
                carried.iter().map(|(name, marks)| marks.manifest(handle.own_namespace(name))).collect()
            }
        };
        Ok(Self { needed, checks, namespaces })
    }
}

/// Asks both API servers about everything that the run will do.
pub(crate) async fn missing(
    job: &Job,
    snapshot: &Snapshot,
    makes_namespaces: bool,
) -> Result<Vec<Refusal>, Failure> {
    let Both { source, mut target } = needed(job, snapshot)?;
    if makes_namespaces {
        // What is created is removed by a rollback.
        target.extend(["create", "delete"].map(|verb| Access {
            verb: verb.into(),
            group: String::new(),
            resource: "namespaces".into(),
            subresource: "".into(),
            namespace: None,
        }));
    }
    let (there, here) =
        tokio::try_join!(denied(job, Side::Source, source), denied(job, Side::Target, target))?;
    Ok(there.into_iter().chain(here).collect())
}

/// What the run will do in namespaces that exist, in the source's names.
fn needed(job: &Job, snapshot: &Snapshot) -> Result<Both<BTreeSet<Access>>, Failure> {
    let mut needed: Both<BTreeSet<Access>> = Both::default();
    let Both { source, target } = &mut needed;
    for step in &snapshot.plan.steps {
        let namespace = step.key.namespace.clone();
        let here = job.kind(Side::Target, &step.key.group_kind)?;
        let access = |verb: &'static str, kind: &Kind| access(verb, kind, namespace.clone());
        // Kept objects are paused and un-paused too, except those that are carried along.
        let verbs = ["get", "list", "watch", "patch"].into_iter().take(if step.is_carried() { 2 } else { 4 });
        // The source may not even serve the kind of what is added; if it does, a rollback looks there for what it has paused.
        match (job.kind(Side::Source, &step.key.group_kind), step.added_from()) {
            (Ok(there), _) => {
                source.extend(verbs.map(|verb| access(verb, there)));
                if step.fate == Fate::Move && job.hands_over() {
                    source.insert(access("delete", there));
                }
            }
            (Err(_), Some(_)) => {}
            (Err(failure), None) => return Err(failure),
        }
        // Patch and delete are for a rollback, and for un-pausing.
        target.extend(["get", "list", "watch", "create", "patch", "delete"].map(|verb| access(verb, here)));
        if job.plugins.iter().any(|plugin| plugin.changes(Hook::Restore, &step.key.group_kind)) {
            target.insert(Access { subresource: "status".into(), ..access("patch", here) });
        }
    }
    let leases = "coordination.k8s.io";
    // Whoever finishes alone keeps others out, too.
    let alone = job.options.seal.then_some((Side::Target, leases, "leases"));
    let ours = [
        (Side::Source, leases, "leases"),
        (Side::Source, "", "configmaps"),
        (Side::Target, "", "configmaps"),
    ];
    for (side, group, resource) in ours.into_iter().chain(alone) {
        needed.of_mut(side).extend(["get", "list", "create", "patch", "delete"].map(|verb| Access {
            verb: verb.into(),
            group: group.into(),
            resource: resource.into(),
            subresource: "".into(),
            namespace: Some(job.options.record_namespace.clone()),
        }));
    }
    Ok(needed)
}

/// What plugins may read, in the source's names.
fn of_plugins(job: &Job, snapshot: &Snapshot, side: Side) -> BTreeSet<Access> {
    let mut reads = BTreeSet::new();
    let moving: Vec<Option<String>> = snapshot.plugin_view().namespaces.into_iter().map(Some).collect();
    for read in job.plugins.iter().flat_map(|plugin| plugin.reads()).filter(|read| read.side == side) {
        for kind in job.kinds.of(side).values().filter(|kind| read.kind.covers(&kind.group_kind)) {
            let namespaces = match read.namespace.as_deref() {
                _ if !kind.namespaced => vec![None],
                None => moving.clone(),
                Some(EVERYWHERE) => vec![None],
                Some(named) => vec![Some(named.to_owned())],
            };
            for namespace in namespaces {
                reads.extend(["get", "list"].map(|verb| access(verb, kind, namespace.clone())));
            }
        }
    }
    reads
}

fn access(verb: &'static str, kind: &Kind, namespace: Option<String>) -> Access {
    Access {
        verb: verb.into(),
        group: kind.group_kind.group.clone(),
        resource: kind.plural.clone(),
        subresource: "".into(),
        namespace,
    }
}

/// Whether a run that may not read this goes on without it.
fn is_only_checked(job: &Job, side: Side, access: &Access) -> bool {
    match (access.group.as_str(), access.resource.as_str()) {
        // Which clusters these are, whether a namespace exists, and whether Pods can run.
        ("", "namespaces" | "nodes") | (names::GROUP_CLUSTERCTL, "providers") => return true,
        // The source's labels say what moves.
        ("apiextensions.k8s.io", "customresourcedefinitions") => return side == Side::Target,
        _ => {}
    }
    let wishes = planning::wishes(&job.plugins);
    let kind = job
        .kinds
        .of(side)
        .values()
        .find(|kind| kind.plural == access.resource && kind.group_kind.group == access.group);
    // Other namespaces, where others may use what moves; and other kinds, which may depend on what is deleted.
    let elsewhere = match (&job.options.scope.namespaces, &access.namespace) {
        (Namespaces::All, _) => false,
        (Namespaces::One(_), None) => kind.is_some_and(|kind| kind.namespaced),
        (Namespaces::One(one), Some(other)) => *other != job.handle(side).own_namespace(one),
    };
    elsewhere || kind.is_some_and(|kind| !is_read(kind, &wishes))
}

async fn denied(job: &Job, side: Side, asked: BTreeSet<Access>) -> Result<Option<Refusal>, Failure> {
    let handle = job.handle(side);
    if !handle.can().judges {
        return Ok(None);
    }
    let asked: Vec<Access> = asked.into_iter().collect();
    let denied = handle.denied(&asked).await?;
    if denied.is_empty() {
        return Ok(None);
    }
    Ok(Some(Refusal {
        code: "rights-missing",
        side,
        object: None,
        others: Vec::new(),
        message: format!("the user is not allowed to {}", some_of(&denied, 6)),
        remedies: vec![Remedy::GrantRights { side }, Remedy::NameOtherUser { side }],
    }))
}
