//! Management clusters of all shapes, each in a namespace of its own.

use std::collections::BTreeSet;

use pivot_scenarios::shape::{WITHOUT_PLUGIN, cluster as metal3};
use pivot_worlds::{NAMESPACES, World};
use serde_json::{Value, json};

use super::kinds::api_version;
use super::objects::{
    address, bare, class, classy, cluster, config, finalized, labelled, lone, machine, object, placed,
    reference, resource_set, secret, template, with,
};

const FORCED: &str = "clusterctl.cluster.x-k8s.io/move";
const HIERARCHY: &str = "clusterctl.cluster.x-k8s.io/move-hierarchy";

/// Says how many random management clusters are moved; without it there are few, for the time that they take.
const WORLDS: &str = "PIVOT_WORLDS";
const FEW: usize = 4;
/// Objects of a random management cluster that is too large.
const LARGE: usize = 20;
/// How the two programs end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum End {
    /// Both move the namespace.
    Moved,
    /// Neither does; pivot-host refuses with this code.
    Refused(&'static str),
    /// Only pivot-host refuses, with this code.
    OnlyOursRefuses(&'static str),
}

/// One of them.
pub(crate) struct Shape {
    /// Its name, and the namespace that moves; the names of its other namespaces begin with it.
    pub(crate) name: String,
    /// The objects in the source.
    pub(crate) source: Vec<Value>,
    /// The objects that the target has already.
    pub(crate) target: Vec<Value>,
    /// What a server-side applier applies to the source.
    pub(crate) applied: Vec<Value>,
    /// What pivot-host needs to be told.
    pub(crate) flags: Vec<&'static str>,
    /// How it ends.
    pub(crate) end: End,
}

impl Shape {
    fn flags(mut self, flags: &[&'static str]) -> Self {
        self.flags.extend(flags);
        self
    }

    fn end(mut self, end: End) -> Self {
        self.end = end;
        self
    }

    fn target(mut self, objects: impl Into<Vec<Value>>) -> Self {
        self.target = placed(&self.name, objects.into());
        self
    }

    fn applied(mut self, objects: impl Into<Vec<Value>>) -> Self {
        self.applied = placed(&self.name, objects.into());
        self
    }
}

fn shape(name: &str, source: impl IntoIterator<Item = Vec<Value>>) -> Shape {
    let source = placed(name, source.into_iter().flatten().collect());
    let (target, applied, flags) = (Vec::new(), Vec::new(), Vec::new());
    Shape { name: name.to_owned(), source, target, applied, flags, end: End::Moved }
}

/// The smallest cluster.
fn small() -> Vec<Value> {
    bare("c", json!({}))
}

/// Moved first, all at once where a program can do that.
pub(crate) fn everywhere() -> Vec<Shape> {
    vec![
        shape("all-plain", [cluster("c")]),
        shape("all-class", [class("k", true), classy("c", "k", None)]),
        shape("all-sets", [cluster("c"), resource_set("cni", &["c"])]),
    ]
}

/// Moved next: what is in no namespace comes along with every move after it.
pub(crate) fn global() -> Shape {
    let provider = World::of_sound(0).provider;
    let home = provider["metadata"]["namespace"].as_str().unwrap().to_owned();
    let secrets =
        vec![secret("credentials", &[("LabIdentity", "account")]), secret("webhook-certificate", &[])];
    shape(
        "global",
        [
            cluster("c"),
            vec![provider.clone()],
            placed(&home, secrets),
            vec![object("LabIdentity", "account", &[], json!({ "spec": {} }))],
            vec![object("GlobalInClusterIPPool", "pool", &[], json!({ "spec": { "addresses": [] } }))],
        ],
    )
    .target(vec![provider])
}

/// Moved namespace by namespace.
pub(crate) fn one_by_one() -> Vec<Shape> {
    [running(), classes(), labels(), refused()].into_iter().flatten().collect()
}

/// Random management clusters: a shape for each of their namespaces, the first of which has all objects.
///
/// Those in which a Cluster uses a class of another namespace are left out: after the first namespace clusterctl would refuse the
/// next one (W5). So are large ones, for the time that they take.
pub(crate) fn random(seeds: impl Iterator<Item = u64>) -> Vec<Shape> {
    let worlds = seeds.map(|seed| (seed, World::of_sound(seed))).filter(|(_, world)| {
        let borrowed = |object: &Value| object.pointer("/spec/topology/classRef/namespace").is_some();
        world.objects.len() <= LARGE && !world.objects.iter().any(borrowed)
    });
    let number = std::env::var(WORLDS).map_or(FEW, |number| number.parse().unwrap());
    let worlds = worlds.take(number);
    let mut shapes: Vec<Shape> = worlds.flat_map(|(seed, world)| of_world(seed, world)).collect();
    let mut seen = BTreeSet::new();
    for shape in &mut shapes {
        shape.source.retain(|object| seen.insert(object["metadata"]["uid"].to_string()));
    }
    shapes
}

fn of_world(seed: u64, world: World) -> Vec<Shape> {
    let namespaces: BTreeSet<&String> = world.clusters.iter().map(|(namespace, _)| namespace).collect();
    let mut shapes: Vec<Shape> = namespaces.iter().map(|name| shape(&of_seed(name, seed), [])).collect();
    let mut objects = world.objects;
    objects.iter_mut().for_each(|object| rename(object, seed));
    shapes[0].source = objects;
    shapes
}

fn of_seed(name: &str, seed: u64) -> String {
    format!("{name}-{seed}")
}

/// Makes namespaces and the UIDs of what is in them the world's own. What is in none all worlds have in common.
fn rename(value: &mut Value, seed: u64) {
    match value {
        Value::String(text)
            if NAMESPACES.iter().any(|name| text == name || text.contains(&format!(".{name}."))) =>
        {
            *text = of_seed(text, seed);
        }
        Value::Array(list) => list.iter_mut().for_each(|value| rename(value, seed)),
        Value::Object(map) => map.values_mut().for_each(|value| rename(value, seed)),
        _ => {}
    }
}

/// Clusters as their controllers leave them.
fn running() -> Vec<Shape> {
    let deployment = ("MachineDeployment", "c-md");
    let set = ("MachineSet", "c-md-1");
    let workers = |owned: &str| json!({ "spec": { "clusterName": owned, "replicas": 1, "selector": {}, "template": {} } });
    vec![
        shape("metal3", [metal3("metal3", 1)]).flags(&WITHOUT_PLUGIN),
        shape("no-control-plane", [small()]),
        shape("control-plane", [cluster("c"), machine("c", "c-0", ("KubeadmControlPlane", "c"))]),
        shape(
            "workers",
            [
                cluster("c"),
                vec![
                    object("MachineDeployment", "c-md", &[("Cluster", "c")], workers("c")),
                    object("MachineSet", "c-md-1", &[deployment], workers("c")),
                    object("MachineSet", "c-md-0", &[deployment], workers("c")),
                    object(
                        "MachineHealthCheck",
                        "c",
                        &[("Cluster", "c")],
                        json!({ "spec": { "clusterName": "c", "selector": {} } }),
                    ),
                    object("KubeadmConfigTemplate", "c-md", &[("Cluster", "c")], template()),
                    object("Metal3MachineTemplate", "c-md", &[("Cluster", "c")], template()),
                ],
                machine("c", "c-md-1-a", set),
                machine("c", "c-md-1-b", set),
            ],
        ),
        shape(
            "machine-pool",
            [
                small(),
                vec![
                    finalized(object(
                        "MachinePool",
                        "pool",
                        &[("Cluster", "c")],
                        json!({ "spec": { "clusterName": "c" } }),
                    )),
                    object("LabMachinePool", "pool", &[("MachinePool", "pool")], json!({ "spec": {} })),
                    object("KubeadmConfig", "pool", &[("MachinePool", "pool")], json!({ "spec": {} })),
                    secret("pool", &[("KubeadmConfig", "pool")]),
                ],
            ],
        ),
        shape(
            "hosted-control-plane",
            [
                bare("c", json!({ "controlPlaneRef": reference("HostedControlPlane", "c") })),
                vec![
                    object(
                        "HostedControlPlane",
                        "c",
                        &[("Cluster", "c")],
                        json!({
                            "spec": { "version": "v1.35.2" }, "status": { "externalManagedControlPlane": true },
                        }),
                    ),
                    secret("c-kubeconfig", &[("HostedControlPlane", "c")]),
                    secret("c-ca", &[("HostedControlPlane", "c")]),
                ],
            ],
        ),
        shape(
            "own-certificates",
            [
                bare("c", json!({})),
                ["c-ca", "c-etcd", "c-sa", "c-proxy", "c-kubeconfig"]
                    .map(|name| {
                        with(
                            with(secret(name, &[]), "/type", json!("kubernetes.io/tls")),
                            "/data",
                            json!({
                                "tls.crt": "bm90IGEgY2VydGlmaWNhdGU=", "tls.key": "bm90IGEga2V5",
                            }),
                        )
                    })
                    .to_vec(),
            ],
        ),
        shape("external-etcd", [small(), vec![secret("c-apiserver-etcd-client", &[])]]),
        shape("three-clusters", [cluster("a"), cluster("b"), cluster("b-c")]),
        shape(
            "shared-template",
            [
                cluster("a"),
                cluster("b"),
                vec![object("KubeadmConfigTemplate", "t", &[("Cluster", "a"), ("Cluster", "b")], template())],
            ],
        ),
        shape("unpaused", [bare("c", json!({ "paused": false }))]),
        shape("field-managers", [small()]).applied([json!({
            "apiVersion": api_version("Cluster"), "kind": "Cluster", "metadata": { "name": "c" },
            "spec": { "clusterNetwork": { "serviceDomain": "cluster.local" } },
        })]),
        shape(
            "addresses",
            [
                cluster("c"),
                machine("c", "c-0", ("KubeadmControlPlane", "c")),
                vec![labelled(
                    object("Range", "pool", &[], json!({ "spec": { "addresses": ["192.0.2.0/24"] } })),
                    FORCED,
                )],
                address("c-0", ("Range", "pool")),
            ],
        ),
        shape(
            "addresses-of-all",
            [
                cluster("c"),
                machine("c", "c-0", ("KubeadmControlPlane", "c")),
                address("c-0", ("GlobalInClusterIPPool", "pool")),
            ],
        ),
        // Only the label of the Cluster is on the pool, which neither program takes for a reason to move it.
        shape(
            "unlabelled-pool",
            [
                cluster("c"),
                machine("c", "c-0", ("KubeadmControlPlane", "c")),
                vec![with(
                    object("Range", "pool", &[], json!({ "spec": { "addresses": ["192.0.2.0/24"] } })),
                    "/metadata/labels/cluster.x-k8s.io~1cluster-name",
                    json!("c"),
                )],
                address("c-0", ("Range", "pool")),
            ],
        )
        .flags(&["--accept", "owner-dropped=Range.ipam.example.org"]),
    ]
}

fn classes() -> Vec<Shape> {
    vec![
        shape("class", [class("k", true), classy("c", "k", None), machine("c", "c-0", ("Cluster", "c"))]),
        shape("class-without-owners", [class("k", false), classy("c", "k", None)]),
        shape(
            "class-of-two",
            [class("k", true), classy("a", "k", None), classy("b", "k", Some("class-of-two"))],
        ),
        shape("class-unused", [class("k", true), class("l", true), classy("c", "k", None)]),
        shape(
            "class-elsewhere",
            [
                classy("c", "k", Some("class-elsewhere-home")),
                placed("class-elsewhere-home", [class("k", true), classy("stays", "k", None)].concat()),
            ],
        ),
        shape(
            "class-lent",
            [
                class("k", true),
                classy("c", "k", None),
                placed("class-lent-user", classy("stays", "k", Some("class-lent"))),
            ],
        ),
        shape("resource-set", [small(), resource_set("cni", &["c"])]),
        shape(
            "resource-sets",
            [
                bare("a", json!({})),
                bare("b", json!({})),
                resource_set("cni", &["a", "b"]),
                resource_set("csi", &[]),
            ],
        ),
    ]
}

/// What moves, or stays, by its labels and those of its kind.
fn labels() -> Vec<Shape> {
    vec![
        shape(
            "forced",
            [
                small(),
                vec![
                    labelled(secret("alone", &[]), FORCED),
                    with(labelled(config("alone", &[]), FORCED), "/immutable", json!(true)),
                    labelled(
                        object("ExtensionConfig", "hooks", &[], json!({ "spec": { "clientConfig": {} } })),
                        FORCED,
                    ),
                    labelled(
                        object("Metal3DataTemplate", "c", &[], json!({ "spec": { "clusterName": "c" } })),
                        FORCED,
                    ),
                ],
            ],
        ),
        shape(
            "forced-off",
            [
                small(),
                vec![with(
                    secret("alone", &[]),
                    "/metadata/labels/clusterctl.cluster.x-k8s.io~1move",
                    json!("false"),
                )],
            ],
        ),
        shape(
            "hierarchy",
            [
                small(),
                vec![
                    labelled(config("root", &[]), HIERARCHY),
                    secret("below", &[("ConfigMap", "root")]),
                    config("below-that", &[("Secret", "below")]),
                ],
            ],
        ),
        shape(
            "hierarchy-kind",
            [
                small(),
                vec![
                    finalized(object(
                        "Rack",
                        "r",
                        &[],
                        json!({ "spec": { "height": 9_007_199_254_740_993_u64 } }),
                    )),
                    finalized(object("Shelf", "s", &[("Rack", "r")], json!({ "spec": {} }))),
                    secret("s", &[("Shelf", "s")]),
                ],
            ],
        ),
        shape(
            "status-as-field",
            [
                small(),
                vec![object(
                    "Ledger",
                    "l",
                    &[],
                    json!({
                        "spec": { "sum": 1 }, "status": { "sum": 9_007_199_254_740_993_u64 },
                    }),
                )],
            ],
        ),
        shape(
            "strangers",
            [
                small(),
                vec![
                    secret("registry", &[]),
                    secret("c-unknown", &[]),
                    secret("d-kubeconfig", &[]),
                    config("notes", &[]),
                    object("ExtensionConfig", "hooks", &[], json!({ "spec": { "clientConfig": {} } })),
                    object("Shelf", "alone", &[], json!({ "spec": {} })),
                    object("Widget", "alone", &[], json!({ "spec": {} })),
                ],
            ],
        ),
        // The garbage collector of the source deletes it after its Cluster.
        shape(
            "unlabelled-kind",
            [small(), vec![object("Widget", "lost", &[("Cluster", "c")], json!({ "spec": {} }))]],
        )
        .flags(&["--accept", "dependents-lost=Widget.example.org"]),
        shape(
            "no-cluster",
            [vec![labelled(secret("alone", &[]), FORCED), object("Rack", "r", &[], json!({ "spec": {} }))]],
        ),
    ]
}

/// What one of them does not move, or neither.
fn refused() -> Vec<Shape> {
    let deleting =
        |object: Value| with(finalized(object), "/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"));
    let without_node = |mut objects: Vec<Value>| {
        objects[0]["status"] = json!({ "phase": "Provisioning" });
        objects
    };
    vec![
        shape(
            "unprovisioned",
            [vec![with(lone("c", json!({})), "/status", json!({ "phase": "Provisioning" }))]],
        )
        .end(End::Refused("not-provisioned")),
        shape(
            "without-node",
            [cluster("c"), without_node(machine("c", "c-0", ("KubeadmControlPlane", "c")))],
        )
        .end(End::Refused("not-provisioned")),
        shape("paused", [small(), bare("b", json!({ "paused": true }))]).end(End::Refused("already-paused")),
        shape(
            "being-deleted",
            [small(), vec![deleting(object("Shelf", "s", &[("Cluster", "c")], json!({ "spec": {} })))]],
        )
        .end(End::OnlyOursRefuses("being-deleted")),
        shape("taken-name", [small()])
            .target(vec![object(
                "Metal3Cluster",
                "c",
                &[],
                json!({ "spec": { "controlPlaneEndpoint": { "host": "198.51.100.1", "port": 6443 } } }),
            )])
            .end(End::OnlyOursRefuses("exists")),
        shape("nothing", [vec![secret("registry", &[])]]).end(End::OnlyOursRefuses("nothing-to-move")),
    ]
}
