//! Plugins that are called as in any move, and whose calls are written into a recording.

use std::sync::Arc;

use async_trait::async_trait;
use pivot_core::plugins::hooks::{Description, Finding, Hook, Point, Relation, Settlement};
use pivot_core::{GroupKind, Object};
use pivot_engine::Hooks;
use pivot_engine::hooks::{HookError, MoveContext, Read, RunContext, Services};
use serde_json::Value;

use super::super::hook_calls::Answer;
use super::asked_questions::{AskedQuestions, Omission, QuestionRecorder};
use super::file::RecordingFile;
use super::format::{
    KubectlFlags, MovingNamespace, OmittedCall, RecordedCall, RecordedPlugin, RecordedView, RecordingEntry,
    RedactedParts,
};
use super::redaction::Redaction;
use super::secret_carriers::SecretCarriers;

/// A plugin whose calls are recorded.
pub(in crate::plugins) struct CallRecorder {
    plugin: Arc<dyn Hooks>,
    /// True if plugins.toml has a configuration for it.
    has_config: bool,
    carriers: Arc<SecretCarriers>,
    file: Arc<RecordingFile>,
}

/// The input of a call.
struct CallInput<'a> {
    hook: Hook,
    point: Option<Point>,
    source: Option<&'a Object>,
    copy: Option<&'a Object>,
    written_since_commit: bool,
    moving: Option<&'a MoveContext>,
    asked: AskedQuestions,
}

impl CallInput<'_> {
    fn new(hook: Hook) -> Self {
        Self {
            hook,
            point: None,
            source: None,
            copy: None,
            written_since_commit: false,
            moving: None,
            asked: AskedQuestions::default(),
        }
    }
}

impl CallRecorder {
    /// Returns the plugins of a move, whose calls are recorded. Each plugin comes with the information whether plugins.toml has a
    /// configuration for it.
    pub(in crate::plugins) fn record_all(
        plugins: Vec<(Arc<dyn Hooks>, bool)>,
        file: &Arc<RecordingFile>,
    ) -> Vec<Arc<dyn Hooks>> {
        let carriers = Arc::new(SecretCarriers::find(plugins.iter().map(|(plugin, _)| plugin)));
        let record = |(plugin, has_config)| -> Arc<dyn Hooks> {
            Arc::new(Self { plugin, has_config, carriers: carriers.clone(), file: file.clone() })
        };
        plugins.into_iter().map(record).collect()
    }

    /// Records a call, unless the plugin was not called, because it lacks the hook.
    fn record<T: Clone>(&self, input: CallInput<'_>, answer: &Result<T, HookError>, wrap: fn(T) -> Answer) {
        let CallInput { hook, point, source, copy, written_since_commit, moving, asked } = input;
        let description = self.plugin.describe();
        let object = source.or(copy);
        let is_called = description.hooks.contains(&hook)
            && object.map(|object| &object.kind.group_kind).is_none_or(|kind| {
                description.can_see(kind) && (hook == Hook::Relate || self.plugin.changes(hook, kind))
            });
        if !is_called {
            return;
        }
        let AskedQuestions { questions, has_loss, omission, .. } = asked;
        if omission == Some(Omission::Size) {
            let omitted = OmittedCall { plugin: description.name.clone(), hook };
            return self.file.write(&RecordingEntry::Omitted(omitted));
        }
        let redaction = Redaction { plugin: description, carriers: &self.carriers };
        let mut redacted = RedactedParts { input: has_loss || omission.is_some(), answer: false };
        let mut record_object = |object: &Object| {
            let body = redaction.redact_object(object);
            redacted.input |= body.has_loss;
            body.value
        };
        let (recorded_source, recorded_copy) = (source.map(&mut record_object), copy.map(&mut record_object));
        let is_exposed = omission.is_some() || redaction.has_exposed_object(object);
        let expect = redaction.redact_result(answer.clone().map(wrap), object, is_exposed);
        redacted.answer = expect.has_loss;
        self.file.write(&RecordingEntry::Call(Box::new(RecordedCall {
            plugin: description.name.clone(),
            hook,
            point,
            source: recorded_source,
            copy: recorded_copy,
            written_since_commit,
            moving: moving.map(record_view),
            questions,
            expect: expect.value,
            redacted,
        })));
    }

    /// Returns answers that record the questions of a call with this object.
    fn record_questions(
        &self,
        services: Arc<dyn Services>,
        object: Option<&Object>,
    ) -> Arc<QuestionRecorder> {
        Arc::new(QuestionRecorder::new(services, &self.plugin, &self.carriers, object))
    }
}

fn record_view(view: &MoveContext) -> RecordedView {
    let namespaces = view.namespaces.iter().cloned();
    RecordedView {
        namespaces: namespaces.map(|(source, target)| MovingNamespace { source, target }).collect(),
        objects: view.objects.clone(),
    }
}

#[async_trait]
impl Hooks for CallRecorder {
    fn describe(&self) -> &Description {
        self.plugin.describe()
    }

    fn for_run(&self, run: &RunContext) -> Option<Arc<dyn Hooks>> {
        let Self { plugin, has_config, carriers, file } = self;
        let Description { name, version, digest, .. } = plugin.describe();
        file.write(&RecordingEntry::Plugin(RecordedPlugin {
            name: name.clone(),
            version: version.clone(),
            digest: digest.clone(),
            has_config: *has_config,
            run: run.kind,
            move_id: run.move_id.clone(),
            namespace_map: run.namespace_map.clone(),
            kubectl: KubectlFlags { source: run.kubectl.source.clone(), target: run.kubectl.target.clone() },
        }));
        Some(Arc::new(Self {
            plugin: plugin.for_run(run).unwrap_or_else(|| plugin.clone()),
            has_config: *has_config,
            carriers: carriers.clone(),
            file: file.clone(),
        }))
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
        let answer = self.plugin.relate(object).await;
        let input = CallInput { source: Some(object), ..CallInput::new(Hook::Relate) };
        self.record(input, &answer, Answer::Relations);
        answer
    }

    async fn check(
        &self,
        point: Point,
        context: &MoveContext,
        services: Arc<dyn Services>,
    ) -> Result<Vec<Finding>, HookError> {
        let asked = self.record_questions(services, None);
        let answer = self.plugin.check(point, context, asked.clone()).await;
        let input = CallInput {
            point: Some(point),
            moving: Some(context),
            asked: asked.take(),
            ..CallInput::new(Hook::Check)
        };
        self.record(input, &answer, Answer::Findings);
        answer
    }

    async fn hold(&self, object: &Object) -> Result<Option<Value>, HookError> {
        let answer = self.plugin.hold(object).await;
        let input = CallInput { source: Some(object), ..CallInput::new(Hook::Hold) };
        self.record(input, &answer, Answer::Patch);
        answer
    }

    async fn adapt(&self, object: &Object) -> Result<Option<Value>, HookError> {
        let answer = self.plugin.adapt(object).await;
        let input = CallInput { source: Some(object), ..CallInput::new(Hook::Adapt) };
        self.record(input, &answer, Answer::Patch);
        answer
    }

    async fn restore(&self, source: &Object, created: &Object) -> Result<Option<Value>, HookError> {
        let answer = self.plugin.restore(source, created).await;
        let input = CallInput { source: Some(source), copy: Some(created), ..CallInput::new(Hook::Restore) };
        self.record(input, &answer, Answer::Patch);
        answer
    }

    async fn settle(
        &self,
        object: &Object,
        written: bool,
        services: Arc<dyn Services>,
    ) -> Result<Settlement, HookError> {
        let asked = self.record_questions(services, Some(object));
        let answer = self.plugin.settle(object, written, asked.clone()).await;
        let input = CallInput {
            copy: Some(object),
            written_since_commit: written,
            asked: asked.take(),
            ..CallInput::new(Hook::Settle)
        };
        self.record(input, &answer, Answer::Settlement);
        answer
    }
}
