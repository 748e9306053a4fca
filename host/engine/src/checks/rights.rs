//! Whether the users of both sides have permission for everything the run will do, checked before it does any of it.

use std::collections::BTreeSet;

use pivot_core::Side;
use pivot_core::hooks::Hook;
use pivot_core::plan::Fate;
use pivot_core::refusal::{Refusal, some_of};
use pivot_places::Access;

use crate::job::Job;
use crate::outcome::failure::Failure;
use crate::snapshot::Snapshot;

/// Asks both API servers about everything that the run will do.
pub(crate) async fn missing(
    job: &Job,
    snapshot: &Snapshot,
    makes_namespaces: bool,
) -> Result<Vec<Refusal>, Failure> {
    let mut asked: [BTreeSet<Access>; 2] = Default::default();
    let [source, target] = &mut asked;
    for step in &snapshot.plan.steps {
        let namespace = step.key.namespace.clone();
        let here = job.kind(Side::Target, &step.key.group_kind)?;
        let access = |verb: &'static str, kind: &pivot_core::Kind| Access {
            verb: verb.into(),
            group: kind.group_kind.group.clone(),
            resource: kind.plural.clone(),
            subresource: "".into(),
            namespace: namespace.clone(),
        };
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
    for (side, group, resource) in [
        (Side::Source, "coordination.k8s.io", "leases"),
        (Side::Source, "", "configmaps"),
        (Side::Target, "", "configmaps"),
    ] {
        let set = if side == Side::Source { &mut *source } else { &mut *target };
        set.extend(["get", "list", "create", "patch", "delete"].map(|verb| Access {
            verb: verb.into(),
            group: group.into(),
            resource: resource.into(),
            subresource: "".into(),
            namespace: Some(job.options.record_namespace.clone()),
        }));
    }
    if makes_namespaces {
        target.insert(Access {
            verb: "create".into(),
            group: String::new(),
            resource: "namespaces".into(),
            subresource: "".into(),
            namespace: None,
        });
    }
    let [source, target] = asked;
    let (there, here) =
        tokio::try_join!(denied(job, Side::Source, source), denied(job, Side::Target, target))?;
    Ok(there.into_iter().chain(here).collect())
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
        remedies: vec![
            "use a kubeconfig whose user is allowed to, or grant it; `kubectl auth can-i` shows what a user is allowed to do".into(),
        ],
    }))
}
