//! Two sides that are lists of objects, for the questions of plugins outside a move.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use pivot_core::{Object, Side};

use crate::probe::Here;
use crate::services::{Answer, Denied, Probe, Query, ServiceError, Services, Vantage};

/// Answers of endpoints, by [`Probe::describe`].
pub type ProbeAnswers = BTreeMap<String, Result<Answer, ServiceError>>;

/// Answers from its lists. All objects of the source move, and so do their namespaces.
#[derive(Clone, Default)]
pub struct Scene {
    /// The source's objects.
    pub source: Vec<Object>,
    /// The target's.
    pub target: Vec<Object>,
    /// Answers to probes.
    pub probes: Arc<ProbeAnswers>,
    /// Probes endpoints without an answer in `probes` from this machine; none: they are unreachable.
    pub here: Option<Here>,
}

impl Scene {
    /// The namespaces that move, each once, sorted, with the same name in the target.
    pub fn moving_namespaces(&self) -> Vec<(String, String)> {
        let mut all: Vec<_> = self.source.iter().filter_map(|object| object.meta.namespace.clone()).collect();
        all.sort();
        all.dedup();
        all.into_iter().map(|name| (name.clone(), name)).collect()
    }
}

#[async_trait]
impl Services for Scene {
    async fn read(&self, _plugin: &str, query: Query) -> Result<Vec<Object>, ServiceError> {
        let moving = self.moving_namespaces();
        let moves = |namespace: &str| moving.iter().any(|(one, _)| one == namespace);
        if let Some(asked) = query.namespace.as_deref().filter(|asked| query.confined && !moves(asked)) {
            let why = format!("namespace {asked} does not move, and reading it was not granted");
            return Err(Denied(why).into());
        }
        let side = match query.side {
            Side::Source => &self.source,
            Side::Target => &self.target,
        };
        let objects = side.iter().filter(|object| {
            let place = match (query.namespace.as_deref(), object.meta.namespace.as_deref()) {
                (Some("*"), _) => true,
                (_, None) => self.source.iter().any(|source| source.key() == object.key()),
                (Some(asked), Some(namespace)) => namespace == asked,
                (None, Some(namespace)) => moves(namespace),
            };
            let named = query.name.as_ref().is_none_or(|name| *name == object.meta.name);
            place && named && object.kind.group_kind == query.kind
        });
        Ok(objects.cloned().collect())
    }

    async fn probe(&self, _plugin: &str, probe: Probe) -> Result<Answer, ServiceError> {
        match (self.probes.get(&probe.describe()), &self.here, probe.vantage) {
            (Some(answer), ..) => answer.clone(),
            (None, Some(here), Vantage::Here) => here.probe(&probe).await,
            (None, Some(_), Vantage::Side(_)) => {
                Err(ServiceError::new("unreachable", "there is no API server here to ask through"))
            }
            // The SDK's harness has the same words.
            (None, None, _) => Err(ServiceError::new("unreachable", "the test gave this endpoint no answer")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn probes_are_answered_by_vantage() {
        let answer = |status| Ok(Answer { status, ..Answer::default() });
        let answers = [
            ("tcp a:1", answer(0)),
            ("http http://a/", answer(200)),
            ("target n/s:1/", Err(ServiceError::new("denied", "no"))),
        ];
        let probes = Arc::new(answers.map(|(probe, answer)| (probe.to_owned(), answer)).into());
        let scene = Scene { probes, ..Scene::default() };
        for (http, vantage, address, expected) in [
            (false, Vantage::Here, "a:1", Ok(0)),
            (true, Vantage::Here, "http://a/", Ok(200)),
            (true, Vantage::Side(Side::Target), "n/s:1/", Err("denied")),
            (true, Vantage::Side(Side::Source), "n/s:1/", Err("unreachable")),
            (true, Vantage::Here, "http://b/", Err("unreachable")),
        ] {
            let address = address.to_owned();
            let probe = Probe { http, vantage, address, timeout: Duration::ZERO, named: Vec::new() };
            let told = scene.probe("p", probe).await.map(|answer| answer.status);
            assert_eq!(told.map_err(|error| error.code), expected.map_err(str::to_owned));
        }
    }
}
