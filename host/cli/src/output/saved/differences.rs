//! Differences between two saved plans: objects that came, went or changed, and other aspects with what each plan has alone.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::messages::grouping::{format_number, format_objects};
use pivot_core::records::saved_plan::{
    Aspect, Decisions, Difference, End, SavedFate, SavedPlan, StayDifference,
};
use pivot_core::request::manifest_object::Added;
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_core::{GroupKind, Key};
use serde::Serialize;

use crate::output::happened::ReportedRisk;
use crate::output::text::Text;

/// Most lines of a section.
const MAX_SECTION_LINES: usize = 20;
/// Most names in a line.
const MAX_NAMES: usize = 5;
/// Characters of a digest that tell two apart.
const DIGEST_CHARACTERS: usize = 12;

/// Two saved plans, and their differences.
#[derive(Clone, Copy)]
pub(crate) struct ComparedPlans<'a> {
    pub(crate) old: &'a SavedPlan,
    pub(crate) new: &'a SavedPlan,
    pub(crate) differences: &'a [Difference],
    pub(crate) stays: &'a [StayDifference],
    pub(crate) changes: &'a [AspectChange],
}

/// An aspect in which two plans differ, and the lines about it that only one of them has.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct AspectChange {
    aspect: Aspect,
    removed: Vec<String>,
    added: Vec<String>,
}

/// Lists what only the older and only the newer plan has, for each aspect in which they differ.
pub(crate) fn list_aspect_changes(old: &SavedPlan, new: &SavedPlan, aspects: &[Aspect]) -> Vec<AspectChange> {
    let changes = aspects.iter().map(|&aspect| {
        let [before, after] = [old, new].map(|plan| aspect_lines(aspect, plan));
        AspectChange {
            aspect,
            removed: before.difference(&after).cloned().collect(),
            added: after.difference(&before).cloned().collect(),
        }
    });
    changes.collect()
}

/// Describes one aspect of a plan, in a line for each part that can differ by itself.
fn aspect_lines(aspect: Aspect, plan: &SavedPlan) -> BTreeSet<String> {
    match aspect {
        Aspect::Source => BTreeSet::from([describe_end(&plan.source)]),
        Aspect::Target => BTreeSet::from([plan.target.as_ref().map_or("none".to_owned(), describe_end)]),
        Aspect::Decisions => decision_lines(&plan.decisions),
        Aspect::Plugins => {
            let pins = plan.plugins.iter();
            pins.map(|pin| {
                let digest: String = pin.digest.chars().take(DIGEST_CHARACTERS).collect();
                format!("{} {}, with its configuration {digest}", pin.name, pin.version)
            })
            .collect()
        }
        Aspect::Problems => {
            let problems = plan.refusals.iter();
            problems.map(|one| format!("{}: {}; {}", one.side, one.message, one.remedy)).collect()
        }
        Aspect::Warnings => {
            let warnings = plan.warnings.iter();
            warnings
                .map(|one| match &one.object {
                    Some(object) if !one.message.contains(&object.to_string()) => {
                        format!("{object}: {}", one.message)
                    }
                    _ => one.message.clone(),
                })
                .collect()
        }
    }
}

fn describe_end(end: &End) -> String {
    let identity = end.identity.as_ref().map_or("unknown", |identity| identity.0.as_str());
    let files = end.files.map(|files| format!(", {files}")).unwrap_or_default();
    format!("{}, identity {identity}{files}", end.label)
}

/// A line for each decision, with the flag that makes it.
fn decision_lines(decisions: &Decisions) -> BTreeSet<String> {
    let Decisions { scope, accept, handover } = decisions;
    let Scope { namespaces, clusters, exclude, also_copy, from_manifests, namespace_map, accept: of_scope } =
        scope;
    let mut lines = BTreeSet::from([match namespaces {
        Namespaces::All => "all namespaces".to_owned(),
        Namespaces::One(one) => format!("namespace {one}"),
    }]);
    lines.extend(clusters.iter().map(|name| format!("--cluster {name}")));
    lines.extend(exclude.iter().map(|part| format!("--exclude {part}")));
    lines.extend(also_copy.iter().map(|part| format!("--also-copy {part}")));
    lines.extend(from_manifests.iter().map(|Added { object, uid }| {
        format!("--with-manifest, which adds {object} with the content {}", uid.0)
    }));
    if !namespace_map.is_empty() {
        lines.insert(format!("--map-namespace {namespace_map}"));
    }
    if *handover {
        lines.insert("handover start".to_owned());
    }
    let risks = of_scope.iter().chain(accept.iter());
    lines.extend(risks.map(|(code, kinds)| ReportedRisk::new(code, kinds.iter().cloned()).text));
    lines
}

/// Prints how a plan differs from an older one. With `all`, lists are not shortened.
pub(crate) fn differences_text(compared: ComparedPlans<'_>, all: bool) -> Text {
    let ComparedPlans { old, new, differences, stays, changes } = compared;
    let mut text = Text::default();
    if differences.is_empty() && stays.is_empty() && changes.is_empty() {
        text.add_line(format!(
            "Same: both plans, made {} and {}, copy the same {} objects in the same way.",
            old.made_at,
            new.made_at,
            format_number(new.steps.len())
        ));
        return text;
    }
    text.add_line(format!("The plan made {} differs from the plan made {}:", new.made_at, old.made_at));
    let names = if all { usize::MAX } else { MAX_NAMES };
    // An object that stays in one plan and is copied in the other is listed once.
    let moved: BTreeSet<&Key> =
        stays.iter().filter(|one| changes_fate(one)).map(StayDifference::object).collect();
    let copied = differences
        .iter()
        .filter(|one| {
            !(moved.contains(one.object()) && matches!(one, Difference::New(_) | Difference::Gone(_)))
        })
        .map(|one| (difference_label(one), one.object()));
    let stays = stays.iter().map(|one| (stay_label(one), one.object()));
    let mut groups: BTreeMap<((u8, &str), &GroupKind), BTreeSet<&Key>> = BTreeMap::new();
    for (label, object) in copied.chain(stays) {
        groups.entry((label, &object.group_kind)).or_default().insert(object);
    }
    let number: usize = groups.values().map(BTreeSet::len).sum();
    let lines = groups.into_iter().map(|(((_, label), _), objects)| {
        let objects: Vec<&Key> = objects.into_iter().collect();
        format!("  {label:<28} {}", format_objects(&objects, names))
    });
    add_section(&mut text, &format!("Objects ({})", format_number(number)), lines.collect(), all);
    for AspectChange { aspect, removed, added } in changes {
        let removed = removed.iter().map(|line| format!("  - {line}"));
        let mut lines: Vec<String> = removed.chain(added.iter().map(|line| format!("  + {line}"))).collect();
        if lines.is_empty() {
            lines.push("  in details that -o json of `plan show` has".to_owned());
        }
        add_section(&mut text, aspect_label(*aspect), lines, all);
    }
    text
}

fn add_section(text: &mut Text, head: &str, lines: Vec<String>, all: bool) {
    if lines.is_empty() {
        return;
    }
    text.gap();
    text.add_line(format!("{head}:"));
    let shown = if all || lines.len() <= MAX_SECTION_LINES + 1 { lines.len() } else { MAX_SECTION_LINES };
    let more = lines.len() - shown;
    lines.into_iter().take(shown).for_each(|line| text.add_line(line));
    if more > 0 {
        text.add_line(format!("  and {} more lines; -v shows them", format_number(more)));
    }
}

fn aspect_label(aspect: Aspect) -> &'static str {
    match aspect {
        Aspect::Source => "Source",
        Aspect::Target => "Target",
        Aspect::Decisions => "Flags and accepted risks",
        Aspect::Plugins => "Plugins",
        Aspect::Problems => "Problems, which refuse a move",
        Aspect::Warnings => "Warnings",
    }
}

/// Returns true if one plan copies the object and the other doesn't.
fn changes_fate(difference: &StayDifference) -> bool {
    matches!(difference, StayDifference::NowStays(_) | StayDifference::NowCopied(_))
}

/// Returns the position and the label of a difference in the list.
fn difference_label(difference: &Difference) -> (u8, &'static str) {
    match difference {
        Difference::New(_) => (0, "only in the newer"),
        Difference::Gone(_) => (1, "only in the older"),
        Difference::Replaced(_) => (4, "created again"),
        Difference::Content(_) => (5, "changed"),
        Difference::Fate { is: SavedFate::Keep, .. } => (6, "now kept, too"),
        Difference::Fate { is: SavedFate::Move, .. } => (7, "now moved"),
        Difference::Fate { is: SavedFate::FromManifest, .. } => (8, "now added"),
        Difference::Owners(_) => (9, "other owners"),
        Difference::InTarget(_) => (10, "in the target"),
        Difference::Changes(_) => (11, "other patches"),
    }
}

/// Returns the position and the label of a difference in the list.
fn stay_label(difference: &StayDifference) -> (u8, &'static str) {
    match difference {
        StayDifference::NowStays(_) => (2, "copied before, stays now"),
        StayDifference::NowCopied(_) => (3, "stayed before, copied now"),
        StayDifference::New(_) => (12, "stays, only in the newer"),
        StayDifference::Gone(_) => (13, "stays, only in the older"),
        StayDifference::Reason(_) => (14, "stays for another reason"),
    }
}
