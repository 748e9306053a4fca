//! A test's plugin directory, and objects for plugins.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use pivot_core::{GroupKind, Kind, KindLabels, Object};
use pivot_runtime::{
    AdmitOptions, Answer, Grant, LoadError, LoadOptions, MoveContext, Plugin, Probe, Query, RunContext,
    Runtime, ServiceError, Services,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::log::log;

/// One of the tests' components.
pub fn guest(name: &str) -> Vec<u8> {
    std::fs::read(pivot_guests::guest(name).unwrap()).unwrap()
}

/// Grants `steady` and `hostile` everything they ask for; the endpoints only in one network.
pub fn grants(name: &str) -> String {
    let change =
        |hook: &str, side: &str| format!("{{ hook = '{hook}', kind = 'Host.test.io', side = '{side}' }}");
    format!(
        "[plugins.{name}]
        hooks = ['relate', 'check', 'hold', 'adapt', 'restore', 'settle']
        kinds = ['Host.test.io', 'Cluster.cluster.x-k8s.io', 'Secret']
        changes = [{}, {}, {}, {}, {{ hook = 'adapt', kind = 'Cluster.cluster.x-k8s.io', side = 'target' }}]
        reads = [{{ side = 'target', kind = 'Host.test.io' }}, {{ side = 'source', kind = 'Secret', namespace = 'ironic' }}]
        probes = ['10.0.0.0/8:6385']
        ",
        change("hold", "source"),
        change("adapt", "target"),
        change("restore", "target"),
        change("settle", "target"),
    )
}

/// Admitted with all it asks for.
pub fn granted() -> AdmitOptions<'static> {
    granting(true)
}

/// Admitted with all it asks for, or with what its section has.
pub fn granting(grant: bool) -> AdmitOptions<'static> {
    let grant = if grant { Grant::All } else { Grant::Nothing };
    AdmitOptions { grant, ..AdmitOptions::default() }
}

/// A plugin directory.
pub struct Place {
    pub dir: TempDir,
    pub runtime: Runtime,
}

impl Place {
    pub fn new() -> Self {
        log();
        Self { dir: TempDir::new().unwrap(), runtime: Runtime::new() }
    }

    /// With these guests, admitted, and the operator's file.
    pub async fn with(guests: &[&str], operator: &str) -> Self {
        let place = Self::new();
        place.operator(operator);
        for name in guests {
            place.put(&format!("{name}.wasm"), &guest(name));
            place.runtime.admit(&place.path(&format!("{name}.wasm")), &granted()).await.unwrap();
        }
        place
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.dir.path().join(file)
    }

    pub fn put(&self, file: &str, bytes: &[u8]) {
        std::fs::write(self.path(file), bytes).unwrap();
    }

    pub fn operator(&self, text: &str) {
        self.put("plugins.toml", text.as_bytes());
    }

    pub async fn load(&self) -> Result<Vec<Plugin>, Vec<LoadError>> {
        let loaded = self.runtime.load(self.dir.path(), LoadOptions::default()).await;
        loaded.map(|loaded| loaded.plugins)
    }

    /// Its only plugin.
    pub async fn plugin(&self) -> Plugin {
        self.load().await.unwrap().remove(0)
    }

    /// Why loading is refused: codes and texts.
    pub async fn refused(&self) -> Vec<(&'static str, String)> {
        let errors = self.load().await.unwrap_err();
        errors.into_iter().map(|error| (error.code(), error.to_string())).collect()
    }
}

pub fn object(group: &str, kind: &str, value: Value) -> Object {
    let kind = Kind {
        group_kind: GroupKind::new(group, kind),
        version: "v1".into(),
        plural: String::new(),
        namespaced: true,
        status_subresource: true,
        served: vec!["v1".into()],
        labels: KindLabels::default(),
    };
    Object::parse(Arc::new(kind), Bytes::from(value.to_string())).unwrap()
}

/// A host with additional top-level fields.
pub fn host(fields: Value) -> Object {
    let mut value =
        json!({"apiVersion": "test.io/v1", "kind": "Host", "metadata": {"name": "h", "namespace": "n"}});
    for (key, field) in fields.as_object().unwrap() {
        value[key] = field.clone();
    }
    object("test.io", "Host", value)
}

/// The object, read in another version.
pub fn of_version(version: &str, object: Object) -> Object {
    let kind = Kind { version: version.into(), ..Kind::clone(&object.kind) };
    Object::parse(Arc::new(kind), Bytes::copy_from_slice(object.raw())).unwrap()
}

pub fn in_mode(mode: &str) -> Object {
    host(json!({"mode": mode}))
}

pub fn moving() -> MoveContext {
    MoveContext { namespaces: vec![("n".into(), "n".into())], objects: vec![in_mode("").key()] }
}

/// The run of a move with this id.
pub fn run(id: &str) -> RunContext {
    RunContext { move_id: id.into(), ..RunContext::default() }
}

/// Answers questions, and records them.
#[derive(Default)]
pub struct Asked {
    pub queries: Mutex<Vec<Query>>,
    pub probes: Mutex<Vec<Probe>>,
    /// Filler for each host.
    pub fill: String,
    /// How long each answer takes.
    pub slow: std::time::Duration,
}

#[async_trait]
impl Services for Asked {
    async fn read(&self, _plugin: &str, query: Query) -> Result<Vec<Object>, ServiceError> {
        tokio::time::sleep(self.slow).await;
        let secret = query.kind.is_secret();
        self.queries.lock().unwrap().push(query);
        Ok(vec![if secret {
            object(
                "",
                "Secret",
                json!({"metadata": {"name": "s", "namespace": "ironic"}, "data": {"k": "aHVzaA=="}}),
            )
        } else {
            host(if self.fill.is_empty() { json!({}) } else { json!({"fill": self.fill}) })
        }])
    }

    async fn probe(&self, _plugin: &str, probe: Probe) -> Result<Answer, ServiceError> {
        tokio::time::sleep(self.slow).await;
        self.probes.lock().unwrap().push(probe);
        Ok(Answer::default())
    }
}

pub fn asked() -> Arc<Asked> {
    Arc::new(Asked::default())
}
