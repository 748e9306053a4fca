//! The hooks, called as the host calls them.

use std::fmt::Debug;

use super::fake::assert_named;
use super::{Harness, declaration, messages};
use crate::bounds;
use crate::patch::apply_merge_patch;
use crate::{
    Exported, Finding, Hook, Key, Move, Namespace, Object, Patch, Point, Relation, Result, Settlement, Side,
};

impl<P: Exported> Harness<P> {
    /// Calls `relate` on an object.
    ///
    /// # Errors
    /// The plugin's error.
    ///
    /// # Panics
    /// If a rule is broken; as in all the hooks below.
    pub fn relate(&mut self, object: impl Into<Object>) -> Result<Vec<Relation>> {
        let object = self.object_for_hook(Hook::Relate, object);
        let relations = self.call_twice(Hook::Relate, |plugin| plugin.relate(&object))?;
        self.require_rule(Hook::Relate, Some(&object), messages::check_relations(&relations));
        let moving = self.fake.moving_namespaces();
        for relation in &relations {
            let reaches = declaration::check_relation(&self.fake.about, &object, relation, &moving);
            self.require_rule(Hook::Relate, Some(&object), reaches);
        }
        Ok(relations)
    }

    /// Calls `check` at a point of the move.
    ///
    /// # Errors
    /// The plugin's error.
    pub fn check(&mut self, point: Point) -> Result<Vec<Finding>> {
        let moving = Move {
            id: "test".to_owned(),
            namespaces: self
                .fake
                .moving_namespaces()
                .into_iter()
                .map(|source| {
                    let target = self.fake.namespace_map.get(&source).cloned().unwrap_or(source.clone());
                    Namespace { source, target }
                })
                .collect(),
            objects: self.fake.moving_objects(),
        };
        let findings = self.call_twice(Hook::Check, |plugin| plugin.check(point, &moving))?;
        self.require_rule(Hook::Check, None, messages::check_findings(&findings));
        Ok(findings)
    }

    /// Calls `hold` on a source object.
    ///
    /// # Errors
    /// The plugin's error.
    pub fn hold(&mut self, object: impl Into<Object>) -> Result<Patch> {
        let object = self.object_for_hook(Hook::Hold, object);
        let patch = self.call_twice(Hook::Hold, |plugin| plugin.hold(&object))?;
        self.check_patch_suffices(Hook::Hold, &object, &patch, |plugin, after| plugin.hold(after))?;
        Ok(patch)
    }

    /// Calls `adapt` on a source object whose copy is about to be created.
    ///
    /// # Errors
    /// The plugin's error.
    pub fn adapt(&mut self, object: impl Into<Object>) -> Result<Patch> {
        let object = self.object_for_hook(Hook::Adapt, object);
        let patch = self.call_twice(Hook::Adapt, |plugin| plugin.adapt(&object))?;
        self.check_patch_suffices(Hook::Adapt, &object, &patch, |plugin, after| plugin.adapt(after))?;
        Ok(patch)
    }

    /// Calls `restore` on an object and its copy. Returns the change to the copy.
    ///
    /// # Errors
    /// The plugin's error.
    pub fn restore(&mut self, source: impl Into<Object>, created: impl Into<Object>) -> Result<Patch> {
        let (source, created) =
            (self.object_for_hook(Hook::Restore, source), self.object_for_hook(Hook::Restore, created));
        let restoration = self.call_twice(Hook::Restore, |plugin| plugin.restore(&source, &created))?;
        let patch = match restoration.to_patch(&source, &created) {
            Ok(patch) => patch,
            Err(wrong) => self.fail_test(Hook::Restore, Some(&created), &wrong),
        };
        self.check_patch_suffices(Hook::Restore, &created, &patch, |plugin, after| {
            plugin.restore(&source, after)?.to_patch(&source, after).map_err(crate::Error::invalid)
        })?;
        Ok(patch)
    }

    /// Calls `settle` on a target object. A patch is applied to the target's object, if the target has it.
    ///
    /// # Errors
    /// The plugin's error.
    pub fn settle(&mut self, object: impl Into<Object>) -> Result<Settlement> {
        let object = self.object_for_hook(Hook::Settle, object);
        let settlement = self.call_twice(Hook::Settle, |plugin| plugin.settle(&object))?;
        self.require_rule(Hook::Settle, Some(&object), messages::check_settlement(&settlement));
        if let Settlement::Patch(patch) = &settlement {
            if patch.is_empty() {
                self.fail_test(
                    Hook::Settle,
                    Some(&object),
                    "it settles with a patch that changes nothing: answer Done",
                );
            }
            let after = self.apply_within_bounds(Hook::Settle, &object, patch);
            let again = self.call_twice(Hook::Settle, |plugin| plugin.settle(&after))?;
            if let Settlement::Patch(again) = again
                && again.to_value() == patch.to_value()
            {
                self.fail_test(
                    Hook::Settle,
                    Some(&object),
                    "it gives the same patch again after that was applied",
                );
            }
            if self.get(Side::Target, &object.key()).is_some() {
                self.add_to_target(after);
            }
        }
        Ok(settlement)
    }

    /// Returns an object as the hook receives it. Fails the test if the plugin doesn't declare the kind.
    fn object_for_hook(&self, hook: Hook, object: impl Into<Object>) -> Object {
        let object = object.into();
        assert_named(&object);
        let kind = object.kind();
        let version = object.text("/apiVersion").and_then(|version| version.rsplit('/').next());
        let mut understood = self.fake.about.versions.iter().filter(|one| one.kind.matches(&kind)).peekable();
        if understood.peek().is_some()
            && !understood.any(|one| one.versions.iter().any(|known| Some(known.as_str()) == version))
        {
            let advice = format!("about() says .understands({kind}, …) without its version");
            self.fail_test(hook, Some(&object), &advice);
        }
        if !self.fake.about.kinds.iter().any(|seen| seen.matches(&kind)) {
            let advice = format!("the host does not ask about it: about() does not say .sees({kind})");
            self.fail_test(hook, Some(&object), &advice);
        }
        self.fake.object_for_plugin(&object)
    }

    /// Calls a hook twice, each time with a fresh plugin, as the host does.
    fn call_twice<T: PartialEq + Debug>(&mut self, hook: Hook, ask: impl Fn(&P) -> Result<T>) -> Result<T> {
        if !P::HOOKS.contains(&hook) {
            self.fail_test(hook, None, "the host does not call it: export! does not name it");
        }
        let mut once = || {
            let answer = self.fake.answer_hook(hook, || P::configure().and_then(|plugin| ask(&plugin)));
            let wrongs = std::mem::take(&mut self.fake.wrongs);
            match wrongs.first() {
                Some(wrong) => Err(wrong.clone()),
                None => Ok(answer),
            }
        };
        let (first, second) = match once().and_then(|first| Ok((first, once()?))) {
            Ok(answers) => answers,
            Err(wrong) => self.fail_test(hook, None, &wrong),
        };
        if first != second {
            let answers = format!("asked twice it answers differently:\n  {first:?}\n  {second:?}");
            self.fail_test(hook, None, &answers);
        }
        if let Err(error) = &first {
            self.require_rule(hook, None, messages::check_error(error));
        }
        first
    }

    /// Applies a patch and calls the hook again. Fails the test if the hook still returns a change.
    fn check_patch_suffices(
        &mut self,
        hook: Hook,
        object: &Object,
        patch: &Patch,
        ask: impl Fn(&P, &Object) -> Result<Patch>,
    ) -> Result<()> {
        if patch.is_empty() {
            return Ok(());
        }
        let after = self.apply_within_bounds(hook, object, patch);
        let again = self.call_twice(hook, |plugin| ask(plugin, &after))?;
        if let Some(again) = again.to_value() {
            let message = format!("its patch was applied, and asked again it is not content: {again}");
            self.fail_test(hook, Some(object), &message);
        }
        Ok(())
    }

    /// Checks a patch against the bounds and the declaration, and returns the patched object.
    fn apply_within_bounds(&self, hook: Hook, object: &Object, patch: &Patch) -> Object {
        let Some(patch) = patch.to_value() else { return object.clone() };
        let kind = object.kind();
        let declared = |change: &crate::Change| change.hook == hook && change.kind.matches(&kind);
        if !self.fake.about.changes.iter().any(declared) {
            let advice =
                format!("it changes a {kind} without saying so: about() needs .{}s(kind)", hook.as_str());
            self.fail_test(hook, Some(object), &advice);
        }
        if let Some(violation) = bounds::find_violation(&self.fake.about.name, hook, &patch) {
            self.fail_test(hook, Some(object), &violation.to_string());
        }
        let mut value = object.value().clone();
        apply_merge_patch(&mut value, &patch);
        Object::from(value)
    }

    fn require_rule(&self, hook: Hook, object: Option<&Object>, rule: Result<(), String>) {
        if let Err(wrong) = rule {
            self.fail_test(hook, object, &wrong);
        }
    }

    /// Fails the test.
    fn fail_test(&self, hook: Hook, object: Option<&Object>, rule: &str) -> ! {
        let on = object.map(|object| format!(" on {}", Key::from(object))).unwrap_or_default();
        panic!("{}: {}{on}: {rule}", self.fake.about.name, hook.as_str());
    }
}
