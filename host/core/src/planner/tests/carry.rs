//! What no rule selects, and the user carries along, is copied and kept.

use expect_test::{Expect, expect};

use crate::GroupKind;
use crate::objects::selector::Part;
use crate::request::selector_syntax;
use crate::testing::{Case, remedies};

const ONE: &str = "
    Cluster ns/a
    Machine ns/m < Cluster ns/a
    Secret ns/a-ca
    Secret ns/pull
    Secret ns/token ! type=kubernetes.io/service-account-token
    Secret ns/release ! type=helm.sh/release.v1
    Secret ns/going ! deleting
    ConfigMap ns/bom
    ConfigMap ns/kube-root-ca.crt
    ConfigMap other/bom
    Widget ns/policy
    Widget ns/owned < Widget ns/policy
    ConfigMap ns/made < Widget ns/policy
    Secret other/credentials
    Node n";

fn refused(case: &Case, expected: Expect) {
    let refusals = case.plan().refusals;
    let lines = refusals.iter().map(|one| format!("{}: {}\n  -> {}\n", one.code, one.message, remedies(one)));
    expected.assert_eq(&lines.collect::<String>());
}

fn codes(case: &Case) -> String {
    case.plan().refusals.iter().map(|refusal| refusal.code).collect::<Vec<_>>().join(" ")
}

#[test]
fn also_copied_objects_are_kept() {
    let case = || Case::new(ONE).namespace("ns");
    // What belongs to it does not come along; and an object with its namespace is found anywhere.
    case().carry(&["Widget ns/policy", "Secret other/credentials", "Node n"]).check(expect![[r#"
        keep Node n (no rule selects it; also copied)
        keep Secret other/credentials (no rule selects it; also copied)
        move Cluster ns/a (moves with everything it owns)
        keep Widget ns/policy (no rule selects it; also copied)
        move Secret ns/a-ca (belongs to Cluster ns/a) after Cluster ns/a
        move Machine ns/m (belongs to Cluster ns/a) after Cluster ns/a
        stay ConfigMap ns/bom: not linked with any Cluster
        stay ConfigMap ns/kube-root-ca.crt: not linked with any Cluster
        stay ConfigMap ns/made: its owner Widget ns/policy moves alone
        stay ConfigMap other/bom: in a namespace that is not moved
        stay Secret ns/going: not linked with any Cluster
        stay Secret ns/pull: not linked with any Cluster
        stay Secret ns/release: not linked with any Cluster
        stay Secret ns/token: not linked with any Cluster
        stay Widget ns/owned: its owner Widget ns/policy moves alone
    "#]]);
}

#[test]
fn kind_alone_selects_objects_made_by_people() {
    Case::new(ONE).carry(&["Secret", "ConfigMap"]).check(expect![[r#"
        keep ConfigMap ns/bom (no rule selects it; also copied)
        keep Secret ns/pull (no rule selects it; also copied)
        move Cluster ns/a (moves with everything it owns)
        move Secret ns/a-ca (belongs to Cluster ns/a) after Cluster ns/a
        move Machine ns/m (belongs to Cluster ns/a) after Cluster ns/a
        stay ConfigMap ns/kube-root-ca.crt: not linked with any Cluster
        stay ConfigMap ns/made: its owner Widget ns/policy stays
        stay ConfigMap other/bom: not linked with any Cluster
        stay Node n: kind Node is not labelled for move
        stay Secret ns/going: not linked with any Cluster
        stay Secret ns/release: not linked with any Cluster
        stay Secret ns/token: not linked with any Cluster
        stay Secret other/credentials: not linked with any Cluster
        stay Widget ns/owned: its owner Widget ns/policy stays
        stay Widget ns/policy: kind Widget.example.com is not labelled for move
    "#]]);
}

/// Its owner is unknown in the target.
#[test]
fn objects_with_staying_owners_are_refused() {
    let case = || Case::new(ONE).namespace("ns").carry(&["Widget ns/owned"]);
    assert_eq!(codes(&case()), "owner-outside");
    assert_eq!(codes(&case().drop_owner("Widget")), "");
    assert_eq!(codes(&case().carry(&["Widget ns/policy"])), "");
    // Where only a kind is named, what a controller made stays with the controller.
    let kinds = |kinds: &[&str]| {
        let plan = Case::new(ONE).namespace("ns").carry(kinds).plan();
        assert_eq!(plan.refusals, []);
        let carried = plan.steps.iter().filter(|step| step.is_chosen_by_user());
        carried.map(|step| step.key.to_string()).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(kinds(&["ConfigMap"]), "ConfigMap ns/bom");
    let all = "ConfigMap ns/bom, Widget ns/policy, ConfigMap ns/made, Widget ns/owned";
    assert_eq!(kinds(&["ConfigMap", "Widget"]), all);
}

#[test]
fn what_can_not_be_found_is_refused() {
    for part in ["Secret ns/none", "Secret n", "Node ns/n", "ConfigMap other", "External"] {
        assert_eq!(codes(&Case::new(ONE).namespace("ns").carry(&[part])), "also-copied-missing", "{part}");
    }
    // Nothing but what each cluster makes for itself.
    let text = "Cluster ns/a\nConfigMap ns/kube-root-ca.crt";
    assert_eq!(codes(&Case::new(text).carry(&["ConfigMap"])), "also-copied-missing");
    // By name it can be had.
    assert_eq!(codes(&Case::new(text).carry(&["ConfigMap ns/kube-root-ca.crt"])), "");
    refused(
        &Case::new(text).carry(&["Secret"]),
        expect![[r#"
            also-copied-missing: Secret matches no object that can be copied
              -> check its kind and group, its name, and its namespace (cluster-scoped objects have none) | {"remedy":"leave-out-carry","parts":[{"kind":{"group":"","kind":"Secret"}}]}
        "#]],
    );
    // If there is nothing to move, that is what is wrong.
    assert_eq!(codes(&Case::new("Secret ns/a").carry(&["Secret ns/b"])), "");
}

#[test]
fn active_objects_are_refused() {
    let text = "
        Cluster ns/a
        Cluster other/b
        BareMetalHost ns/h
        Foreign ns/f
        Rack ns/r
        InfraTemplate ns/t
        MachineDrainRule ns/d
        GlobalConfig g
        IPAddress ns/i";
    let case = |parts: &[&str]| Case::new(text).namespace("ns").carry(parts);
    refused(
        &case(&["Cluster other/b"]),
        expect![[r#"
            also-copied-active: Cluster other/b would also be copied, but controllers on both sides would act on it
              -> {"remedy":"leave-out-carry","parts":[{"kind":{"group":"cluster.x-k8s.io","kind":"Cluster"},"object":{"namespace":"other","name":"b"}}]}
        "#]],
    );
    refused(
        &case(&["Foreign", "BareMetalHost ns/h"]),
        expect![[r#"
            also-copied-active: Foreign ns/f would also be copied, but controllers on both sides would act on it
              -> {"remedy":"leave-out-carry","parts":[{"kind":{"group":"infrastructure.cluster.x-k8s.io","kind":"Foreign"}}]} | {"remedy":"accept-shared","kind":{"group":"infrastructure.cluster.x-k8s.io","kind":"Foreign"}}
            also-copied-active: BareMetalHost ns/h would also be copied, but controllers on both sides would act on it
              -> {"remedy":"leave-out-carry","parts":[{"kind":{"group":"metal3.io","kind":"BareMetalHost"},"object":{"namespace":"ns","name":"h"}}]}
        "#]],
    );
    assert_eq!(codes(&case(&["Foreign"]).accept_shared("Foreign")), "");
    assert_eq!(codes(&case(&["Cluster other/b"]).accept_shared("Cluster")), "also-copied-active");
    assert_eq!(codes(&case(&["Rack"])), "also-copied-active");
    assert_eq!(codes(&case(&["InfraTemplate"])), "");
    assert_eq!(codes(&case(&["MachineDrainRule"])), "");
    let pool = "Cluster ns/a\nPool other/p";
    let case = || Case::new(pool).namespace("ns").carry(&["Pool other/p"]);
    refused(
        &case(),
        expect![[r#"
            pool-shared: Pool other/p would also be copied, but both sides would give out its addresses, and can give the same one twice
              -> {"remedy":"leave-out-carry","parts":[{"kind":{"group":"ipam.cluster.x-k8s.io","kind":"Pool"},"object":{"namespace":"other","name":"p"}}]} | {"remedy":"accept-shared","kind":{"group":"ipam.cluster.x-k8s.io","kind":"Pool"}}
        "#]],
    );
    assert_eq!(codes(&case().accept_shared("Pool")), "");
}

/// Another Cluster's keys have no business where it isn't.
#[test]
fn objects_of_staying_clusters_are_refused() {
    let text = "
        Cluster ns/a
        Cluster ns/b
        Secret ns/b-ca
        Secret ns/b-extra ! of=b
        Secret ns/creds ! move
        Secret ns/plain";
    let case = || Case::new(text).clusters(&["ns/a"]);
    case().carry(&["Secret"]).check(expect![[r#"
        keep Secret ns/creds (no rule selects it; also copied)
        keep Secret ns/plain (no rule selects it; also copied)
        move Cluster ns/a (moves with everything it owns)
        stay Secret ns/b-ca: belongs to Cluster ns/b, which is not named
        stay Secret ns/b-extra: not linked with any Cluster
        stay Cluster ns/b: not named, and no named Cluster refers to it
    "#]]);
    refused(
        &case().carry(&["Secret ns/b-ca", "Secret ns/b-extra"]),
        expect![[r#"
        belongs-to-what-stays: Secret ns/b-ca can't be also copied: it belongs to Cluster ns/b, which stays
          -> {"remedy":"name-cluster","cluster":{"group":"cluster.x-k8s.io","kind":"Cluster","namespace":"ns","name":"b"}} | {"remedy":"leave-out-carry","parts":[{"kind":{"group":"","kind":"Secret"},"object":{"namespace":"ns","name":"b-ca"}}]}
        belongs-to-what-stays: Secret ns/b-extra can't be also copied: it belongs to Cluster ns/b, which stays
          -> {"remedy":"name-cluster","cluster":{"group":"cluster.x-k8s.io","kind":"Cluster","namespace":"ns","name":"b"}} | {"remedy":"leave-out-carry","parts":[{"kind":{"group":"","kind":"Secret"},"object":{"namespace":"ns","name":"b-extra"}}]}
    "#]],
    );
}

#[test]
fn moves_excludes_and_leaves_outweigh_also_copy() {
    let text = "Cluster ns/a\nSecret ns/a-ca\nSecret ns/plain\nWidget ns/w\nSecret ns/below";
    let case = || Case::new(text).link("Secret ns/below", "Widget ns/w").leave("Widget ns/w");
    case().carry(&["Secret ns/a-ca"]).check(expect![[r#"
        move Cluster ns/a (moves with everything it owns)
        move Secret ns/a-ca (belongs to Cluster ns/a) after Cluster ns/a
        stay Secret ns/below: belongs to Widget ns/w, which plugin p leaves
        stay Secret ns/plain: not linked with any Cluster
        stay Widget ns/w: left by plugin p: because
        note also-copied-moves Secret ns/a-ca: moves without being carried: it is treated like everything else that moves
    "#]]);
    case().carry(&["Secret"]).exclude(&["Secret ns/plain"]).check(expect![[r#"
        move Cluster ns/a (moves with everything it owns)
        move Secret ns/a-ca (belongs to Cluster ns/a) after Cluster ns/a
        stay Secret ns/below: belongs to Widget ns/w, which plugin p leaves
        stay Secret ns/plain: excluded by the user
        stay Widget ns/w: left by plugin p: because
    "#]]);
    refused(
        &case().carry(&["Secret ns/plain"]).exclude(&["Secret ns/plain"]),
        expect![[r#"
            also-copied-excluded: Secret ns/plain can't be also copied: it is excluded as well
              -> {"remedy":"leave-out-exclude","parts":[{"kind":{"group":"","kind":"Secret"},"object":{"namespace":"ns","name":"plain"}}]} | {"remedy":"leave-out-carry","parts":[{"kind":{"group":"","kind":"Secret"},"object":{"namespace":"ns","name":"plain"}}]}
        "#]],
    );
    refused(
        &case().carry(&["Secret ns/below"]),
        expect![[r#"
            also-copied-left: Secret ns/below can't be also copied: plugin p leaves it: because
              -> {"remedy":"switch-off","plugin":"p"} | {"remedy":"leave-out-carry","parts":[{"kind":{"group":"","kind":"Secret"},"object":{"namespace":"ns","name":"below"}}]}
        "#]],
    );
}

#[test]
fn definitions_of_kinds_are_not_carried() {
    let mut case = Case::new(ONE).namespace("ns");
    let definitions = GroupKind::new("apiextensions.k8s.io", "CustomResourceDefinition");
    case.scope.also_copy.insert(Part::of_kind(definitions));
    assert_eq!(codes(&case), "also-copied-definition");
}

const LABELLED: &str = "
    Cluster ns/a
    Cluster ns/b
    Secret ns/a-ca ! label=hand-on:yes
    Secret ns/pull ! label=hand-on:yes
    Secret ns/other ! label=hand-on:no
    Secret ns/made < Widget ns/maker ! label=hand-on:yes
    Widget ns/maker
    Widget ns/policy ! label=hand-on:yes
    Secret keys/aws ! label=hand-on:yes
    Secret keys/root
    Node n ! label=hand-on:yes";

fn labelled(parts: &[&str]) -> Case {
    let mut case = Case::new(LABELLED).namespace("ns").drop_owner("Widget");
    case.scope.also_copy.extend(parts.iter().map(|part| selector_syntax::parse_part(part).unwrap()));
    case
}

#[test]
fn labelled_objects_are_also_copied() {
    labelled(&["Secret:hand-on=yes", "Secret/keys/*:hand-on=yes", "Node:hand-on"]).check(expect![[r#"
        keep Node n (no rule selects it; also copied)
        keep Secret keys/aws (no rule selects it; also copied)
        keep Secret ns/made (no rule selects it; also copied) without Widget maker
        keep Secret ns/pull (no rule selects it; also copied)
        move Cluster ns/a (moves with everything it owns)
        move Cluster ns/b (moves with everything it owns)
        move Secret ns/a-ca (belongs to Cluster ns/a) after Cluster ns/a
        stay Secret keys/root: in a namespace that is not moved
        stay Secret ns/other: not linked with any Cluster
        stay Widget ns/maker: kind Widget.example.com is not labelled for move
        stay Widget ns/policy: kind Widget.example.com is not labelled for move
        note owner-dropped Secret ns/made: copied without its owner Widget ns/maker, which does not move
    "#]]);
    // Without a namespace it is searched where the move is about.
    let plan = labelled(&["Secret:hand-on=yes", "Secret/keys/root"]).plan();
    let carried: Vec<String> =
        plan.steps.iter().filter(|step| step.is_chosen_by_user()).map(|step| step.key.to_string()).collect();
    assert_eq!(carried, ["Secret keys/root", "Secret ns/made", "Secret ns/pull"]);
    // All of a namespace is what people made there.
    let plan = labelled(&["Secret/keys/*"]).plan();
    let carried: Vec<String> =
        plan.steps.iter().filter(|step| step.is_chosen_by_user()).map(|step| step.key.to_string()).collect();
    assert_eq!(carried, ["Secret keys/aws", "Secret keys/root"]);
}

#[test]
fn unmatched_labels_are_noted() {
    let plan = labelled(&["Secret:hand-on=perhaps"]).plan();
    assert_eq!(plan.refusals, []);
    let notes: Vec<String> =
        plan.notes.iter().map(|note| format!("{}: {}", note.code, note.message)).collect();
    assert_eq!(notes, ["also-copied-none: Secret:hand-on=perhaps matches no object: none has that label"]);
}

/// Nobody wants a credential to be missing because of the Cluster that it says it is for.
#[test]
fn labelled_objects_that_must_stay_are_refused() {
    let mut case = labelled(&["Secret:hand-on=yes"]).clusters(&["ns/a"]);
    case = case.exclude(&["Secret ns/pull"]);
    assert_eq!(codes(&case), "also-copied-excluded");
    let mut case =
        Case::new("Cluster ns/a\nCluster ns/b\nSecret ns/b-ca ! label=hand-on:yes").clusters(&["ns/a"]);
    case.scope.also_copy.insert(selector_syntax::parse_part("Secret:hand-on").unwrap());
    assert_eq!(codes(&case), "belongs-to-what-stays");
}

#[test]
fn excluded_labels_stay() {
    let mut case = labelled(&["Secret"]);
    case.scope.exclude.insert(selector_syntax::parse_part("Secret:hand-on=no").unwrap());
    let plan = case.plan();
    let carried: Vec<String> =
        plan.steps.iter().filter(|step| step.is_chosen_by_user()).map(|step| step.key.to_string()).collect();
    assert_eq!(carried, ["Secret ns/pull"]);
}
