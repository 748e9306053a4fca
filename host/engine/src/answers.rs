//! Who answers plugins' questions: the two sides, through the handles of the run.
//!
//! The runtime has checked that a question was declared and granted. What is left to hold here is the confinement to
//! the namespaces that move, which only the run knows.

use std::sync::Arc;

use async_trait::async_trait;
use pivot_core::refusal::Side;
use pivot_core::scope::{Namespaces, Scope};
use pivot_core::{Key, Object};
use pivot_places::{PlaceError, ServicePath};
use pivot_runtime::probe::Here;
use pivot_runtime::{Answer, Denied, Probe, Query, ServiceError, Services, Vantage};
use tokio::time::Instant;

use crate::discover::Kinds;
use crate::failure::Failure;
use crate::sides::Handle;

/// How much of a service's answer a plugin may see.
const ANSWER_LIMIT: usize = 256 * 1024;

/// The two sides, as plugins may ask them.
pub(crate) struct Answers {
    source: Handle,
    target: Handle,
    kinds: Arc<Kinds>,
    scope: Scope,
    here: Option<Here>,
}

impl Answers {
    pub(crate) fn new(source: &Handle, target: &Handle, kinds: &Arc<Kinds>, scope: &Scope) -> Self {
        // Without certificates to trust nothing is probed from here; a probe then says so.
        let here = Here::new().ok();
        Self {
            source: source.clone(),
            target: target.clone(),
            kinds: kinds.clone(),
            scope: scope.clone(),
            here,
        }
    }

    fn handle(&self, side: Side) -> &Handle {
        match side {
            Side::Source => &self.source,
            Side::Target => &self.target,
        }
    }

    /// The namespace to look in; none: all.
    fn namespace(&self, query: &Query) -> Result<Option<String>, ServiceError> {
        match (&query.namespace, &self.scope.namespaces) {
            (Some(asked), _) if query.confined && !self.scope.includes(Some(asked)) => {
                Err(Denied(format!("namespace {asked} does not move, and reading it was not granted")).into())
            }
            (Some(asked), _) if asked == "*" => Ok(None),
            (Some(asked), _) => Ok(Some(asked.clone())),
            (None, Namespaces::One(one)) => Ok(Some(one.clone())),
            (None, Namespaces::All) => Ok(None),
        }
    }
}

#[async_trait]
impl Services for Answers {
    async fn read(&self, _plugin: &str, query: Query) -> Result<Vec<Object>, ServiceError> {
        let handle = self.handle(query.side);
        let Some(kind) = self.kinds.of(query.side).get(&query.kind) else {
            return Err(ServiceError::new(
                "no-such-kind",
                format!("the {} has no {}", query.side, query.kind),
            ));
        };
        let namespace = if kind.namespaced { self.namespace(&query)? } else { None };
        let answer = match (&query.name, kind.namespaced && namespace.is_none()) {
            (Some(name), false) => {
                let key = Key::new(query.kind.clone(), namespace.as_deref(), name);
                handle.get(kind, &key).await.map(|object| object.into_iter().collect())
            }
            (name, _) => handle.list(kind, namespace.as_deref()).await.map(|listing| {
                let named = |object: &Object| name.as_ref().is_none_or(|name| object.meta.name == *name);
                listing.objects.into_iter().filter(named).collect()
            }),
        };
        answer.map_err(|failure| service_error(&failure))
    }

    async fn probe(&self, _plugin: &str, probe: Probe) -> Result<Answer, ServiceError> {
        let side = match probe.vantage {
            Vantage::Here => {
                let here = self.here.as_ref();
                let here =
                    here.ok_or_else(|| ServiceError::new("unreachable", "no certificates to trust here"))?;
                return here.probe(&probe).await;
            }
            Vantage::Side(side) => side,
        };
        let invalid = || ServiceError::new("invalid", "a service is asked as namespace/service:port/path");
        let (namespace, rest) = probe.address.split_once('/').ok_or_else(invalid)?;
        let (service, rest) = rest.split_once(':').ok_or_else(invalid)?;
        let (port, path) = rest.split_once('/').unwrap_or((rest, ""));
        let begun = Instant::now();
        let asked =
            self.handle(side).place.proxy_get(ServicePath { namespace, service, port, path }, ANSWER_LIMIT);
        match tokio::time::timeout(probe.timeout, asked).await {
            Ok(Ok((status, body))) => Ok(Answer {
                status,
                body: String::from_utf8_lossy(&body).into_owned(),
                took: begun.elapsed(),
            }),
            Ok(Err(error)) => Err(ServiceError::new(word(&error), error.to_string())),
            Err(_) => Err(ServiceError::new("unreachable", "no answer in time")),
        }
    }
}

fn service_error(failure: &Failure) -> ServiceError {
    let code = match failure {
        Failure::Place { error, .. } => word(error),
        _ => "unreachable",
    };
    ServiceError::new(code, failure.to_string())
}

fn word(error: &PlaceError) -> &'static str {
    match error {
        PlaceError::NotFound(_) => "not-found",
        PlaceError::Forbidden(_) | PlaceError::Unauthorized(_) => "denied",
        PlaceError::Invalid(_) | PlaceError::Unsupported(..) => "invalid",
        _ => "unreachable",
    }
}
