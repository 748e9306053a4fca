//! Asks the target's server whether it would accept each create, before anything is changed.
//!
//! The dry run sends one object for each kind, and every object that a plugin changes or the user adds. With `--dry-run=server`
//! it sends all objects. This checks schema, unknown fields and admission.
//!
//! If an object's namespace doesn't exist yet, the dry run uses an existing one, so that the check creates nothing.

use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt;
use pivot_core::copies::conversion;
use pivot_core::messages::refusal::{Refusal, some_of};
use pivot_core::plan::{ChangingHook, PluginChange, Step};
use pivot_core::plugins::hooks::Hook;
use pivot_core::{Key, Object, OwnerReference, Side};
use pivot_places::{Change, PlaceError, STAND_IN_NAMESPACE};
use serde_json::Value;

use crate::base::job::Job;
use crate::base::options::DryRun;
use crate::base::outcome::failure::Failure;
use crate::base::plugins::calls::{self, PatchAuthors};
use crate::base::requests::side_by_side::{self, DRY_RUNS};
use crate::read::copy_body;
use crate::read::snapshot::Snapshot;

/// Changes that plugins make, by object.
pub(crate) type Changes = BTreeMap<Key, Vec<PluginChange>>;

/// Asks about the plan's objects except the `known` ones. `missing` are the namespaces that the target lacks. Returns the
/// refusals of the target, and the changes that plugins make.
pub(crate) async fn ask_target(
    job: &Job,
    snapshot: &Snapshot,
    known: &BTreeSet<Key>,
    missing: &BTreeSet<String>,
) -> Result<(Vec<Refusal>, Changes), Failure> {
    let new = || snapshot.plan.steps.iter().filter(|step| !known.contains(&step.key));
    let changes = call_pure_hooks(job, snapshot, new()).await?;
    if !job.target.capabilities().judges {
        return Ok((Vec::new(), changes));
    }
    let mut kinds = BTreeSet::new();
    let every = job.options.dry_run == DryRun::Server;
    let asked: Vec<&Step> = new()
        .filter(|step| {
            let first = kinds.insert(&step.key.group_kind);
            let changes = changes.get(&step.key);
            let is_adapted = changes.is_some_and(|all| all.iter().any(|one| one.hook == ChangingHook::Adapt));
            first || every || !step.treatment().is_in_source() || is_adapted
        })
        .collect();
    let answers = asked.into_iter().map(|step| ask_about_step(job, snapshot, step, missing).boxed());
    let refusals = side_by_side::try_all(DRY_RUNS, answers.collect()).await?;
    let mut refusals: Vec<Refusal> = refusals.into_iter().flatten().collect();
    refusals.sort_by(|a, b| a.object.cmp(&b.object));
    Ok((refusals, changes))
}

/// Calls the pure hooks of plugins once for every object, so that a conflict or a patch out of bounds shows before the pause.
async fn call_pure_hooks<'a>(
    job: &Job,
    snapshot: &Snapshot,
    steps: impl Iterator<Item = &'a Step>,
) -> Result<Changes, Failure> {
    let mut changes = Changes::new();
    for step in steps.filter(|step| step.treatment().is_offered_to_plugins()) {
        let object = snapshot.object(step)?;
        let hold = calls::ask_for_patch(&job.plugins, Hook::Hold, object, None).await?;
        let adapt = calls::ask_to_adapt(job, &job.plugins, object).await?;
        for (hook, wanted) in [(ChangingHook::Hold, hold), (ChangingHook::Adapt, adapt)] {
            let Some(wanted) = wanted else { continue };
            let change = PluginChange { hook, by: wanted.by.to_string(), fields: wanted.fields(object) };
            changes.entry(step.key.clone()).or_default().push(change);
        }
    }
    Ok(changes)
}

/// Returns the remedy for a refused object. Users who wrote it themselves are told to change it.
fn remedy_for(step: &Step, otherwise: &str) -> String {
    match step.added_from() {
        Some(file) => {
            format!(
                "write it in {file} as the target stores it (a dry run of `kubectl create` on its server shows how); if the move has \
                 begun already, roll it back first"
            )
        }
        None => otherwise.to_owned(),
    }
}

/// A create that the target's server only validated.
pub(super) struct ValidatedCreate {
    sent: Value,
    adapted: Option<PatchAuthors>,
    pub(super) answer: Result<Object, PlaceError>,
}

/// Sends the dry run of one create. The owners don't exist yet: only the references' shape matters.
pub(super) async fn create_without_effect(
    job: &Job,
    snapshot: &Snapshot,
    step: &Step,
    owners: &[OwnerReference],
    missing: &BTreeSet<String>,
) -> Result<ValidatedCreate, Failure> {
    let object = snapshot.object(step)?;
    let (mut sent, adapted) = copy_body::build_copy_body(job, step, object, owners).await?;
    if step.key.namespace.as_ref().is_some_and(|namespace| missing.contains(namespace))
        && let Some(namespace) = sent.pointer_mut("/metadata/namespace")
    {
        *namespace = job.options.scope.namespace_map.in_source(STAND_IN_NAMESPACE).into();
    }
    let answer = job.target.create(&job.kind_of_copy(object)?, &sent, Change::DryRun).await;
    Ok(ValidatedCreate { sent, adapted, answer })
}

async fn ask_about_step(
    job: &Job,
    snapshot: &Snapshot,
    step: &Step,
    missing: &BTreeSet<String>,
) -> Result<Option<Refusal>, Failure> {
    let owners = copy_body::list_owners(job, step, snapshot.object(step)?)?;
    let ValidatedCreate { sent, adapted, answer } =
        create_without_effect(job, snapshot, step, &owners, missing).await?;
    let own = job.target.own_name(&step.key);
    let refusal = |code, message: String, remedy: &str| {
        let (message, remedy) = match &adapted {
            None => (message, remedy_for(step, remedy).into()),
            Some(by) => (
                format!("{message} (as {by} adapts it)"),
                format!("look at what {by} makes of it, or {remedy}").into(),
            ),
        };
        Refusal {
            code,
            side: Side::Target,
            object: Some(own.clone()),
            others: Vec::new(),
            message,
            remedies: vec![remedy],
        }
    };
    let quoting = |error| adapted.iter().fold(error, |error, by| by.answer(error));
    match answer.map_err(quoting) {
        Ok(answer) => {
            let answer = answer.value().map_err(|error| Failure::Object(Side::Target, error))?;
            let kind = job.kind_of_copy(snapshot.object(step)?)?;
            let lost = conversion::find_lost_fields(&kind, &sent, &answer);
            if lost.is_empty() {
                return Ok(None);
            }
            let lost = adapted.iter().fold(lost, |lost, by| by.fields(lost));
            Ok(Some(refusal(
                "fields-lost",
                match step.added_from() {
                    Some(_) => {
                        format!("the target would not keep {} of {own} as it is written", some_of(&lost, 8))
                    }
                    None => format!("the target would drop {} of {own}", some_of(&lost, 8)),
                },
                "install the same or a newer version of its provider in the target",
            )))
        }
        // The existing object is this move's copy from an earlier run, an object that is used unchanged, or an object of the
        // namespace that stands in. The server has still checked the schema.
        Err(PlaceError::AlreadyExists(_)) => Ok(None),
        Err(
            error @ (PlaceError::Invalid(_)
            | PlaceError::Forbidden(_)
            | PlaceError::NotFound(_)
            | PlaceError::Conflict(_)),
        ) => Ok(Some(refusal(
            "create-refused",
            format!("the target would refuse to create {own}: {error}"),
            "install the same or a newer version of its provider in the target, or correct the object",
        ))),
        Err(error) => Err(job.target.request_failure("asking about", Some(&step.key), error)),
    }
}
