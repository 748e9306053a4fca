//! Builds the body of an object's copy, for the dry run and for the phase that copies.

use std::sync::Arc;

use pivot_core::copies::body;
use pivot_core::discovery::implicit_links::{is_cluster, is_cluster_class};
use pivot_core::objects::{merge, names, pause};
use pivot_core::plan::Step;
use pivot_core::records::release::Pausing;
use pivot_core::{Object, OwnerReference, Side};
use serde_json::{Value, json};

use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::plugins::calls::{self, PatchAuthors};
use crate::base::plugins::hooks::Hooks;

/// Returns the body that creates an object's copy, with the changes of plugins, and the plugins that made them.
pub(crate) async fn build_copy_body(
    job: &Job,
    step: &Step,
    object: &Object,
    owners: &[OwnerReference],
) -> Result<(Value, Option<PatchAuthors>), Failure> {
    let kind = job.kind_of_copy(object)?;
    let source = object.value().map_err(|error| Failure::Object(Side::Source, error))?;
    // Files hold the complete object: a later restore needs the status.
    let drops_status = kind.status_subresource && job.target.capabilities().owns_status;
    // A restore also needs the field managers, which a server accepts only after the create.
    let ownership =
        (object.meta.has_applier() && !job.target.capabilities().judges).then(|| field_ownership(&source));
    let mut body =
        body::build_copy_body(source, owners, drops_status, job.copy_mark.annotations(&step.key, &step.uid));
    if !step.treatment().is_in_source() {
        merge::apply_patch(&mut body, &json!({"metadata": {"annotations": {names::ADDED: "true"}}}));
    }
    if let Some(ownership) = ownership {
        merge::apply_patch(&mut body, &ownership);
    }
    if let Some(undo) = undo_pause_in_files(job, object) {
        merge::apply_patch(&mut body, &undo);
    }
    let wanted = calls::ask_to_adapt(job, plugins_of_step(job, step), object).await?;
    if let Some(wanted) = &wanted {
        merge::apply_patch(&mut body, &wanted.patch);
    }
    Ok((body, wanted.map(|wanted| wanted.by)))
}

/// Returns the owner references of an object's copy. Owners have the UIDs of the source.
pub(crate) fn list_owners(job: &Job, step: &Step, object: &Object) -> Result<Vec<OwnerReference>, Failure> {
    let is_dropped =
        |reference: &OwnerReference| step.dropped_owners.iter().any(|owner| owner.uid == reference.uid);
    let kept = object.meta.owner_references.iter().filter(|reference| !is_dropped(reference));
    kept.map(|reference| {
        let kind = job.kind(Side::Target, &reference.group_kind())?;
        // A garbage collector can't follow a reference in a version that its server does not serve.
        let written = reference.api_version.rsplit('/').next().unwrap_or_default();
        let served = kind.served.is_empty() || kind.served.iter().any(|version| version == written);
        let api_version = if served { reference.api_version.clone() } else { kind.api_version() };
        Ok(OwnerReference { api_version, ..reference.clone() })
    })
    .collect()
}

/// Returns the plugins that may change a copy. An also copied object is copied unchanged: plugins may have no access to its
/// namespace.
pub(crate) fn plugins_of_step<'a>(job: &'a Job, step: &Step) -> &'a [Arc<dyn Hooks>] {
    if step.treatment().is_offered_to_plugins() { &job.plugins } else { &[] }
}

/// Returns the patch that undoes this move's pause in the copy in a file.
///
/// Users who restore the files by other means unpause only Clusters and classes. Any other paused object would stay paused.
/// Clusters stay paused in the files, so that none runs before all objects are there. Holds of plugins stay, too.
fn undo_pause_in_files(job: &Job, object: &Object) -> Option<Value> {
    let kind = &object.kind.group_kind;
    let stays = is_cluster(kind) || is_cluster_class(kind) || job.pausing_of(object) != Pausing::Paused;
    (!stays && !job.route.target_runs()).then(|| pause::undo_patch(&object.meta, &job.move_id))?
}

/// Returns the patch that gives a copy the field managers of the source's object.
pub(crate) fn field_ownership(source: &Value) -> Value {
    let fields = source.pointer("/metadata/managedFields").cloned().unwrap_or_else(|| json!([]));
    json!({"metadata": {"managedFields": fields}})
}
