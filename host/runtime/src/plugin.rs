//! An admitted plugin, and its hooks.

use std::borrow::Cow;
use std::sync::Arc;

use futures::FutureExt;
use pivot_core::hooks::{Description, Finding, Hook, Point, Relation, Settlement, Severity};
use pivot_core::{GroupKind, Key, Object};
use pivot_signatures::judge::Said;
use serde_json::Value;
use wasmtime::component::InstancePre;

use crate::answers::Reader;
use crate::call::Call;
use crate::context::{Card, Ctx};
use crate::contract::exports::pivot::provider::{adapt, check, hold, relate, restore, settle};
use crate::contract::pivot::provider::types;
use crate::describe::Declaration;
use crate::error::CallError;
use crate::services::Services;
use crate::tally::Used;
use crate::text;
use crate::trust::{Grants, OnFailure};

/// The move in which a check is called.
#[derive(Clone, Debug, Default)]
pub struct MoveContext {
    /// The move's id.
    pub move_id: String,
    /// The namespaces that move: each name in the source, and the one in the target.
    pub namespaces: Vec<(String, String)>,
    /// The objects of the plugin's kinds that move.
    pub objects: Vec<Key>,
}

/// The hooks of a component, resolved for quick lookup in an instance.
#[derive(Default)]
pub(crate) struct HookSet {
    pub(crate) relate: Option<relate::GuestIndices>,
    pub(crate) check: Option<check::GuestIndices>,
    pub(crate) hold: Option<hold::GuestIndices>,
    pub(crate) adapt: Option<adapt::GuestIndices>,
    pub(crate) restore: Option<restore::GuestIndices>,
    pub(crate) settle: Option<settle::GuestIndices>,
}

/// A plugin: vetted, compiled, ready to be called from many tasks at once.
///
/// The use of its calls in total, time and log lines, counts per value. Each run uses its own ([`Plugin::for_run`]), so that runs
/// don't consume each other's budget.
///
/// A hook that it lacks, or that it did not declare for the object's kind, returns "nothing" without a call.
pub struct Plugin {
    card: Arc<Card>,
    loaded: Arc<Loaded>,
}

/// The state from loading, shared by all runs.
struct Loaded {
    declaration: Declaration,
    grants: Grants,
    description: Description,
    said: Vec<Said>,
    pre: InstancePre<Ctx>,
    hooks: HookSet,
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plugin").field("description", self.description()).finish_non_exhaustive()
    }
}

/// Calls the one function of a hook's interface in a fresh instance.
macro_rules! ask {
    ($hook:expr, $function:ident($($argument:ident),*)) => {{
        let hook = $hook.clone();
        move |store, instance| {
            async move {
                let guest = hook.load(&mut *store, &instance)?;
                guest.$function(store, $(&$argument),*).await
            }
            .boxed()
        }
    }};
}

impl Plugin {
    pub(crate) fn new(
        card: Card,
        description: Description,
        (declaration, grants): (Declaration, Grants),
        said: Vec<Said>,
        (pre, hooks): (InstancePre<Ctx>, HookSet),
    ) -> Self {
        let loaded = Loaded { declaration, grants, description, said, pre, hooks };
        Self { card: Arc::new(card), loaded: Arc::new(loaded) }
    }

    /// The same plugin with nothing used yet. It is not compiled again.
    #[must_use]
    pub fn for_run(&self) -> Self {
        Self { card: Arc::new(self.card.unused()), loaded: Arc::clone(&self.loaded) }
    }

    /// Its description for the engine. The digest covers component and configuration.
    pub fn description(&self) -> &Description {
        &self.loaded.description
    }

    /// Who vouches for it, by the trust file; nobody if there is none.
    pub fn vouched_by(&self) -> &[Said] {
        &self.loaded.said
    }

    /// Its description of itself.
    pub fn declaration(&self) -> &Declaration {
        &self.loaded.declaration
    }

    /// Its grants.
    pub fn grants(&self) -> &Grants {
        &self.loaded.grants
    }

    /// SHA-256 of its file.
    pub fn file_digest(&self) -> &str {
        self.card.who.digest.as_deref().unwrap_or_default()
    }

    /// What its calls have used since this was last called.
    pub fn take_used(&self) -> Used {
        self.card.tally.take_used()
    }

    /// How an object relates to others.
    pub async fn relate(&self, object: &Object) -> Result<Vec<Relation>, CallError> {
        let Some(hook) = &self.loaded.hooks.relate else { return Ok(Vec::new()) };
        if !self.loaded.description.sees(&object.kind.group_kind) {
            return Ok(Vec::new());
        }
        let call = self.call(Hook::Relate, Some(object), None);
        let text = self.text(Hook::Relate, object)?;
        let reader = self.reader();
        call.run(&self.loaded.pre, ask!(hook, call_relate(text)), |said| reader.relations(said)).await
    }

    /// Whether the move may continue. If the operator allows it, a failure becomes a warning among the findings.
    pub async fn check(
        &self,
        point: Point,
        context: &MoveContext,
        services: Arc<dyn Services>,
    ) -> Result<Vec<Finding>, CallError> {
        let Some(hook) = &self.loaded.hooks.check else { return Ok(Vec::new()) };
        let said = types::MoveContext {
            move_id: context.move_id.clone(),
            namespaces: context
                .namespaces
                .iter()
                .map(|(source, target)| types::Namespace { source: source.clone(), target: target.clone() })
                .collect(),
            objects: context.objects.iter().map(key).collect(),
        };
        let call = Call { point: Some(point), ..self.call(Hook::Check, None, Some(services)) };
        let point = point.as_str();
        let reader = Reader { codes: self.card.codes(), given: &context.objects };
        let answer = call
            .run(&self.loaded.pre, ask!(hook, call_check(point, said)), |said| reader.findings(said))
            .await;
        match answer {
            Err(error) if self.loaded.grants.check_fails == OnFailure::Warn => Ok(vec![Finding {
                severity: Severity::Warn,
                code: error.code.clone(),
                message: error.to_string(),
                object: None,
                remedy: "the operator let its failing checks pass (on-failure in plugins.toml)".to_owned(),
            }]),
            answer => answer,
        }
    }

    /// The provider-specific pause of a source object: a merge patch, or nothing.
    pub async fn hold(&self, object: &Object) -> Result<Option<Value>, CallError> {
        let Some(hook) = self.changing(Hook::Hold, object, &self.loaded.hooks.hold) else { return Ok(None) };
        let text = self.text(Hook::Hold, object)?;
        let call = self.call(Hook::Hold, Some(object), None);
        let reader = self.reader();
        call.run(&self.loaded.pre, ask!(hook, call_hold(text)), |said| reader.patch(said)).await
    }

    /// A merge patch for an object about to be created, or nothing.
    pub async fn adapt(&self, object: &Object) -> Result<Option<Value>, CallError> {
        let Some(hook) = self.changing(Hook::Adapt, object, &self.loaded.hooks.adapt) else {
            return Ok(None);
        };
        let text = self.text(Hook::Adapt, object)?;
        let call = self.call(Hook::Adapt, Some(object), None);
        let reader = self.reader();
        call.run(&self.loaded.pre, ask!(hook, call_adapt(text)), |said| reader.patch(said)).await
    }

    /// A merge patch for the status of an object just created, or nothing.
    pub async fn restore(&self, source: &Object, created: &Object) -> Result<Option<Value>, CallError> {
        let Some(hook) = self.changing(Hook::Restore, source, &self.loaded.hooks.restore) else {
            return Ok(None);
        };
        let (before, now) = (self.text(Hook::Restore, source)?, self.text(Hook::Restore, created)?);
        let call = self.call(Hook::Restore, Some(source), None);
        let reader = self.reader();
        call.run(&self.loaded.pre, ask!(hook, call_restore(before, now)), |said| reader.patch(said)).await
    }

    /// What remains to be done before an object is released.
    pub async fn settle(
        &self,
        object: &Object,
        services: Arc<dyn Services>,
    ) -> Result<Settlement, CallError> {
        let Some(hook) = self.changing(Hook::Settle, object, &self.loaded.hooks.settle) else {
            return Ok(Settlement::Done);
        };
        let text = self.text(Hook::Settle, object)?;
        let call = self.call(Hook::Settle, Some(object), Some(services));
        let given = [object.key()];
        let reader = Reader { codes: self.card.codes(), given: &given };
        call.run(&self.loaded.pre, ask!(hook, call_settle(text)), |said| reader.settlement(said)).await
    }

    /// Whether a hook is called for objects of a kind. `check` isn't called for a particular kind.
    pub fn answers(&self, hook: Hook, kind: &GroupKind) -> bool {
        let sees = || self.loaded.description.sees(kind);
        self.loaded.description.hooks.contains(&hook)
            && match hook {
                Hook::Relate => sees(),
                Hook::Check => false,
                Hook::Hold | Hook::Adapt | Hook::Restore | Hook::Settle => {
                    self.loaded.declaration.changes(hook, kind)
                }
            }
    }

    /// A hook that was declared, and so granted, to change the object's kind.
    fn changing<'a, T>(&self, hook: Hook, object: &Object, indices: &'a Option<T>) -> Option<&'a T> {
        indices.as_ref().filter(|_| self.loaded.declaration.changes(hook, &object.kind.group_kind))
    }

    fn call(&self, hook: Hook, object: Option<&Object>, services: Option<Arc<dyn Services>>) -> Call<'_> {
        Call { card: &self.card, hook: Some(hook), object: object.map(Object::key), point: None, services }
    }

    fn reader(&self) -> Reader<'_> {
        Reader { codes: self.card.codes(), given: &[] }
    }

    fn text(&self, hook: Hook, object: &Object) -> Result<String, CallError> {
        text::object(object, &self.card.name, self.card.secret_data())
            .map(Cow::into_owned)
            .map_err(|why| self.call(hook, Some(object), None).error("unreadable".to_owned(), why))
    }
}

/// A key in the contract's types.
fn key(key: &Key) -> types::ObjectKey {
    types::ObjectKey {
        group: key.group_kind.group.clone(),
        kind: key.group_kind.kind.clone(),
        namespace: key.namespace.clone(),
        name: key.name.clone(),
    }
}
