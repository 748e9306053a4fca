//! Two servers that serve `Host.test.io`, plugin directories, and checks of a run.

use std::path::{Path, PathBuf};
use std::process::Command;

use pivot_lab::{Crds, Dump, Pair, normalise};
use pivot_scenarios::host::{Ended, Host};
use pivot_scenarios::secrets::{ENCODED, MARKER};
use pivot_scenarios::{shape, state};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::OnceCell;

/// More than the output of any run.
const LONGEST: usize = 64 << 10;
/// The same for a document, which names every object.
const LONGEST_DOCUMENT: usize = 256 << 10;

/// What `hostile` asks for; the limits are low, so that they are reached soon.
pub(crate) const HOSTILE: &str = "
[plugins.hostile]
hooks = ['relate', 'check', 'hold', 'adapt', 'restore', 'settle']
kinds = ['Host.test.io', 'Cluster.cluster.x-k8s.io', 'Secret']
changes = [
    { hook = 'adapt', kind = 'Cluster.cluster.x-k8s.io', side = 'target' },
    { hook = 'hold', kind = 'Host.test.io', side = 'source' },
    { hook = 'adapt', kind = 'Host.test.io', side = 'target' },
    { hook = 'restore', kind = 'Host.test.io', side = 'target' },
    { hook = 'settle', kind = 'Host.test.io', side = 'target' },
]
reads = [{ side = 'target', kind = 'Host.test.io' }]
probes = ['10.0.0.0/8:6385']
limits = { time = '2s', memory = '16MiB', output = '1MiB', host-calls = 100 }
";

/// Two servers, and the guests.
pub(crate) struct Stage {
    pub(crate) pair: Pair,
    guests: TempDir,
    work: TempDir,
    /// The directory in which `hostile` was admitted, by its first user.
    hostile: OnceCell<Plugins>,
}

/// A directory of plugins.
pub(crate) struct Plugins {
    pub(crate) dir: PathBuf,
}

fn host_crd() -> String {
    let text = json!({ "type": "string" });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "hosts.test.io",
            "labels": { "clusterctl.cluster.x-k8s.io": "", "clusterctl.cluster.x-k8s.io/move": "" },
        },
        "spec": {
            "group": "test.io", "scope": "Namespaced",
            "names": { "kind": "Host", "plural": "hosts", "singular": "host" },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                    "spec": { "type": "object", "properties": { "mode": text, "note": text } },
                    "status": { "type": "object", "properties": { "state": text } },
                }}},
            }],
        },
    })
    .to_string()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A host of that name that switches a plugin to that mode.
pub(crate) fn host(namespace: &str, name: &str, mode: &str) -> Value {
    json!({
        "apiVersion": "test.io/v1", "kind": "Host",
        "metadata": { "name": name, "namespace": namespace, "finalizers": ["test.io/stay"] },
        "spec": { "mode": mode }, "status": { "state": "provisioned" },
    })
}

/// A Cluster with its Secret; the modes say what a plugin does with each.
pub(crate) fn cluster(namespace: &str, mode: &str, secret_mode: &str) -> Vec<Value> {
    let cluster = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": { "name": "c", "namespace": namespace, "annotations": { "mode": mode } },
        "spec": { "controlPlaneEndpoint": { "host": "192.168.111.249", "port": 6443 } },
        "status": {
            "initialization": { "infrastructureProvisioned": true, "controlPlaneInitialized": true },
            "conditions": [{
                "type": "ControlPlaneInitialized", "status": "True", "reason": "Initialized", "message": "",
                "lastTransitionTime": "2026-08-03T10:58:41Z",
            }],
        },
    });
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
        "metadata": {
            "name": "c-ca", "namespace": namespace, "labels": { "cluster.x-k8s.io/cluster-name": "c" },
            "annotations": { "mode": secret_mode },
            "ownerReferences": [{ "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c" }],
        },
        "data": { "value": ENCODED },
    });
    vec![cluster, secret]
}

impl Stage {
    pub(crate) async fn start() -> Self {
        let guests = TempDir::new().unwrap();
        let root = root();
        pivot_guests::build_guests(&root.join("tests/guests"), &[&root.join("wit")], guests.path()).unwrap();
        let hosts = Crds::parse(&[host_crd()]).unwrap();
        let pair = Pair::start_with(&Crds::parse(&shape::crds().unwrap()).unwrap().and(hosts)).await.unwrap();
        Self { pair, guests, work: TempDir::new().unwrap(), hostile: OnceCell::new() }
    }

    pub(crate) fn guest(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.guests.path().join(format!("{name}.wasm"))).unwrap()
    }

    /// A directory with only the operator's file.
    pub(crate) fn empty(&self, name: &str, operator: &str) -> Plugins {
        let dir = self.work.path().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("plugins.toml"), operator).unwrap();
        Plugins { dir }
    }

    /// A directory with guests, admitted as by an operator.
    pub(crate) async fn plugins(&self, name: &str, guests: &[&str], operator: &str) -> Plugins {
        let plugins = self.empty(name, operator);
        for guest in guests {
            plugins.admit(guest, &self.guest(guest)).await;
        }
        plugins
    }

    /// A directory with bundled plugins, admitted.
    pub(crate) async fn bundled(&self, name: &str, names: &[&str], operator: &str) -> Plugins {
        let (root, built) = (root(), TempDir::new().unwrap());
        let inputs = [root.join("wit"), root.join("sdk")];
        let inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
        pivot_guests::build_guests(&root.join("plugins"), &inputs, built.path()).unwrap();
        let plugins = self.empty(name, operator);
        for plugin in names {
            let bytes = std::fs::read(built.path().join(format!("{plugin}.wasm"))).unwrap();
            plugins.admit(plugin, &bytes).await;
        }
        plugins
    }

    /// `hostile`, whose checks misbehave (`after-pause/trap`), or don't.
    pub(crate) async fn hostile(&self, name: &str, check: &str) -> Plugins {
        self.configured(name, &format!("check = '{check}'")).await
    }

    /// `hostile`, fixed by its operator.
    pub(crate) async fn fixed(&self, name: &str) -> Plugins {
        self.configured(name, "fixed = true").await
    }

    /// A copy of the directory in which `hostile` was admitted, with another configuration.
    async fn configured(&self, name: &str, config: &str) -> Plugins {
        let admitted =
            self.hostile.get_or_init(|| self.plugins("hostile-as-admitted", &["hostile"], HOSTILE)).await;
        let plugins = self.empty(name, &format!("{HOSTILE}[plugins.hostile.config]\n{config}\n"));
        for file in ["hostile.wasm", "plugins.lock"] {
            std::fs::copy(admitted.dir.join(file), plugins.dir.join(file)).unwrap();
        }
        plugins
    }

    /// Without plugins.
    pub(crate) fn plain(&self) -> Host {
        Host::between(self.pair.source.kubeconfig(), self.pair.target.kubeconfig())
    }

    pub(crate) fn between(&self, plugins: &Plugins) -> Host {
        self.plain().with(&["--plugins", plugins.dir.to_str().unwrap()])
    }

    pub(crate) async fn fill(&self, objects: Vec<Value>) {
        self.pair.source.apply_values(objects).await.unwrap();
    }

    /// All objects of a namespace on both sides.
    pub(crate) async fn picture(&self, namespace: &str) -> [Dump; 2] {
        let names = [namespace];
        let (source, target) = tokio::join!(self.pair.source.dump(&names), self.pair.target.dump(&names));
        [source.unwrap(), target.unwrap()]
    }

    /// Nothing of ours is on either side.
    pub(crate) async fn no_traces(&self, namespace: &str) -> Result<(), String> {
        self.has_no_records().await?;
        self.has_no_copy(namespace).await
    }

    /// Neither side has leases or records of unfinished moves.
    pub(crate) async fn has_no_records(&self) -> Result<(), String> {
        for server in [&self.pair.source, &self.pair.target] {
            let left = state::belongings(server).await.unwrap();
            if !left.is_empty() {
                return Err(format!("left on the {}: {}", server.name(), left.join(", ")));
            }
        }
        Ok(())
    }

    /// The target does not even have the namespace.
    pub(crate) async fn has_no_copy(&self, namespace: &str) -> Result<(), String> {
        if state::namespaces(&self.pair.target).await.unwrap().contains(namespace) {
            return Err("its namespace is left in the target".into());
        }
        Ok(())
    }
}

impl Plugins {
    pub(crate) fn put(&self, file: &str, bytes: &[u8]) {
        std::fs::write(self.dir.join(file), bytes).unwrap();
    }

    /// Writes a lock that has a file, as no command does for a file that isn't a plugin.
    pub(crate) fn lock(&self, file: &str, name: &str) {
        let path = self.dir.join(file);
        let summed = Command::new("sha256sum").arg(&path).output().unwrap();
        let digest = String::from_utf8(summed.stdout).unwrap()[..64].to_owned();
        let size = std::fs::metadata(&path).unwrap().len();
        let entry = format!("name = '{name}'\nversion = '0.1.0'\nsha256 = '{digest}'\nsize = {size}\n");
        self.put("plugins.lock", format!("format = 1\n\n[[plugin]]\n{entry}").as_bytes());
    }

    pub(crate) async fn admit(&self, guest: &str, bytes: &[u8]) {
        let file = format!("{guest}.wasm");
        self.put(&file, bytes);
        let path = self.dir.join(&file);
        Host::alone()
            .run(&["plugin", "add", "--grant", path.to_str().unwrap()])
            .await
            .unwrap()
            .done()
            .unwrap();
    }
}

/// Both sides as before: with the same versions if the source was not changed, otherwise except for the traces of a pause and its
/// end.
pub(crate) fn as_before(before: &[Dump; 2], after: &[Dump; 2], untouched: bool) -> Result<(), String> {
    let plain = |dump: &Dump| if untouched { dump.clone() } else { normalise(dump.clone()) };
    for (before, after) in before.iter().zip(after) {
        let (before, after) = (plain(before), plain(after));
        if before != after {
            return Err(format!("not as before:\n{}", state::difference(&before, &after)));
        }
    }
    Ok(())
}

/// What holds for every run, however it ended: no secrets, no control characters, no panic, no flood.
pub(crate) fn decent(ended: &Ended) -> Result<(), String> {
    for (stream, text, longest) in
        [("stdout", &ended.stdout, LONGEST_DOCUMENT), ("stderr", &ended.stderr, LONGEST)]
    {
        for bad in [MARKER, ENCODED, "panicked at", "this is a bug in pivot-host", "unexpected:"] {
            if text.contains(bad) {
                return Err(format!("{bad:?} on {stream}"));
            }
        }
        if let Some(control) = text.chars().find(|c| c.is_control() && *c != '\n') {
            return Err(format!("{control:?} on {stream}"));
        }
        if text.len() > longest {
            return Err(format!("{} bytes on {stream}", text.len()));
        }
    }
    Ok(())
}

/// Succeeds if the output contains all of these; otherwise returns what is missing.
pub(crate) fn says(ended: &Ended, words: &[&str]) -> Result<(), String> {
    match words.iter().find(|words| !ended.stderr.contains(**words)) {
        None => Ok(()),
        Some(words) => Err(format!("it does not say {words:?}")),
    }
}
