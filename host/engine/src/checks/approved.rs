//! Whether a move would do what its saved plan says, and nothing else.
//!
//! Compared three times: before the pause, when the source is paused, and before the commit if the source has changed by then. What
//! differs is undone as far as that is possible: a plan that was approved is carried out, or it isn't.

use pivot_core::record::{Pin, Record};
use pivot_core::refusal::{Refusal, some_of};
use pivot_core::saved_plan::{Difference, Found, SavedFate, SavedPlan, content_of, differences};
use pivot_core::{Side, Uid};

use crate::checks::before_pause::TargetState;
use crate::job::Job;
use crate::outcome::failure::Failure;
use crate::snapshot::Snapshot;

/// What to do about a plan that doesn't hold any more.
const AGAIN: &str = "make a new plan, and have that one approved";

/// Whether a run that continues a move was given the plan that the move was begun with.
pub(crate) fn same(record: &Record, given: Option<&SavedPlan>) -> Result<(), Failure> {
    let id = &record.move_id;
    let why = match (&record.plan, given.map(SavedPlan::checksum)) {
        (None, None) => return Ok(()),
        (Some(begun), Some(given)) if begun == given => return Ok(()),
        (Some(_), None) => {
            format!("move {id} carries out a saved plan, and needs its file until it is committed")
        }
        (Some(_), Some(_)) => format!("move {id} was begun to carry out another plan"),
        (None, Some(_)) => format!("move {id} was begun without a saved plan"),
    };
    Err(Failure::Inputs(why))
}

/// Refuses what differs from the approved plan before anything is paused. `begun` says that an earlier run of the move has paused
/// the source already: then plugins have made their changes there, and are not compared.
pub(crate) fn before_pause(
    job: &Job,
    snapshot: &Snapshot,
    target: &TargetState,
    (record, begun): (&Record, bool),
) -> Result<(), Failure> {
    let Some(plan) = &job.options.approved else { return Ok(()) };
    let mut refusals: Vec<Refusal> = of_sides(job, plan, record).into_iter().collect();
    refusals.extend(of_inputs(job, plan));
    if refusals.is_empty() {
        refusals = of_objects(job, plan, snapshot, (!begun).then_some(target))?;
    }
    if refusals.is_empty() { Ok(()) } else { Err(Failure::Refused(refusals)) }
}

/// The same for a later reading of the source.
pub(crate) fn still(job: &Job, snapshot: &Snapshot) -> Result<(), Failure> {
    let Some(plan) = &job.options.approved else { return Ok(()) };
    let refusals = of_objects(job, plan, snapshot, None)?;
    if refusals.is_empty() { Ok(()) } else { Err(Failure::Refused(refusals)) }
}

fn refused(side: Side, message: impl Into<String>) -> Refusal {
    let (code, message) = ("plan-differs", message.into());
    Refusal { code, side, object: None, others: Vec::new(), message, remedies: vec![AGAIN.into()] }
}

/// Whether the plan was made for these two sides.
fn of_sides(job: &Job, plan: &SavedPlan, record: &Record) -> Option<Refusal> {
    let other = |planned: &Option<Uid>, is: &Option<Uid>| planned.is_some() && planned != is;
    let Some(target) = &plan.target else {
        return Some(refused(Side::Target, "the plan was made without a target"));
    };
    let ends = [(Side::Source, &plan.source, &record.source), (Side::Target, target, &record.target)];
    ends.into_iter().find(|(_, planned, is)| other(&planned.identity, is)).map(|(side, planned, _)| {
        let is = job.handle(side).place.label();
        refused(side, format!("the plan was made for another {side}, {}: this one is {is}", planned.label))
    })
}

/// Whether plugins and files are those of the plan, and whether it can be carried out at all.
fn of_inputs(job: &Job, plan: &SavedPlan) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    if !plan.refusals.is_empty() {
        let codes: Vec<&str> = plan.refusals.iter().map(|refusal| refusal.code.as_str()).collect();
        let message = format!("the plan has problems and can't be carried out: {}", some_of(&codes, 5));
        refusals.push(refused(Side::Source, message));
    }
    let described = |pin: &Pin| (pin.name.clone(), pin.digest.clone());
    let mut planned: Vec<_> = plan.plugins.iter().map(described).collect();
    let mut now: Vec<_> = job.plugins.iter().map(|plugin| described(&Pin::from(plugin.describe()))).collect();
    planned.sort_unstable();
    now.sort_unstable();
    if planned != now {
        let names = |pins: &[(String, String)]| match pins.is_empty() {
            true => "none".to_owned(),
            false => some_of(&pins.iter().map(|(name, _)| name).collect::<Vec<_>>(), 8),
        };
        let message = format!(
            "other plugins, or with another configuration, take part than in the plan: {}, and in the plan {}",
            names(&now),
            names(&planned)
        );
        refusals.push(refused(Side::Source, message));
    }
    if plan.decisions.scope.added != job.options.scope.added {
        let message = "the files of what is added have other objects, or other contents, than the plan says";
        refusals.push(refused(Side::Target, message));
    }
    refusals
}

fn of_objects(
    job: &Job,
    plan: &SavedPlan,
    snapshot: &Snapshot,
    target: Option<&TargetState>,
) -> Result<Vec<Refusal>, Failure> {
    let mut found = Vec::with_capacity(snapshot.plan.steps.len());
    for step in &snapshot.plan.steps {
        let content = content_of(snapshot.object(step)?);
        let content = Some(content.map_err(|error| Failure::Object(Side::Source, error))?);
        let asked = target.map(|state| {
            let changes = state.changes.get(&step.key).cloned().unwrap_or_default();
            (state.in_target.get(&step.key).cloned(), changes)
        });
        found.push(Found { step, content, asked });
    }
    Ok(differences(plan, found).into_iter().map(|difference| in_words(job, difference)).collect())
}

fn in_words(job: &Job, difference: Difference) -> Refusal {
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
        Difference::Fate { was, is, .. } => {
            (Side::Source, format!("{object} would be {}, and in the plan it is {}", fate(*is), fate(*was)))
        }
        Difference::Owners(_) => {
            (Side::Source, format!("the copy of {object} would lack other owners than the plan says"))
        }
        Difference::InTarget(_) => {
            let own = job.target.own_name(&object);
            (Side::Target, format!("what the target has as {own} is not what the plan says"))
        }
        Difference::Changes(_) => {
            (Side::Source, format!("plugins would change {object} otherwise than the plan says"))
        }
    };
    Refusal { object: Some(object), ..refused(side, message) }
}

fn fate(fate: SavedFate) -> &'static str {
    match fate {
        SavedFate::Move => "moved",
        SavedFate::Keep => "copied and kept",
        SavedFate::Add => "added",
    }
}
