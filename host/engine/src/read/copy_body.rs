//! The body of an object's copy. The dry run sends it before the phase that copies does.

use std::sync::Arc;

use pivot_core::hooks::Hook;
use pivot_core::plan::Step;
use pivot_core::release::Pausing;
use pivot_core::soft::{is_cluster, is_cluster_class};
use pivot_core::{Object, OwnerReference, Side, body, merge, names, pause};
use serde_json::{Value, json};

use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::plugins::calls::{self, Authors};
use crate::base::plugins::hooks::Hooks;

/// The body that creates an object's copy, with plugins' changes, and the plugins that made them.
pub(crate) async fn build_copy_body(
    job: &Job,
    step: &Step,
    object: &Object,
    owners: &[OwnerReference],
) -> Result<(Value, Option<Authors>), Failure> {
    let kind = job.kind_of_copy(object)?;
    let source = object.value().map_err(|error| Failure::Object(Side::Source, error))?;
    // Files hold the complete object: a later restore needs the status.
    let drops_status = kind.status_subresource && job.target.capabilities().owns_status;
    // It also needs the field managers, which a server accepts only after the create.
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
    let wanted = calls::ask_for_patch(plugins_of_step(job, step), Hook::Adapt, object, None).await?;
    if let Some(wanted) = &wanted {
        merge::apply_patch(&mut body, &wanted.patch);
    }
    Ok((body, wanted.map(|wanted| wanted.by)))
}

/// The plugins that may change a copy. What the user carries along is copied as it is: it may come from where no plugin may look.
pub(crate) fn plugins_of_step<'a>(job: &'a Job, step: &Step) -> &'a [Arc<dyn Hooks>] {
    if step.treatment().is_offered_to_plugins() { &job.plugins } else { &[] }
}

/// Objects that this move paused go into files as they were before: users who restore the files by other means unpause Clusters
/// and classes, and would leave anything else paused for good. Clusters stay paused, so that none runs before everything is
/// there, and plugins' holds stay too.
fn undo_pause_in_files(job: &Job, object: &Object) -> Option<Value> {
    let kind = &object.kind.group_kind;
    let stays = is_cluster(kind) || is_cluster_class(kind) || job.pausing_of(object) != Pausing::Paused;
    (!stays && !job.route.target_runs()).then(|| pause::undo(&object.meta, &job.move_id))?
}

/// The patch that makes the source's field managers those of a copy.
pub(crate) fn field_ownership(source: &Value) -> Value {
    let fields = source.pointer("/metadata/managedFields").cloned().unwrap_or_else(|| json!([]));
    json!({"metadata": {"managedFields": fields}})
}
