//! The questions of one call, without data of Secrets, and with at most the size of a line.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use pivot_core::checks::providers::Provider;
use pivot_core::{Object, Side};
use pivot_engine::Hooks;
use pivot_engine::hooks::Services;
use pivot_runtime::{Answer, Probe, Query, ServiceError};
use serde_json::value::to_raw_value;

use super::format::{
    EndpointAnswer, MAX_LINE_BYTES, Question, RecordedAnswer, RecordedError, RecordedProvider, RecordedQuery,
    RecordedQuestion,
};
use super::redaction::{RedactedValue, Redaction};
use super::secret_carriers::SecretCarriers;

/// The reason why a recording has no questions of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Omission {
    /// The plugin may have put data of Secrets into a question.
    SecretData,
    /// The questions and answers don't fit into a line.
    Size,
}

/// The questions of one call, each with its answer.
#[derive(Default)]
pub(super) struct AskedQuestions {
    pub(super) questions: Vec<RecordedQuestion>,
    /// Length of the questions as JSON.
    bytes: usize,
    /// True if an answer has an object with an unreadable body.
    pub(super) has_loss: bool,
    /// None if all questions are recorded. Otherwise none is.
    pub(super) omission: Option<Omission>,
}

/// An answer to a question of a plugin.
enum Reply<'a> {
    Objects(&'a [Object]),
    Providers(&'a [Provider]),
    Endpoint(&'a Answer),
}

/// Answers of a move, with a record of the questions of one call.
pub(super) struct QuestionRecorder {
    services: Arc<dyn Services>,
    plugin: Arc<dyn Hooks>,
    carriers: Arc<SecretCarriers>,
    /// True if the plugin may have data of Secrets before it asks.
    is_exposed: bool,
    asked: Mutex<AskedQuestions>,
}

impl QuestionRecorder {
    /// Records the questions of a call with this object.
    pub(super) fn new(
        services: Arc<dyn Services>,
        plugin: &Arc<dyn Hooks>,
        carriers: &Arc<SecretCarriers>,
        object: Option<&Object>,
    ) -> Self {
        let redaction = Redaction { plugin: plugin.describe(), carriers };
        let is_exposed = redaction.plugin.secret_data || redaction.has_exposed_object(object);
        Self {
            services,
            plugin: plugin.clone(),
            carriers: carriers.clone(),
            is_exposed,
            asked: Mutex::default(),
        }
    }

    /// Returns the questions so far.
    pub(super) fn take(&self) -> AskedQuestions {
        std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a question. If it can't be recorded, drops all questions of the call.
    fn add(&self, question: Question, answer: Result<Reply<'_>, &ServiceError>) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.omission.is_some() {
            return;
        }
        if let Err(omission) = self.record(&mut asked, question, answer) {
            *asked = AskedQuestions { omission: Some(omission), ..AskedQuestions::default() };
        }
    }

    fn record(
        &self,
        asked: &mut AskedQuestions,
        question: Question,
        answer: Result<Reply<'_>, &ServiceError>,
    ) -> Result<(), Omission> {
        if self.is_exposed {
            return Err(Omission::SecretData);
        }
        let answer = match answer {
            Ok(Reply::Objects(objects)) => self.record_objects(asked, objects)?,
            Ok(Reply::Providers(all)) => RecordedAnswer::Providers(all.iter().map(record_provider).collect()),
            Ok(Reply::Endpoint(Answer { status, body, took })) => {
                let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
                RecordedAnswer::Endpoint(EndpointAnswer { status: *status, body: body.clone(), millis })
            }
            Err(ServiceError { code, message }) => {
                RecordedAnswer::Error(RecordedError { code: code.clone(), message: message.clone() })
            }
        };
        let recorded = RecordedQuestion { question, answer };
        // The comma after it counts, too.
        let length = serde_json::to_vec(&recorded).map_or(usize::MAX, |text| text.len().saturating_add(1));
        asked.bytes = asked.bytes.saturating_add(length);
        if asked.bytes > MAX_LINE_BYTES {
            return Err(Omission::Size);
        }
        asked.questions.push(recorded);
        Ok(())
    }

    /// Converts objects one by one, as long as they fit.
    fn record_objects(
        &self,
        asked: &mut AskedQuestions,
        objects: &[Object],
    ) -> Result<RecordedAnswer, Omission> {
        let redaction = Redaction { plugin: self.plugin.describe(), carriers: &self.carriers };
        if objects.iter().any(|object| redaction.has_exposed_object(Some(object))) {
            return Err(Omission::SecretData);
        }
        let mut room = MAX_LINE_BYTES.saturating_sub(asked.bytes);
        let mut bodies = Vec::new();
        for object in objects {
            let RedactedValue { value, has_loss } = redaction.redact_object(object);
            asked.has_loss |= has_loss;
            let body = to_raw_value(&value).map_err(|_| Omission::Size)?;
            room = room.checked_sub(body.get().len()).ok_or(Omission::Size)?;
            bodies.push(body);
        }
        Ok(RecordedAnswer::Objects(bodies))
    }
}

fn record_provider(provider: &Provider) -> RecordedProvider {
    RecordedProvider {
        name: provider.name.clone(),
        provider_type: provider.kind_of.clone(),
        version: provider.version.clone(),
        namespace: provider.namespace.clone(),
    }
}

#[async_trait]
impl Services for QuestionRecorder {
    async fn read(&self, plugin: &str, query: Query) -> Result<Vec<Object>, ServiceError> {
        let question = Question::Read(RecordedQuery::from(&query));
        let answer = self.services.read(plugin, query).await;
        self.add(question, answer.as_deref().map(Reply::Objects));
        answer
    }

    async fn providers(&self, plugin: &str, side: Side) -> Result<Vec<Provider>, ServiceError> {
        let answer = self.services.providers(plugin, side).await;
        self.add(Question::Providers(side), answer.as_deref().map(Reply::Providers));
        answer
    }

    async fn probe(&self, plugin: &str, probe: Probe) -> Result<Answer, ServiceError> {
        let question = Question::Probe(probe.describe());
        let answer = self.services.probe(plugin, probe).await;
        self.add(question, answer.as_ref().map(Reply::Endpoint));
        answer
    }
}
