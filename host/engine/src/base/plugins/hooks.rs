//! The engine's calls to plugins: the mirror of `wit/provider.wit`.
//!
//! One implementation per plugin: the runtime's components, and native types in tests. A hook's return value is a decision; the
//! engine checks it against its bounds (`bounds.rs`) and carries it out.

use std::sync::Arc;

use async_trait::async_trait;
use pivot_core::plugins::hooks::{Description, Finding, Hook, Point, Relation, Settlement};
use pivot_core::{GroupKind, Object};
use pivot_runtime::CallError;
pub use pivot_runtime::{MoveContext, RunContext, RunKind, ServedKinds, Services};
pub use pivot_vetting::permissions::Read;
use serde_json::Value;

/// Failure of a hook.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{code}: {message}")]
pub struct HookError {
    /// A code for programs.
    pub code: String,
    /// A sentence for people.
    pub message: String,
}

/// A plugin.
#[async_trait]
pub trait Hooks: Send + Sync + 'static {
    /// Returns the plugin's description.
    fn describe(&self) -> &Description;

    /// Returns the plugin for one run, if it has to know the run, or if calls use up a budget: no run spends another's.
    /// `None`: it can be shared.
    fn for_run(&self, _run: &RunContext) -> Option<Arc<dyn Hooks>> {
        None
    }

    /// Fails if it doesn't understand the version in which an object was read.
    fn check_version(&self, _object: &Object) -> Result<(), HookError> {
        Ok(())
    }

    /// Returns true if the plugin changes objects of a kind in a hook. A plugin may want to see more kinds than it changes.
    fn changes(&self, hook: Hook, kind: &GroupKind) -> bool {
        self.describe().has_hook_for(hook, kind)
    }

    /// Returns the objects of the two sides that the plugin may read.
    fn reads(&self) -> &[Read] {
        &[]
    }

    /// Returns the relations of one object to others.
    async fn relate(&self, _object: &Object) -> Result<Vec<Relation>, HookError> {
        Ok(Vec::new())
    }

    /// Returns the findings that decide whether the move may continue.
    async fn check(
        &self,
        _point: Point,
        _context: &MoveContext,
        _services: Arc<dyn Services>,
    ) -> Result<Vec<Finding>, HookError> {
        Ok(Vec::new())
    }

    /// The provider-specific pause of a source object: a merge patch of metadata.
    async fn hold(&self, _object: &Object) -> Result<Option<Value>, HookError> {
        Ok(None)
    }

    /// A merge patch for an object about to be created.
    async fn adapt(&self, _object: &Object) -> Result<Option<Value>, HookError> {
        Ok(None)
    }

    /// A merge patch for the status of an object just created.
    async fn restore(&self, _source: &Object, _created: &Object) -> Result<Option<Value>, HookError> {
        Ok(None)
    }

    /// Returns the next step before an object is released; `_written`: whether anyone but this program has written to it since the
    /// commit.
    async fn settle(
        &self,
        _object: &Object,
        _written: bool,
        _services: Arc<dyn Services>,
    ) -> Result<Settlement, HookError> {
        Ok(Settlement::Done)
    }
}

impl From<CallError> for HookError {
    fn from(error: CallError) -> Self {
        let CallError { code, message, .. } = error;
        Self { code, message }
    }
}

/// A component: its hooks run in a sandbox.
#[async_trait]
impl Hooks for pivot_runtime::Plugin {
    fn describe(&self) -> &Description {
        self.description()
    }

    fn for_run(&self, run: &RunContext) -> Option<Arc<dyn Hooks>> {
        Some(Arc::new(Self::for_run(self, run.clone())))
    }

    fn check_version(&self, object: &Object) -> Result<(), HookError> {
        Ok(Self::check_version(self, object)?)
    }

    fn changes(&self, hook: Hook, kind: &GroupKind) -> bool {
        self.description().hooks.contains(&hook) && self.declaration().declares_change(hook, kind)
    }

    fn reads(&self) -> &[Read] {
        &self.declaration().reads
    }

    async fn relate(&self, object: &Object) -> Result<Vec<Relation>, HookError> {
        Ok(Self::relate(self, object).await?)
    }

    async fn check(
        &self,
        point: Point,
        context: &MoveContext,
        services: Arc<dyn Services>,
    ) -> Result<Vec<Finding>, HookError> {
        Ok(Self::check(self, point, context, services).await?)
    }

    async fn hold(&self, object: &Object) -> Result<Option<Value>, HookError> {
        Ok(Self::hold(self, object).await?)
    }

    async fn adapt(&self, object: &Object) -> Result<Option<Value>, HookError> {
        Ok(Self::adapt(self, object).await?)
    }

    async fn restore(&self, source: &Object, created: &Object) -> Result<Option<Value>, HookError> {
        Ok(Self::restore(self, source, created).await?)
    }

    async fn settle(
        &self,
        object: &Object,
        written: bool,
        services: Arc<dyn Services>,
    ) -> Result<Settlement, HookError> {
        Ok(Self::settle(self, object, written, services).await?)
    }
}
