//! What moves, what is kept, what stays, in which order: one test per rule.

use expect_test::expect;

use crate::selection::select::{is_hierarchy, is_moved};
use crate::testing::{Case, kind};

mod add;
mod beyond;
mod carry;
mod exclude;
mod links;
mod named;
mod owners;
mod plugins;
mod shared;
mod worlds;

// Which kinds take part.

#[test]
fn labelled_kinds_secrets_and_configmaps_are_read() {
    for (name, listed, moved, hierarchy) in [
        ("InfraMachine", true, false, false),
        ("External", true, true, false),
        ("GlobalExternal", true, true, false),
        ("Pool", true, true, true),
        ("Identity", true, true, true),
        ("Cluster", true, true, true),
        ("ClusterClass", true, true, true),
        ("ClusterResourceSet", true, true, true),
        ("ClusterResourceSetBinding", true, false, false),
        ("Secret", true, false, false),
        ("ConfigMap", true, false, false),
        ("BareMetalHost", false, false, false),
        ("Pod", false, false, false),
    ] {
        let kind = kind(name);
        assert_eq!(
            (kind.is_always_read(), is_moved(&kind), is_hierarchy(&kind)),
            (listed, moved, hierarchy),
            "{name}"
        );
    }
}

// Hierarchies.

#[test]
fn cluster_moves_with_dependents_and_named_secrets() {
    Case::new(
        "Cluster ns/foo
         InfraCluster ns/foo < Cluster ns/foo
         Secret ns/foo-ca
         Secret ns/foo-kubeconfig < Cluster ns/foo
         Machine ns/m < Cluster ns/foo
         InfraMachine ns/m < Machine ns/m
         BootstrapConfig ns/m < Machine ns/m
         Secret ns/m < BootstrapConfig ns/m",
    )
    .check(expect![[r#"
        move Cluster ns/foo (moves with everything it owns)
        move Secret ns/foo-ca (belongs to Cluster ns/foo) after Cluster ns/foo
        move Secret ns/foo-kubeconfig (belongs to Cluster ns/foo) after Cluster ns/foo
        move Machine ns/m (belongs to Cluster ns/foo) after Cluster ns/foo
        move InfraCluster ns/foo (belongs to Cluster ns/foo) after Cluster ns/foo
        move BootstrapConfig ns/m (belongs to Cluster ns/foo) after Machine ns/m
        move InfraMachine ns/m (belongs to Cluster ns/foo) after Machine ns/m
        move Secret ns/m (belongs to Cluster ns/foo) after BootstrapConfig ns/m
    "#]]);
}

#[test]
fn owners_are_created_layer_by_layer() {
    Case::new(
        "Cluster ns/foo
         MachineDeployment ns/md < Cluster ns/foo
         MachineSet ns/ms < MachineDeployment ns/md
         Machine ns/m < MachineSet ns/ms
         InfraMachine ns/m < Machine ns/m
         InfraMachineTemplate ns/t < Cluster ns/foo",
    )
    .check(expect![[r#"
        move Cluster ns/foo (moves with everything it owns)
        move MachineDeployment ns/md (belongs to Cluster ns/foo) after Cluster ns/foo
        move InfraMachineTemplate ns/t (belongs to Cluster ns/foo) after Cluster ns/foo
        move MachineSet ns/ms (belongs to Cluster ns/foo) after MachineDeployment ns/md
        move Machine ns/m (belongs to Cluster ns/foo) after MachineSet ns/ms
        move InfraMachine ns/m (belongs to Cluster ns/foo) after Machine ns/m
    "#]]);
}

#[test]
fn two_clusters_share_a_template() {
    Case::new(
        "Cluster ns/a
         Cluster ns/b
         Secret ns/a-ca
         Secret ns/b-ca
         InfraMachineTemplate ns/shared < Cluster ns/a, Cluster ns/b",
    )
    .check(expect![[r#"
        move Cluster ns/a (moves with everything it owns)
        move Cluster ns/b (moves with everything it owns)
        move Secret ns/a-ca (belongs to Cluster ns/a) after Cluster ns/a
        move Secret ns/b-ca (belongs to Cluster ns/b) after Cluster ns/b
        move InfraMachineTemplate ns/shared (belongs to Cluster ns/a) after Cluster ns/a, Cluster ns/b
    "#]]);
}

// proves: I5
#[test]
fn unowned_objects_stay_with_a_reason() {
    Case::new(
        "Cluster ns/foo
         InfraMachineTemplate ns/alone
         Secret ns/alone
         ConfigMap ns/kube-root-ca.crt
         Secret ns/tls < Widget ns/unread
         Secret ns/owned < InfraMachineTemplate ns/alone
         BareMetalHost ns/host
         GlobalConfig g",
    )
    .check(expect![[r#"
        move Cluster ns/foo (moves with everything it owns)
        stay ConfigMap ns/kube-root-ca.crt: not linked with any Cluster
        stay Secret ns/alone: not linked with any Cluster
        stay Secret ns/owned: its owner InfraMachineTemplate ns/alone stays
        stay Secret ns/tls: its owner Widget unread was not read
        stay GlobalConfig g: nothing that moves owns it
        stay InfraMachineTemplate ns/alone: nothing that moves owns it
        stay BareMetalHost ns/host: kind BareMetalHost.metal3.io is not labelled for move
    "#]]);
}

#[test]
fn resource_set_moves_with_resources_and_bindings() {
    Case::new(
        "ClusterResourceSet ns/crs
         Secret ns/resource < ClusterResourceSet ns/crs
         ConfigMap ns/resource < ClusterResourceSet ns/crs
         ClusterResourceSetBinding ns/a < ClusterResourceSet ns/crs ! cluster=a
         ClusterResourceSetBinding ns/b < ClusterResourceSet ns/crs ! cluster=b
         Cluster ns/a
         Cluster ns/b",
    )
    .check(expect![[r#"
        move ClusterResourceSet ns/crs (moves with everything it owns)
        move Cluster ns/a (moves with everything it owns)
        move Cluster ns/b (moves with everything it owns)
        move ConfigMap ns/resource (belongs to ClusterResourceSet ns/crs) after ClusterResourceSet ns/crs
        move Secret ns/resource (belongs to ClusterResourceSet ns/crs) after ClusterResourceSet ns/crs
        move ClusterResourceSetBinding ns/a (belongs to ClusterResourceSet ns/crs) after ClusterResourceSet ns/crs, Cluster ns/a
        move ClusterResourceSetBinding ns/b (belongs to ClusterResourceSet ns/crs) after ClusterResourceSet ns/crs, Cluster ns/b
    "#]]);
}

#[test]
fn a_kind_labelled_hierarchy_is_a_root() {
    Case::new(
        "Pool ns/p
         Claim ns/c < Pool ns/p",
    )
    .check(expect![[r#"
        move Pool ns/p (moves with everything it owns)
        move Claim ns/c (belongs to Pool ns/p) after Pool ns/p
    "#]]);
}

#[test]
fn hierarchy_label_with_any_value_makes_root() {
    Case::new(
        "Claim ns/top ! hierarchy
         Claim ns/below < Claim ns/top",
    )
    .check(expect![[r#"
        move Claim ns/top (moves with everything it owns)
        move Claim ns/below (belongs to Claim ns/top) after Claim ns/top
    "#]]);
}

#[test]
fn a_labelled_object_moves_alone() {
    Case::new(
        "Secret ns/cloud-config ! move
         ConfigMap ns/below < Secret ns/cloud-config
         External ns/e",
    )
    .check(expect![[r#"
        move Secret ns/cloud-config (labelled for move)
        move External ns/e (labelled for move)
        stay ConfigMap ns/below: its owner Secret ns/cloud-config moves alone
    "#]]);
}

// The plan as a whole.

// proves: W28
#[test]
fn w28_plan_ignores_the_order_of_reading() {
    let text = "Cluster ns/b
        Cluster ns/a ! class=classes/q
        ClusterClass classes/q
        Machine ns/m2 < Cluster ns/a
        Machine ns/m1 < Cluster ns/a, Cluster ns/b
        Secret ns/s < Machine ns/m1, Machine ns/m2";
    let reversed: Vec<&str> = text.lines().rev().collect();
    assert_eq!(Case::new(text).plan(), Case::new(&reversed.join("\n")).plan());
}

#[test]
fn w22_empty_inventory_gives_empty_plan() {
    let plan = Case::new("").plan();
    assert!(plan.is_empty() && plan.refusals.is_empty());
}

#[test]
fn a_plan_is_a_document() {
    let plan = Case::new(
        "Cluster ns/foo
         Secret ns/s < Cluster ns/foo, Widget ns/w
         Secret ns/x",
    )
    .plan();
    let text = serde_json::to_string_pretty(&plan).unwrap();
    expect![[r#"
        {
          "steps": [
            {
              "key": {
                "group": "cluster.x-k8s.io",
                "kind": "Cluster",
                "namespace": "ns",
                "name": "foo"
              },
              "uid": "Cluster:ns/foo",
              "fate": "move",
              "why": "root",
              "cluster": {
                "group": "cluster.x-k8s.io",
                "kind": "Cluster",
                "namespace": "ns",
                "name": "foo"
              }
            },
            {
              "key": {
                "group": "",
                "kind": "Secret",
                "namespace": "ns",
                "name": "s"
              },
              "uid": "Secret:ns/s",
              "after": [
                0
              ],
              "droppedOwners": [
                {
                  "apiVersion": "example.com/v1beta2",
                  "kind": "Widget",
                  "name": "w",
                  "uid": "Widget:ns/w"
                }
              ],
              "fate": "move",
              "why": {
                "below": {
                  "group": "cluster.x-k8s.io",
                  "kind": "Cluster",
                  "namespace": "ns",
                  "name": "foo"
                }
              },
              "cluster": {
                "group": "cluster.x-k8s.io",
                "kind": "Cluster",
                "namespace": "ns",
                "name": "foo"
              }
            }
          ],
          "stays": [
            {
              "key": {
                "group": "",
                "kind": "Secret",
                "namespace": "ns",
                "name": "x"
              },
              "reason": "notLinked"
            }
          ],
          "refusals": [],
          "notes": [
            {
              "code": "owner-dropped",
              "object": {
                "group": "",
                "kind": "Secret",
                "namespace": "ns",
                "name": "s"
              },
              "message": "copied without its owner Widget w, which does not move"
            }
          ]
        }"#]]
    .assert_eq(&text);
}

// proves: W19
#[test]
fn w19_work_grows_linearly() {
    for clusters in [1, 10, 100] {
        let case = Case::new(&fleet(clusters, 10_000 / clusters / 4));
        let objects = case.inventory.objects().len();
        let (visits, ties) = work(&case);
        assert!(objects > 9_000 && ties < 3 * objects);
        assert!(visits <= 2 * ties, "{visits} visits for {ties} ties of {clusters} clusters");
        assert_eq!(case.plan().steps.len(), objects);
    }
}

#[test]
fn owner_chains_can_have_any_length() {
    let mut text = String::from("Cluster ns/c\nClaim ns/c0 < Cluster ns/c\n");
    for i in 1..10_000 {
        text.push_str(&format!("Claim ns/c{i} < Claim ns/c{}\n", i - 1));
    }
    text.push_str("Claim ns/end < Claim ns/c9999");
    assert_eq!(Case::new(&text).plan().steps.len(), 10_002);
}

/// Clusters of one class with machines of four objects each.
fn fleet(clusters: usize, machines: usize) -> String {
    let mut text = String::from("ClusterClass ns/q\n");
    for c in 0..clusters {
        text.push_str(&format!("Cluster ns/c{c} ! class=q\n"));
        for m in 0..machines {
            text.push_str(&format!(
                "Machine ns/c{c}-{m} < Cluster ns/c{c}
                 InfraMachine ns/c{c}-{m} < Machine ns/c{c}-{m}, Cluster ns/c{c}
                 BootstrapConfig ns/c{c}-{m} < Machine ns/c{c}-{m}
                 Secret ns/c{c}-{m} < BootstrapConfig ns/c{c}-{m}\n"
            ));
        }
    }
    text
}

fn work(case: &Case) -> (usize, usize) {
    let soft = crate::discovery::implicit_links::soft_links(&case.inventory);
    let mut notes = Vec::new();
    let graph = crate::discovery::graph::Graph::new(&case.inventory, &soft, &case.relations, &mut notes);
    let Case { inventory, scope, relations, .. } = case;
    let input = crate::selection::input::SelectionInput { inventory, graph: &graph, scope, relations };
    let selection = crate::selection::select::select_objects(input, &mut notes);
    (selection.visits, graph.len())
}
