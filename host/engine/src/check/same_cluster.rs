//! Tells source and target apart: moving a cluster onto itself would delete all of its objects.

use pivot_core::messages::refusal::Refusal;
use pivot_core::messages::remedy::Remedy;
use pivot_core::{GroupKind, Key, Side};
use pivot_places::{Change, Identity, PlaceError, Preconditions};

use crate::base::kinds::Kinds;
use crate::base::options::Options;
use crate::base::outcome::failure::Failure;
use crate::base::requests::side::Handle;
use crate::base::state::lease;
use crate::base::state::record_namespace::RecordNamespace;

/// Decides whether a run may create the record namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunAccess {
    /// The run only reads.
    Reads,
    /// The run moves, resumes or rolls back.
    Writes,
}

/// Refuses if both sides are one place.
pub(crate) async fn refuse_same_place(
    (source, target): (&Handle, &Handle),
    kinds: &Kinds,
    options: &Options,
    run: RunAccess,
    (there, here): (&Identity, &Identity),
) -> Result<(), Failure> {
    if source.end_kind.is_absent() || target.end_kind.is_absent() {
        return Ok(());
    }
    let same = match (there, here) {
        (Identity::Unknown, Identity::Unknown | Identity::Cluster(_))
        | (Identity::Cluster(_), Identity::Unknown) => {
            is_probe_lease_visible((source, target), kinds, &options.record_namespace, run).await?
        }
        (Identity::Directory { path: a, .. }, Identity::Directory { path: b, .. }) => a == b,
        (a, b) => a == b,
    };
    if !same {
        return Ok(());
    }
    let (from, to) = (source.place.label(), target.place.label());
    Err(Failure::from_refusal(Refusal {
        code: "same-cluster",
        side: Side::Target,
        object: None,
        others: Vec::new(),
        message: if from == to {
            format!("source and target are the same cluster: {from}")
        } else {
            format!("source and target are the same cluster: {from} and {to} are two names for it")
        },
        remedies: vec![Remedy::NameOtherTarget],
    }))
}

/// Returns true if a temporary Lease with a unique name, created in the source, appears in the target. Needed where kube-system
/// can't be read.
async fn is_probe_lease_visible(
    (source, target): (&Handle, &Handle),
    kinds: &Kinds,
    namespace: &str,
    run: RunAccess,
) -> Result<bool, Failure> {
    let gk = GroupKind::new("coordination.k8s.io", "Lease");
    let (Some(kind), Some(there)) = (kinds.source.get(&gk), kinds.target.get(&gk)) else { return Ok(false) };
    let name = format!("pivot-host-probe-{}", uuid::Uuid::new_v4());
    let key = Key::new(gk, Some(namespace), &name);
    let body = serde_json::json!({
        "apiVersion": kind.api_version(), "kind": "Lease", "metadata": {"name": name, "namespace": namespace},
    });
    let failed = |error| match error {
        PlaceError::Forbidden(why) => lease::not_allowed(Side::Source, &key, &why),
        error => source.request_failure("telling the two clusters apart with", Some(&key), error),
    };
    let created = match run {
        RunAccess::Writes => {
            RecordNamespace::new(source, &kinds.source, namespace).create_in(kind, &body).await?
        }
        RunAccess::Reads => source.create(kind, &body, Change::Real).await,
    };
    match created {
        // No run has kept records here. If both are one cluster, a plan refuses its objects because their names are taken.
        Err(PlaceError::NotFound(_)) if run == RunAccess::Reads => return Ok(false),
        created => created.map_err(failed)?,
    };
    let seen = target.get(there, &key).await;
    source.delete(kind, &key, Preconditions::default()).await.map_err(failed)?;
    Ok(seen?.is_some())
}
