//! Plugins that are called as in any move, and whose calls are written into a recording.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use pivot_core::checks::providers::Provider;
use pivot_core::plugins::hooks::{Description, Finding, Hook, Point, Relation, Settlement};
use pivot_core::{GroupKind, Object, Side};
use pivot_engine::Hooks;
use pivot_engine::hooks::{HookError, MoveContext, Read, RunContext, Services};
use pivot_runtime::{Answer as EndpointReply, Probe, Query, ServiceError};
use serde_json::{Value, json};

use super::super::hook_calls::{Answer, error_answer};
use super::file::RecordingFile;
use super::format::{
    EndpointAnswer, KubectlFlags, MovingNamespace, Question, RecordedAnswer, RecordedCall, RecordedError,
    RecordedPlugin, RecordedProvider, RecordedQuery, RecordedQuestion, RecordedView, RecordingEntry,
    RedactedParts,
};
use super::redaction::Redaction;

/// A plugin whose calls are recorded.
pub(in crate::plugins) struct CallRecorder {
    plugin: Arc<dyn Hooks>,
    /// Whether plugins.toml has a configuration for it.
    has_config: bool,
    /// All plugins of the move that see the data of Secrets.
    secret_readers: Arc<[Arc<dyn Hooks>]>,
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
    questions: Vec<(Question, Reply)>,
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
            questions: Vec::new(),
        }
    }
}

/// An answer to a question of a plugin.
enum Reply {
    Objects(Result<Vec<Object>, ServiceError>),
    Providers(Result<Vec<Provider>, ServiceError>),
    Endpoint(Result<EndpointReply, ServiceError>),
}

impl CallRecorder {
    /// Returns the plugins of a move, whose calls are recorded. Each plugin comes with the information whether plugins.toml has a
    /// configuration for it.
    pub(in crate::plugins) fn record_all(
        plugins: Vec<(Arc<dyn Hooks>, bool)>,
        file: &Arc<RecordingFile>,
    ) -> Vec<Arc<dyn Hooks>> {
        let all = plugins.iter().map(|(plugin, _)| plugin);
        let secret_readers: Arc<[_]> = all.filter(|one| one.describe().secret_data).cloned().collect();
        let record = |(plugin, has_config)| -> Arc<dyn Hooks> {
            Arc::new(Self { plugin, has_config, secret_readers: secret_readers.clone(), file: file.clone() })
        };
        plugins.into_iter().map(record).collect()
    }

    /// Records a call, unless the plugin was not called, because it lacks the hook.
    fn record<T: Clone>(&self, input: CallInput<'_>, answer: &Result<T, HookError>, wrap: fn(T) -> Answer) {
        let CallInput { hook, point, source, copy, written_since_commit, moving, questions } = input;
        let description = self.plugin.describe();
        let object = source.or(copy);
        let is_called = description.hooks.contains(&hook)
            && object.map(|object| &object.kind.group_kind).is_none_or(|kind| {
                description.can_see(kind) && (hook == Hook::Relate || self.plugin.changes(hook, kind))
            });
        if !is_called {
            return;
        }
        let redaction = Redaction { plugin: description, secret_readers: &self.secret_readers };
        let mut redacted = RedactedParts::default();
        let mut record_object = |object: &Object| {
            let body = redaction.redact_object(object);
            redacted.input |= body.has_loss;
            body.value
        };
        let (source, copy) = (source.map(&mut record_object), copy.map(&mut record_object));
        let questions = questions.into_iter().map(|(question, reply)| RecordedQuestion {
            question,
            answer: record_reply(reply, &mut record_object),
        });
        let questions = questions.collect();
        let expect = match answer {
            Ok(answer) => {
                let answer = redaction.redact_answer(wrap(answer.clone()), object);
                redacted.answer = answer.has_loss;
                json!(answer.value)
            }
            Err(HookError { code, message }) => error_answer(code, message),
        };
        self.file.write(&RecordingEntry::Call(Box::new(RecordedCall {
            plugin: description.name.clone(),
            hook,
            point,
            source,
            copy,
            written_since_commit,
            moving: moving.map(record_view),
            questions,
            expect,
            redacted,
        })));
    }
}

fn record_view(view: &MoveContext) -> RecordedView {
    let namespaces = view.namespaces.iter().cloned();
    RecordedView {
        namespaces: namespaces.map(|(source, target)| MovingNamespace { source, target }).collect(),
        objects: view.objects.clone(),
    }
}

fn record_reply(reply: Reply, record_object: impl FnMut(&Object) -> Value) -> RecordedAnswer {
    let answer = match reply {
        Reply::Objects(answer) => {
            answer.map(|objects| RecordedAnswer::Objects(objects.iter().map(record_object).collect()))
        }
        Reply::Providers(answer) => answer.map(|all| {
            let all = all.into_iter().map(|provider| RecordedProvider {
                name: provider.name,
                provider_type: provider.kind_of,
                version: provider.version,
                namespace: provider.namespace,
            });
            RecordedAnswer::Providers(all.collect())
        }),
        Reply::Endpoint(answer) => answer.map(|EndpointReply { status, body, took }| {
            let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            RecordedAnswer::Endpoint(EndpointAnswer { status, body, millis })
        }),
    };
    let record_error =
        |ServiceError { code, message }| RecordedAnswer::Error(RecordedError { code, message });
    answer.unwrap_or_else(record_error)
}

#[async_trait]
impl Hooks for CallRecorder {
    fn describe(&self) -> &Description {
        self.plugin.describe()
    }

    fn for_run(&self, run: &RunContext) -> Option<Arc<dyn Hooks>> {
        let Self { plugin, has_config, secret_readers, file } = self;
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
            secret_readers: secret_readers.clone(),
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
        let asked = Arc::new(QuestionRecorder::new(services));
        let answer = self.plugin.check(point, context, asked.clone()).await;
        let input = CallInput {
            point: Some(point),
            moving: Some(context),
            questions: asked.take(),
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
        let asked = Arc::new(QuestionRecorder::new(services));
        let answer = self.plugin.settle(object, written, asked.clone()).await;
        let input = CallInput {
            copy: Some(object),
            written_since_commit: written,
            questions: asked.take(),
            ..CallInput::new(Hook::Settle)
        };
        self.record(input, &answer, Answer::Settlement);
        answer
    }
}

/// Answers of a move, with a record of the questions of one call.
struct QuestionRecorder {
    services: Arc<dyn Services>,
    asked: Mutex<Vec<(Question, Reply)>>,
}

impl QuestionRecorder {
    fn new(services: Arc<dyn Services>) -> Self {
        Self { services, asked: Mutex::default() }
    }

    fn add(&self, question: Question, reply: Reply) {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push((question, reply));
    }

    fn take(&self) -> Vec<(Question, Reply)> {
        std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl Services for QuestionRecorder {
    async fn read(&self, plugin: &str, query: Query) -> Result<Vec<Object>, ServiceError> {
        let question = RecordedQuery::from(&query);
        let answer = self.services.read(plugin, query).await;
        self.add(Question::Read(question), Reply::Objects(answer.clone()));
        answer
    }

    async fn providers(&self, plugin: &str, side: Side) -> Result<Vec<Provider>, ServiceError> {
        let answer = self.services.providers(plugin, side).await;
        self.add(Question::Providers(side), Reply::Providers(answer.clone()));
        answer
    }

    async fn probe(&self, plugin: &str, probe: Probe) -> Result<EndpointReply, ServiceError> {
        let question = Question::Probe(probe.describe());
        let answer = self.services.probe(plugin, probe).await;
        self.add(question, Reply::Endpoint(answer.clone()));
        answer
    }
}
