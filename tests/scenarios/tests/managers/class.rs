//! A Cluster with a class is reconciled by the topology controller before and after a move, and nothing is rolled out.
//!
//! That controller applies what it wants by server-side apply: only if its fields are still its own after the move, it can remove
//! what is no longer in the topology. A copy whose fields belong to somebody else would keep it for ever.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use pivot_lab::assets::CLUSTER_API;
use pivot_lab::observer::Side;
use pivot_lab::proxy::{Faults, Moment, Partition};
use pivot_lab::{Dump, FaultProxy, ObjectKey};
use pivot_scenarios::host::AGENT;
use pivot_scenarios::point::Point;
use pivot_scenarios::state::{carried, difference};
use serde_json::{Value, json};

use super::handover::{OBJECTS, go_through};
use super::world::{CLUSTER_NAME, World};

const CLUSTER: &str = "Cluster.cluster.x-k8s.io";
const MARKS: [&str; 2] = ["pivot-host.io/move", "pivot-host.io/copy-of"];
const LIMIT: Duration = Duration::from_mins(5);
/// Shorter than a refused delete is repeated.
const CACHE_DELAY: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_with_a_class_is_not_rolled_out_and_its_topology_still_rules() {
    let mut world = World::start(CLUSTER_API).await.unwrap();
    let managers = world.disturb_source_managers().await.unwrap();
    world.fill(OBJECTS, 5).await.unwrap();
    let before = world.until_quiet(Side::Source).await.unwrap();
    let labelled = with_label(&before, "tier");
    for kind in ["KubeadmControlPlane.", "MachineDeployment.", "MachineSet.", "Machine.", "LabMachine."] {
        assert!(labelled.iter().any(|key| key.kind.starts_with(kind)), "no {kind} in {labelled:?}");
    }

    go_before_cache(&mut world, managers).await;
    let after = world.until_quiet(Side::Target).await.unwrap();
    let (wanted, is) = (carried(before.clone()), carried(after.clone()));
    assert!(wanted == is, "{}", difference(&wanted, &is));
    let (wanted, is) = (applied(&before), applied(&after));
    assert!(
        wanted.iter().any(|field| field.contains("capi-topology")) && wanted.len() > 100,
        "{}",
        wanted.len()
    );
    assert_eq!(wanted.symmetric_difference(&is).collect::<Vec<_>>(), Vec::<&String>::new());

    // What is taken out of the topology is taken off every object, without a new Machine.
    let pool =
        json!({"class": "workers", "name": "pool", "replicas": 1, "metadata": {"labels": {"team": "pears"}}});
    let topology = json!({
        "controlPlane": {"metadata": {"labels": {"tier": null}}},
        "workers": {"machineDeployments": [pool]},
    });
    world.patch(Side::Target, CLUSTER, "classy", json!({"spec": {"topology": topology}})).await.unwrap();
    let without = until(&mut world, |dump| with_label(dump, "tier").is_empty()).await;
    assert_eq!(without.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    assert_eq!(with_label(&without, "team"), with_label(&after, "team"));
    assert_eq!(world.torn_down().unwrap(), Vec::<String>::new());

    // Another value of a variable still rolls out, and only what it is for.
    let size = json!([{"name": "size", "value": "small"}]);
    world
        .patch(Side::Target, CLUSTER, "classy", json!({"spec": {"topology": {"variables": size}}}))
        .await
        .unwrap();
    let workers = |dump: &Dump| machines(dump, "classy", false);
    let old = workers(&without);
    let rolled = until(&mut world, |dump| {
        let new = workers(dump);
        new.len() == 1 && new.is_disjoint(&old)
    })
    .await;
    world.until_machines(Side::Target, 5).await.unwrap();
    assert_eq!(machines(&rolled, "classy", true), machines(&after, "classy", true));
    assert_eq!(machines(&rolled, "plain", false), machines(&after, "plain", false));
    assert_eq!(world.torn_down().unwrap().len(), 1);
}

/// Moves to the target while the source's managers don't see yet that the last Cluster with the class is deleted. Their webhook refuses
/// to delete the class until then.
async fn go_before_cache(world: &mut World, managers: Faults) {
    let line = FaultProxy::start(world.server(Side::Source)).await.unwrap();
    let cluster_deleted = Point::of_source("DELETE", "/clusters/classy?", 1, Moment::Before);
    line.faults().add(cluster_deleted.rule(async move {
        managers.set_partition(Partition::Hang);
        tokio::spawn(async move {
            tokio::time::sleep(CACHE_DELAY).await;
            managers.set_partition(Partition::None);
        });
    }));
    let mark = world.server(Side::Source).audit_mark().await.unwrap();
    go_through(world, Side::Source, line.kubeconfig()).await;
    let audit = world.server(Side::Source).audit_since(mark).await.unwrap().of(AGENT);
    let deletes = audit.only(|request| {
        request.verb == "delete" && request.resource == "clusterclasses.cluster.x-k8s.io" && !request.dry_run
    });
    let answers: Vec<u16> = deletes.requests.iter().map(|request| request.code).collect();
    assert!(answers.len() > 1, "the webhook of ClusterClasses refused nothing: {answers:?}");
    assert!(answers.iter().rev().skip(1).all(|code| *code == 403), "{answers:?}");
}

/// The target's state, once controllers are idle and it is as wanted.
async fn until(world: &mut World, wanted: impl Fn(&Dump) -> bool) -> Dump {
    let start = Instant::now();
    loop {
        let dump = world.until_quiet(Side::Target).await.unwrap();
        if wanted(&dump) {
            return dump;
        }
        let keys: Vec<String> = dump.keys().map(ToString::to_string).collect();
        assert!(start.elapsed() < LIMIT, "with tier: {:?}\n{keys:#?}", with_label(&dump, "tier"));
    }
}

/// The objects that carry a label, or give it to others.
fn with_label(dump: &Dump, label: &str) -> BTreeSet<ObjectKey> {
    let has =
        |object: &Value, path: &str| object.pointer(path).is_some_and(|labels| labels.get(label).is_some());
    let paths =
        ["/metadata/labels", "/spec/template/metadata/labels", "/spec/machineTemplate/metadata/labels"];
    let carries = |object: &Value| paths.iter().any(|path| has(object, path));
    dump.iter().filter(|(_, object)| carries(object)).map(|(key, _)| key.clone()).collect()
}

/// The Machines of a Cluster: of its control plane, or its workers.
fn machines(dump: &Dump, cluster: &str, control_plane: bool) -> BTreeSet<String> {
    let of = |object: &Value| {
        let labels = &object["metadata"]["labels"];
        labels[CLUSTER_NAME] == cluster
            && labels.get("cluster.x-k8s.io/control-plane").is_some() == control_plane
    };
    let machines = dump.iter().filter(|(key, _)| key.kind == "Machine.cluster.x-k8s.io");
    machines.filter(|(_, object)| of(object)).map(|(key, _)| key.name.clone()).collect()
}

/// The fields that server-side appliers own, each with its object and the applier.
fn applied(dump: &Dump) -> BTreeSet<String> {
    let mut fields = BTreeSet::new();
    for (key, object) in dump {
        let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
        for entry in
            entries.filter(|entry| entry["operation"] == "Apply" && entry.get("subresource").is_none())
        {
            paths(&entry["fieldsV1"], &format!("{key}, {}: ", entry["manager"]), &mut fields);
        }
    }
    // A move marks each copy, and the marks of a MachineDeployment are applied to its MachineSets.
    fields.retain(|field| !MARKS.iter().any(|mark| field.contains(mark)));
    fields
}

fn paths(fields: &Value, path: &str, found: &mut BTreeSet<String>) {
    for (name, below) in fields.as_object().into_iter().flatten() {
        // Owners have other UIDs.
        let name = if name.starts_with("k:{\"uid\"") { "owner" } else { name };
        found.insert(format!("{path}/{name}"));
        paths(below, &format!("{path}/{name}"), found);
    }
}
