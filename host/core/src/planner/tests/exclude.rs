//! What the user excludes stays, unless something that moves depends on it.

use expect_test::{Expect, expect};

use crate::GroupKind;
use crate::checks::collateral::{Bystander, find_lost_dependents};
use crate::objects::selector::Part;
use crate::testing::{Case, remedies, render};

const ONE: &str = "
    ClusterClass ns/quick
    Cluster ns/a ! class=quick
    InfraCluster ns/a < Cluster ns/a ! ref=Identity/id text=creds
    Machine ns/m < Cluster ns/a
    InfraMachine ns/m < Machine ns/m
    Secret ns/a-ca
    Secret ns/creds ! move
    Secret ns/spare ! move
    External ns/e
    Pool ns/spare
    IPAddress ns/spare < Pool ns/spare
    Identity id";

fn refused(case: &Case, expected: Expect) {
    let refusals = case.plan().refusals;
    let lines = refusals.iter().map(|one| format!("{}: {}\n  -> {}\n", one.code, one.message, remedies(one)));
    expected.assert_eq(&lines.collect::<String>());
}

#[test]
fn what_is_excluded_stays_and_says_so() {
    Case::new(ONE).exclude(&["External", "Secret ns/spare", "Pool ns/spare", "IPAddress"]).check(expect![[
        r#"
        move Secret ns/creds (labelled for move)
        move ClusterClass ns/quick (moves with everything it owns)
        keep Identity id (moves with everything it owns; cluster-scoped)
        move Cluster ns/a (moves with everything it owns) after ClusterClass ns/quick
        move Secret ns/a-ca (belongs to Cluster ns/a) after Cluster ns/a
        move Machine ns/m (belongs to Cluster ns/a) after Cluster ns/a
        move InfraCluster ns/a (belongs to Cluster ns/a) after Cluster ns/a
        move InfraMachine ns/m (belongs to Cluster ns/a) after Machine ns/m
        stay Secret ns/spare: excluded by the user
        stay External ns/e: excluded by the user
        stay IPAddress ns/spare: excluded by the user
        stay Pool ns/spare: excluded by the user
    "#
    ]]);
}

#[test]
fn excluding_needed_objects_is_refused() {
    for (excluded, expected) in [
        // Owners, up to whole Clusters.
        (
            "Machine",
            expect![[r#"
            excluded-but-needed: Machine ns/m is excluded, but InfraMachine ns/m would move and depends on it
              -> {"remedy":"exclude-too","objects":[{"group":"infrastructure.cluster.x-k8s.io","kind":"InfraMachine","namespace":"ns","name":"m"}]} | {"remedy":"leave-out-exclude","parts":[{"kind":{"group":"cluster.x-k8s.io","kind":"Machine"}}]}
        "#]],
        ),
        (
            "Cluster ns/a",
            expect![[r#"
            excluded-but-needed: Cluster ns/a is excluded, but Secret ns/a-ca, Machine ns/m and InfraCluster ns/a would move and depend on it
              -> {"remedy":"name-other-clusters"} | {"remedy":"leave-out-exclude","parts":[{"kind":{"group":"cluster.x-k8s.io","kind":"Cluster"},"object":{"namespace":"ns","name":"a"}}]}
        "#]],
        ),
        (
            "Pool ns/spare",
            expect![[r#"
            excluded-but-needed: Pool ns/spare is excluded, but IPAddress ns/spare would move and depends on it
              -> {"remedy":"exclude-too","objects":[{"group":"ipam.cluster.x-k8s.io","kind":"IPAddress","namespace":"ns","name":"spare"}]} | {"remedy":"leave-out-exclude","parts":[{"kind":{"group":"ipam.cluster.x-k8s.io","kind":"Pool"},"object":{"namespace":"ns","name":"spare"}}]}
        "#]],
        ),
        // A class, an identity, credentials.
        (
            "ClusterClass",
            expect![[r#"
                excluded-but-needed: ClusterClass ns/quick is excluded, but Cluster ns/a would move and depends on it
                  -> {"remedy":"name-other-clusters"} | {"remedy":"leave-out-exclude","parts":[{"kind":{"group":"cluster.x-k8s.io","kind":"ClusterClass"}}]}
            "#]],
        ),
        (
            "Identity id",
            expect![[r#"
            excluded-but-needed: Identity id is excluded, but InfraCluster ns/a would move and depends on it
              -> {"remedy":"exclude-too","objects":[{"group":"infrastructure.cluster.x-k8s.io","kind":"InfraCluster","namespace":"ns","name":"a"}]} | {"remedy":"leave-out-exclude","parts":[{"kind":{"group":"infrastructure.cluster.x-k8s.io","kind":"Identity"},"object":{"name":"id"}}]}
        "#]],
        ),
        (
            "Secret ns/creds",
            expect![[r#"
            excluded-but-needed: Secret ns/creds is excluded, but InfraCluster ns/a would move and depends on it
              -> {"remedy":"exclude-too","objects":[{"group":"infrastructure.cluster.x-k8s.io","kind":"InfraCluster","namespace":"ns","name":"a"}]} | {"remedy":"leave-out-exclude","parts":[{"kind":{"group":"","kind":"Secret"},"object":{"namespace":"ns","name":"creds"}}]}
        "#]],
        ),
    ] {
        refused(&Case::new(ONE).exclude(&[excluded]), expected);
    }
    let all_of_it = ["Machine", "InfraMachine"];
    assert_eq!(Case::new(ONE).exclude(&all_of_it).plan().refusals, []);
}

#[test]
fn excluding_objects_with_plugin_ties_is_refused() {
    let text = "Cluster ns/a\nMachine ns/m < Cluster ns/a\nWidget ns/w\nWidget ns/x\nSecret ns/s";
    refused(
        &Case::new(text).need("Machine ns/m", "Secret ns/s").exclude(&["Secret"]),
        expect![[r#"
        excluded-but-needed: Secret ns/s is excluded, but Machine ns/m would move and depends on it
          -> {"remedy":"exclude-too","objects":[{"group":"cluster.x-k8s.io","kind":"Machine","namespace":"ns","name":"m"}]} | {"remedy":"leave-out-exclude","parts":[{"kind":{"group":"","kind":"Secret"}}]}
    "#]],
    );
    let linked = || Case::new(text).link("Widget ns/w", "Machine ns/m").link("Widget ns/x", "Widget ns/w");
    refused(
        &linked().exclude(&["Widget ns/w"]),
        expect![[r#"
        excluded-but-needed: Widget ns/w is excluded, but Widget ns/x would move and depends on it
          -> {"remedy":"exclude-too","objects":[{"group":"example.com","kind":"Widget","namespace":"ns","name":"x"}]} | {"remedy":"leave-out-exclude","parts":[{"kind":{"group":"example.com","kind":"Widget"},"object":{"namespace":"ns","name":"w"}}]}
    "#]],
    );
    // What only an excluded object needs stays with it.
    linked().need("Widget ns/w", "Secret ns/s").exclude(&["Widget"]).check(expect![[r#"
        move Cluster ns/a (moves with everything it owns)
        move Machine ns/m (belongs to Cluster ns/a) after Cluster ns/a
        stay Secret ns/s: not linked with any Cluster
        stay Widget ns/w: excluded by the user
        stay Widget ns/x: excluded by the user
    "#]]);
}

/// A typo in a flag that protects something must not pass silently.
#[test]
fn excluding_missing_objects_is_refused() {
    for excluded in ["Secret ns/none", "Secret other/creds", "Widget", "Identity ns/id"] {
        let refusals = Case::new(ONE).exclude(&[excluded]).plan().refusals;
        let codes: Vec<_> = refusals.iter().map(|refusal| refusal.code).collect();
        assert_eq!(codes, ["excluded-missing"], "{excluded}");
    }
    refused(
        &Case::new(ONE).exclude(&["Secret ns/none"]),
        expect![[r#"
            excluded-missing: Secret/ns/none excludes nothing: no object that was read matches it
              -> check its kind, group, namespace and name | {"remedy":"leave-out-exclude","parts":[{"kind":{"group":"","kind":"Secret"},"object":{"namespace":"ns","name":"none"}}]}
        "#]],
    );
    // What stays anyway may be excluded, and of nothing to move nothing has to be there.
    let plan = Case::new("Cluster ns/a\nSecret ns/alone").exclude(&["Secret ns/alone"]).plan();
    assert_eq!(plan.refusals, []);
    assert_eq!(render(&Case::new("").exclude(&["Secret"]).plan()), "");
}

/// What its owners' exclusion causes has no remedies of its own.
#[test]
fn excluded_cluster_is_one_refusal() {
    let text = "
        Cluster ns/a
        Machine ns/m < Cluster ns/a
        Cluster ns/b
        External ns/e < Machine ns/m";
    let refusals = Case::new(text).exclude(&["Cluster ns/a"]).plan().refusals;
    let codes: Vec<_> = refusals.iter().map(|refusal| refusal.code).collect();
    assert_eq!(codes, ["excluded-but-needed"], "{refusals:#?}");
}

#[test]
fn misspelled_kinds_are_corrected() {
    for (group, kind, meant) in [
        ("", "Secrets", r#"{"group":"","kind":"Secret"}"#),
        ("", "inframachine", r#"{"group":"infrastructure.cluster.x-k8s.io","kind":"InfraMachine"}"#),
        (
            "infrastructure",
            "InfraMachines",
            r#"{"group":"infrastructure.cluster.x-k8s.io","kind":"InfraMachine"}"#,
        ),
    ] {
        let mut case = Case::new(ONE);
        case.scope.exclude.insert(Part::of_kind(GroupKind::new(group, kind)));
        let refusals = case.plan().refusals;
        let missing = refusals.iter().find(|refusal| refusal.code == "excluded-missing").unwrap();
        let expected = format!(r#"{{"remedy":"exclude-instead","parts":[{{"kind":{meant}}}]}} | "#);
        assert!(remedies(missing).starts_with(&expected), "{}", remedies(missing));
    }
}

/// Its owner moves, so the source's garbage collector would take it.
#[test]
fn excluding_objects_that_would_die_is_refused() {
    let case = Case::new(ONE).exclude(&["InfraMachine"]);
    let all: Vec<Bystander<'_>> = case.inventory.objects().iter().map(Bystander::from).collect();
    let plan = case.plan();
    assert_eq!(plan.refusals, []);
    let lost = find_lost_dependents(&plan, &case.scope, &case.relations, &all);
    let told: Vec<_> =
        lost.iter().map(|refusal| format!("{}: {}", refusal.message, remedies(refusal))).collect();
    expect![[r#"InfraMachine ns/m (below Machine m) would stay, and be garbage-collected in the source when what owns it is deleted: {"remedy":"leave-out-exclude","parts":[{"kind":{"group":"infrastructure.cluster.x-k8s.io","kind":"InfraMachine"}}]} | {"remedy":"accept-loss","kind":{"group":"infrastructure.cluster.x-k8s.io","kind":"InfraMachine"}}"#]].assert_eq(&told.concat());
}

#[test]
fn parts_of_named_clusters_can_be_excluded() {
    let text = "
        Cluster ns/a
        Cluster ns/b
        InfraCluster ns/a < Cluster ns/a ! ref=Pool/mine
        Pool ns/mine
        Secret ns/a-extra < Cluster ns/a";
    refused(
        &Case::new(text).clusters(&["ns/a"]).exclude(&["Pool"]),
        expect![[r#"
        excluded-but-needed: Pool ns/mine is excluded, but InfraCluster ns/a would move and depends on it
          -> {"remedy":"exclude-too","objects":[{"group":"infrastructure.cluster.x-k8s.io","kind":"InfraCluster","namespace":"ns","name":"a"}]} | {"remedy":"leave-out-exclude","parts":[{"kind":{"group":"ipam.cluster.x-k8s.io","kind":"Pool"}}]}
    "#]],
    );
    refused(
        &Case::new(text).clusters(&["ns/a"]).exclude(&["Cluster ns/a"]),
        expect![[r#"
        excluded-but-needed: Cluster ns/a is excluded, but Secret ns/a-extra and InfraCluster ns/a would move and depend on it
          -> {"remedy":"name-other-clusters"} | {"remedy":"leave-out-exclude","parts":[{"kind":{"group":"cluster.x-k8s.io","kind":"Cluster"},"object":{"namespace":"ns","name":"a"}}]}
    "#]],
    );
    Case::new(text).clusters(&["ns/a"]).exclude(&["Cluster ns/b", "Secret"]).check(expect![[r#"
        move Cluster ns/a (moves with everything it owns)
        move Pool ns/mine (InfraCluster ns/a refers to it)
        move InfraCluster ns/a (belongs to Cluster ns/a) after Cluster ns/a
        stay Secret ns/a-extra: excluded by the user
        stay Cluster ns/b: excluded by the user
    "#]]);
}

/// It stays where it is, and still needs what it uses there.
#[test]
fn excluded_objects_share_what_they_use() {
    let text = "
        Cluster ns/a
        Machine ns/m < Cluster ns/a
        External ns/e ! ref=Pool/p
        External ns/f ! text=creds
        External ns/g ! ref=Machine/m
        Pool ns/p
        IPAddress ns/p1 < Pool ns/p
        Secret ns/creds ! move
        Secret ns/other ! move";
    Case::new(text).exclude(&["External ns/f"]).check(expect![[r#"
        keep Secret ns/creds (labelled for move; External ns/f stays and may use it too)
        move Secret ns/other (labelled for move)
        move Cluster ns/a (moves with everything it owns)
        move External ns/e (labelled for move)
        move External ns/g (labelled for move)
        move Pool ns/p (moves with everything it owns)
        move Machine ns/m (belongs to Cluster ns/a) after Cluster ns/a
        move IPAddress ns/p1 (belongs to Pool ns/p) after Pool ns/p
        stay External ns/f: excluded by the user
    "#]]);
    refused(
        &Case::new(text).exclude(&["External ns/e"]),
        expect![[r#"
        shared-with-what-stays: IPAddress ns/p1 would move, but External ns/e also uses it and stays
          -> {"remedy":"exclude-too","objects":[{"group":"ipam.cluster.x-k8s.io","kind":"IPAddress","namespace":"ns","name":"p1"}]} | {"remedy":"leave-out-exclude","parts":[{"kind":{"group":"external.cluster.x-k8s.io","kind":"External"},"object":{"namespace":"ns","name":"e"}}]} | remove the owner reference, label or field that ties them together
        pool-shared: would give out addresses on both sides, and can give the same one twice: External ns/e also uses it and stays
          -> {"remedy":"exclude-too","objects":[{"group":"ipam.cluster.x-k8s.io","kind":"Pool","namespace":"ns","name":"p"}]} | {"remedy":"leave-out-exclude","parts":[{"kind":{"group":"external.cluster.x-k8s.io","kind":"External"},"object":{"namespace":"ns","name":"e"}}]} | {"remedy":"accept-shared","kind":{"group":"ipam.cluster.x-k8s.io","kind":"Pool"}}
    "#]],
    );
    Case::new(text).exclude(&["External ns/e"]).accept_shared("Pool").check(expect![[r#"
        move Secret ns/creds (labelled for move)
        move Secret ns/other (labelled for move)
        move Cluster ns/a (moves with everything it owns)
        move External ns/f (labelled for move)
        move External ns/g (labelled for move)
        keep Pool ns/p (moves with everything it owns; External ns/e stays and may use it too)
        move Machine ns/m (belongs to Cluster ns/a) after Cluster ns/a
        keep IPAddress ns/p1 (belongs to Pool ns/p; External ns/e stays and may use it too) after Pool ns/p
        stay External ns/e: excluded by the user
        refuse shared-with-what-stays: IPAddress ns/p1 would move, but External ns/e also uses it and stays
          -> {"remedy":"exclude-too","objects":[{"group":"ipam.cluster.x-k8s.io","kind":"IPAddress","namespace":"ns","name":"p1"}]} | {"remedy":"leave-out-exclude","parts":[{"kind":{"group":"external.cluster.x-k8s.io","kind":"External"},"object":{"namespace":"ns","name":"e"}}]} | remove the owner reference, label or field that ties them together
    "#]]);
    // With it, nothing is shared any more.
    assert_eq!(Case::new(text).exclude(&["External ns/e", "Pool", "IPAddress"]).plan().refusals, []);
    refused(
        &Case::new(text).exclude(&["External ns/g"]),
        expect![[r#"
        shared-with-what-stays: Machine ns/m would move, but External ns/g also uses it and stays
          -> {"remedy":"exclude-too","objects":[{"group":"cluster.x-k8s.io","kind":"Machine","namespace":"ns","name":"m"}]} | {"remedy":"leave-out-exclude","parts":[{"kind":{"group":"external.cluster.x-k8s.io","kind":"External"},"object":{"namespace":"ns","name":"g"}}]} | remove the owner reference, label or field that ties them together
    "#]],
    );
}

/// Nobody can tell from here what a Cluster that stays will use.
#[test]
fn objects_usable_by_excluded_clusters_are_kept() {
    let text = "
        ClusterClass ns/quick
        Cluster ns/a ! class=quick
        Cluster ns/b
        Secret ns/creds ! move
        Secret ns/a-ca
        Secret x/creds ! move
        Pool ns/p
        Pool ns/q ! of=b";
    refused(
        &Case::new(text).exclude(&["Cluster ns/b"]),
        expect![[r#"
        pool-shared: would give out addresses on both sides, and can give the same one twice: Cluster ns/b also uses it and stays
          -> {"remedy":"exclude-too","objects":[{"group":"ipam.cluster.x-k8s.io","kind":"Pool","namespace":"ns","name":"q"}]} | {"remedy":"leave-out-exclude","parts":[{"kind":{"group":"cluster.x-k8s.io","kind":"Cluster"},"object":{"namespace":"ns","name":"b"}}]} | {"remedy":"accept-shared","kind":{"group":"ipam.cluster.x-k8s.io","kind":"Pool"}}
    "#]],
    );
    Case::new(text).exclude(&["Cluster ns/b", "Pool ns/q"]).check(expect![[r#"
        keep Secret ns/creds (labelled for move; Cluster ns/b stays and may use it too)
        move Secret x/creds (labelled for move)
        keep ClusterClass ns/quick (moves with everything it owns; Cluster ns/b stays and may use it too)
        move Pool ns/p (moves with everything it owns)
        move Cluster ns/a (moves with everything it owns) after ClusterClass ns/quick
        move Secret ns/a-ca (belongs to Cluster ns/a) after Cluster ns/a
        stay Cluster ns/b: excluded by the user
        stay Pool ns/q: excluded by the user
    "#]]);
}

/// If Clusters are named, what uses it there is an excluded object, and not another Cluster.
#[test]
fn named_clusters_keep_what_excluded_objects_use() {
    let text = "
        Cluster ns/a
        InfraCluster ns/a < Cluster ns/a ! ref=Pool/p text=creds
        External ns/e ! ref=Pool/p text=creds
        Pool ns/p
        Secret ns/creds ! move";
    let case = || Case::new(text).clusters(&["ns/a"]).exclude(&["External"]);
    refused(
        &case(),
        expect![[r#"
        pool-shared: would give out addresses on both sides, and can give the same one twice: External ns/e also uses it and stays
          -> {"remedy":"exclude-too","objects":[{"group":"ipam.cluster.x-k8s.io","kind":"Pool","namespace":"ns","name":"p"}]} | {"remedy":"leave-out-exclude","parts":[{"kind":{"group":"external.cluster.x-k8s.io","kind":"External"}}]} | {"remedy":"accept-shared","kind":{"group":"ipam.cluster.x-k8s.io","kind":"Pool"}}
    "#]],
    );
    case().accept_shared("Pool").check(expect![[r#"
        keep Secret ns/creds (InfraCluster ns/a refers to it; External ns/e stays and may use it too)
        move Cluster ns/a (moves with everything it owns)
        keep Pool ns/p (InfraCluster ns/a refers to it; External ns/e stays and may use it too)
        move InfraCluster ns/a (belongs to Cluster ns/a) after Cluster ns/a
        stay External ns/e: excluded by the user
    "#]]);
}
