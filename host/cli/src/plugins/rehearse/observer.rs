//! Plugins that are called as in any move, with a log of the calls, and with answers of probes from a file.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use pivot_core::checks::providers::Provider;
use pivot_core::plugins::hooks::{Description, Finding, Hook, Point, Relation, Settlement, Severity};
use pivot_core::{GroupKind, Key, Object, Side};
use pivot_engine::Hooks;
use pivot_engine::hooks::{HookError, MoveContext, Read, RunContext, Services};
use pivot_runtime::{Probe, Query, ServiceError};
use serde_json::Value;

use super::super::hook_calls::Answer;
use super::answers::Answers;

/// A call of a hook, and the decision. Equal calls are one.
pub(super) struct Call {
    pub(super) plugin: String,
    pub(super) hook: Hook,
    pub(super) point: Option<Point>,
    pub(super) object: Option<Key>,
    pub(super) decision: Result<Answer, HookError>,
    /// Whether its patch may have data of Secrets.
    pub(super) secret: bool,
    pub(super) times: u32,
}

impl Call {
    /// Returns true if it is about the same object, and the same point.
    pub(super) fn has_subject_of(&self, other: &Self) -> bool {
        (&self.plugin, self.hook, self.point, &self.object)
            == (&other.plugin, other.hook, other.point, &other.object)
    }

    /// Returns the reason why a move doesn't get past the call: a code, and a sentence.
    pub(super) fn describe_failure(&self) -> Option<(String, String)> {
        let of_finding = |found: &Finding| (found.code.clone(), found.message.clone());
        match &self.decision {
            Err(HookError { code, message }) => Some((code.clone(), message.clone())),
            Ok(Answer::Settlement(Settlement::Wait(found) | Settlement::Stop(found))) => {
                Some(of_finding(found))
            }
            Ok(Answer::Findings(all)) => {
                all.iter().find(|found| found.severity >= Severity::Wait).map(of_finding)
            }
            Ok(Answer::Relations(_) | Answer::Patch(_) | Answer::Settlement(_)) => None,
        }
    }
}

/// The calls of all plugins, in their order.
#[derive(Default)]
pub(super) struct CallLog(Mutex<Vec<Call>>);

impl CallLog {
    fn add(&self, call: Call) {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_equal = |one: &&mut Call| match (&one.decision, &call.decision) {
            (Ok(one), Ok(other)) => one == other,
            (Err(one), Err(other)) => (&one.code, &one.message) == (&other.code, &other.message),
            _ => false,
        };
        match calls.iter_mut().rfind(|one| one.has_subject_of(&call)).filter(is_equal) {
            Some(one) => one.times += 1,
            None => calls.push(call),
        }
    }

    pub(super) fn take(&self) -> Vec<Call> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A plugin whose calls are logged.
pub(super) struct Observer {
    pub(super) plugin: Arc<dyn Hooks>,
    pub(super) log: Arc<CallLog>,
    pub(super) answers: Arc<Answers>,
}

impl Observer {
    fn log_call<T: Clone>(
        &self,
        hook: Hook,
        (point, object): (Option<Point>, Option<&Object>),
        answer: Result<T, HookError>,
        wrap: fn(T) -> Answer,
    ) -> Result<T, HookError> {
        let Description { name, secret_data, .. } = self.plugin.describe();
        self.log.add(Call {
            plugin: name.clone(),
            hook,
            point,
            object: object.map(Object::key),
            decision: answer.clone().map(wrap),
            secret: *secret_data || object.is_some_and(|object| object.kind.group_kind.is_secret()),
            times: 1,
        });
        answer
    }

    fn simulate_endpoints(&self, services: Arc<dyn Services>) -> Arc<dyn Services> {
        Arc::new(RehearsalServices { services, answers: self.answers.clone() })
    }
}

#[async_trait]
impl Hooks for Observer {
    fn describe(&self) -> &Description {
        self.plugin.describe()
    }

    fn for_run(&self, run: &RunContext) -> Option<Arc<dyn Hooks>> {
        let plugin = self.plugin.for_run(run)?;
        Some(Arc::new(Self { plugin, log: self.log.clone(), answers: self.answers.clone() }))
    }

    fn check_version(&self, object: &Object) -> Result<(), HookError> {
        self.plugin.check_version(object)
    }

    fn changes(&self, hook: Hook, kind: &GroupKind) -> bool {
        self.plugin.changes(hook, kind)
    }

    fn reads(&self) -> &[Read] {
        self.plugin.reads()
    }

    async fn relate(&self, object: &Object) -> Result<Vec<Relation>, HookError> {
        self.log_call(Hook::Relate, (None, Some(object)), self.plugin.relate(object).await, Answer::Relations)
    }

    async fn check(
        &self,
        point: Point,
        context: &MoveContext,
        services: Arc<dyn Services>,
    ) -> Result<Vec<Finding>, HookError> {
        let answer = self.plugin.check(point, context, self.simulate_endpoints(services)).await;
        self.log_call(Hook::Check, (Some(point), None), answer, Answer::Findings)
    }

    async fn hold(&self, object: &Object) -> Result<Option<Value>, HookError> {
        self.log_call(Hook::Hold, (None, Some(object)), self.plugin.hold(object).await, Answer::Patch)
    }

    async fn adapt(&self, object: &Object) -> Result<Option<Value>, HookError> {
        self.log_call(Hook::Adapt, (None, Some(object)), self.plugin.adapt(object).await, Answer::Patch)
    }

    async fn restore(&self, source: &Object, created: &Object) -> Result<Option<Value>, HookError> {
        let answer = self.plugin.restore(source, created).await;
        self.log_call(Hook::Restore, (None, Some(created)), answer, Answer::Patch)
    }

    async fn settle(
        &self,
        object: &Object,
        written: bool,
        services: Arc<dyn Services>,
    ) -> Result<Settlement, HookError> {
        let answer = self.plugin.settle(object, written, self.simulate_endpoints(services)).await;
        self.log_call(Hook::Settle, (None, Some(object)), answer, Answer::Settlement)
    }
}

/// Answers of the two sides in memory, and answers of endpoints from a file.
struct RehearsalServices {
    services: Arc<dyn Services>,
    answers: Arc<Answers>,
}

#[async_trait]
impl Services for RehearsalServices {
    async fn read(&self, plugin: &str, query: Query) -> Result<Vec<Object>, ServiceError> {
        self.services.read(plugin, query).await
    }

    async fn providers(&self, plugin: &str, side: Side) -> Result<Vec<Provider>, ServiceError> {
        self.services.providers(plugin, side).await
    }

    async fn probe(&self, _plugin: &str, probe: Probe) -> Result<pivot_runtime::Answer, ServiceError> {
        self.answers.answer(&probe)
    }
}
