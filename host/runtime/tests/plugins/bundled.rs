//! The bundled plugins as components: granted exactly what they ask for, with the same answers as natively.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use async_trait::async_trait;
use pivot_core::plugins::hooks::{Hook, Point};
use pivot_core::{GroupKind, Object};
use pivot_runtime::{
    Answer, CallError, MoveContext, Plugin, Probe, Query, Runtime, Scene, ServiceError, Services,
};
use serde::Serialize;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::object;

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The components, by name; built once.
fn components() -> &'static BTreeMap<String, PathBuf> {
    static BUILT: OnceLock<(TempDir, BTreeMap<String, PathBuf>)> = OnceLock::new();
    let (_, built) = BUILT.get_or_init(|| {
        let (root, out) = (repository(), TempDir::new().unwrap());
        let inputs = [root.join("wit"), root.join("sdk")];
        let inputs = inputs.each_ref().map(PathBuf::as_path);
        let files = pivot_guests::build_guests(&root.join("plugins"), &inputs, out.path()).unwrap();
        let name = |file: &PathBuf| file.file_stem().unwrap().to_string_lossy().into_owned();
        let built = files.into_iter().map(|file| (name(&file), file)).collect();
        (out, built)
    });
    built
}

fn operator() -> toml::Table {
    std::fs::read_to_string(repository().join("plugins/plugins.toml")).unwrap().parse().unwrap()
}

async fn plugin(name: &str, operator: &toml::Table) -> Plugin {
    Runtime::new().try_out(&components()[name], Some(&operator.to_string())).await.unwrap()
}

fn set<T: Debug>(items: &[T]) -> BTreeSet<String> {
    items.iter().map(|item| format!("{item:?}")).collect()
}

#[tokio::test]
async fn bundled_grants_equal_the_requests() {
    let operator = operator();
    let sections: Vec<&String> = operator["plugins"].as_table().unwrap().keys().collect();
    assert_eq!(components().keys().collect::<BTreeSet<_>>(), sections.into_iter().collect());
    for name in components().keys() {
        let plugin = plugin(name, &operator).await;
        let (asked, granted) = (plugin.declaration(), plugin.grants());
        assert_eq!(&asked.name, name);
        assert_eq!(set(&plugin.description().hooks), set(&granted.hooks), "{name}");
        assert_eq!(set(&asked.kinds), set(&granted.kinds), "{name}");
        assert_eq!(set(&asked.reach), set(&granted.reach), "{name}");
        assert_eq!(set(&asked.changes), set(&granted.changes), "{name}");
        assert_eq!(set(&asked.reads), set(&granted.reads), "{name}");
        assert_eq!(asked.secret_data, granted.secret_data, "{name}");
        // Its addresses depend on the site; it must have some if it asks for any.
        assert_eq!(asked.probes.is_empty(), granted.probes.is_empty(), "{name}");
    }
}

/// The scene's objects; no endpoint answers.
struct Silent(Scene);

#[async_trait]
impl Services for Silent {
    async fn read(&self, plugin: &str, query: Query) -> Result<Vec<Object>, ServiceError> {
        self.0.read(plugin, query).await
    }

    async fn probe(&self, _plugin: &str, _probe: Probe) -> Result<Answer, ServiceError> {
        Err(ServiceError::new("unreachable", "the test gave this endpoint no answer"))
    }
}

fn objects(scene: &Value, side: &str) -> Vec<Object> {
    let read = |value: &Value| {
        let group = value["apiVersion"].as_str().unwrap().rsplit_once('/').map_or("", |(group, _)| group);
        object(group, value["kind"].as_str().unwrap(), value.clone())
    };
    scene[side].as_array().unwrap().iter().map(read).collect()
}

fn said<T: Serialize>(answer: Result<T, CallError>) -> Value {
    match answer {
        Ok(answer) => json!(answer),
        Err(error) => json!({"error": error.code, "message": error.message}),
    }
}

async fn ask(plugin: &Plugin, scene: &Value, call: &Value) -> Value {
    let (source, target) = (objects(scene, "source"), objects(scene, "target"));
    let at = |index: &str| usize::try_from(call[index].as_u64().unwrap()).unwrap();
    let held = Scene { source: source.clone(), target: target.clone(), here: None };
    let seen = |kind: &GroupKind| plugin.description().has_hook_for(Hook::Check, kind);
    let moving = MoveContext {
        namespaces: held.moving_namespaces(),
        objects: source.iter().map(Object::key).filter(|key| seen(&key.group_kind)).collect(),
    };
    let services = Arc::new(Silent(held));
    match call["hook"].as_str().unwrap() {
        "relate" => said(plugin.relate(&source[at("of")]).await),
        "check" => {
            let points = [Point::BeforePause, Point::AfterPause, Point::BeforeCommit, Point::AfterResume];
            let point = points.into_iter().find(|point| call["point"] == point.as_str()).unwrap();
            said(plugin.check(point, &moving, services).await)
        }
        "hold" => said(plugin.hold(&source[at("of")]).await),
        "adapt" => said(plugin.adapt(&source[at("of")]).await),
        "restore" => said(plugin.restore(&source[at("of")], &target[at("created")]).await),
        // The default of native tests: a controller has written.
        _ => said(plugin.settle(&target[at("of")], true, services).await),
    }
}

/// Puts the calls of a scene to a component, and requires the recorded answers. The scene must call each hook.
pub(crate) async fn replay_scene(component: &Path, name: &str, mut operator: toml::Table, scene: &Value) {
    let section = operator["plugins"][name].as_table_mut().unwrap();
    section.insert("config".into(), toml::Value::try_from(&scene["config"]).unwrap());
    section.insert("enabled".into(), true.into());
    let begun = Instant::now();
    let plugin = Runtime::new().try_out(component, Some(&operator.to_string())).await.unwrap();
    let loaded = begun.elapsed();
    let mut asked = BTreeSet::new();
    for call in scene["calls"].as_array().unwrap() {
        assert_eq!(ask(&plugin, scene, call).await, call["answer"], "{}: {call}", component.display());
        asked.insert(call["hook"].as_str().unwrap().to_owned());
    }
    let hooks: BTreeSet<String> = plugin.description().hooks.iter().map(Hook::to_string).collect();
    assert_eq!(asked, hooks, "{}: its scene leaves a hook out", component.display());
    println!("{name}: loaded in {loaded:?}, {:?}", plugin.take_used());
}

/// `scene.json` has the plugin's native answers; its own tests ensure that.
#[tokio::test]
async fn components_answer_like_native_code() {
    for (name, component) in components() {
        let file = repository().join("plugins").join(name).join("scene.json");
        let scene: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        replay_scene(component, name, operator(), &scene).await;
    }
}

/// Except for kubeadm's fields: they are no provider's.
#[tokio::test]
async fn each_checked_field_has_a_plugin() {
    let file = repository().join("plugins/references/rows.json");
    let rows: Vec<Value> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let mut seen = Vec::new();
    for name in components().keys().filter(|name| *name != "readiness" && *name != "patches") {
        seen.extend(plugin(name, &operator()).await.declaration().kinds.clone());
    }
    for row in &rows {
        let group = row["group"].as_str().unwrap().trim_start_matches('*');
        for kind in row["kinds"].as_array().unwrap().iter().filter_map(Value::as_str) {
            let has_plugin = seen.iter().any(|seen| seen.covers(&GroupKind::new(group, kind)));
            assert!(has_plugin != kind.starts_with("Kubeadm"), "{kind}");
        }
    }
}
