//! The example provider in each language gives the same answers in the same scenes.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use std::{env, fs};

use pivot_core::Object;
use pivot_core::objects::merge;
use pivot_core::plugins::hooks::Point;
use pivot_places::objects_of_file;
use pivot_runtime::probe::Here;
use pivot_runtime::{MoveContext, Plugin, Runtime, Scene};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{BUILD, Folder, lines, npm_cache, out, repository, target};

const RUST: &str = "example-hosts/target/wasm32-wasip2/release/example_hosts.wasm";
const COMPONENT: &str = "example-hosts/example-hosts.wasm";
/// Probes of this machine need a grant that names its network.
const GRANTS: &str = "
[plugins.example-hosts]
hooks = ['relate', 'check', 'hold', 'restore', 'settle']
kinds = ['ExampleHost.infra.example.com']
changes = [
    { hook = 'hold', kind = 'ExampleHost.infra.example.com', side = 'source' },
    { hook = 'restore', kind = 'ExampleHost.infra.example.com', side = 'target' },
    { hook = 'settle', kind = 'ExampleHost.infra.example.com', side = 'target' },
]
probes = ['127.0.0.0/8:*']
";
/// Calls for a median.
const CALLS: usize = 100;

#[tokio::test]
async fn example_providers_answer_alike() {
    let folder = build_provider("Rust", "true");
    let checked = out(&folder.host(0, &["plugin", "check", RUST, "--scenes", "scenes"]));
    assert!(checked.starts_with("example-hosts: no findings in "), "{checked}");
    let endpoints = [TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap()];
    let addresses = endpoints.each_ref().map(|endpoint| endpoint.local_addr().unwrap().to_string());
    let [_answering, silent] = endpoints;
    drop(silent);

    let rust = answer_scene(&folder, "Rust", RUST, &addresses).await;
    assert_eq!(rust["checks"][0]["findings"], json!([]));
    assert_eq!(rust["checks"][1]["findings"][0]["code"], "endpoint-down");
    let fresh = &rust["hosts"][0];
    assert_eq!(fresh["relations"].as_array().unwrap().len(), 1);
    assert_eq!(fresh["hold"]["metadata"]["annotations"], json!({"infra.example.com/paused": "moving"}));
    assert_eq!(fresh["restore"]["status"]["observedGeneration"], 1);
    assert_eq!(
        fresh["settle"]["patch"]["metadata"]["annotations"],
        json!({"infra.example.com/paused": null})
    );

    let javascript =
        format!("export npm_config_cache={} npm_config_prefer_offline=true", npm_cache().display());
    for (language, tools) in [("Go", "export GOPROXY=off GOFLAGS="), ("JavaScript", javascript.as_str())] {
        let folder = build_provider(language, tools);
        assert_eq!(answer_scene(&folder, language, COMPONENT, &addresses).await, rust, "{language}");
    }
    // A debug build compiles the component in Python for a minute.
    if env::var_os("PIVOT_HOST_NIGHTLY").is_some() {
        let venv = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
        let tools = format!("python3 -m venv {0}; . {0}/bin/activate", venv.display());
        let folder = build_provider("Python", &tools);
        assert_eq!(answer_scene(&folder, "Python", COMPONENT, &addresses).await, rust, "Python");
    }
}

/// Does the steps of the example's README, after a line for the tools.
fn build_provider(language: &str, tools: &str) -> Folder {
    let folder = Folder { dir: TempDir::new().unwrap() };
    let example = repository().join("examples/provider");
    for file in ["plugin.rs", "plugin.go", "plugin.js", "plugin.py", "world.wit", "scenes/hosts.json"] {
        fs::create_dir_all(folder.path("scenes")).unwrap();
        fs::copy(example.join(file), folder.path(file)).unwrap();
    }
    let readme = fs::read_to_string(example.join("README.md")).unwrap();
    let (_, section) = readme.split_once(&format!("\n## {language}\n")).unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let begun = Instant::now();
    let typed: Vec<String> = lines(section).into_iter().filter(|line| line != BUILD).collect();
    folder.typed("", &format!("{tools}\n{}", typed.join("\n")));
    if language == "Rust" {
        fs::copy(repository().join("plugins/Cargo.lock"), folder.path("example-hosts/Cargo.lock")).unwrap();
        fs::create_dir_all(target()).unwrap();
        std::os::unix::fs::symlink(target(), folder.path("example-hosts/target")).unwrap();
        folder.build("example-hosts");
    }
    println!("{language}: built in {:?}", begun.elapsed());
    folder
}

/// Returns the answers of all hooks in the scene, and prints the costs. A bad configuration is refused.
async fn answer_scene(folder: &Folder, language: &str, component: &str, endpoints: &[String]) -> Value {
    let begun = Instant::now();
    let plugin = Runtime::new().try_out(&folder.path(component), Some(GRANTS)).await.unwrap();
    println!(
        "{language}: {} bytes, loaded in {:?}",
        fs::metadata(folder.path(component)).unwrap().len(),
        begun.elapsed()
    );
    let refused = plugin.with_config(&json!({"endpoind": ""})).await.map(drop).unwrap_err();
    assert!(refused.message.contains("unknown field"), "{language}: {}", refused.message);

    let text = fs::read_to_string(folder.path("scenes/hosts.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let side = |name: &str| {
        let documents: Vec<String> = file[name].as_array().unwrap().iter().map(Value::to_string).collect();
        fs::write(folder.path("objects.yaml"), documents.join("\n---\n")).unwrap();
        objects_of_file(&folder.path("objects.yaml")).unwrap()
    };
    let scene = Arc::new(Scene {
        source: side("source"),
        target: side("target"),
        here: Here::new().ok(),
        ..Scene::default()
    });
    let mut checks = Vec::new();
    for endpoint in endpoints {
        let plugin = plugin.with_config(&json!({"endpoint": endpoint})).await.unwrap();
        let findings =
            plugin.check(Point::BeforePause, &MoveContext::default(), scene.clone()).await.unwrap();
        let later = plugin.check(Point::AfterResume, &MoveContext::default(), scene.clone()).await.unwrap();
        checks.push(json!({"endpoint": endpoint, "findings": findings, "later": later}));
    }
    let mut hosts = Vec::new();
    for copy in &scene.target {
        let source = scene.source.iter().find(|source| source.key() == copy.key()).unwrap();
        hosts.push(json!({
            "relations": plugin.relate(source).await.unwrap(),
            "hold": plugin.hold(source).await.unwrap(),
            "restore": plugin.restore(source, copy).await.unwrap(),
            "settle": plugin.settle(copy, true, scene.clone()).await.unwrap(),
        }));
    }
    for kilobytes in [5, 50] {
        measure_hold(&plugin, language, &scene.source[0], kilobytes).await;
    }
    json!({"checks": checks, "hosts": hosts})
}

/// Holds an object of a size many times, in which garbage collectors run, and prints the median.
async fn measure_hold(plugin: &Plugin, language: &str, object: &Object, kilobytes: usize) {
    let fields: Value =
        (0..kilobytes).map(|field| (format!("f{field}"), Value::from("x".repeat(1_000)))).collect();
    let mut value = object.value().unwrap();
    merge::apply_patch(&mut value, &json!({"spec": fields}));
    let large = Object::from_value(object.kind.clone(), &value).unwrap();
    plugin.take_used();
    let mut times = Vec::new();
    let mut memory = 0;
    for _ in 0..CALLS {
        assert!(plugin.hold(&large).await.unwrap().is_some());
        let used = plugin.take_used();
        memory = used.peak_memory.max(memory);
        times.push(used.time);
    }
    times.sort_unstable();
    println!("{language}: hold of {kilobytes} KB: median {:?}, {} KiB", times[CALLS / 2], memory >> 10);
}
