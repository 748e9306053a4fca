//! Owners outside the set, and owner cycles: nothing is dropped silently.

use expect_test::expect;
use serde_json::{Value, json};

use crate::Object;
use crate::discovery::inventory::Inventory;
use crate::planner::make_plan;
use crate::plugins::relations::Relations;
use crate::request::scope::{Namespaces, Scope};
use crate::testing::{Case, objects};

#[test]
fn w3_copies_keep_their_selected_owners() {
    Case::new(
        "Cluster ns/foo
         Secret ns/s < Cluster ns/foo, Widget ns/unread, InfraMachineTemplate ns/stays
         InfraMachineTemplate ns/stays",
    )
    .check(expect![[r#"
        move Cluster ns/foo (moves with everything it owns)
        move Secret ns/s (belongs to Cluster ns/foo) after Cluster ns/foo without Widget unread without InfraMachineTemplate stays
        stay InfraMachineTemplate ns/stays: nothing that moves owns it
        note owner-dropped Secret ns/s: copied without its owners Widget unread and InfraMachineTemplate ns/stays, which do not move
    "#]]);
}

// proves: D11, I5, W3
#[test]
fn w3_objects_with_unread_owners_are_refused() {
    Case::new("Secret ns/s < Widget ns/unread ! move").check(expect![[r#"
        move Secret ns/s (labelled for move) without Widget unread
        refuse owner-outside: Secret ns/s would move, but nothing that owns it does: it is owned by Widget unread, which was not read
          -> let its owner move too (labels clusterctl.cluster.x-k8s.io and clusterctl.cluster.x-k8s.io/move on the CRD of Widget.example.com) | {"remedy":"drop-owners","kinds":[{"group":"example.com","kind":"Widget"}]}
    "#]]);
}

// proves: W3
#[test]
fn w3_refusals_name_the_chain_of_owners() {
    Case::new(
        "Cluster ns/foo < Hosted ns/h
         Hosted ns/h < Fleet ns/f
         Fleet ns/f < Tenant ns/unread",
    )
    .check(expect![[r#"
        move Cluster ns/foo (moves with everything it owns) without Hosted h
        stay Fleet ns/f: its owner Tenant unread was not read
        stay Hosted ns/h: its owner Fleet ns/f stays
        refuse owner-outside: Cluster ns/foo would move, but nothing that owns it does: it is owned by Hosted ns/h, owned by Fleet ns/f, owned by Tenant unread, which was not read
          -> let its owner move too (`kubectl label -n ns hosted.infrastructure.cluster.x-k8s.io h clusterctl.cluster.x-k8s.io/move=`) | {"remedy":"drop-owners","kinds":[{"group":"infrastructure.cluster.x-k8s.io","kind":"Hosted"}]}
    "#]]);
}

#[test]
fn the_chain_says_why_its_end_stays() {
    Case::new(
        "Cluster ns/foo < Widget ns/w
         Widget ns/w",
    )
    .check(expect![[r#"
        move Cluster ns/foo (moves with everything it owns) without Widget w
        stay Widget ns/w: kind Widget.example.com is not labelled for move
        refuse owner-outside: Cluster ns/foo would move, but nothing that owns it does: it is owned by Widget ns/w (kind Widget.example.com is not labelled for move)
          -> let its owner move too (`kubectl label -n ns widget.example.com w clusterctl.cluster.x-k8s.io/move=`) | {"remedy":"drop-owners","kinds":[{"group":"example.com","kind":"Widget"}]}
    "#]]);
}

#[test]
fn an_owner_may_be_dropped_by_kind() {
    let text = "Secret ns/s < Widget ns/unread, Hosted ns/unread ! move";
    Case::new(text).drop_owner("Widget").check(expect![[r#"
        move Secret ns/s (labelled for move) without Widget unread without Hosted unread
        refuse owner-outside: Secret ns/s would move, but nothing that owns it does: it is owned by Hosted unread, which was not read
          -> let its owner move too (labels clusterctl.cluster.x-k8s.io and clusterctl.cluster.x-k8s.io/move on the CRD of Hosted.infrastructure.cluster.x-k8s.io) | {"remedy":"drop-owners","kinds":[{"group":"infrastructure.cluster.x-k8s.io","kind":"Hosted"}]}
    "#]]);
    Case::new(text).drop_owner("Widget").drop_owner("Hosted").check(expect![[r#"
        move Secret ns/s (labelled for move) without Widget unread without Hosted unread
        note owner-dropped Secret ns/s: copied without its owners Widget unread and Hosted unread, which do not move
    "#]]);
}

#[test]
fn dropped_kinds_keep_references_to_moved_owners() {
    Case::new(
        "Cluster ns/foo
         Secret ns/s < Cluster ns/foo",
    )
    .drop_owner("Cluster")
    .check(expect![[r#"
        move Cluster ns/foo (moves with everything it owns)
        move Secret ns/s (belongs to Cluster ns/foo) after Cluster ns/foo
    "#]]);
}

// proves: W4
#[test]
fn w4_unread_owners_are_not_in_plans() {
    let case = Case::new("Secret ns/s < Cluster other/gone ! move");
    assert_eq!(case.plan().count_clusters(), 0);
}

// proves: I5, W3
#[test]
fn w3_owner_cycles_are_refused() {
    Case::new(
        "Cluster ns/foo
         Claim ns/a < Claim ns/b, Cluster ns/foo
         Claim ns/b < Claim ns/c
         Claim ns/c < Claim ns/a
         Claim ns/below < Claim ns/c",
    )
    .check(expect![[r#"
        move Cluster ns/foo (moves with everything it owns)
        move Claim ns/b (belongs to Cluster ns/foo)
        move Claim ns/c (belongs to Cluster ns/foo)
        move Claim ns/a (belongs to Cluster ns/foo) after Cluster ns/foo
        move Claim ns/below (belongs to Cluster ns/foo) after Claim ns/c
        refuse owner-cycle: owner references form a cycle: Claim ns/a is owned by Claim ns/b is owned by Claim ns/c is owned by Claim ns/a
          -> remove one of the references (`kubectl edit -n ns claim.infrastructure.cluster.x-k8s.io a`) | {"remedy":"drop-one-owner","kinds":[{"group":"infrastructure.cluster.x-k8s.io","kind":"Claim"}]}
    "#]]);
}

#[test]
fn objects_that_own_themselves_are_cycles() {
    Case::new("Cluster ns/foo < Cluster ns/foo").check(expect![[r#"
        move Cluster ns/foo (moves with everything it owns)
        refuse owner-cycle: owner references form a cycle: Cluster ns/foo is owned by Cluster ns/foo
          -> remove one of the references (`kubectl edit -n ns cluster.cluster.x-k8s.io foo`) | {"remedy":"drop-one-owner","kinds":[{"group":"cluster.x-k8s.io","kind":"Cluster"}]}
    "#]]);
}

#[test]
fn dropping_a_kind_opens_its_cycle() {
    Case::new(
        "Cluster ns/foo < Claim ns/a
         Claim ns/a < Cluster ns/foo",
    )
    .drop_owner("Claim")
    .check(expect![[r#"
        move Cluster ns/foo (moves with everything it owns) without Claim a
        move Claim ns/a (belongs to Cluster ns/foo) after Cluster ns/foo
        note owner-dropped Cluster ns/foo: copied without its owner Claim ns/a, to break a cycle of owners
    "#]]);
}

// proves: W11
#[test]
fn w11_versions_in_owner_references_are_ignored() {
    let mut objects = crate::testing::objects("Cluster ns/foo");
    let mut body = crate::testing::objects("Machine ns/m < Cluster ns/foo")[0].value().unwrap();
    body["metadata"]["ownerReferences"][0]["apiVersion"] = "cluster.x-k8s.io/v1alpha3".into();
    objects.push(crate::Object::from_value(crate::testing::kind("Machine"), &body).unwrap());
    let mut case = Case::new("");
    case.inventory = crate::discovery::inventory::Inventory::new(objects);
    case.check(expect![[r#"
        move Cluster ns/foo (moves with everything it owns)
        move Machine ns/m (belongs to Cluster ns/foo) after Cluster ns/foo
    "#]]);
}

// proves: D16, W18
#[test]
fn w18_objects_being_deleted_are_refused() {
    Case::new(
        "Cluster ns/foo
         Machine ns/m < Cluster ns/foo ! deleting
         Secret ns/stays ! deleting",
    )
    .check(expect![[r#"
        move Cluster ns/foo (moves with everything it owns)
        move Machine ns/m (belongs to Cluster ns/foo) after Cluster ns/foo
        stay Secret ns/stays: not linked with any Cluster
        refuse being-deleted: Machine ns/m is being deleted; its copy would bring it back
          -> wait until it is gone; to see what it waits for: `kubectl get -n ns machine.cluster.x-k8s.io m -o 'jsonpath={.metadata.finalizers}'`
    "#]]);
}

/// Anyone with permission to create an object can put anything into its references.
#[test]
fn misnamed_owners_are_refused() {
    let misnamed = |change: fn(&mut Value)| {
        let mut objects = objects("Cluster ns/c\nCluster other/c\nSecret ns/s < Cluster ns/c");
        let secret = objects.pop().unwrap();
        let mut body = secret.value().unwrap();
        change(&mut body["metadata"]);
        objects.push(Object::from_value(secret.kind.clone(), &body).unwrap());
        let scope = Scope::new(Namespaces::All);
        let plan = make_plan(&Inventory::new(objects), &scope, &Relations::default(), &[]);
        plan.refusals
            .iter()
            .map(|refusal| format!("{}: {refusal}", refusal.code))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(misnamed(|_| {}), "");
    // The version dates from when the reference was written.
    assert_eq!(
        misnamed(|meta| meta["ownerReferences"][0]["apiVersion"] = json!("cluster.x-k8s.io/v1alpha3")),
        ""
    );
    let changes: [fn(&mut Value); 5] = [
        |meta| meta["ownerReferences"][0]["kind"] = json!("Nonsense"),
        |meta| meta["ownerReferences"][0]["kind"] = json!("Machine"),
        |meta| meta["ownerReferences"][0]["apiVersion"] = json!("cluster.example.com/v1beta2"),
        |meta| meta["ownerReferences"][0]["name"] = json!("d"),
        |meta| meta["ownerReferences"][0]["uid"] = json!("Cluster:other/c"),
    ];
    let told: Vec<String> = changes.into_iter().map(misnamed).collect();
    expect![[r#"
        owner-misnamed: source: Secret ns/s has an owner reference to Nonsense.cluster.x-k8s.io c, with the uid of Cluster ns/c (Cluster.cluster.x-k8s.io); correct the owner reference, or remove it: `kubectl edit -n ns secret s`
        owner-misnamed: source: Secret ns/s has an owner reference to Machine.cluster.x-k8s.io c, with the uid of Cluster ns/c (Cluster.cluster.x-k8s.io); correct the owner reference, or remove it: `kubectl edit -n ns secret s`
        owner-misnamed: source: Secret ns/s has an owner reference to Cluster.cluster.example.com c, with the uid of Cluster ns/c (Cluster.cluster.x-k8s.io); correct the owner reference, or remove it: `kubectl edit -n ns secret s`
        owner-misnamed: source: Secret ns/s has an owner reference to Cluster.cluster.x-k8s.io d, with the uid of Cluster ns/c (Cluster.cluster.x-k8s.io); correct the owner reference, or remove it: `kubectl edit -n ns secret s`
        owner-misnamed: source: Secret ns/s has an owner reference to Cluster.cluster.x-k8s.io c, with the uid of Cluster other/c (Cluster.cluster.x-k8s.io); correct the owner reference, or remove it: `kubectl edit -n ns secret s`"#]].assert_eq(&told.join("\n"));
}
