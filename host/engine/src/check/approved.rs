//! Checks that a move matches its saved plan exactly.
//!
//! The comparison runs three times: before the pause, when the source is paused, and before the commit if the source has
//! changed by then. On a difference, everything that can be undone is undone.

use pivot_core::Side;
use pivot_core::messages::refusal::{Refusal, some_of};
use pivot_core::records::plugin_set::PluginSet;
use pivot_core::records::record::Record;
use pivot_core::records::saved_plan::{
    Difference, End, Files, Found, SavedFate, SavedPlan, compare_with_found, content_of,
};
use pivot_places::{Identity, Place, PlaceError};

use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::check::before_pause::TargetState;
use crate::read::snapshot::Snapshot;

/// Remedy for a plan that doesn't match any more.
const MAKE_NEW_PLAN: &str = "make a new plan, and have it approved";
/// Remedy for a plan that doesn't match any more, once the move is under way.
const ROLL_BACK_FIRST: &str = "roll the move back, make a new plan, and have it approved";

/// Checks that a run which continues a move has the plan that the move was begun with. After the commit the plan is optional,
/// but another plan would bring other decisions.
pub(crate) fn check_same_plan(record: &Record, given: Option<&SavedPlan>) -> Result<(), Failure> {
    let id = &record.move_id;
    let why = match (&record.plan_checksum, given.map(SavedPlan::checksum)) {
        (None, None) => return Ok(()),
        (Some(_), None) if record.phase.is_committed() => return Ok(()),
        (Some(begun), Some(given)) if begun == given => return Ok(()),
        (Some(_), None) => {
            format!("move {id} carries out a saved plan, and needs its file until it is committed")
        }
        (Some(_), Some(_)) => format!("move {id} was begun to carry out another plan"),
        (None, Some(_)) => format!("move {id} was begun without a saved plan, and continues without"),
    };
    Err(Failure::Inputs(why))
}

/// Refuses other sides than the plan's before they are read. Another cluster may have nothing to move, which some users accept.
pub(crate) fn check_sides(job: &Job, record: &Record) -> Result<(), Failure> {
    let refusal = job.options.approved.as_deref().and_then(|plan| compare_sides(job, plan, record));
    refusal.map_or(Ok(()), |refusal| Err(Failure::from_refusal(refusal)))
}

/// Refuses differences from the approved plan before anything is paused.
///
/// `begun` means that an earlier run of the move has paused the source already. Plugins have then made their changes there, and
/// these are not compared.
pub(crate) fn check_before_pause(
    job: &Job,
    snapshot: &Snapshot,
    target: &TargetState,
    begun: bool,
) -> Result<(), Failure> {
    let Some(plan) = &job.options.approved else { return Ok(()) };
    let mut refusals = compare_inputs(job, plan);
    if refusals.is_empty() {
        refusals = compare_objects(job, plan, snapshot, (Some(target), begun))?;
    }
    if refusals.is_empty() { Ok(()) } else { Err(Failure::Refused(refusals)) }
}

/// Refuses differences from the approved plan in a later reading of the source.
pub(crate) fn check_after_pause(job: &Job, snapshot: &Snapshot) -> Result<(), Failure> {
    let Some(plan) = &job.options.approved else { return Ok(()) };
    let refusals = compare_objects(job, plan, snapshot, (None, true))?;
    if refusals.is_empty() { Ok(()) } else { Err(Failure::Refused(refusals)) }
}

fn refuse_difference(side: Side, message: impl Into<String>) -> Refusal {
    let (code, message) = ("plan-differs", message.into());
    Refusal { code, side, object: None, others: Vec::new(), message, remedies: vec![MAKE_NEW_PLAN.into()] }
}

/// Returns a refusal if the plan was made for other sides.
fn compare_sides(job: &Job, plan: &SavedPlan, record: &Record) -> Option<Refusal> {
    let Some(target) = &plan.target else {
        return Some(refuse_difference(Side::Target, "the plan was made without a target"));
    };
    let ends = [(Side::Source, &plan.source, &record.source), (Side::Target, target, &record.target)];
    let (side, planned, _) = ends.into_iter().find(|(side, planned, is)| {
        let place = &job.handle(*side).place;
        match (planned.files, file_format_of(&**place), side) {
            // The run that made the plan could not read the clusters' identities, so any cluster would do.
            (None, None, _) => planned.identity.is_none() || planned.identity != **is,
            // Files may have come here from elsewhere: they are compared object by object.
            (Some(_), Some(_), Side::Source) => false,
            (Some(planned_as), Some(written_as), Side::Target) => {
                planned_as != written_as || planned.label != place.label()
            }
            _ => true,
        }
    })?;
    let place = &job.handle(side).place;
    let how = |files: Option<Files>| files.map(|files| format!(", {files}")).unwrap_or_default();
    let (was, is) = (how(planned.files), how(file_format_of(&**place)));
    let message = format!(
        "the plan was made for another {side}, {}{was}: this one is {}{is}",
        planned.label,
        place.label()
    );
    let remedies = vec![format!("name the {side} that the plan was made for, or {MAKE_NEW_PLAN}").into()];
    Some(Refusal { remedies, ..refuse_difference(side, message) })
}

/// Reads one side as a plan names it.
pub async fn read_end(place: &dyn Place) -> Result<End, PlaceError> {
    let identity = match place.identify().await? {
        Identity::Cluster(uid) => Some(uid),
        Identity::Directory { contents, .. } => contents,
        Identity::Unknown => None,
    };
    Ok(End { label: place.label().to_owned(), identity, files: file_format_of(place) })
}

fn file_format_of(place: &dyn Place) -> Option<Files> {
    let files = if place.capabilities().encrypts { Files::Encrypted } else { Files::Plain };
    place.end_kind().is_files().then_some(files)
}

/// Returns refusals if plugins or manifests differ from the plan's, or if the plan itself has problems.
fn compare_inputs(job: &Job, plan: &SavedPlan) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    if !plan.refusals.is_empty() {
        let codes: Vec<&str> = plan.refusals.iter().map(|refusal| refusal.code.as_str()).collect();
        let message = format!("the plan has problems and can't be carried out: {}", some_of(&codes, 5));
        refusals.push(refuse_difference(Side::Source, message));
    }
    let (planned, now): (PluginSet, _) = (plan.plugins.iter().collect(), job.plugin_set());
    if !now.matches(&planned) {
        let differences = now.describe_differences(&planned);
        let message = format!("the plugins or their configuration differ from the plan: {differences}");
        refusals.push(refuse_difference(Side::Source, message));
    }
    if plan.decisions.scope.from_manifests != job.options.scope.from_manifests {
        let message = "the files of what is added have other objects, or other contents, than the plan says";
        refusals.push(refuse_difference(Side::Target, message));
    }
    refusals
}

fn compare_objects(
    job: &Job,
    plan: &SavedPlan,
    snapshot: &Snapshot,
    (target, begun): (Option<&TargetState>, bool),
) -> Result<Vec<Refusal>, Failure> {
    let mut found = Vec::with_capacity(snapshot.plan.steps.len());
    for step in &snapshot.plan.steps {
        let kind = &step.key.group_kind;
        // When a plugin holds a Secret, its version changes, so a change by others doesn't show.
        let held = (begun || target.is_none()) && kind.is_secret() && job.is_held_kind(kind);
        let content = content_of(snapshot.object(step)?, &job.move_id);
        let content = (!held).then_some(content.map_err(|error| Failure::Object(Side::Source, error))?);
        let in_target = target.map(|state| state.in_target.get(&step.key).cloned());
        // An object that plugins hold already is not held again.
        let changes = target.filter(|_| !begun).map(|state| state.changes.get(&step.key).cloned());
        let changes = changes.map(Option::unwrap_or_default);
        found.push(Found { step, content, in_target, changes });
    }
    Ok(compare_with_found(plan, found)
        .into_iter()
        .map(|difference| describe_difference(job, difference, begun))
        .collect())
}

fn describe_difference(job: &Job, difference: Difference, begun: bool) -> Refusal {
    let object = difference.object().clone();
    let (side, message) = match &difference {
        Difference::Gone(_) => {
            (Side::Source, format!("{object} is in the plan, and would not be moved any more"))
        }
        Difference::New(_) => (Side::Source, format!("{object} is not in the plan, and would be moved now")),
        Difference::Replaced(_) => {
            (Side::Source, format!("{object} was deleted and created again since the plan was made"))
        }
        Difference::Content(_) => (Side::Source, format!("{object} has changed since the plan was made")),
        Difference::Fate { was, is, .. } => (
            Side::Source,
            format!(
                "{object} would be {}, and in the plan it is {}",
                describe_fate(*is),
                describe_fate(*was)
            ),
        ),
        Difference::Owners(_) => {
            (Side::Source, format!("the copy of {object} would lack other owners than the plan says"))
        }
        Difference::InTarget(_) => {
            let own = job.target.own_name(&object);
            (Side::Target, format!("{own} of the target is not what the plan says"))
        }
        Difference::Changes(_) => {
            (Side::Source, format!("plugins would change {object} otherwise than the plan says"))
        }
    };
    let mut refusal = Refusal { object: Some(object.clone()), ..refuse_difference(side, message) };
    // Other content can be restored, but a version can't.
    let for_good = matches!(difference, Difference::Content(_)) && object.group_kind.is_secret();
    if begun {
        let again = if for_good {
            ROLL_BACK_FIRST.to_owned()
        } else {
            format!("put that back and resume; or {ROLL_BACK_FIRST}")
        };
        refusal.remedies = vec![again.into()];
    }
    refusal
}

fn describe_fate(fate: SavedFate) -> &'static str {
    match fate {
        SavedFate::Move => "moved",
        SavedFate::Keep => "copied and kept",
        SavedFate::FromManifest => "added",
    }
}
