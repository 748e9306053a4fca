//! Two sides that are lists of objects, for the questions of plugins outside a move.

use async_trait::async_trait;
use pivot_core::{Object, Side};

use crate::probe::Here;
use crate::services::{Answer, Denied, Probe, Query, ServiceError, Services, Vantage};

/// Answers from its lists. All objects of the source move, and so do their namespaces. Endpoints are really probed from here;
/// there is no API server to probe them through.
#[derive(Default)]
pub struct Scene {
    /// The source's objects.
    pub source: Vec<Object>,
    /// The target's.
    pub target: Vec<Object>,
    /// Probes endpoints; none: nothing is probed.
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
        match (&self.here, probe.vantage) {
            (Some(here), Vantage::Here) => here.probe(&probe).await,
            _ => Err(ServiceError::new("unreachable", "there is no API server here to ask through")),
        }
    }
}
