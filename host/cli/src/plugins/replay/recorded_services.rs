//! Answers of a recorded call.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pivot_core::checks::providers::Provider;
use pivot_core::{Object, Side};
use pivot_runtime::{Answer, Probe, Query, ServiceError, Services};
use serde_json::json;

use super::super::recording::format::{
    EndpointAnswer, Question, RecordedAnswer, RecordedError, RecordedProvider, RecordedQuery,
    RecordedQuestion,
};
use super::super::sample_objects::build_object;

/// The most questions without an answer that a call can list.
const MAX_UNRECORDED: usize = 100;

/// Answers questions as they were answered in the move.
pub(super) struct RecordedServices {
    questions: Vec<RecordedQuestion>,
    unrecorded: Mutex<Vec<String>>,
}

impl RecordedServices {
    pub(super) fn new(questions: Vec<RecordedQuestion>) -> Self {
        Self { questions, unrecorded: Mutex::default() }
    }

    /// Returns the questions that the recording has no answer to.
    pub(super) fn take_unrecorded(&self) -> Vec<String> {
        std::mem::take(&mut *self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the recorded answer to a question.
    fn find_answer(&self, question: &Question) -> Result<&RecordedAnswer, ServiceError> {
        match self.questions.iter().find(|one| one.question == *question).map(|one| &one.answer) {
            Some(RecordedAnswer::Error(RecordedError { code, message })) => {
                Err(ServiceError::new(code.clone(), message.clone()))
            }
            Some(answer) => Ok(answer),
            None => Err(self.refuse_question(question)),
        }
    }

    /// Notes a question without a recorded answer.
    fn refuse_question(&self, question: &Question) -> ServiceError {
        let mut unrecorded = self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner);
        if unrecorded.len() < MAX_UNRECORDED {
            unrecorded.push(question.to_string());
        }
        ServiceError::new("not-recorded", "the recording has no answer to this question")
    }
}

#[async_trait]
impl Services for RecordedServices {
    async fn read(&self, _plugin: &str, query: Query) -> Result<Vec<Object>, ServiceError> {
        let question = Question::Read(RecordedQuery::from(&query));
        let RecordedAnswer::Objects(objects) = self.find_answer(&question)? else {
            return Err(self.refuse_question(&question));
        };
        let objects = objects.iter().map(|body| build_object(&serde_json::from_str(body.get()).ok()?));
        let objects: Option<Vec<Object>> = objects.collect();
        objects.ok_or_else(|| self.refuse_question(&question))
    }

    async fn providers(&self, _plugin: &str, side: Side) -> Result<Vec<Provider>, ServiceError> {
        let question = Question::Providers(side);
        let RecordedAnswer::Providers(providers) = self.find_answer(&question)? else {
            return Err(self.refuse_question(&question));
        };
        let providers: Option<Vec<Provider>> = providers.iter().map(build_provider).collect();
        providers.ok_or_else(|| self.refuse_question(&question))
    }

    async fn probe(&self, _plugin: &str, probe: Probe) -> Result<Answer, ServiceError> {
        let question = Question::Probe(probe.describe());
        let RecordedAnswer::Endpoint(answer) = self.find_answer(&question)? else {
            return Err(self.refuse_question(&question));
        };
        let EndpointAnswer { status, body, millis } = answer;
        Ok(Answer { status: *status, body: body.clone(), took: Duration::from_millis(*millis) })
    }
}

fn build_provider(recorded: &RecordedProvider) -> Option<Provider> {
    let RecordedProvider { name, provider_type, version, namespace } = recorded;
    let object = build_object(&json!({
        "apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3", "kind": "Provider",
        "metadata": {"name": "recorded", "namespace": namespace},
        "providerName": name, "type": provider_type, "version": version,
    }))?;
    Provider::from_object(&object).ok()
}
