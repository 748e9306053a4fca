//! One object's way through a move.

use serde_json::Value;

use super::Harness;
use crate::patch::{apply, between};
use crate::{Exported, Finding, Hook, Object, Patch, Result, Settlement, Side};

/// The host gives up on a plugin that goes on patching; so does a test.
const ROUNDS: usize = 20;

/// An object at each station of a move. Where the plugin lacks a hook, nothing changed there.
#[derive(Clone, Debug)]
pub struct Journey {
    /// In the source, held.
    pub held: Object,
    /// In the target, as it was created: adapted, and without a status.
    pub created: Object,
    /// In the target, its status restored.
    pub restored: Object,
    /// In the target, released: what was held is undone, what plugins remembered is gone. Where the plugin waits
    /// or stops, as it is then.
    pub settled: Object,
    /// What the plugin waits for, or stops at.
    pub open: Option<Finding>,
}

impl<P: Exported> Harness<P> {
    /// Moves one object from the source to the target: hold, adapt, restore and settle, as far as the plugin has them, with the
    /// host's own part in between. The target's object is left in the harness.
    ///
    /// # Errors
    /// What the plugin answers.
    ///
    /// # Panics
    /// Where a rule is broken, or where the object at the end has other labels or annotations than at the start, but
    /// for those that `adapt` changed.
    pub fn journey(&mut self, object: impl Into<Object>) -> Result<Journey> {
        let object = object.into();
        let has = |hook| P::HOOKS.contains(&hook);
        let hold = if has(Hook::Hold) { self.hold(&object)? } else { Patch::none() };
        let held = patched(&object, &hold);
        let adapt = if has(Hook::Adapt) { self.adapt(&held)? } else { Patch::none() };
        let created = patched(&copied(&held), &adapt);
        let restore = if has(Hook::Restore) { self.restore(&held, &created)? } else { Patch::none() };
        let restored = patched(&created, &restore);
        self.remove(Side::Source, &object.key()).target(&restored);
        let mut now = restored.clone();
        let open = if has(Hook::Settle) { self.settle_until(&mut now)? } else { None };
        if open.is_some() {
            return Ok(Journey { held, created, restored, settled: now, open });
        }
        let settled = self.let_go(&object, &held, &now);
        let adapted = adapt.to_value().unwrap_or_default();
        let none = Value::Object(serde_json::Map::new());
        for map in ["/metadata/labels", "/metadata/annotations"] {
            // What `adapt` changed is the plugin's to say: `settle` may change it again, and what it remembers is gone.
            let entries = |object: &Object| {
                let mut entries = object.get(map).unwrap_or(&none).clone();
                if let (Some(Value::Object(changed)), Value::Object(entries)) =
                    (adapted.pointer(map), &mut entries)
                {
                    entries.retain(|name, _| !changed.contains_key(name));
                }
                entries
            };
            if let Some(left) = between(&entries(&object), &entries(&settled)) {
                panic!(
                    "{}: {}: after the move {map} is not what it was: {left}",
                    self.fake.about.name,
                    object.key()
                );
            }
        }
        self.target(&settled);
        Ok(Journey { held, created, restored, settled, open })
    }

    /// Asks `settle` until it is done, waits or stops.
    fn settle_until(&mut self, now: &mut Object) -> Result<Option<Finding>> {
        for _ in 0..ROUNDS {
            match self.settle(&*now)? {
                Settlement::Done => return Ok(None),
                Settlement::Patch(patch) => *now = patched(now, &patch),
                Settlement::Wait(finding) | Settlement::Stop(finding) => return Ok(Some(finding)),
            }
        }
        panic!("{}: settle on {}: {ROUNDS} patches and still not done", self.fake.about.name, now.key());
    }

    /// What the host does in the end: undoes what was held, and removes what plugins remembered.
    fn let_go(&self, before: &Object, held: &Object, now: &Object) -> Object {
        let mut value = now.value().clone();
        if let Some(undo) = between(held.value(), before.value()) {
            apply(&mut value, &undo);
        }
        let prefix = format!("{}/", pivot_bounds::names::memory_prefix(&self.fake.about.name));
        if let Some(Value::Object(annotations)) = value.pointer_mut("/metadata/annotations") {
            annotations.retain(|name, _| !name.starts_with(&prefix));
        }
        Object::from(value)
    }
}

fn patched(object: &Object, patch: &Patch) -> Object {
    let mut value = object.value().clone();
    if let Some(patch) = patch.to_value() {
        apply(&mut value, &patch);
    }
    Object::from(value)
}

/// What the host and an API server make of an object that is created: no status, another identity.
fn copied(object: &Object) -> Object {
    let mut value = object.value().clone();
    if let Value::Object(fields) = &mut value {
        fields.remove("status");
    }
    if let Some(Value::Object(meta)) = value.get_mut("metadata") {
        for field in ["resourceVersion", "generation", "creationTimestamp", "managedFields"] {
            meta.remove(field);
        }
        meta.insert("uid".to_owned(), Value::String("00000000-0000-4000-8000-000000000000".to_owned()));
    }
    Object::from(value)
}
