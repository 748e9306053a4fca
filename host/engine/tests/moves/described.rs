//! Reading one Cluster to show it: how few requests that takes, and what a user without every permission still sees.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use pivot_core::describe::{Described, View, build_tree};
use pivot_core::{GroupKind, KindLabels};
use pivot_engine::describe::{WantedCluster, describe_cluster};
use pivot_engine::events::NoWatcher;
use pivot_engine::{Exit, Stop};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::PlaceError;
use serde_json::{Value, json};

use crate::stage::{CLUSTERS, INFRA, body, kind};

fn refers(kind: &str, name: &str) -> Value {
    json!({"apiGroup": INFRA, "kind": kind, "name": name})
}

/// A Cluster `c` of so many Machines, and beside it another one.
fn server(machines: usize) -> MemoryPlace {
    let place = MemoryPlace::new("here");
    for (group, name, plural) in [
        (CLUSTERS, "Cluster", "clusters"),
        (CLUSTERS, "Machine", "machines"),
        (INFRA, "InfraCluster", "infraclusters"),
        (INFRA, "InfraMachine", "inframachines"),
    ] {
        place.add_kind(kind(group, name, plural, KindLabels::default()));
    }
    place.add_namespace("ns").add_namespace("other");
    for cluster in ["c", "d"] {
        let mut object = body(CLUSTERS, "Cluster", cluster, None);
        object["spec"] = json!({"infrastructureRef": refers("InfraCluster", cluster)});
        place.insert(object).unwrap();
        place.insert(body(INFRA, "InfraCluster", cluster, None)).unwrap();
        for index in 0..machines {
            let name = format!("{cluster}-{index}");
            let mut machine = body(CLUSTERS, "Machine", &name, None);
            machine["metadata"]["labels"] = json!({"cluster.x-k8s.io/cluster-name": cluster});
            machine["spec"] = json!({"infrastructureRef": refers("InfraMachine", &name),
                "bootstrap": {"configRef": {"apiGroup": "bootstrap.io", "kind": "Config", "name": name}}});
            place.insert(machine).unwrap();
            place.insert(body(INFRA, "InfraMachine", &name, None)).unwrap();
        }
    }
    place
}

async fn read(place: &MemoryPlace, namespace: Option<&str>, name: &str) -> Result<Described, Stop> {
    let namespace = namespace.map(str::to_owned);
    let wanted = WantedCluster { namespace, name: name.into(), resource_sets: false };
    describe_cluster(Arc::new(place.clone()), &wanted, Arc::new(NoWatcher)).await
}

/// The requests for objects that it takes, in order.
async fn requests(place: &MemoryPlace) -> Vec<String> {
    let made: Arc<Mutex<Vec<String>>> = Arc::default();
    place.on_call({
        let made = made.clone();
        move |verb, key| {
            if !key.group_kind.kind.is_empty() {
                made.lock().unwrap().push(format!("{verb} {}", key.group_kind.kind));
            }
            None
        }
    });
    read(place, Some("ns"), "c").await.unwrap();
    let mut made = made.lock().unwrap().clone();
    made.sort();
    made
}

#[tokio::test]
async fn a_cluster_of_many_machines_takes_as_many_requests_as_one_of_two() {
    let expected = ["get InfraCluster", "list Cluster", "list InfraMachine", "list Machine"];
    assert_eq!(requests(&server(2)).await, expected);
    assert_eq!(requests(&server(700)).await, expected);
    let described = read(&server(700), Some("ns"), "c").await.unwrap();
    let infrastructure =
        described.objects.iter().filter(|object| object.kind.group_kind.kind == "InfraMachine");
    assert_eq!(infrastructure.count(), 700, "what another Cluster refers to is not kept");
}

#[tokio::test]
async fn what_may_not_be_read_or_is_not_served_is_shown_as_that() {
    let place = server(2);
    place.on_call(|verb, key| {
        let hidden = verb == "list" && key.group_kind.kind == "InfraMachine";
        hidden.then(|| Fault::Before(PlaceError::Forbidden("inframachines".into())))
    });
    let described = read(&place, Some("ns"), "c").await.unwrap();
    let reasons: BTreeMap<&GroupKind, &str> =
        described.unread.iter().map(|(kind, problem)| (kind, problem.reason)).collect();
    assert_eq!(
        reasons,
        BTreeMap::from([
            (&GroupKind::new("bootstrap.io", "Config"), "NotServed"),
            (&GroupKind::new(INFRA, "InfraMachine"), "NotRead"),
        ])
    );
    let tree = build_tree(&described, &View::default());
    let machine = &tree.root.children[1].children[0].children[0];
    let names: Vec<String> = machine.children.iter().map(pivot_core::describe::Node::name).collect();
    assert_eq!(names, ["Config ns/c-0", "InfraMachine ns/c-0"]);

    // Machines themselves are what it is about.
    place.on_call(|_, key| {
        (key.group_kind.kind == "Machine").then(|| Fault::Before(PlaceError::Forbidden("machines".into())))
    });
    let stop = read(&place, Some("ns"), "c").await.unwrap_err();
    assert_eq!((stop.exit, stop.next.len()), (Exit::Refused, 0));
    assert_eq!(stop.to_string(), "listing machines in the source: forbidden: machines");
}

#[tokio::test]
async fn a_cluster_is_found_by_its_name_and_namespace() {
    let place = server(0);
    let mut elsewhere = body(CLUSTERS, "Cluster", "c", None);
    elsewhere["metadata"]["namespace"] = json!("other");
    elsewhere["metadata"]["uid"] = json!("elsewhere");
    place.insert(elsewhere).unwrap();
    let found =
        async |namespace, name| read(&place, namespace, name).await.map(|one| one.cluster.to_string());
    assert_eq!(found(Some("ns"), "c").await.unwrap(), "Cluster ns/c");
    assert_eq!(found(Some("other"), "c").await.unwrap(), "Cluster other/c");
    assert_eq!(found(None, "d").await.unwrap(), "Cluster ns/d");
    let several = found(None, "c").await.unwrap_err();
    assert_eq!(several.exit, Exit::Refused);
    assert!(several.to_string().ends_with(":\n  - Cluster ns/c\n  - Cluster other/c"), "{several}");
    let missing = found(Some("other"), "d").await.unwrap_err();
    assert_eq!((missing.exit, missing.state.as_str()), (Exit::Empty, "this command changes nothing"));
    assert_eq!(
        missing.to_string(),
        "there is no Cluster other/d (did you mean ns/d?), but:\n  - Cluster ns/c\n  - Cluster ns/d\n  - Cluster other/c"
    );
    // Who may not list all is told of those that may be listed.
    place
        .on_call(|_, key| key.namespace.is_none().then(|| Fault::Before(PlaceError::Forbidden("no".into()))));
    let missing = found(Some("other"), "d").await.unwrap_err();
    assert_eq!(missing.to_string(), "there is no Cluster other/d, but:\n  - Cluster other/c");
    let none = read(&MemoryPlace::new("empty"), Some("ns"), "c").await.unwrap_err();
    assert_eq!(none.to_string(), "there is no Cluster ns/c, nor any other");
}
