//! Comparing a saved plan with what a move finds, or with another saved plan.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{End, SavedFate, SavedPlan, SavedStep};
use crate::Key;
use crate::plan::{Content, InTarget, PluginChange, Step};
use crate::plugin_set::PluginSet;

/// A difference between what was approved and what is found, or between two plans.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Difference {
    /// Only the approved plan, or the older one, has the object.
    Gone(Key),
    /// Only what is found, or the newer plan, has the object.
    New(Key),
    /// Another object has its name.
    Replaced(Key),
    /// Its content differs.
    Content(Key),
    /// Something else happens to it.
    Fate {
        /// The object.
        object: Key,
        /// What was to happen.
        was: SavedFate,
        /// What would happen now.
        is: SavedFate,
    },
    /// Its copy would lack other owners.
    Owners(Key),
    /// The target has something else under its name.
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

/// A step as it is found. What is `None` was not asked about, and is not compared.
#[derive(Clone, Debug)]
pub struct Found<'a> {
    /// The step.
    pub step: &'a Step,
    /// The object's content.
    pub content: Option<Content>,
    /// What the target has under its name.
    pub in_target: Option<Option<InTarget>>,
    /// What plugins change.
    pub changes: Option<Vec<PluginChange>>,
}

/// How what is found differs from a saved plan.
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

/// How one saved plan differs from an older one.
pub fn compare_plans(old: &SavedPlan, new: &SavedPlan) -> Vec<Difference> {
    compare_steps(old, new.steps.iter().map(|step| (&step.object, |was: &SavedStep| compare_step(was, step))))
}

/// In order: by what differs, then by name.
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

/// What a plan can differ in beside its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Aspect {
    /// It was made for another source.
    Source,
    /// It was made for another target.
    Target,
    /// Something else was asked for, or other dangers accepted.
    Decisions,
    /// Other plugins took part.
    Plugins,
    /// Other reasons prevent that it is carried out.
    Problems,
}

/// In what else one saved plan differs from an older one.
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
