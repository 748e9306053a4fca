//! Saved plans for people: one, and how two differ.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::messages::grouping::{MAX_LISTED_NAMES, format_number, format_objects, group_items};
use pivot_core::messages::refusal::some_of;
use pivot_core::plan::InTarget;
use pivot_core::records::saved_plan::{Aspect, Difference, SavedFate, SavedPlan, SavedStep};
use pivot_core::{GroupKind, Key};
use pivot_engine::Options;

use super::text::Text;

/// Most fields that are named beside an object.
const FIELDS: usize = 4;

/// A saved plan, with each object in the order of creation. With `all`, also the objects that stay.
pub(crate) fn saved_plan(plan: &SavedPlan, all: bool) -> Text {
    let SavedPlan {
        made_by, made_at, source, target, decisions, plugins, steps, stays, notes, refusals, ..
    } = plan;
    let mut text = Text::default();
    let to = target.as_ref().map_or("(no target)", |target| &target.label);
    text.strong("Plan:", format!("{}, from {} to {to}", decisions.scope, source.label));
    text.add_line(format!("  made {made_at} by {made_by}, with pivot-host {}", plan.written_by));
    let pins: Vec<String> = plugins.iter().map(|pin| format!("{} {}", pin.name, pin.version)).collect();
    text.add_line(format!(
        "  plugins: {}",
        if pins.is_empty() { "none".to_owned() } else { pins.join(", ") }
    ));
    let accepted = pivot_engine::describe_accepted_risks(
        &Options::new(decisions.scope.clone()).with_approved_plan(plan.clone()),
        None,
    );
    text.add_line(format!(
        "  risks accepted: {}",
        if accepted.is_empty() { "none".to_owned() } else { accepted.join(", ") }
    ));
    text.add_line(format!("  checksum {}", plan.checksum()));
    if !steps.is_empty() {
        text.gap();
        text.add_line(format!("Copied, in the order of creation ({}):", step_counts(steps)));
        steps.iter().for_each(|step| text.add_line(format!("  {}{}", step.object, saved_remarks(step))));
    }
    if !stays.is_empty() {
        text.gap();
        text.add_line(format!("Stays in the source ({}):", format_number(stays.len())));
        if all {
            stays.iter().for_each(|stay| text.add_line(format!("  {}: {}", stay.object, stay.why)));
        } else {
            let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
            stays.iter().for_each(|stay| *reasons.entry(&stay.why).or_default() += 1);
            reasons
                .iter()
                .for_each(|(why, count)| text.add_line(format!("  {:>5}  {why}", format_number(*count))));
            text.add_line("  (-v names them)");
        }
    }
    if !notes.is_empty() {
        text.gap();
        text.add_line("Worth knowing:");
        for group in group_items(notes, |note| {
            (note.object.as_ref(), vec![note.code.to_string(), note.message.clone()])
        }) {
            text.add_line(format!("  - {}", group.line(&group.first.message, MAX_LISTED_NAMES)));
        }
    }
    if !refusals.is_empty() {
        text.gap();
        text.add_line(format!("Problems ({}): this plan can't be carried out", refusals.len()));
        for refusal in refusals {
            text.add_line(format!("  - {}: {}", refusal.side, refusal.message));
            text.add_line(format!("    fix: {}", refusal.remedy));
        }
    }
    text
}

/// `43 objects: 40 moved, 2 kept in the source too, 1 added`
fn step_counts(steps: &[SavedStep]) -> String {
    let of = |fate| steps.iter().filter(|step| step.fate == fate).count();
    format!(
        "{} objects: {} moved, {} kept in the source too, {} added",
        format_number(steps.len()),
        format_number(of(SavedFate::Move)),
        format_number(of(SavedFate::Keep)),
        format_number(of(SavedFate::FromManifest))
    )
}

fn saved_remarks(step: &SavedStep) -> String {
    let mut remarks = Vec::new();
    if step.fate != SavedFate::Move {
        remarks.push(step.why.clone());
    }
    remarks.extend(step.dropped_owners.iter().map(|owner| format!("without its owner {owner}")));
    remarks.extend(foreseen_changes(step.in_target.as_ref(), &step.changes));
    if remarks.is_empty() { String::new() } else { format!("  ({})", remarks.join("; ")) }
}

/// Returns the state of an object in the target, and the changes by plugins.
pub(super) fn foreseen_changes(
    in_target: Option<&InTarget>,
    changes: &[pivot_core::plan::PluginChange],
) -> impl Iterator<Item = String> {
    let there = in_target.map(|in_target| match in_target {
        InTarget::Same => "the target has it".to_owned(),
        InTarget::Differs { fields } if fields.is_empty() => {
            "the target has it, with other content".to_owned()
        }
        InTarget::Differs { fields } => {
            format!("the target has it, with another {}", some_of(fields, FIELDS))
        }
    });
    let changes: Vec<String> = changes
        .iter()
        .map(|change| {
            if change.fields.is_empty() {
                format!("{} changes it", change.by)
            } else {
                let fields: Vec<String> = change.fields.iter().map(|field| describe_field(field)).collect();
                format!("{} changes {}", change.by, some_of(&fields, FIELDS))
            }
        })
        .collect();
    there.into_iter().chain(changes)
}

/// Names an annotation or a label by its key, and another field by its path.
fn describe_field(path: &str) -> String {
    let named = [("/metadata/annotations/", "the annotation"), ("/metadata/labels/", "the label")];
    let found = named.into_iter().find_map(|(parent, what)| Some((what, path.strip_prefix(parent)?)));
    match found {
        Some((what, key)) => format!("{what} {}", key.replace("~1", "/").replace("~0", "~")),
        None => path.to_owned(),
    }
}

/// Returns the differences of a plan from an older one.
pub(crate) fn differences_text(
    old: &SavedPlan,
    new: &SavedPlan,
    differences: &[Difference],
    otherwise: &[Aspect],
) -> Text {
    let mut text = Text::default();
    if differences.is_empty() && otherwise.is_empty() {
        text.add_line(format!(
            "Same: both plans, made {} and {}, copy the same {} objects in the same way.",
            old.made_at,
            new.made_at,
            format_number(new.steps.len())
        ));
    } else {
        text.add_line(format!("The plan made {} differs from that made {}:", new.made_at, old.made_at));
    }
    let mut kinds: BTreeMap<(u8, &str, &GroupKind), BTreeSet<&Key>> = BTreeMap::new();
    for difference in differences {
        let (place, what) = difference_label(difference);
        kinds.entry((place, what, &difference.object().group_kind)).or_default().insert(difference.object());
    }
    for ((_, what, _), objects) in kinds {
        let objects: Vec<&Key> = objects.into_iter().collect();
        text.add_line(format!("  {what:<18} {}", format_objects(&objects, usize::MAX)));
    }
    for aspect in otherwise {
        text.add_line(match aspect {
            Aspect::Source => "  another source",
            Aspect::Target => "  another target",
            Aspect::Decisions => "  something else was asked for, or other risks accepted",
            Aspect::Plugins => "  other plugins, or another configuration of them",
            Aspect::Problems => "  other problems, which prevent that it is carried out",
        });
    }
    text
}

/// Returns the position and the label of a difference in the list.
fn difference_label(difference: &Difference) -> (u8, &'static str) {
    match difference {
        Difference::New(_) => (0, "only in the newer"),
        Difference::Gone(_) => (1, "only in the older"),
        Difference::Replaced(_) => (2, "created again"),
        Difference::Content(_) => (3, "changed"),
        Difference::Fate { is: SavedFate::Keep, .. } => (4, "now kept, too"),
        Difference::Fate { is: SavedFate::Move, .. } => (5, "now moved"),
        Difference::Fate { is: SavedFate::FromManifest, .. } => (6, "now added"),
        Difference::Owners(_) => (7, "other owners"),
        Difference::InTarget(_) => (8, "in the target"),
        Difference::Changes(_) => (9, "other patches"),
    }
}
