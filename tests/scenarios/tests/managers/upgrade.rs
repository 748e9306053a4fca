//! Two Clusters move to a management cluster with a newer release of Cluster API, whose webhooks convert each object.
//!
//! The test types the commands of docs/guides/newer-cluster.md: a canary first, then the rest.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use pivot_lab::assets::{CLUSTER_API_NEWEST, CLUSTER_API_OLDER, KUBERNETES};
use pivot_lab::observer::{Side, check};
use pivot_lab::{Dump, Observer, Rules};
use pivot_scenarios::host::binary;
use pivot_scenarios::secrets::ensure_no_secret;
use pivot_scenarios::state::dangling;
use serde_json::Value;

use super::handover::{OLDER_OBJECTS, read_pair};
use super::typed::type_commands;
use super::world::{NAMESPACE, World};

/// With the releases of Cluster API that `PIVOT_CLUSTER_API` names (`1.10.10:1.14.2`), on the releases of Kubernetes that
/// `PIVOT_KUBERNETES` names. `cargo xtask matrix pairs` runs each pair.
// proves: I11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn newer_controllers_continue_with_older_objects() {
    let releases = read_pair("PIVOT_CLUSTER_API", [CLUSTER_API_OLDER, CLUSTER_API_NEWEST]);
    let mut world = World::start_on(releases, read_pair("PIVOT_KUBERNETES", [KUBERNETES; 2])).await.unwrap();
    let canary = OLDER_OBJECTS.replace("plain", "canary");
    world.fill(&format!("{OLDER_OBJECTS}\n---\n{canary}"), 6).await.unwrap();
    let before = world.until_quiet(Side::Source).await.unwrap();
    let nodes = world.nodes().await.unwrap();

    move_as_in_the_guide(&world).await;
    let after = world.until_quiet(Side::Target).await.unwrap();
    assert_eq!(names(&after), names(&before));
    assert_eq!(dangling(&after), Vec::<String>::new());
    assert_eq!(world.nodes().await.unwrap(), nodes, "a machine was replaced");
    assert_eq!(world.torn_down().unwrap(), Vec::<String>::new());

    // Only controllers that recognise every object create one more Machine, and delete two with all their objects.
    world.scale(Side::Target, 3).await.unwrap();
    world.until_machines(Side::Target, 7).await.unwrap();
    world.scale(Side::Target, 1).await.unwrap();
    world.until_machines(Side::Target, 5).await.unwrap();
    assert_eq!(world.torn_down().unwrap().len(), 2);
    assert_eq!(world.nodes().await.unwrap().len(), 5);
}

/// Moves both Clusters, and checks everything that was observed meanwhile.
async fn move_as_in_the_guide(world: &World) {
    let (source, target) = (world.server(Side::Source), world.server(Side::Target));
    let folder = tempfile::tempdir().unwrap();
    for (server, name) in [(source, "old.kubeconfig"), (target, "new.kubeconfig")] {
        fs::copy(server.kubeconfig(), folder.path().join(name)).unwrap();
    }
    // Both sides in the versions of the source, which the target serves, too.
    let kinds = source.kinds().await.unwrap();
    let observer = Observer::start_kinds((source, &kinds), (target, &kinds), &[NAMESPACE]).await.unwrap();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/newer-cluster.md");
    let page = fs::read_to_string(page).unwrap();
    let (program, typed_in) = (binary().unwrap(), folder.path().to_owned());
    let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
    let typing = tokio::task::spawn_blocking(move || type_commands(&page, &["sh"], &typed_in, &path));
    ensure_no_secret("docs/guides/newer-cluster.md", &typing.await.unwrap()).unwrap();

    let log = observer.finish_log().await.unwrap();
    let broken = check(&log, &rules());
    assert_eq!(broken.iter().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());
    let left = source.dump(&[NAMESPACE]).await.unwrap();
    assert_eq!(names(&left), BTreeSet::new());
}

/// The annotation in which the target's webhooks serve values of the newer version in an older one.
const CONVERSION_DATA: &str = "cluster.x-k8s.io/conversion-data";

/// The values that docs/versions.md lists as lost by the conversion: kind and path.
const REMOVED: [(&str, &str); 7] = [
    ("MachineDeployment.cluster.x-k8s.io", "/spec/progressDeadlineSeconds"),
    ("MachineDeployment.cluster.x-k8s.io", "/spec/revisionHistoryLimit"),
    ("KubeadmConfig.bootstrap.cluster.x-k8s.io", "/spec/clusterConfiguration/clusterName"),
    ("KubeadmConfig.bootstrap.cluster.x-k8s.io", "/spec/clusterConfiguration/kubernetesVersion"),
    ("KubeadmConfig.bootstrap.cluster.x-k8s.io", "/spec/clusterConfiguration/networking"),
    ("KubeadmConfig.bootstrap.cluster.x-k8s.io", "/spec/initConfiguration/apiVersion"),
    ("KubeadmConfig.bootstrap.cluster.x-k8s.io", "/spec/initConfiguration/kind"),
];

/// Copies have all values of their originals, except those that the page lists.
fn rules() -> Rules {
    Rules::new().target_at_work().bookkeeping(CONVERSION_DATA).strip(|key, state| {
        for (_, path) in REMOVED.iter().filter(|(kind, _)| *kind == key.kind) {
            let parent =
                path.rsplit_once('/').and_then(|(parent, name)| Some((state.pointer_mut(parent)?, name)));
            if let Some((Value::Object(parent), name)) = parent {
                parent.remove(name);
            }
        }
        if let Some(spec) = state.get_mut("spec") {
            strip_references(spec);
        }
    })
}

/// Removes the UID and the version of each reference to an object.
fn strip_references(value: &mut Value) {
    match value {
        Value::Object(map) => {
            let group = map.get("apiVersion").and_then(Value::as_str).and_then(|all| all.split_once('/'));
            let group = group.map(|(group, _)| Value::from(group));
            if let Some(group) = group.filter(|_| map.contains_key("kind") && map.contains_key("name")) {
                map.remove("uid");
                map.insert("apiVersion".to_owned(), group);
            }
            map.values_mut().for_each(strip_references);
        }
        Value::Array(all) => all.iter_mut().for_each(strip_references),
        _ => {}
    }
}

fn names(dump: &Dump) -> BTreeSet<String> {
    dump.keys().map(ToString::to_string).collect()
}
