//! A cluster with a controller's manifests installed, and a cluster that it made.

use std::path::PathBuf;

use kube::api::{Api, Patch, PatchParams};
use pivot_lab::managers::kubeconfig_secret;
use pivot_lab::{Crds, Dump, ObjectKey, Pair, Server};
use pivot_scenarios::host::{Host, Run};
use pivot_scenarios::pivots::{Pivots, condition};
use pivot_scenarios::{shape, state};
use serde_json::{Value, json};

/// Where all servers are.
pub(crate) const LOOPBACK: &str = "127.0.0.0/8";
pub(crate) const ACCOUNT: &str = "system:serviceaccount:pivot-host-system:pivot-host";

pub(crate) struct Stage {
    pub(crate) pair: Pair,
}

impl Stage {
    /// With everything installed but the Deployment, which no kubelet here would run, and a Cluster in each namespace.
    pub(crate) async fn start(namespaces: &[&str]) -> Self {
        Self::start_with(namespaces, &[]).await
    }

    /// The same with more flags for the manifests.
    pub(crate) async fn start_with(namespaces: &[&str], more: &[&str]) -> Self {
        let crds = Crds::parse(&shape::crds().unwrap()).unwrap();
        let all = crds.clone().and(Pivots::definitions(more).await.unwrap());
        let (source, target) =
            tokio::try_join!(Server::start_with("source", &all), Server::start_with("target", &crds))
                .unwrap();
        let stage = Self { pair: Pair { source, target } };
        Pivots::install_with(&stage.pair.source, more).await.unwrap();
        for namespace in namespaces {
            stage.fill(namespace).await;
        }
        stage
    }

    /// A cluster of one machine, whose kubeconfig is the target's.
    pub(crate) async fn fill(&self, namespace: &str) {
        let value = kubeconfig_secret(&self.pair.target, "any", "c").unwrap()["data"]["value"].clone();
        let mut objects: Vec<Value> = shape::cluster(namespace, 1);
        let kubeconfigs = objects.iter_mut().filter(|object| object["metadata"]["name"] == "c-kubeconfig");
        kubeconfigs.for_each(|secret| secret["data"]["value"] = value.clone());
        self.pair.source.apply_values(objects).await.unwrap();
    }

    /// Grants the controller what a move of each namespace needs. Outside of that namespace it is the same for all.
    pub(crate) async fn grant(&self, namespaces: &[&str]) {
        self.grant_with(namespaces, &[]).await;
    }

    /// The same for moves with more flags.
    pub(crate) async fn grant_with(&self, namespaces: &[&str], more: &[&str]) {
        let host = Host::out_of(self.pair.source.kubeconfig()).without_controllers();
        for (at, namespace) in namespaces.iter().enumerate() {
            let words = [
                "generate",
                "rbac",
                "--side",
                "source",
                "--bind-to",
                ACCOUNT,
                "--to-workload",
                "c",
                "-n",
                namespace,
            ];
            let list =
                host.run(&[&words[..], &shape::WITHOUT_PLUGIN, more].concat()).await.unwrap().done().unwrap();
            let items = list["items"].as_array().unwrap().iter();
            let new = items.filter(|item| at == 0 || item["metadata"]["namespace"] == *namespace);
            self.pair.source.apply_values(new.cloned().collect()).await.unwrap();
        }
    }

    /// The kubeconfig of the controller's service account.
    pub(crate) fn account(&self) -> PathBuf {
        self.pair.source.kubeconfig_as(ACCOUNT, &["system:serviceaccounts"]).unwrap()
    }

    pub(crate) fn pivots(&self) -> Pivots<'_> {
        Pivots::of(&self.pair.source)
    }

    /// Asks for a move of a namespace into its workload cluster, in which no controllers run.
    pub(crate) async fn ask(&self, namespace: &str) {
        self.ask_with(namespace, json!({"accept": [{"code": "takeover-unchecked"}, {"code": "no-plugin", "kinds": ["BareMetalHost.metal3.io"]}]}))
            .await;
    }

    pub(crate) async fn ask_with(&self, namespace: &str, options: Value) {
        self.ask_for(namespace, json!({"to": {"cluster": "c"}, "options": options})).await;
    }

    pub(crate) async fn ask_for(&self, namespace: &str, spec: Value) {
        self.pivots().ask(namespace, spec).await.unwrap();
    }

    /// Changes the spec; the server's answer.
    pub(crate) async fn change(&self, namespace: &str, spec: Value) -> Result<(), String> {
        let patch = Patch::Merge(json!({ "spec": spec }));
        let changed =
            self.pivots().in_namespace(namespace).patch("pivot", &PatchParams::default(), &patch).await;
        changed.map(drop).map_err(|error| error.to_string())
    }

    /// Asks for another attempt.
    pub(crate) async fn request(&self, namespace: &str) {
        let patch = json!({"metadata": {"annotations": {"pivot-host.io/requestedAt": "now"}}});
        let pivots = self.pivots().in_namespace(namespace);
        pivots.patch("pivot", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    pub(crate) async fn delete(&self, namespace: &str) {
        self.pivots().delete(namespace).await.unwrap();
    }

    /// Waits until a condition is true, and returns what the Pivot shows then.
    pub(crate) async fn until(&self, namespace: &str, of: &str, running: &mut Run) -> Value {
        self.pivots().until(namespace, (of, "True"), running).await.unwrap()
    }

    /// Waits until a condition is false.
    pub(crate) async fn until_false(&self, namespace: &str, of: &str, running: &mut Run) -> Value {
        self.pivots().until(namespace, (of, "False"), running).await.unwrap()
    }

    /// Waits until a deleted Pivot is gone.
    pub(crate) async fn until_gone(&self, namespace: &str, running: &mut Run) {
        self.pivots().until_gone(namespace, running).await.unwrap();
    }

    /// What of a namespace a move is about.
    pub(crate) async fn moved(&self, server: &Server, namespace: &str) -> Dump {
        let mut dump = server.dump(&[namespace]).await.unwrap();
        dump.retain(|key, _| key.kind != "Pivot.pivot-host.io");
        dump
    }

    /// The same of several namespaces.
    pub(crate) async fn moved_in_each(&self, server: &Server, namespaces: &[&str]) -> Vec<Dump> {
        let mut dumps = Vec::new();
        for namespace in namespaces {
            dumps.push(self.moved(server, namespace).await);
        }
        dumps
    }

    /// Nothing of a move is left in either cluster, once garbage is collected.
    pub(crate) async fn tidy(&self) {
        self.tidy_except("Lease pivot-host-system/pivot-host-controller").await;
    }

    /// Nothing of a move is left but Leases. A run that is killed between the end of its move and the removal of its Lease leaves that
    /// behind, and it expires.
    pub(crate) async fn tidy_except_leases(&self) {
        self.tidy_except("Lease pivot-host-").await;
    }

    async fn tidy_except(&self, prefix: &str) {
        let models = one_of_each_kind();
        for server in [&self.pair.source, &self.pair.target] {
            server.collect_garbage(&models).await.unwrap();
            let mut left = state::belongings(server).await.unwrap();
            left.retain(|name| !name.starts_with(prefix));
            assert_eq!(left, Vec::<String>::new(), "on the {}", server.name());
        }
        let kept: Api<k8s_openapi::api::core::v1::Secret> =
            Api::namespaced(self.pair.source.client(), "pivot-host-system");
        let kept: Vec<String> = kept
            .list(&Default::default())
            .await
            .unwrap()
            .into_iter()
            .filter_map(|one| one.metadata.name)
            .collect();
        assert_eq!(kept, Vec::<String>::new());
    }
}

/// An object of each kind that moves here.
fn one_of_each_kind() -> Dump {
    let key = |object: &Value| {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap();
        let kind = match text("/apiVersion").split_once('/') {
            Some((group, _)) => format!("{}.{group}", text("/kind")),
            None => text("/kind").to_owned(),
        };
        ObjectKey::new(&kind, text("/metadata/namespace"), text("/metadata/name"))
    };
    shape::cluster("any", 1).into_iter().map(|object| (key(&object), object)).collect()
}

/// Whether a condition is true.
pub(crate) fn is(shown: &Value, of: &str) -> bool {
    condition(shown, of).is_some_and(|one| one["status"] == "True")
}

/// The two states are equal except for what no move preserves.
#[track_caller]
pub(crate) fn same(left: Dump, right: Dump) {
    let (left, right) = (state::carried(left), state::carried(right));
    assert!(left == right, "{}", state::difference(&left, &right));
}
