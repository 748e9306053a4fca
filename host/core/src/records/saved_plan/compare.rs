//! Comparison of a saved plan with the objects that a move finds, or with another saved plan.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{End, SavedFate, SavedPlan, SavedStep};
use crate::Key;
use crate::plan::{Content, InTarget, PluginChange, Step};
use crate::records::plugin_set::PluginSet;

/// A difference between an approved plan and the objects that are found, or between two plans.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Difference {
    /// Only the approved plan, or the older one, has the object.
    Gone(Key),
    /// Only what is found, or the newer plan, has the object.
    New(Key),
    /// Another object has its name.
    Replaced(Key),
    /// The object's content differs.
    Content(Key),
    /// The effect on the object differs.
    Fate {
        /// The object.
        object: Key,
        /// Effect in the approved, or older, plan.
        was: SavedFate,
        /// Effect now.
        is: SavedFate,
    },
    /// The copy would lack other owners.
    Owners(Key),
    /// The target has another object with that name.
    InTarget(Key),
    /// Plugins make other changes.
    Changes(Key),
}

impl Difference {
    /// The object.
    pub fn object(&self) -> &Key {
        match self {
            Self::Gone(object)
            | Self::New(object)
            | Self::Replaced(object)
            | Self::Content(object)
            | Self::Fate { object, .. }
            | Self::Owners(object)
            | Self::InTarget(object)
            | Self::Changes(object) => object,
        }
    }
}

/// A step as it is found. Fields that are `None` were not read, and are not compared.
#[derive(Clone, Debug)]
pub struct Found<'a> {
    /// The step.
    pub step: &'a Step,
    /// The object's content.
    pub content: Option<Content>,
    /// Object of the target with that name.
    pub in_target: Option<Option<InTarget>>,
    /// Changes by plugins.
    pub changes: Option<Vec<PluginChange>>,
}

/// Compares a saved plan with the steps that are found.
pub fn compare_with_found<'a>(
    plan: &SavedPlan,
    found: impl IntoIterator<Item = Found<'a>>,
) -> Vec<Difference> {
    let found = found.into_iter().map(|Found { step, content, in_target, changes }| {
        (&step.key, move |was: &SavedStep| {
            let content = content.or_else(|| was.content.clone());
            let in_target = in_target.unwrap_or_else(|| was.in_target.clone());
            let changes = changes.unwrap_or_else(|| was.changes.clone());
            compare_step(was, &SavedStep { content, in_target, changes, ..SavedStep::from(step) })
        })
    });
    compare_steps(plan, found)
}

/// Compares a saved plan with an older one.
pub fn compare_plans(old: &SavedPlan, new: &SavedPlan) -> Vec<Difference> {
    compare_steps(old, new.steps.iter().map(|step| (&step.object, |was: &SavedStep| compare_step(was, step))))
}

/// Returns the differences, sorted by their type, then by name.
fn compare_steps<'a>(
    old: &SavedPlan,
    new: impl Iterator<Item = (&'a Key, impl FnOnce(&SavedStep) -> Option<Difference>)>,
) -> Vec<Difference> {
    let mut before: BTreeMap<&Key, &SavedStep> = old.steps.iter().map(|step| (&step.object, step)).collect();
    let mut differences = Vec::new();
    for (object, differs_from) in new {
        match before.remove(object) {
            None => differences.push(Difference::New(object.clone())),
            Some(was) => differences.extend(differs_from(was)),
        }
    }
    differences.extend(before.into_keys().cloned().map(Difference::Gone));
    differences.sort_unstable();
    differences
}

/// A difference between two plans in an object that stays in the source in at least one of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum StayDifference {
    /// The older plan copies the object, and the newer one leaves it in the source.
    NowStays(Key),
    /// The older plan leaves the object in the source, and the newer one copies it.
    NowCopied(Key),
    /// Only the newer plan lists the object.
    New(Key),
    /// Only the older plan lists the object.
    Gone(Key),
    /// The object stays for another reason.
    Reason(Key),
}

impl StayDifference {
    /// The object.
    pub fn object(&self) -> &Key {
        match self {
            Self::NowStays(object)
            | Self::NowCopied(object)
            | Self::New(object)
            | Self::Gone(object)
            | Self::Reason(object) => object,
        }
    }
}

/// Compares the objects that stay with the staying objects of an older plan. Returns the differences, sorted by their type, then by name.
pub fn compare_stays(old: &SavedPlan, new: &SavedPlan) -> Vec<StayDifference> {
    let find_stays = |plan: &'_ SavedPlan| -> BTreeMap<Key, String> {
        plan.stays.iter().map(|stay| (stay.object.clone(), stay.why.clone())).collect()
    };
    let find_copied =
        |plan: &SavedPlan| -> BTreeSet<Key> { plan.steps.iter().map(|step| step.object.clone()).collect() };
    let (copied_before, copied_now) = (find_copied(old), find_copied(new));
    let mut before = find_stays(old);
    let mut differences = Vec::new();
    for (object, why) in find_stays(new) {
        match before.remove(&object) {
            None if copied_before.contains(&object) => differences.push(StayDifference::NowStays(object)),
            None => differences.push(StayDifference::New(object)),
            Some(was) if was != why => differences.push(StayDifference::Reason(object)),
            Some(_) => {}
        }
    }
    differences.extend(before.into_keys().map(|object| match copied_now.contains(&object) {
        true => StayDifference::NowCopied(object),
        false => StayDifference::Gone(object),
    }));
    differences.sort_unstable();
    differences
}

/// An aspect of a plan, other than its objects, that can differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Aspect {
    /// The plan was made for another source.
    Source,
    /// The plan was made for another target.
    Target,
    /// Something else was asked for, or other dangers accepted.
    Decisions,
    /// Other plugins took part.
    Plugins,
    /// Other reasons prevent that it is carried out.
    Problems,
    /// The run that made the plan had other warnings.
    Warnings,
}

/// Returns the aspects, other than objects, in which a saved plan differs from an older one.
pub fn aspects_between(old: &SavedPlan, new: &SavedPlan) -> Vec<Aspect> {
    // A signature that came in between makes no other plugin.
    let plugins = |plan: &SavedPlan| plan.plugins.iter().collect::<PluginSet>();
    // Where files lie says nothing about a source, and everything about a target.
    let target = |plan: &SavedPlan| {
        let label = |end: &End| end.files.map(|_| end.label.clone());
        plan.target.as_ref().map(|end| (end.identity.clone(), end.files, label(end)))
    };
    let aspects = [
        (Aspect::Source, old.source.identity != new.source.identity),
        (Aspect::Target, target(old) != target(new)),
        (Aspect::Decisions, old.decisions != new.decisions),
        (Aspect::Plugins, !plugins(old).matches(&plugins(new))),
        (Aspect::Problems, old.refusals != new.refusals),
        (Aspect::Warnings, old.warnings != new.warnings),
    ];
    aspects.into_iter().filter(|(_, differs)| *differs).map(|(aspect, _)| aspect).collect()
}

fn compare_step(was: &SavedStep, now: &SavedStep) -> Option<Difference> {
    let object = || was.object.clone();
    // The first that differs explains the others.
    let checks = [
        (was.uid != now.uid).then(|| Difference::Replaced(object())),
        (was.fate != now.fate).then(|| Difference::Fate { object: object(), was: was.fate, is: now.fate }),
        (was.content != now.content).then(|| Difference::Content(object())),
        (dropped_owners(was) != dropped_owners(now)).then(|| Difference::Owners(object())),
        (was.in_target != now.in_target).then(|| Difference::InTarget(object())),
        (was.changes != now.changes).then(|| Difference::Changes(object())),
    ];
    checks.into_iter().flatten().next()
}

fn dropped_owners(step: &SavedStep) -> BTreeSet<&String> {
    step.dropped_owners.iter().collect()
}
