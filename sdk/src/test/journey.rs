//! The path of one object through a move.

use serde_json::Value;

use super::Harness;
use crate::patch::{apply_merge_patch, merge_patch_between};
use crate::{Exported, Hook, Object, Patch, Problem, Result, Settlement, Side};

/// The host stops a plugin that keeps patching; so does a test.
const MAX_SETTLE_PATCHES: usize = 20;

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
    /// `adapt` changed.
    pub fn journey(&mut self, object: impl Into<Object>) -> Result<Journey> {
        let object = object.into();
        let has = |hook| P::HOOKS.contains(&hook);
        let hold = if has(Hook::Hold) { self.hold(&object)? } else { Patch::empty() };
        let held = apply_patch(&object, &hold);
        let adapt = if has(Hook::Adapt) { self.adapt(&held)? } else { Patch::empty() };
        let created = apply_patch(&copy_object(&held), &adapt);
        let restore = if has(Hook::Restore) { self.restore(&held, &created)? } else { Patch::empty() };
        let restored = apply_patch(&created, &restore);
        self.remove_object(Side::Source, &object.key()).add_to_target(&restored);
        let mut now = restored.clone();
        let open = if has(Hook::Settle) { self.settle_until(&mut now)? } else { None };
        if open.is_some() {
            return Ok(Journey { held, created, restored, settled: now, open });
        }
        let settled = self.release_object(&object, &held, &now);
        let adapted = adapt.to_value().unwrap_or_default();
        let none = Value::Object(serde_json::Map::new());
        for map in ["/metadata/labels", "/metadata/annotations"] {
            // The plugin decides about what `adapt` changed: `settle` may change it again, and stored annotations are gone.
            let entries = |object: &Object| {
                let mut entries = object.get(map).unwrap_or(&none).clone();
                if let (Some(Value::Object(changed)), Value::Object(entries)) =
                    (adapted.pointer(map), &mut entries)
                {
                    entries.retain(|name, _| !changed.contains_key(name));
                }
                entries
            };
            if let Some(left) = merge_patch_between(&entries(&object), &entries(&settled)) {
                panic!(
                    "{}: {}: after the move {map} is not what it was: {left}",
                    self.fake.about.name,
                    object.key()
                );
            }
        }
        self.add_to_target(&settled);
        Ok(Journey { held, created, restored, settled, open })
    }

    /// Calls `settle` until it is done, waits or stops.
    fn settle_until(&mut self, now: &mut Object) -> Result<Option<Problem>> {
        for _ in 0..MAX_SETTLE_PATCHES {
            match self.settle(&*now)? {
                Settlement::Done => return Ok(None),
                Settlement::Patch(patch) => *now = apply_patch(now, &patch),
                Settlement::Wait(problem) | Settlement::Stop(problem) => return Ok(Some(problem)),
            }
        }
        panic!(
            "{}: settle on {}: {MAX_SETTLE_PATCHES} patches and still not done",
            self.fake.about.name,
            now.key()
        );
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
