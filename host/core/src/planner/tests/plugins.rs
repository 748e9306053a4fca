//! Plans that depend on what plugins say.

use expect_test::expect;

use crate::testing::Case;

#[test]
fn linked_objects_of_unlabelled_kinds_move() {
    Case::new(
        "Cluster ns/foo
         BareMetalHost ns/host
         BareMetalHost ns/free
         Secret ns/inspection < BareMetalHost ns/host",
    )
    .link("BareMetalHost ns/host", "Cluster ns/foo")
    .check(expect![[r#"
        move Cluster ns/foo (moves with everything it owns)
        move BareMetalHost ns/host (belongs to Cluster ns/foo) after Cluster ns/foo
        move Secret ns/inspection (belongs to Cluster ns/foo) after BareMetalHost ns/host
        stay BareMetalHost ns/free: kind BareMetalHost.metal3.io is not labelled for move
    "#]]);
}

#[test]
fn links_to_unread_objects_are_noted() {
    Case::new("BareMetalHost ns/host")
        .link("BareMetalHost ns/host", "Cluster ns/gone")
        .check(expect![[r#"
            stay BareMetalHost ns/host: kind BareMetalHost.metal3.io is not labelled for move
            note link-missing BareMetalHost ns/host: plugin p links it with Cluster ns/gone, which was not read: the link is ignored
        "#]]);
}

#[test]
fn links_that_form_a_cycle_order_nothing() {
    Case::new(
        "Cluster ns/foo
         BareMetalHost ns/host",
    )
    .link("BareMetalHost ns/host", "Cluster ns/foo")
    .link("Cluster ns/foo", "BareMetalHost ns/host")
    .check(expect![[r#"
        move Cluster ns/foo (moves with everything it owns)
        move BareMetalHost ns/host (belongs to Cluster ns/foo)
        note link-ignored Cluster ns/foo: may be created before BareMetalHost ns/host, because that belongs to it as well
        note link-ignored BareMetalHost ns/host: may be created before Cluster ns/foo, because that belongs to it as well
    "#]]);
}

#[test]
fn links_outside_of_a_cycle_still_order() {
    Case::new(
        "Cluster ns/foo
         BareMetalHost ns/host
         BareMetalHost ns/other",
    )
    .link("BareMetalHost ns/host", "Cluster ns/foo")
    .link("Cluster ns/foo", "BareMetalHost ns/host")
    .link("BareMetalHost ns/other", "Cluster ns/foo")
    .check(expect![[r#"
        move Cluster ns/foo (moves with everything it owns)
        move BareMetalHost ns/host (belongs to Cluster ns/foo)
        move BareMetalHost ns/other (belongs to Cluster ns/foo) after Cluster ns/foo
        note link-ignored Cluster ns/foo: may be created before BareMetalHost ns/host, because that belongs to it as well
        note link-ignored BareMetalHost ns/host: may be created before Cluster ns/foo, because that belongs to it as well
    "#]]);
}

#[test]
fn needs_move_objects_without_dependents() {
    Case::new(
        "Cluster ns/foo
         Machine ns/m < Cluster ns/foo
         Secret ns/bmc
         ConfigMap ns/ca
         ConfigMap ns/below < Secret ns/bmc
         Secret ns/other",
    )
    .need("Machine ns/m", "Secret ns/bmc")
    .need("Secret ns/bmc", "ConfigMap ns/ca")
    .need("ConfigMap ns/ca", "Secret ns/bmc")
    .need("Machine ns/m", "Secret ns/gone")
    .check(expect![[r#"
        move ConfigMap ns/ca (Secret ns/bmc needs it, says plugin p)
        move Secret ns/bmc (Machine ns/m needs it, says plugin p)
        move Cluster ns/foo (moves with everything it owns)
        move Machine ns/m (belongs to Cluster ns/foo) after Cluster ns/foo
        stay ConfigMap ns/below: its owner Secret ns/bmc moves alone
        stay Secret ns/other: not linked with any Cluster
        note need-missing Machine ns/m: plugin p says that it needs Secret ns/gone, which was not read
    "#]]);
}

#[test]
fn leaves_outweigh_needs() {
    Case::new(
        "Cluster ns/foo
         Machine ns/m < Cluster ns/foo
         Secret ns/bmc",
    )
    .need("Machine ns/m", "Secret ns/bmc")
    .leave("Secret ns/bmc")
    .check(expect![[r#"
        move Cluster ns/foo (moves with everything it owns)
        move Machine ns/m (belongs to Cluster ns/foo) after Cluster ns/foo
        stay Secret ns/bmc: left by plugin p: because
        note need-left Machine ns/m: plugin p says that it needs Secret ns/bmc, which plugin p leaves: because
    "#]]);
}

#[test]
fn objects_needed_by_staying_ones_are_kept() {
    Case::new(
        "Cluster ns/foo
         Machine ns/m < Cluster ns/foo
         BareMetalHost ns/stays
         Secret ns/bmc
         ConfigMap ns/ca",
    )
    .need("Machine ns/m", "Secret ns/bmc")
    .need("BareMetalHost ns/stays", "Secret ns/bmc")
    .need("Secret ns/bmc", "ConfigMap ns/ca")
    .check(expect![[r#"
        keep ConfigMap ns/ca (Secret ns/bmc needs it, says plugin p; Secret ns/bmc stays and needs it too)
        keep Secret ns/bmc (Machine ns/m needs it, says plugin p; BareMetalHost ns/stays stays and needs it too)
        move Cluster ns/foo (moves with everything it owns)
        move Machine ns/m (belongs to Cluster ns/foo) after Cluster ns/foo
        stay BareMetalHost ns/stays: kind BareMetalHost.metal3.io is not labelled for move
    "#]]);
}

#[test]
fn left_objects_stay_with_their_dependents() {
    Case::new(
        "Cluster ns/foo
         Claim ns/left < Cluster ns/foo
         Secret ns/below < Claim ns/left
         Secret ns/below-below < Secret ns/below
         Secret ns/both < Claim ns/left, Cluster ns/foo",
    )
    .leave("Claim ns/left")
    .check(expect![[r#"
        move Cluster ns/foo (moves with everything it owns)
        move Secret ns/both (belongs to Cluster ns/foo) after Cluster ns/foo without Claim left
        stay Secret ns/below: belongs to Claim ns/left, which plugin p leaves
        stay Secret ns/below-below: belongs to Claim ns/left, which plugin p leaves
        stay Claim ns/left: left by plugin p: because
        note owner-dropped Secret ns/both: copied without its owner Claim ns/left, which does not move
    "#]]);
}

#[test]
fn classes_of_left_clusters_are_kept() {
    Case::new(
        "Cluster ns/foo ! class=quick
         ClusterClass ns/quick",
    )
    .leave("Cluster ns/foo")
    .check(expect![[r#"
        keep ClusterClass ns/quick (moves with everything it owns; ClusterClass ns/quick is used by Cluster ns/foo, which stays)
        stay Cluster ns/foo: left by plugin p: because
    "#]]);
}

#[test]
fn a_kept_object_is_copied() {
    Case::new(
        "Cluster ns/foo
         Secret ns/shared ! move",
    )
    .keep("Secret ns/shared")
    .keep("Secret ns/unknown")
    .check(expect![[r#"
        keep Secret ns/shared (labelled for move; kept by plugin p: because)
        move Cluster ns/foo (moves with everything it owns)
    "#]]);
}

#[test]
fn no_plugin_keeps_a_cluster() {
    Case::new("Cluster ns/foo").keep("Cluster ns/foo").check(expect![[r#"
        move Cluster ns/foo (moves with everything it owns)
        refuse cluster-kept: plugin p would keep Cluster ns/foo in the source: both sides would manage it
          -> configure plugin p not to keep Clusters, or run without it
    "#]]);
}
