//! Clusters that are named: what they take along, what they share with what stays.

use std::collections::BTreeSet;

use expect_test::expect;

use crate::checks::collateral::{Bystander, find_lost_dependents};
use crate::messages::refusal::Refusal;
use crate::plan::{Fate, Plan, Step};
use crate::testing::{Case, render};

/// Two Clusters of one class, with a pool, a set and an identity that both use, and things of their own.
const TWO: &str = "
    ClusterClass ns/quick
    InfraClusterTemplate ns/quick < ClusterClass ns/quick
    Cluster ns/a ! class=quick
    Machine ns/ma < Cluster ns/a ! of=a
    InfraMachine ns/ma < Machine ns/ma ! of=a
    Claim ns/ma < InfraMachine ns/ma
    IPAddress ns/ma < Claim ns/ma, Pool ns/pool
    Secret ns/a-ca
    Secret ns/a-user < Machine ns/ma
    Cluster ns/b ! class=quick
    Machine ns/mb < Cluster ns/b ! of=b
    InfraMachine ns/mb < Machine ns/mb ! of=b
    Claim ns/mb < InfraMachine ns/mb
    IPAddress ns/mb < Claim ns/mb, Pool ns/pool
    Secret ns/b-ca
    Pool ns/pool
    Pool ns/spare
    ClusterResourceSet ns/crs
    ConfigMap ns/cni < ClusterResourceSet ns/crs
    ClusterResourceSetBinding ns/a < ClusterResourceSet ns/crs ! cluster=a
    ClusterResourceSetBinding ns/b < ClusterResourceSet ns/crs ! cluster=b
    Identity spare
    Secret ns/alone";

fn keys(plan: &Plan) -> BTreeSet<String> {
    plan.steps.iter().map(|step| step.key.to_string()).collect()
}

/// What a plan would delete from the source must not be anybody's who stays.
fn collected(case: &Case) -> Vec<String> {
    let all: Vec<Bystander<'_>> = case.inventory.objects().iter().map(Bystander::from).collect();
    let refusals = find_lost_dependents(&case.plan(), &case.scope, &case.relations, &all);
    refusals.into_iter().map(|refusal| refusal.message).collect()
}

#[test]
fn named_cluster_keeps_what_others_use() {
    let case = Case::new(TWO).clusters(&["ns/a"]).accept_shared("Pool");
    case.check(expect![[r#"
        keep ClusterResourceSet ns/crs (ClusterResourceSetBinding ns/a refers to it; Cluster ns/b stays and may use it too)
        keep ClusterClass ns/quick (Cluster ns/a refers to it; ClusterClass ns/quick is used by Cluster ns/b, which stays)
        keep Pool ns/pool (IPAddress ns/ma refers to it; Cluster ns/b stays and may use it too)
        keep ConfigMap ns/cni (belongs to ClusterResourceSet ns/crs; Cluster ns/b stays and may use it too) after ClusterResourceSet ns/crs
        move Cluster ns/a (moves with everything it owns) after ClusterClass ns/quick
        keep InfraClusterTemplate ns/quick (belongs to ClusterClass ns/quick; ClusterClass ns/quick is used by Cluster ns/b, which stays) after ClusterClass ns/quick
        move Secret ns/a-ca (belongs to Cluster ns/a) after Cluster ns/a
        move ClusterResourceSetBinding ns/a (belongs to Cluster ns/a) after ClusterResourceSet ns/crs, Cluster ns/a
        move Machine ns/ma (belongs to Cluster ns/a) after Cluster ns/a
        move Secret ns/a-user (belongs to Cluster ns/a) after Machine ns/ma
        move InfraMachine ns/ma (belongs to Cluster ns/a) after Machine ns/ma
        move Claim ns/ma (belongs to Cluster ns/a) after InfraMachine ns/ma
        move IPAddress ns/ma (belongs to Cluster ns/a) after Pool ns/pool, Claim ns/ma
        stay Secret ns/alone: not linked with any Cluster
        stay Secret ns/b-ca: belongs to Cluster ns/b, which is not named
        stay ClusterResourceSetBinding ns/b: belongs to Cluster ns/b, which is not named
        stay Cluster ns/b: not named, and no named Cluster refers to it
        stay Machine ns/mb: belongs to Cluster ns/b, which is not named
        stay Claim ns/mb: belongs to Cluster ns/b, which is not named
        stay Identity spare: not named, and no named Cluster refers to it
        stay InfraMachine ns/mb: belongs to Cluster ns/b, which is not named
        stay IPAddress ns/mb: belongs to Cluster ns/b, which is not named
        stay Pool ns/spare: not named, and no named Cluster refers to it
        note not-referred: these stay, because no named Cluster refers to them: Identity spare and Pool ns/spare
    "#]]);
    assert_eq!(collected(&case), [""; 0]);
}

/// What one side gave out is free for the other.
#[test]
fn shared_pools_are_refused_unless_accepted() {
    let refusals = |case: Case| {
        let refusals = case.clusters(&["ns/a"]).plan().refusals;
        let words = |refusal: Refusal| format!("{} {}", refusal.code, refusal.object.unwrap());
        refusals.into_iter().map(words).collect::<Vec<_>>()
    };
    assert_eq!(refusals(Case::new(TWO)), ["pool-shared Pool ns/pool"]);
    assert_eq!(refusals(Case::new(TWO).accept_shared("Pool")), [""; 0]);
    let both = Case::new(TWO).clusters(&["ns/a", "ns/b"]).plan();
    assert_eq!(both.refusals, []);
    // Known by its addresses, if not by its kind; and also if only the other Cluster has addresses.
    let owned =
        "Cluster ns/a\nCluster ns/b\nInfraCluster ns/a < Cluster ns/a ! ref=External/e\nExternal ns/e ! move
        Claim ns/b < Cluster ns/b\nIPAddress ns/b < Claim ns/b, External ns/e";
    assert_eq!(refusals(Case::new(owned)), ["pool-shared External ns/e"]);
}

/// Found by reading the rules as somebody who wants another's objects moved, or as somebody who owns them.
#[test]
fn objects_of_staying_clusters_are_not_deleted() {
    for (label, text, expected) in [
        (
            "a pool of the named Cluster, from which another one claims",
            "Pool ns/pool < Cluster ns/a\nInfraMachine ns/mb < Cluster ns/b\nClaim ns/mb < InfraMachine ns/mb ! ref=Pool/pool",
            "keep Pool ns/pool, refuse pool-shared",
        ),
        (
            "a Secret that says it is the named one's, and the other names",
            "Secret ns/creds ! of=a move\nInfraCluster ns/b < Cluster ns/b ! text=creds",
            "keep Secret ns/creds",
        ),
        (
            "a hosted control plane's kubeconfig",
            "Secret ns/a-kubeconfig\nInfraCluster ns/b < Cluster ns/b ! text=a-kubeconfig",
            "keep Secret ns/a-kubeconfig",
        ),
        (
            "credentials that nobody else names as far as can be seen",
            "Secret ns/creds ! move\nInfraCluster ns/a < Cluster ns/a ! text=creds",
            "keep Secret ns/creds, move InfraCluster ns/a",
        ),
        (
            "a set that has not applied anything to the other yet",
            "ClusterResourceSet ns/crs\nConfigMap ns/cni < ClusterResourceSet ns/crs
             ClusterResourceSetBinding ns/a < ClusterResourceSet ns/crs ! cluster=a",
            "keep ClusterResourceSet ns/crs, keep ConfigMap ns/cni, move ClusterResourceSetBinding ns/a",
        ),
        (
            "a host that says it is the other's",
            "External ns/host ! of=b\nInfraMachine ns/ma < Cluster ns/a ! ref=External/host",
            "keep External ns/host, move InfraMachine ns/ma, refuse shared-with-what-stays",
        ),
        (
            "something in a namespace of others",
            "Secret other/creds ! move\nClusterClass other/prod\nCluster other/c
             Widget ns/w < Cluster ns/a ! text=creds",
            "move Widget ns/w",
        ),
        (
            "another Cluster that the named one owns",
            "Cluster ns/c < Cluster ns/a\nMachine ns/m < Cluster ns/c",
            "",
        ),
        (
            "another Cluster's key",
            "Secret ns/b-ca\nInfraMachine ns/ma < Cluster ns/a ! text=b-ca",
            "move InfraMachine ns/ma, refuse belongs-to-what-stays",
        ),
    ] {
        let case = Case::new(&format!("Cluster ns/a\nCluster ns/b\n{text}")).clusters(&["ns/a"]);
        let plan = case.plan();
        let step = |step: &Step| match step.fate {
            Fate::Move => format!("move {}", step.key),
            Fate::Keep(_) => format!("keep {}", step.key),
            Fate::FromManifest => format!("add {}", step.key),
        };
        let mut seen: Vec<String> = plan
            .steps
            .iter()
            .filter(|step| step.key.name != "a" || step.key.group_kind.kind != "Cluster")
            .map(step)
            .collect();
        seen.sort();
        seen.extend(plan.refusals.iter().map(|refusal| format!("refuse {}", refusal.code)));
        assert_eq!(seen.join(", "), expected, "{label}");
    }
}

/// Only what the user can accept is accepted: a kind that was typed all the same changes nothing.
#[test]
fn machines_are_never_shared() {
    let text = "Cluster ns/a\nCluster ns/b\nMachine ns/m < Cluster ns/a ! of=b";
    for case in [Case::new(text), Case::new(text).accept_shared("Machine")] {
        let plan = case.clusters(&["ns/a"]).plan();
        let codes: Vec<_> = plan.refusals.iter().map(|refusal| refusal.code).collect();
        assert_eq!(codes, ["shared-with-what-stays"]);
    }
}

/// The Cluster alone would not lead anybody to the field that refers to it.
#[test]
fn refusals_name_the_other_user() {
    let text = "Cluster ns/a\nCluster ns/b\nMachine ns/m < Cluster ns/a
        InfraCluster ns/b < Cluster ns/b ! ref=Machine/m";
    let plan = Case::new(text).clusters(&["ns/a"]).plan();
    let messages: Vec<_> = plan.refusals.iter().map(|refusal| refusal.message.as_str()).collect();
    assert_eq!(
        messages,
        ["Machine ns/m would move, but Cluster ns/b also uses it (InfraCluster ns/b) and stays"]
    );
}

/// It would be kept, and then collected with its owner.
#[test]
fn kept_objects_must_outlive_their_owners() {
    let case = Case::new(
        "Cluster ns/a\nCluster ns/b\nControl ns/a < Cluster ns/a\nSecret ns/a-kubeconfig < Control ns/a
         InfraCluster ns/b < Cluster ns/b ! text=a-kubeconfig",
    )
    .clusters(&["ns/a"]);
    let kept: Vec<String> = case.plan().kept_steps().map(|step| step.key.to_string()).collect();
    assert_eq!(kept, ["Secret ns/a-kubeconfig"]);
    assert_eq!(collected(&case).len(), 1, "{:?}", collected(&case));
}

/// What a plugin says that something staying needs is not deleted either.
#[test]
fn needs_of_staying_hosts_are_kept() {
    let case = Case::new(
        "Cluster ns/a\nCluster ns/b\nSecret ns/s ! of=a move\nMachine ns/mb < Cluster ns/b\nHost ns/hb",
    );
    let case = case.link("Host ns/hb", "Machine ns/mb").need("Host ns/hb", "Secret ns/s").clusters(&["ns/a"]);
    let kept: Vec<String> = case.plan().kept_steps().map(|step| step.key.to_string()).collect();
    assert_eq!(kept, ["Secret ns/s"]);
}

#[test]
fn naming_all_clusters_moves_their_references() {
    let case = Case::new(TWO).clusters(&["ns/a", "ns/b"]);
    let (named, all) = (case.plan(), Case::new(TWO).plan());
    let not_referred: Vec<_> = keys(&all).difference(&keys(&named)).cloned().collect();
    assert_eq!(not_referred, ["Identity spare", "Pool ns/spare"]);
    assert_eq!(named.kept_steps().count(), 0, "{}", render(&named));
    assert_eq!((collected(&case).len(), named.refusals.len()), (0, 0));
    // One after another is all at once.
    let one_by_one: BTreeSet<String> =
        ["ns/a", "ns/b"].iter().flat_map(|name| keys(&Case::new(TWO).clusters(&[name]).plan())).collect();
    assert_eq!(one_by_one, keys(&named));
}

#[test]
fn what_bodies_name_comes_along() {
    let text = "
        Cluster ns/a
        InfraCluster ns/a < Cluster ns/a ! ref=Identity/id text=creds
        Cluster ns/b
        InfraCluster ns/b < Cluster ns/b ! ref=Pool/ours text=common
        InfraMachine ns/a < Cluster ns/a ! ref=Pool/mine text=common
        Identity id
        Secret provider-system/id < Identity id
        Secret ns/creds ! move
        Secret ns/common ! move
        Secret ns/other ! move
        Pool ns/mine
        Pool ns/ours";
    Case::new(text).clusters(&["ns/a"]).check(expect![[r#"
        keep Secret ns/common (InfraMachine ns/a refers to it; Cluster ns/b stays and may use it too)
        keep Secret ns/creds (InfraCluster ns/a refers to it; Cluster ns/b stays and may use it too)
        move Cluster ns/a (moves with everything it owns)
        keep Identity id (InfraCluster ns/a refers to it; cluster-scoped)
        move Pool ns/mine (InfraMachine ns/a refers to it)
        keep Secret provider-system/id (belongs to Identity id; belongs to Identity id, which is cluster-scoped) after Identity id
        move InfraCluster ns/a (belongs to Cluster ns/a) after Cluster ns/a
        move InfraMachine ns/a (belongs to Cluster ns/a) after Cluster ns/a
        stay Secret ns/other: not named, and no named Cluster refers to it
        stay Cluster ns/b: not named, and no named Cluster refers to it
        stay InfraCluster ns/b: belongs to Cluster ns/b, which is not named
        stay Pool ns/ours: not named, and no named Cluster refers to it
        note not-referred: these stay, because no named Cluster refers to them: Secret ns/other and Pool ns/ours
    "#]]);
}

/// Who may create Machines may write what they like into their references.
#[test]
fn objects_claimed_by_unnamed_clusters_stay() {
    let case = |text: &str| Case::new(text).clusters(&["ns/a"]);
    for (text, label) in [
        // Its only owner is another Cluster's, but it says whose it is.
        ("Machine ns/mb < Machine ns/ma ! of=b", "label"),
        ("Machine ns/mb < Machine ns/ma ! cluster=b", "spec"),
        ("Machine ns/mb < Machine ns/ma, Cluster ns/b", "owners"),
        ("Host ns/mb < Machine ns/ma ! of=b", "a provider's"),
    ] {
        let text = format!(
            "Cluster ns/a\nCluster ns/b\nMachine ns/ma < Cluster ns/a\n{text}\nInfraMachine ns/mb < {}",
            text.split(" < ").next().unwrap()
        );
        let plan = case(&text).plan();
        let codes: Vec<_> = plan.refusals.iter().map(|refusal| refusal.code).collect();
        assert!(
            codes.iter().all(|code| *code == "shared-with-what-stays") && !codes.is_empty(),
            "{label}: {}",
            render(&plan)
        );
        assert!(plan.moved_steps().all(|step| step.key.name != "mb"), "{label}: {}", render(&plan));
        let with_both = Case::new(&text).clusters(&["ns/a", "ns/b"]).plan();
        assert_eq!(with_both.refusals, [], "{label}");
    }
    case("Cluster ns/a\nCluster ns/b\nMachine ns/mb < Cluster ns/a ! of=b").check(expect![[r#"
        move Cluster ns/a (moves with everything it owns)
        keep Machine ns/mb (belongs to Cluster ns/a; Cluster ns/b stays and may use it too) after Cluster ns/a
        stay Cluster ns/b: not named, and no named Cluster refers to it
        refuse shared-with-what-stays: Machine ns/mb would move, but Cluster ns/b also uses it and stays
          -> {"remedy":"name-cluster","cluster":{"group":"cluster.x-k8s.io","kind":"Cluster","namespace":"ns","name":"b"}} | remove the owner reference, label or field that ties them together
    "#]]);
}

#[test]
fn objects_of_two_clusters_are_kept() {
    let case = Case::new(
        "Cluster ns/a
         Cluster ns/b
         Machine ns/ma < Cluster ns/a
         InfraMachineTemplate ns/shared < Cluster ns/a, Cluster ns/b
         Secret ns/creds < Cluster ns/b, Machine ns/ma
         Pool ns/pool < Cluster ns/a, Cluster ns/b
         Claim ns/b < Machine ns/mb
         Machine ns/mb < Cluster ns/b
         IPAddress ns/b < Claim ns/b, Pool ns/pool",
    )
    .clusters(&["ns/a"])
    .accept_shared("Pool");
    case.check(expect![[r#"
        move Cluster ns/a (moves with everything it owns)
        move Machine ns/ma (belongs to Cluster ns/a) after Cluster ns/a
        keep InfraMachineTemplate ns/shared (belongs to Cluster ns/a; Cluster ns/b stays and may use it too) after Cluster ns/a without Cluster b
        keep Pool ns/pool (belongs to Cluster ns/a; Cluster ns/b stays and may use it too) after Cluster ns/a without Cluster b
        keep Secret ns/creds (belongs to Cluster ns/a; Cluster ns/b stays and may use it too) after Machine ns/ma without Cluster b
        stay Cluster ns/b: not named, and no named Cluster refers to it
        stay Machine ns/mb: belongs to Cluster ns/b, which is not named
        stay Claim ns/b: belongs to Cluster ns/b, which is not named
        stay IPAddress ns/b: belongs to Cluster ns/b, which is not named
        note owner-dropped Secret ns/creds: copied without its owner Cluster ns/b, which does not move
        note owner-dropped InfraMachineTemplate ns/shared: copied without its owner Cluster ns/b, which does not move
        note owner-dropped Pool ns/pool: copied without its owner Cluster ns/b, which does not move
    "#]]);
    assert_eq!(collected(&case), [""; 0]);
}

#[test]
fn lost_dependents_of_other_clusters_are_listed() {
    let case = Case::new(
        "Cluster ns/a
         Cluster ns/b
         Secret ns/b-proxy < Cluster ns/a ! of=b
         Hosted ns/h < Cluster ns/a
         Cluster ns/c < Hosted ns/h",
    )
    .clusters(&["ns/a"]);
    assert_eq!(
        collected(&case),
        [
            "Secret ns/b-proxy (below Cluster a) would stay, and be garbage-collected in the source when what owns it is deleted",
            "Cluster ns/c (below Hosted h) would stay, and be garbage-collected in the source when what owns it is deleted",
        ]
    );
}

#[test]
fn classes_that_share_a_template_come_together() {
    Case::new(
        "Cluster ns/a ! class=one
         Cluster ns/b ! class=two
         ClusterClass ns/one
         ClusterClass ns/two
         ClusterClass ns/three
         InfraClusterTemplate ns/t < ClusterClass ns/one, ClusterClass ns/two",
    )
    .clusters(&["ns/a"])
    .check(expect![[r#"
        keep ClusterClass ns/one (Cluster ns/a refers to it; Cluster ns/b stays and may use it too)
        keep ClusterClass ns/two (InfraClusterTemplate ns/t refers to it; ClusterClass ns/two is used by Cluster ns/b, which stays)
        move Cluster ns/a (moves with everything it owns) after ClusterClass ns/one
        keep InfraClusterTemplate ns/t (belongs to ClusterClass ns/one; ClusterClass ns/two is used by Cluster ns/b, which stays) after ClusterClass ns/one, ClusterClass ns/two
        stay Cluster ns/b: not named, and no named Cluster refers to it
        stay ClusterClass ns/three: not named, and no named Cluster refers to it
        note not-referred: these stay, because no named Cluster refers to them: ClusterClass ns/three
    "#]]);
}

#[test]
fn missing_clusters_are_refused() {
    let text = "Cluster ns/a\nCluster ns/b\nCluster other/c";
    Case::new(text).clusters(&["ns/a", "ns/c"]).check(expect![[r#"
        move Cluster ns/a (moves with everything it owns)
        stay Cluster ns/b: not named, and no named Cluster refers to it
        stay Cluster other/c: not named, and no named Cluster refers to it
        refuse cluster-missing: there is no Cluster ns/c
          -> name Clusters that exist: there are Cluster ns/a, Cluster ns/b and Cluster other/c
    "#]]);
    // Where none is there, there is nothing to move.
    let plan = Case::new(text).clusters(&["ns/c"]).plan();
    assert!(plan.is_empty() && plan.refusals.is_empty(), "{}", render(&plan));
}

#[test]
fn plugin_links_and_needs_follow_their_cluster() {
    Case::new(
        "Cluster ns/a
         Cluster ns/b
         Machine ns/ma < Cluster ns/a
         Machine ns/mb < Cluster ns/b
         Host ns/ha
         Host ns/hb
         Host ns/free
         Secret ns/bmc-a
         Secret ns/bmc-both",
    )
    .link("Host ns/ha", "Machine ns/ma")
    .link("Host ns/hb", "Machine ns/mb")
    .need("Host ns/ha", "Secret ns/bmc-a")
    .need("Host ns/ha", "Secret ns/bmc-both")
    .need("Host ns/hb", "Secret ns/bmc-both")
    .clusters(&["ns/a"])
    .check(expect![[r#"
        keep Secret ns/bmc-a (Host ns/ha needs it, says plugin p; Cluster ns/b stays and may use it too)
        keep Secret ns/bmc-both (Host ns/ha needs it, says plugin p; Cluster ns/b stays and may use it too)
        move Cluster ns/a (moves with everything it owns)
        move Machine ns/ma (belongs to Cluster ns/a) after Cluster ns/a
        move Host ns/ha (belongs to Cluster ns/a) after Machine ns/ma
        stay Cluster ns/b: not named, and no named Cluster refers to it
        stay Machine ns/mb: belongs to Cluster ns/b, which is not named
        stay Host ns/free: nothing that moves owns it
        stay Host ns/hb: belongs to Cluster ns/b, which is not named
    "#]]);
}

#[test]
fn owners_of_other_clusters_are_refused() {
    Case::new(
        "Cluster ns/a < External ns/e
         External ns/e
         Cluster ns/b
         Hosted ns/h < Cluster ns/b
         Cluster ns/c < Hosted ns/h",
    )
    .clusters(&["ns/a", "ns/c"])
    .check(expect![[r#"
        move Cluster ns/c (moves with everything it owns) without Hosted h
        move External ns/e (Cluster ns/a refers to it)
        move Cluster ns/a (moves with everything it owns) after External ns/e
        stay Cluster ns/b: not named, and no named Cluster refers to it
        stay Hosted ns/h: belongs to Cluster ns/b, which is not named
        refuse owner-outside: Cluster ns/c would move, but nothing that owns it does: it is owned by Hosted ns/h, owned by Cluster ns/b (not named, and no named Cluster refers to it)
          -> let its owner move too (`kubectl label -n ns hosted.infrastructure.cluster.x-k8s.io h clusterctl.cluster.x-k8s.io/move=`) | {"remedy":"drop-owners","kinds":[{"group":"infrastructure.cluster.x-k8s.io","kind":"Hosted"}]}
    "#]]);
}

#[test]
fn namespaces_with_only_references_stay() {
    let plan = Case::new(
        "Cluster ns/a ! class=classes/quick
         ClusterClass classes/quick
         InfraClusterTemplate classes/quick < ClusterClass classes/quick
         Cluster other/b ! class=classes/quick",
    )
    .clusters(&["ns/a"])
    .plan();
    assert_eq!(plan.moving, ["ns".to_owned()].into());
    assert_eq!(plan.kept_steps().map(|step| step.key.name.as_str()).collect::<Vec<_>>(), ["quick", "quick"]);
}

/// Hosts belong to Clusters by label alone where no plugin says more.
#[test]
fn claimed_roots_go_with_their_cluster() {
    let case = Case::new(
        "Cluster ns/a
         Cluster ns/b
         Pool ns/a ! of=a
         Secret ns/a < Pool ns/a
         Pool ns/data ! cluster=a
         Pool ns/b ! of=b
         Pool ns/free
         Secret ns/labelled ! of=a move
         Secret ns/only-labelled ! of=a",
    );
    case.clusters(&["ns/a"]).check(expect![[r#"
        move Secret ns/labelled (belongs to Cluster ns/a)
        move Cluster ns/a (moves with everything it owns)
        move Pool ns/a (belongs to Cluster ns/a)
        move Pool ns/data (belongs to Cluster ns/a)
        move Secret ns/a (belongs to Cluster ns/a) after Pool ns/a
        stay Secret ns/only-labelled: not linked with any Cluster
        stay Cluster ns/b: not named, and no named Cluster refers to it
        stay Pool ns/b: belongs to Cluster ns/b, which is not named
        stay Pool ns/free: not named, and no named Cluster refers to it
        note not-referred: these stay, because no named Cluster refers to them: Pool ns/free
    "#]]);
}

/// An address of a pool for all namespaces stays where it was given out when its Cluster moves; the next Cluster must not be
/// refused because of it.
#[test]
fn dependents_of_cluster_scoped_roots_are_kept() {
    let case = Case::new(
        "Identity pool
         Cluster ns/b
         InfraCluster ns/b < Cluster ns/b ! ref=Identity/pool
         IPAddress ns/of-a < Identity pool
         Cluster other/c
         InfraCluster other/c < Cluster other/c ! ref=Identity/pool",
    )
    .clusters(&["ns/b"])
    .accept_shared("Identity");
    case.check(expect![[r#"
        move Cluster ns/b (moves with everything it owns)
        keep Identity pool (InfraCluster ns/b refers to it; cluster-scoped)
        move InfraCluster ns/b (belongs to Cluster ns/b) after Cluster ns/b
        keep IPAddress ns/of-a (belongs to Identity pool; belongs to Identity pool, which is cluster-scoped) after Identity pool
        stay Cluster other/c: not named, and no named Cluster refers to it
        stay InfraCluster other/c: belongs to Cluster other/c, which is not named
    "#]]);
}
