//! An admitted plugin, and its hooks.

use std::borrow::Cow;
use std::sync::Arc;

use futures::FutureExt;
use pivot_bounds::options::Schema;
use pivot_core::plugins::hooks::{Description, Finding, Hook, Point, Relation, Settlement, Severity};
use pivot_core::{GroupKind, Object};
use pivot_vetting::permissions::{Declaration, Grants, OnFailure};
use pivot_vetting::signatures::judge::AcceptedClaim;
use serde_json::Value;
use wasmtime::component::InstancePre;

use crate::answers::Reader;
use crate::call::Call;
use crate::context::{CalledFunction, Ctx, MoveContext, PluginAccess, RunContext};
use crate::contract::exports::pivot::provider::{adapt, check, configure, hold, relate, restore, settle};
use crate::error::CallError;
use crate::options;
use crate::services::Services;
use crate::tally::Used;
use crate::text;

/// The hooks of a component, resolved for quick lookup in an instance.
#[derive(Default)]
pub(crate) struct HookSet {
    pub(crate) configure: Option<configure::GuestIndices>,
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
    card: Arc<PluginAccess>,
    loaded: Arc<Loaded>,
}

/// The state from loading, shared by all runs.
struct Loaded {
    declaration: Declaration,
    grants: Grants,
    schema: Option<Schema>,
    description: Description,
    said: Vec<AcceptedClaim>,
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
        card: PluginAccess,
        (description, said): (Description, Vec<AcceptedClaim>),
        (declaration, grants): (Declaration, Grants),
        schema: Option<Schema>,
        (pre, hooks): (InstancePre<Ctx>, HookSet),
    ) -> Self {
        let loaded = Loaded { declaration, grants, schema, description, said, pre, hooks };
        Self { card: Arc::new(card), loaded: Arc::new(loaded) }
    }

    /// Returns the plugin for a run, with nothing used yet. It is not compiled again.
    #[must_use]
    pub fn for_run(&self, run: RunContext) -> Self {
        Self { card: Arc::new(self.card.for_run(run)), loaded: Arc::clone(&self.loaded) }
    }

    /// Returns the plugin with another configuration. Fails if the plugin doesn't accept it.
    pub async fn with_config(&self, config: &Value) -> Result<Self, CallError> {
        let mut card = self.card.for_run(RunContext::default());
        if let Some((_, grants)) = &mut card.admitted {
            grants.config = config.to_string();
        }
        let plugin = Self { card: Arc::new(card), loaded: Arc::clone(&self.loaded) };
        plugin.check_configuration().await?;
        Ok(plugin)
    }

    /// Returns the plugin's description for the engine. The digest covers component and configuration.
    pub fn description(&self) -> &Description {
        &self.loaded.description
    }

    /// Returns the accepted claims about the plugin; none without a trust file.
    pub fn vouched_by(&self) -> &[AcceptedClaim] {
        &self.loaded.said
    }

    /// Returns the plugin's description of itself.
    pub fn declaration(&self) -> &Declaration {
        &self.loaded.declaration
    }

    /// Returns the plugin's grants.
    pub fn grants(&self) -> &Grants {
        &self.loaded.grants
    }

    /// SHA-256 of its file.
    pub fn file_digest(&self) -> &str {
        self.card.who.digest.as_deref().unwrap_or_default()
    }

    /// Returns the use of the calls since the last call of this function.
    pub fn take_used(&self) -> Used {
        self.card.tally.take_used()
    }

    /// Creates an instance, and calls nothing.
    pub async fn instantiate(&self) -> Result<(), CallError> {
        let call = Call::without_services(&self.card, CalledFunction::Describe);
        call.run(&self.loaded.pre, |_, _| async { Ok(Ok(())) }.boxed(), Ok).await
    }

    /// Compares the configuration with the schema, and asks the plugin to check it. Fails if one of them doesn't accept it.
    pub(crate) async fn check_configuration(&self) -> Result<(), CallError> {
        if let (Some(schema), Some((_, grants))) = (&self.loaded.schema, &self.card.admitted) {
            options::check_config(schema, &grants.config).map_err(|why| {
                Call::without_services(&self.card, CalledFunction::Configure)
                    .into_error("invalid".to_owned(), why)
            })?;
        }
        let Some(configure) = &self.loaded.hooks.configure else { return Ok(()) };
        Call::without_services(&self.card, CalledFunction::Configure)
            .run(&self.loaded.pre, ask!(configure, call_check()), Ok)
            .await
    }

    /// Fails if the plugin doesn't understand the version in which an object was read.
    pub fn check_version(&self, object: &Object) -> Result<(), CallError> {
        let hook = self.loaded.description.hooks.first().copied().unwrap_or(Hook::Check);
        self.card
            .check_version(object)
            .map_err(|error| self.new_call(hook, Some(object), None).into_error(error.code, error.message))
    }

    /// Returns the relations of an object to others.
    pub async fn relate(&self, object: &Object) -> Result<Vec<Relation>, CallError> {
        let Some(hook) = &self.loaded.hooks.relate else { return Ok(Vec::new()) };
        if !self.loaded.description.can_see(&object.kind.group_kind) {
            return Ok(Vec::new());
        }
        let call = self.new_call(Hook::Relate, Some(object), None);
        let text = self.object_text(Hook::Relate, object)?;
        let reader = self.answer_reader();
        call.run(&self.loaded.pre, ask!(hook, call_relations(text)), |said| reader.read_relations(said)).await
    }

    /// Checks if the move may continue, and returns the findings. If the operator allows it, a failure becomes a warning among
    /// them.
    pub async fn check(
        &self,
        point: Point,
        context: &MoveContext,
        services: Arc<dyn Services>,
    ) -> Result<Vec<Finding>, CallError> {
        let Some(hook) = &self.loaded.hooks.check else { return Ok(Vec::new()) };
        let call = Call {
            point: Some(point),
            moving: Some(context.clone()),
            ..self.new_call(Hook::Check, None, Some(services))
        };
        let point = point.as_str();
        let reader = Reader { given: &context.objects, ..self.answer_reader() };
        let answer = call
            .run(&self.loaded.pre, ask!(hook, call_findings(point)), |said| reader.read_findings(said))
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
        let Some(hook) = self.changing_hook(Hook::Hold, object, &self.loaded.hooks.hold) else {
            return Ok(None);
        };
        let text = self.object_text(Hook::Hold, object)?;
        let call = self.new_call(Hook::Hold, Some(object), None);
        let reader = self.answer_reader();
        call.run(&self.loaded.pre, ask!(hook, call_patch(text)), |said| reader.read_patch(said)).await
    }

    /// A merge patch for an object about to be created, or nothing.
    pub async fn adapt(&self, object: &Object) -> Result<Option<Value>, CallError> {
        let Some(hook) = self.changing_hook(Hook::Adapt, object, &self.loaded.hooks.adapt) else {
            return Ok(None);
        };
        let text = self.object_text(Hook::Adapt, object)?;
        let call = self.new_call(Hook::Adapt, Some(object), None);
        let reader = self.answer_reader();
        call.run(&self.loaded.pre, ask!(hook, call_patch(text)), |said| reader.read_patch(said)).await
    }

    /// A merge patch for the status of an object just created, or nothing.
    pub async fn restore(&self, source: &Object, created: &Object) -> Result<Option<Value>, CallError> {
        let Some(hook) = self.changing_hook(Hook::Restore, source, &self.loaded.hooks.restore) else {
            return Ok(None);
        };
        let (before, now) =
            (self.object_text(Hook::Restore, source)?, self.object_text(Hook::Restore, created)?);
        let call = self.new_call(Hook::Restore, Some(source), None);
        let reader = self.answer_reader();
        call.run(&self.loaded.pre, ask!(hook, call_status(before, now)), |said| {
            reader.read_restoration(said, source, created)
        })
        .await
    }

    /// Returns the next step before an object is released, if anyone else has written to it since the commit, or not.
    pub async fn settle(
        &self,
        object: &Object,
        written_since_commit: bool,
        services: Arc<dyn Services>,
    ) -> Result<Settlement, CallError> {
        let Some(hook) = self.changing_hook(Hook::Settle, object, &self.loaded.hooks.settle) else {
            return Ok(Settlement::Done);
        };
        let text = self.object_text(Hook::Settle, object)?;
        let call = Call { written_since_commit, ..self.new_call(Hook::Settle, Some(object), Some(services)) };
        let given = [object.key()];
        let reader = Reader { given: &given, ..self.answer_reader() };
        call.run(&self.loaded.pre, ask!(hook, call_next(text)), |said| reader.read_settlement(said)).await
    }

    /// Returns true if a hook is called for objects of a kind. `check` isn't called for a particular kind.
    pub fn has_hook_for(&self, hook: Hook, kind: &GroupKind) -> bool {
        self.loaded.description.hooks.contains(&hook)
            && match hook {
                Hook::Relate => self.loaded.description.can_see(kind),
                Hook::Check => false,
                Hook::Hold | Hook::Adapt | Hook::Restore | Hook::Settle => {
                    self.loaded.declaration.declares_change(hook, kind)
                }
            }
    }

    /// A hook that was declared, and so granted, to change the object's kind.
    fn changing_hook<'a, T>(&self, hook: Hook, object: &Object, indices: &'a Option<T>) -> Option<&'a T> {
        indices.as_ref().filter(|_| self.loaded.declaration.declares_change(hook, &object.kind.group_kind))
    }

    fn new_call(&self, hook: Hook, object: Option<&Object>, services: Option<Arc<dyn Services>>) -> Call<'_> {
        Call {
            object: object.map(Object::key),
            services,
            ..Call::without_services(&self.card, CalledFunction::Hook(hook))
        }
    }

    fn answer_reader(&self) -> Reader<'_> {
        Reader { codes: self.card.codes(), given: &[], run: &self.card.run }
    }

    fn object_text(&self, hook: Hook, object: &Object) -> Result<String, CallError> {
        self.card
            .check_version(object)
            .map_err(|error| self.new_call(hook, Some(object), None).into_error(error.code, error.message))?;
        text::object_for_plugin(object, &self.card.name, self.card.sees_secret_data())
            .map(Cow::into_owned)
            .map_err(|why| self.new_call(hook, Some(object), None).into_error("unreadable".to_owned(), why))
    }
}
