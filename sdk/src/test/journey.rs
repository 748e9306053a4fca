//! The path of one object through a move.

use serde_json::Value;

use super::Harness;
use crate::patch::{apply_merge_patch, merge_patch_between};
use crate::{Exported, Hook, Object, Patch, Problem, Result, Settlement, Side};

/// The host stops a plugin that keeps patching; so does a test.
const MAX_SETTLE_CALLS: usize = 20;

/// An object at each stage of a move. If the plugin lacks a hook, nothing changed in that stage.
#[derive(Clone, Debug)]
pub struct Journey {
    /// In the source, held.
    pub held: Object,
    /// In the target, as it was created: adapted, and without a status.
    pub created: Object,
    /// In the target, its status restored.
    pub restored: Object,
    /// In the target, released: holds are undone, stored annotations are removed. If the plugin waits or stops, its state at that
    /// time.
    pub settled: Object,
    /// The problem at which the plugin waits or stops.
    pub open: Option<Problem>,
}

impl<P: Exported> Harness<P> {
    /// Moves one object from the source to the target: hold, adapt, restore and settle, if the plugin has them, with the host's
    /// own steps in between. The target's object is left in the harness.
    ///
    /// # Errors
    /// The plugin's error.
    ///
    /// # Panics
    /// If a rule is broken, or if the object ends with other labels or annotations than it started with, except those that
    /// `adapt` changed. If the plugin waits or stops, the labels and annotations that it added may still be there.
    pub fn journey(&mut self, object: impl Into<Object>) -> Result<Journey> {
        self.move_object(&object.into(), &mut |_| Patch::empty())
    }

    /// Moves one object as [`Harness::journey`] does, and gives a controller of the target a turn after each patch and each wait
    /// of `settle`. The controller returns its change to the object. Until its first change, nothing has written to the object
    /// since the commit.
    ///
    /// # Errors
    /// The plugin's error.
    ///
    /// # Panics
    /// As [`Harness::journey`].
    pub fn journey_with(
        &mut self,
        object: impl Into<Object>,
        mut controller: impl FnMut(&Object) -> Patch,
    ) -> Result<Journey> {
        let written = std::mem::take(&mut self.fake.written_since_commit);
        let journey = self.move_object(&object.into(), &mut controller);
        self.fake.written_since_commit = written;
        journey
    }

    fn move_object(
        &mut self,
        object: &Object,
        controller: &mut dyn FnMut(&Object) -> Patch,
    ) -> Result<Journey> {
        let has = |hook| P::HOOKS.contains(&hook);
        let hold = if has(Hook::Hold) { self.hold(object)? } else { Patch::empty() };
        let held = apply_patch(object, &hold);
        let adapt = if has(Hook::Adapt) { self.adapt(&held)? } else { Patch::empty() };
        let created = apply_patch(&copy_object(&held), &adapt);
        let restore = if has(Hook::Restore) { self.restore(&held, &created)? } else { Patch::empty() };
        let restored = apply_patch(&created, &restore);
        self.remove_object(Side::Source, &object.key()).add_to_target(&restored);
        let mut now = restored.clone();
        let open = if has(Hook::Settle) { self.settle_until(&mut now, controller)? } else { None };
        let released = self.release_object(object, &held, &now);
        self.assert_entries_kept(object, &released, &adapt, open.is_none());
        let settled = if open.is_none() { released } else { now };
        self.add_to_target(&settled);
        Ok(Journey { held, created, restored, settled, open })
    }

    /// Calls `settle` until it is done, or stops, or waits and the controller changes nothing.
    fn settle_until(
        &mut self,
        now: &mut Object,
        controller: &mut dyn FnMut(&Object) -> Patch,
    ) -> Result<Option<Problem>> {
        for _ in 0..MAX_SETTLE_CALLS {
            let waits_for = match self.settle(&*now)? {
                Settlement::Done => return Ok(None),
                Settlement::Stop(problem) => return Ok(Some(problem)),
                Settlement::Wait(problem) => Some(problem),
                Settlement::Patch(patch) => {
                    *now = apply_patch(now, &patch);
                    None
                }
            };
            let written = controller(now);
            if !written.is_empty() {
                *now = apply_patch(now, &written);
                self.add_to_target(&*now).set_written_since_commit(true);
            } else if waits_for.is_some() {
                return Ok(waits_for);
            }
        }
        panic!(
            "{}: settle on {}: {MAX_SETTLE_CALLS} calls and still not done",
            self.fake.about.name,
            now.key()
        );
    }

    /// Fails the test if labels or annotations differ after the move. While the plugin is not done, it may still remove its own.
    fn assert_entries_kept(&self, before: &Object, after: &Object, adapt: &Patch, is_done: bool) {
        let (key, adapted) = (before.key(), adapt.to_value().unwrap_or_default());
        for map in ["/metadata/labels", "/metadata/annotations"] {
            let entries =
                |object: &Object| object.get(map).and_then(Value::as_object).cloned().unwrap_or_default();
            let (mut before, mut after) = (entries(before), entries(after));
            // The plugin decides about what `adapt` changed: `settle` may change it again, and stored annotations are gone.
            if let Some(Value::Object(changed)) = adapted.pointer(map) {
                before.retain(|name, _| !changed.contains_key(name));
                after.retain(|name, _| !changed.contains_key(name));
            }
            after.retain(|name, _| is_done || before.contains_key(name));
            if let Some(left) = merge_patch_between(&Value::Object(before), &Value::Object(after)) {
                panic!("{}: {key}: after the move {map} is not what it was: {left}", self.fake.about.name);
            }
        }
    }

    /// Does the host's part of a release: undoes holds, and removes the plugins' stored annotations.
    fn release_object(&self, before: &Object, held: &Object, now: &Object) -> Object {
        let mut value = now.value().clone();
        if let Some(undo) = merge_patch_between(held.value(), before.value()) {
            apply_merge_patch(&mut value, &undo);
        }
        let prefix = format!("{}/", pivot_bounds::names::memory_prefix(&self.fake.about.name));
        if let Some(Value::Object(annotations)) = value.pointer_mut("/metadata/annotations") {
            annotations.retain(|name, _| !name.starts_with(&prefix));
        }
        Object::from(value)
    }
}

fn apply_patch(object: &Object, patch: &Patch) -> Object {
    let mut value = object.value().clone();
    if let Some(patch) = patch.to_value() {
        apply_merge_patch(&mut value, &patch);
    }
    Object::from(value)
}

/// Returns an object as the host and an API server create it: without a status, and with another identity.
fn copy_object(object: &Object) -> Object {
    let mut value = object.value().clone();
    if let Value::Object(fields) = &mut value {
        fields.remove("status");
    }
    if let Some(Value::Object(meta)) = value.get_mut("metadata") {
        for field in ["resourceVersion", "creationTimestamp", "managedFields"] {
            meta.remove(field);
        }
        meta.insert("generation".to_owned(), 1.into());
        meta.insert("uid".to_owned(), Value::String("00000000-0000-4000-8000-000000000000".to_owned()));
    }
    Object::from(value)
}
