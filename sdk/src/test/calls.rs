//! The hooks, called as the host calls them.

use std::fmt::Debug;

use super::fake::assert_named;
use super::{Harness, declared, said};
use crate::bounds;
use crate::patch::apply;
use crate::{
    Exported, Finding, Hook, Key, Move, Namespace, Object, Patch, Point, Relation, Result, Settlement, Side,
};

impl<P: Exported> Harness<P> {
    /// How an object relates to others.
    ///
    /// # Errors
    /// The plugin's error.
    ///
    /// # Panics
    /// If a rule is broken; as in all the hooks below.
    pub fn relate(&mut self, object: impl Into<Object>) -> Result<Vec<Relation>> {
        let object = self.seen(Hook::Relate, object);
        let relations = self.twice(Hook::Relate, |plugin| plugin.relate(&object))?;
        self.obeys(Hook::Relate, Some(&object), said::relations(&relations));
        let moving = self.fake.namespaces();
        for relation in &relations {
            let reaches = declared::may_need(&self.fake.about, &object, relation, &moving);
            self.obeys(Hook::Relate, Some(&object), reaches);
        }
        Ok(relations)
    }

    /// Whether the move may continue.
    ///
    /// # Errors
    /// The plugin's error.
    pub fn check(&mut self, point: Point) -> Result<Vec<Finding>> {
        let moving = Move {
            id: "test".to_owned(),
            namespaces: self
                .fake
                .namespaces()
                .into_iter()
                .map(|source| {
                    let target = self.fake.namespace_map.get(&source).cloned().unwrap_or(source.clone());
                    Namespace { source, target }
                })
                .collect(),
            objects: self.fake.moving(),
        };
        let findings = self.twice(Hook::Check, |plugin| plugin.check(point, &moving))?;
        self.obeys(Hook::Check, None, said::findings(&findings));
        Ok(findings)
    }

    /// The provider-specific pause of a source object.
    ///
    /// # Errors
    /// The plugin's error.
    pub fn hold(&mut self, object: impl Into<Object>) -> Result<Patch> {
        let object = self.seen(Hook::Hold, object);
        let patch = self.twice(Hook::Hold, |plugin| plugin.hold(&object))?;
        self.patched(Hook::Hold, &object, &patch, |plugin, after| plugin.hold(after))?;
        Ok(patch)
    }

    /// A change to an object about to be created.
    ///
    /// # Errors
    /// The plugin's error.
    pub fn adapt(&mut self, object: impl Into<Object>) -> Result<Patch> {
        let object = self.seen(Hook::Adapt, object);
        let patch = self.twice(Hook::Adapt, |plugin| plugin.adapt(&object))?;
        self.patched(Hook::Adapt, &object, &patch, |plugin, after| plugin.adapt(after))?;
        Ok(patch)
    }

    /// The status of an object just created, as a patch of it.
    ///
    /// # Errors
    /// The plugin's error.
    pub fn restore(&mut self, source: impl Into<Object>, created: impl Into<Object>) -> Result<Patch> {
        let (source, created) = (self.seen(Hook::Restore, source), self.seen(Hook::Restore, created));
        let restoration = self.twice(Hook::Restore, |plugin| plugin.restore(&source, &created))?;
        let patch = match restoration.to_patch(&source, &created) {
            Ok(patch) => patch,
            Err(wrong) => self.broken(Hook::Restore, Some(&created), &wrong),
        };
        self.patched(Hook::Restore, &created, &patch, |plugin, after| {
            plugin.restore(&source, after)?.to_patch(&source, after).map_err(crate::Error::invalid)
        })?;
        Ok(patch)
    }

    /// What remains to be done before an object is released. A patch is applied to the target's object, if the target has it.
    ///
    /// # Errors
    /// The plugin's error.
    pub fn settle(&mut self, object: impl Into<Object>) -> Result<Settlement> {
        let object = self.seen(Hook::Settle, object);
        let settlement = self.twice(Hook::Settle, |plugin| plugin.settle(&object))?;
        self.obeys(Hook::Settle, Some(&object), said::settlement(&settlement));
        if let Settlement::Patch(patch) = &settlement {
            if patch.is_empty() {
                self.broken(
                    Hook::Settle,
                    Some(&object),
                    "it settles with a patch that changes nothing: answer Done",
                );
            }
            let after = self.within_bounds(Hook::Settle, &object, patch);
            let again = self.twice(Hook::Settle, |plugin| plugin.settle(&after))?;
            if let Settlement::Patch(again) = again
                && again.to_value() == patch.to_value()
            {
                self.broken(
                    Hook::Settle,
                    Some(&object),
                    "it gives the same patch again after that was applied",
                );
            }
            if self.get(Side::Target, &object.key()).is_some() {
                self.target(after);
            }
        }
        Ok(settlement)
    }

    /// An object as the hook receives it; the host calls hooks for declared kinds only.
    fn seen(&self, hook: Hook, object: impl Into<Object>) -> Object {
        let object = object.into();
        assert_named(&object);
        let kind = object.kind();
        let version = object.text("/apiVersion").and_then(|version| version.rsplit('/').next());
        let mut understood = self.fake.about.versions.iter().filter(|one| one.kind.covers(&kind)).peekable();
        if understood.peek().is_some()
            && !understood.any(|one| one.versions.iter().any(|known| Some(known.as_str()) == version))
        {
            let advice = format!("about() says .understands({kind}, …) without its version");
            self.broken(hook, Some(&object), &advice);
        }
        if !self.fake.about.kinds.iter().any(|seen| seen.covers(&kind)) {
            let advice = format!("the host does not ask about it: about() does not say .sees({kind})");
            self.broken(hook, Some(&object), &advice);
        }
        self.fake.shown(&object)
    }

    /// Calls it twice, each time with a fresh plugin, as the host does.
    fn twice<T: PartialEq + Debug>(&mut self, hook: Hook, ask: impl Fn(&P) -> Result<T>) -> Result<T> {
        if !P::HOOKS.contains(&hook) {
            self.broken(hook, None, "the host does not call it: export! does not name it");
        }
        let mut once = || {
            let answer = self.fake.while_asking(hook, || P::configure().and_then(|plugin| ask(&plugin)));
            let wrongs = std::mem::take(&mut self.fake.wrongs);
            match wrongs.first() {
                Some(wrong) => Err(wrong.clone()),
                None => Ok(answer),
            }
        };
        let (first, second) = match once().and_then(|first| Ok((first, once()?))) {
            Ok(answers) => answers,
            Err(wrong) => self.broken(hook, None, &wrong),
        };
        if first != second {
            let answers = format!("asked twice it answers differently:\n  {first:?}\n  {second:?}");
            self.broken(hook, None, &answers);
        }
        if let Err(error) = &first {
            self.obeys(hook, None, said::error(error));
        }
        first
    }

    /// Applies a patch and calls the hook again: then there must be nothing left to change.
    fn patched(
        &mut self,
        hook: Hook,
        object: &Object,
        patch: &Patch,
        ask: impl Fn(&P, &Object) -> Result<Patch>,
    ) -> Result<()> {
        if patch.is_empty() {
            return Ok(());
        }
        let after = self.within_bounds(hook, object, patch);
        let again = self.twice(hook, |plugin| ask(plugin, &after))?;
        if let Some(again) = again.to_value() {
            let message = format!("its patch was applied, and asked again it is not content: {again}");
            self.broken(hook, Some(object), &message);
        }
        Ok(())
    }

    /// The object with the patch applied, after checking the patch against the bounds and the declaration.
    fn within_bounds(&self, hook: Hook, object: &Object, patch: &Patch) -> Object {
        let Some(patch) = patch.to_value() else { return object.clone() };
        let kind = object.kind();
        let declared = |change: &crate::Change| change.hook == hook && change.kind.covers(&kind);
        if !self.fake.about.changes.iter().any(declared) {
            let advice =
                format!("it changes a {kind} without saying so: about() needs .{}s(kind)", hook.as_str());
            self.broken(hook, Some(object), &advice);
        }
        if let Some(violation) = bounds::violation(&self.fake.about.name, hook, &patch) {
            self.broken(hook, Some(object), &violation.to_string());
        }
        let mut value = object.value().clone();
        apply(&mut value, &patch);
        Object::from(value)
    }

    fn obeys(&self, hook: Hook, object: Option<&Object>, rule: Result<(), String>) {
        if let Err(wrong) = rule {
            self.broken(hook, object, &wrong);
        }
    }

    /// Fails the test.
    fn broken(&self, hook: Hook, object: Option<&Object>, rule: &str) -> ! {
        let on = object.map(|object| format!(" on {}", Key::from(object))).unwrap_or_default();
        panic!("{}: {}{on}: {rule}", self.fake.about.name, hook.as_str());
    }
}
