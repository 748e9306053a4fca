//! Checks of one management cluster, long before a move and without a target.

use std::collections::BTreeSet;

use futures::FutureExt;
use pivot_core::checks::stored_versions::find_outdated_versions;
use pivot_core::messages::refusal::{Refusal, some_of};
use pivot_core::objects::kind::is_kubernetes_group;
use pivot_core::plugins::hooks::Point;
use pivot_core::{GroupKind, Key, Side};
use pivot_places::PlaceError;

use crate::base::events::Event;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::plugins::calls;
use crate::base::requests::side_by_side::{self, OBJECTS, Work};
use crate::check::before_pause::{check_source_objects, refuse_dependents_lost};
use crate::check::dangling::refuse_dangling;
use crate::check::gitops::refuse_active_owners;
use crate::read::snapshot::Snapshot;

/// Most kinds that a warning names.
const MAX_LISTED_KINDS: usize = 3;

/// Checks everything about a move that doesn't depend on its target. `known` are refusals that were found before.
pub(crate) async fn check_source(job: &Job, snapshot: &Snapshot, known: Vec<Refusal>) -> Result<(), Failure> {
    let mut refusals = [known, check_source_objects(job, snapshot)?].concat();
    let (dangling, (lost, _), active, ()) = tokio::try_join!(
        refuse_dangling(job, snapshot, Some(&snapshot.providers)),
        refuse_dependents_lost(job, snapshot),
        refuse_active_owners(job, &snapshot.inventory, snapshot.moved_objects()),
        warn_of_outdated_versions(job, snapshot),
    )?;
    refusals.extend(lost.into_iter().chain(active));
    warn_of_dangling(job, dangling);
    // Plugins report their findings whatever else is wrong.
    let checked = calls::wait_for_checks(job, &snapshot.plugin_view(), Point::BeforePause).await;
    if refusals.is_empty() || matches!(checked, Err(Failure::Halted(_))) {
        return checked;
    }
    if let Err(failure) = checked
        && !matches!(failure, Failure::Gate(_))
    {
        let text = format!("plugins didn't check everything: {failure}");
        job.report(Event::warning("plugins-failed", text));
    }
    Err(Failure::Refused(refusals))
}

/// Warns of objects that stay and are needed. A target has many of them, such as identities that Clusters share.
fn warn_of_dangling(job: &Job, dangling: Vec<Refusal>) {
    for Refusal { code, object, message, mut remedies, .. } in dangling {
        remedies.iter_mut().for_each(|remedy| remedy.name_kubeconfig(&job.options.kubectl_flags));
        let text = format!("{message}: the target must have it, too");
        job.report(Event::Warning { code: code.to_owned(), object, text, remedies });
    }
}

/// Warns of moving objects that are stored in versions which their definitions deprecate.
async fn warn_of_outdated_versions(job: &Job, snapshot: &Snapshot) -> Result<(), Failure> {
    let Ok(definition) = job.core_kind(Side::Source, "apiextensions.k8s.io", "CustomResourceDefinition")
    else {
        return Ok(());
    };
    let kinds: BTreeSet<&GroupKind> = snapshot.plan.steps.iter().map(|step| &step.key.group_kind).collect();
    let defined = kinds.into_iter().filter(|kind| !is_kubernetes_group(&kind.group));
    let reads =
        defined.filter_map(|kind| job.kinds.source.get(kind)).map(|kind| -> Work<'_, Option<String>> {
            async move {
                let name = format!("{}.{}", kind.plural, kind.group_kind.group);
                let key = Key::new(definition.group_kind.clone(), None, name);
                let Some(found) = job.source.get(definition, &key).await? else { return Ok(None) };
                let outdated =
                    find_outdated_versions(&found).map_err(|error| Failure::Object(Side::Source, error))?;
                Ok((!outdated.is_empty()).then(|| format!("{} ({})", kind.group_kind, outdated.join(", "))))
            }
            .boxed()
        });
    let outdated: Vec<String> = match side_by_side::try_all(OBJECTS, reads.collect()).await {
        Ok(found) => found.into_iter().flatten().collect(),
        Err(Failure::Place { error: PlaceError::Forbidden(why), .. }) => {
            let text = format!("definitions can't be read, so stored versions are not checked: {why}");
            job.report(Event::note("definitions-unreadable", text));
            return Ok(());
        }
        Err(failure) => return Err(failure),
    };
    if !outdated.is_empty() {
        let text = format!(
            "objects may be stored in versions that their definitions deprecate or don't serve: migrate them before you upgrade, because a newer \
             release may be unable to read them: {}",
            some_of(&outdated, MAX_LISTED_KINDS)
        );
        job.report(Event::warning("outdated-versions", text));
    }
    Ok(())
}
