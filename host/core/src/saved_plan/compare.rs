//! Comparing a saved plan with what a move finds, or with another saved plan.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{SavedFate, SavedPlan, SavedStep};
use crate::Key;
use crate::plan::{Content, InTarget, PluginChange, Step};

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

/// A step as it is found. The target, and what plugins change, are asked about only before anything is paused.
#[derive(Clone, Debug)]
pub struct Found<'a> {
    /// The step.
    pub step: &'a Step,
    /// The object's content.
    pub content: Option<Content>,
    /// What the target has, and what plugins change, if they were asked.
    pub asked: Option<(Option<InTarget>, Vec<PluginChange>)>,
}

/// How what is found differs from a saved plan, in the order of its names.
pub fn differences<'a>(plan: &SavedPlan, found: impl IntoIterator<Item = Found<'a>>) -> Vec<Difference> {
    let mut approved: BTreeMap<&Key, &SavedStep> =
        plan.steps.iter().map(|step| (&step.object, step)).collect();
    let mut differences = Vec::new();
    for Found { step, content, asked } in found {
        let Some(was) = approved.remove(&step.key) else {
            differences.push(Difference::New(step.key.clone()));
            continue;
        };
        let (in_target, changes) = asked.unwrap_or_else(|| (was.in_target.clone(), was.changes.clone()));
        let now = SavedStep { content, in_target, changes, ..SavedStep::from(step) };
        differences.extend(of_one(was, &now));
    }
    differences.extend(approved.into_keys().cloned().map(Difference::Gone));
    differences.sort_unstable();
    differences
}

/// How one saved plan differs from an older one.
pub fn between(old: &SavedPlan, new: &SavedPlan) -> Vec<Difference> {
    let mut was: BTreeMap<&Key, &SavedStep> = old.steps.iter().map(|step| (&step.object, step)).collect();
    let mut differences = Vec::new();
    for step in &new.steps {
        match was.remove(&step.object) {
            None => differences.push(Difference::New(step.object.clone())),
            Some(was) => differences.extend(of_one(was, step)),
        }
    }
    differences.extend(was.into_keys().cloned().map(Difference::Gone));
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
}

/// In what else one saved plan differs from an older one.
pub fn otherwise(old: &SavedPlan, new: &SavedPlan) -> Vec<Aspect> {
    let identity = |plan: &SavedPlan| plan.target.as_ref().map(|target| target.identity.clone());
    let aspects = [
        (Aspect::Source, old.source.identity != new.source.identity),
        (Aspect::Target, identity(old) != identity(new)),
        (Aspect::Decisions, old.decisions != new.decisions),
        (Aspect::Plugins, old.plugins != new.plugins),
    ];
    aspects.into_iter().filter(|(_, differs)| *differs).map(|(aspect, _)| aspect).collect()
}

fn of_one(was: &SavedStep, now: &SavedStep) -> Option<Difference> {
    let object = || was.object.clone();
    // The first that differs explains the others.
    let checks = [
        (was.uid != now.uid).then(|| Difference::Replaced(object())),
        (was.fate != now.fate).then(|| Difference::Fate { object: object(), was: was.fate, is: now.fate }),
        (was.content != now.content).then(|| Difference::Content(object())),
        (owners(was) != owners(now)).then(|| Difference::Owners(object())),
        (was.in_target != now.in_target).then(|| Difference::InTarget(object())),
        (was.changes != now.changes).then(|| Difference::Changes(object())),
    ];
    checks.into_iter().flatten().next()
}

fn owners(step: &SavedStep) -> BTreeSet<&String> {
    step.dropped_owners.iter().collect()
}
