//! The charts and the bases for kustomize give the objects that the program prints, and a real API server accepts them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::{Scope, pinned_kind};
use pivot_lab::{Server, assets, parse};
use pivot_scenarios::folder::Folder;
use serde_json::{Value, json};

use super::installed;

const CONTROLLER: &str = "generate controller --image example.com/pivot-host:v1";
const CONTROLLER_VALUES: &str = "image: example.com/pivot-host:v1\n";
const AGENT: &str =
    "generate agent --image example.com/pivot-host:v1 --call pivot.example.com:8443 --allow-namespace shop";
const AGENT_VALUES: &str =
    "image: example.com/pivot-host:v1\ncall: pivot.example.com:8443\nallowNamespaces: [shop]\n";
/// Values of a chart, and flags that mean the same.
const CONTROLLERS: [(&str, &str); 4] = [
    ("", ""),
    (
        "agents: {hosts: [a.example.com, b.example.com]}\nacceptReturns: [shop]\nalsoCopy: ['Secret/keys/*:hand-on']\n",
        "--agents-host a.example.com --agents-host b.example.com --accept-returns shop --also-copy Secret/keys/*:hand-on",
    ),
    (
        "agents: {secret: papers}\ntrust: {configMap: trusted}\n",
        "--agents-secret papers --trust-config-map trusted",
    ),
    (
        "plugins: {claim: site}\npodMonitor: {create: true}\nreplicas: 3\n",
        "--plugins-claim site --pod-monitor --replicas 3",
    ),
];
const AGENTS: [(&str, &str); 4] = [
    ("", ""),
    (
        "role: source\ninvitation: invited\nkeepAnswering: true\n",
        "--role source --invitation invited --keep-answering",
    ),
    (
        "invitation: invited\nfinishAloneAfter: 600s\nplugins: {claim: site}\n",
        "--invitation invited --finish-alone-after 600s --plugins /plugins --plugins-claim site",
    ),
    (
        "allowReturn: true\nfinishAloneAfter: 600s\ntrust: {configMap: trusted}\n",
        "--allow-return --finish-alone-after 600s --plugins /plugins --trust-config-map trusted",
    ),
];

/// Objects by kind, namespace and name.
type Objects = BTreeMap<String, Value>;

fn collect(objects: Vec<Value>) -> Objects {
    let text =
        |object: &Value, pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or("").to_owned();
    let key = |object: &Value| {
        ["/kind", "/metadata/namespace", "/metadata/name"].map(|pointer| text(object, pointer)).join(" ")
    };
    let count = objects.len();
    let objects: Objects = objects.into_iter().map(|object| (key(&object), object)).collect();
    assert_eq!(objects.len(), count, "an object twice");
    objects
}

/// Objects that the program prints.
fn printed(folder: &Folder, command: &str) -> Objects {
    let words: Vec<&str> = command.split_whitespace().collect();
    collect(parse(&folder.host(0, &words).unwrap().0).unwrap())
}

/// Objects without namespaces, which Helm creates by itself or keeps, and without its annotation of kept ones.
fn without_namespaces(mut objects: Objects) -> Objects {
    objects.retain(|key, _| !key.starts_with("Namespace "));
    for object in objects.values_mut() {
        let metadata = object["metadata"].as_object_mut().unwrap();
        if metadata.get("annotations") == Some(&json!({"helm.sh/resource-policy": "keep"})) {
            metadata.remove("annotations");
        }
    }
    objects
}

/// Renders a chart with values, after it has passed the linter.
async fn rendered(folder: &Folder, chart: &str, values: &str) -> Objects {
    let helm = assets().await.unwrap().helm().await.unwrap();
    let chart = installed(&format!("share/pivot-host/charts/{chart}")).display().to_string();
    fs::write(folder.path("values.yaml"), values).unwrap();
    folder.run(&helm, 0, &["lint", "--strict", "--values", "values.yaml", &chart]).unwrap();
    let template =
        ["template", "release", &chart, "--namespace", "pivot-host-system", "--values", "values.yaml"];
    collect(parse(&folder.run(&helm, 0, &template).unwrap().0).unwrap())
}

/// Sends objects to a server, which validates all fields and stores only the definition of Pivots and namespaces.
async fn ensure_accepted(server: &Server, objects: &Objects) {
    let is_stored = |key: &str| key.starts_with("Namespace ") || key.starts_with("CustomResourceDefinition ");
    let (stored, others): (Vec<_>, Vec<_>) = objects.iter().partition(|(key, _)| is_stored(key));
    for (key, object) in stored.into_iter().chain(others) {
        // No server here has Prometheus's definitions.
        if key.starts_with("PodMonitor ") {
            continue;
        }
        let (api_version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let kind = GroupVersionKind::gvk(group, version, kind);
        let (resource, capabilities) = pinned_kind(&server.client(), &kind).await.unwrap();
        let api: Api<DynamicObject> = match capabilities.scope {
            Scope::Cluster => Api::all_with(server.client(), &resource),
            Scope::Namespaced => {
                let namespace = object["metadata"]["namespace"].as_str().unwrap();
                Api::namespaced_with(server.client(), namespace, &resource)
            }
        };
        let params = PatchParams::apply("release").force().validation_strict();
        let params = if is_stored(key) { params } else { params.dry_run() };
        let name = object["metadata"]["name"].as_str().unwrap();
        let answer = api.patch(name, &params, &Patch::Apply(object)).await;
        answer.unwrap_or_else(|error| panic!("{key}: {error}\n{object:#}"));
    }
}

async fn server() -> Server {
    let server = Server::start("deployment").await.unwrap();
    let namespaces = ["pivot-host-system", "pivot-host-records", "shop"];
    let namespace = |name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    ensure_accepted(&server, &collect(namespaces.map(namespace).to_vec())).await;
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn charts_render_the_printed_objects() {
    let (folder, server) = (Folder::new().unwrap(), server().await);
    let controllers = CONTROLLERS.map(|case| ("pivot-host", CONTROLLER_VALUES, CONTROLLER, case));
    let agents = AGENTS.map(|case| ("pivot-host-agent", AGENT_VALUES, AGENT, case));
    for (chart, common, command, (values, flags)) in controllers.into_iter().chain(agents) {
        let objects = rendered(&folder, chart, &format!("{common}{values}")).await;
        let printed = printed(&folder, &format!("{command} {flags}"));
        assert_eq!(without_namespaces(objects.clone()), without_namespaces(printed), "{values}");
        ensure_accepted(&server, &objects).await;
    }
}

#[tokio::test]
async fn charts_refuse_contradicting_values() {
    let folder = Folder::new().unwrap();
    let helm = assets().await.unwrap().helm().await.unwrap();
    let image = CONTROLLER_VALUES;
    for (chart, values, why) in [
        ("pivot-host", "", "image"),
        ("pivot-host", &*format!("{image}agents: {{hosts: [a], secret: b}}\n"), "exclude each other"),
        ("pivot-host", &*format!("{image}acceptReturns: [shop]\n"), "acceptReturns needs"),
        ("pivot-host", &*format!("{image}replica: 3\n"), "replica"),
        ("pivot-host-agent", image, "call"),
        ("pivot-host-agent", &*format!("{AGENT_VALUES}trust: {{configMap: a}}\n"), "need finishAloneAfter"),
        ("pivot-host-agent", &*format!("{AGENT_VALUES}role: source\nallowReturn: true\n"), "role target"),
    ] {
        let chart = installed(&format!("share/pivot-host/charts/{chart}")).display().to_string();
        fs::write(folder.path("values.yaml"), values).unwrap();
        let (_, refused) = folder.run(&helm, 1, &["template", &chart, "--values", "values.yaml"]).unwrap();
        assert!(refused.contains(why), "{values}: {refused}");
    }
}

#[tokio::test]
async fn bases_are_the_printed_objects() {
    let folder = Folder::new().unwrap();
    let kustomize = assets().await.unwrap().kustomize().await.unwrap();
    let invited = format!("{AGENT} --invitation pivot-host-agent-credentials");
    for (base, command) in [("controller", CONTROLLER), ("agent", &invited)] {
        let overlay = "resources: [base]\nimages:\n- name: registry.example.com/pivot-host\n  newName: example.com/pivot-host\n  newTag: v1\n";
        fs::create_dir_all(folder.path(base)).unwrap();
        fs::write(folder.path(&format!("{base}/kustomization.yaml")), overlay).unwrap();
        let from = installed(&format!("share/pivot-host/kustomize/{base}"));
        std::os::unix::fs::symlink(from, folder.path(&format!("{base}/base"))).unwrap();
        let built = folder.run(&kustomize, 0, &["build", base]).unwrap().0;
        let (mut built, mut printed) = (collect(parse(&built).unwrap()), printed(&folder, command));
        // The base has an example for the namespaces of the agent, which users replace.
        if base == "agent" {
            let args = "/spec/template/spec/containers/0/args";
            let key = "Deployment pivot-host-system pivot-host-agent";
            let (from, to) = (built.get_mut(key).unwrap(), printed.get_mut(key).unwrap());
            assert_eq!(from.pointer(args).unwrap()[7], "example");
            *from.pointer_mut(args).unwrap() = to.pointer_mut(args).unwrap().clone();
        }
        assert_eq!(built, printed);
    }
    let from = installed("share/pivot-host/kustomize/pod-monitor").display().to_string();
    let built = collect(parse(&folder.run(&kustomize, 0, &["build", &from]).unwrap().0).unwrap());
    let expected = BTreeSet::from(["PodMonitor pivot-host-system pivot-host".to_owned()]);
    assert_eq!(built.into_keys().collect::<BTreeSet<_>>(), expected);
}
