use super::*;
use crate::messages::risk::Risk;
use crate::records::release::{Entry, Pausing, ReleaseKind};
use crate::testing::{Case, kind, objects, remedies};
use crate::{Meta, Object};

/// Refusals if these objects live in the source next to the inventory.
fn refusals(case: &Case, others: &str) -> Vec<Refusal> {
    let others = objects(others);
    let all: Vec<Bystander<'_>> =
        case.inventory.objects().iter().chain(&others).map(Bystander::from).collect();
    find_lost_dependents(&case.plan(), &case.scope, &case.relations, &all)
}

/// The objects that the refusals name, in short form.
fn lost(case: &Case, others: &str) -> Vec<String> {
    let found = refusals(case, others).into_iter();
    found
        .map(|refusal| {
            assert_eq!(refusal.code, "collateral");
            refusal.message.split(" would stay").next().unwrap_or_default().to_owned()
        })
        .collect()
}

const CLUSTER: &str = "Cluster ns/foo
    Machine ns/m < Cluster ns/foo";

// proves: D12, I6
#[test]
fn lost_dependents_are_refused_by_kind() {
    let others = "Claim ns/b < Machine ns/m
        Claim ns/a < Cluster ns/foo, Machine ns/m
        Widget ns/w < Machine ns/m
        Pod ns/free";
    assert_eq!(
        lost(&Case::new(CLUSTER), others),
        ["Widget ns/w (below Machine m)", "Claim ns/a (below Machine m) and Claim ns/b (below Machine m)"]
    );
}

#[test]
fn refusal_offers_to_accept_the_loss() {
    let found = refusals(&Case::new(CLUSTER), "Widget ns/w < Machine ns/m");
    let accept = Remedy::AcceptLoss { kind: kind("Widget").group_kind.clone() };
    assert_eq!(found[0].remedies.last(), Some(&accept));
    assert_eq!(found[0].object.as_ref().map(Key::to_string).as_deref(), Some("Widget ns/w"));
}

#[test]
fn refusal_offers_to_move_the_dependents() {
    let remedy = |others: &str| remedies(&refusals(&Case::new(CLUSTER), others)[0]);
    let of_crd = remedy("Widget ns/w < Machine ns/m");
    assert!(of_crd.contains("clusterctl.cluster.x-k8s.io/move on the CRD of Widget.example.com"), "{of_crd}");
    let of_pod = refusals(&Case::new(CLUSTER), "Pod ns/p < Machine ns/m").remove(0).remedies;
    assert!(matches!(of_pod.as_slice(), [Remedy::AcceptLoss { .. }]), "{of_pod:?}");
    let alone = Case::new(
        "Secret ns/s ! move
         Secret ns/below < Secret ns/s",
    );
    assert!(
        remedies(&refusals(&alone, "")[0])
            .contains("`kubectl label -n ns secret below clusterctl.cluster.x-k8s.io/move=`")
    );
}

#[test]
fn dependents_of_dependents_are_lost_too() {
    let others = "Claim ns/c < Machine ns/m
        Widget ns/w < Claim ns/c
        Pod ns/p < Widget ns/w";
    assert_eq!(lost(&Case::new(CLUSTER), others).len(), 3);
}

#[test]
fn only_existing_owners_save_a_dependent() {
    let saved = "Widget ns/w
        Claim ns/c < Machine ns/m, Widget ns/w";
    assert!(lost(&Case::new(CLUSTER), saved).is_empty());
    assert_eq!(lost(&Case::new(CLUSTER), "Claim ns/c < Machine ns/m, Widget ns/nowhere").len(), 1);
    assert!(lost(&Case::new(CLUSTER), "Claim ns/c < Widget ns/nowhere").is_empty());
}

#[test]
fn moved_dependents_and_kept_owners_lose_nothing() {
    let case = Case::new(
        "Identity id
         Machine ns/m < Cluster ns/foo
         Cluster ns/foo",
    );
    assert!(lost(&case, "").is_empty());
    assert!(lost(&case, "Claim ns/c < Identity id, Machine ns/m").is_empty());
}

#[test]
fn kept_objects_must_not_be_lost() {
    let case = Case::new(
        "Cluster ns/foo
         Secret ns/s < Cluster ns/foo",
    )
    .keep("Secret ns/s");
    assert_eq!(lost(&case, ""), ["Secret ns/s (below Cluster foo)"]);
}

#[test]
fn objects_left_by_plugins_may_be_lost() {
    let case = Case::new(
        "Cluster ns/foo
         Claim ns/left < Cluster ns/foo
         Secret ns/below < Claim ns/left
         Secret ns/both < Claim ns/left, Machine ns/unlisted
         Machine ns/unlisted < Cluster ns/foo",
    )
    .leave("Claim ns/left");
    assert!(lost(&case, "Pod ns/below < Claim ns/left").is_empty());
    assert_eq!(lost(&case, "Pod ns/both < Claim ns/left, Machine ns/unlisted").len(), 1);
}

#[test]
fn accepted_loss_covers_only_its_kind() {
    let mut case = Case::new(CLUSTER);
    case.scope.accept.insert_kind(Risk::DependentsLost, kind("Widget").group_kind.clone());
    let others = "Widget ns/w < Machine ns/m
        Pod ns/p < Widget ns/w";
    assert_eq!(lost(&case, others), ["Pod ns/p (below Widget w)"]);
}

#[test]
fn events_never_count() {
    assert!(lost(&Case::new(CLUSTER), "Event ns/e < Machine ns/m").is_empty());
}

#[test]
fn object_listed_twice_is_lost_once() {
    let case = Case::new(CLUSTER);
    assert_eq!(
        lost(&case, "Claim ns/c < Machine ns/m\nClaim ns/c < Machine ns/m"),
        ["Claim ns/c (below Machine m)"]
    );
}

#[test]
fn dependents_that_own_each_other_survive() {
    let others = "Claim ns/a < Claim ns/b, Machine ns/m
        Claim ns/b < Claim ns/a";
    assert!(lost(&Case::new(CLUSTER), others).is_empty());
}

/// The release list of a move of everything in the case.
fn list(case: &Case) -> ReleaseList {
    let entry = |step: &crate::plan::Step| Entry {
        kind: std::sync::Arc::new(ReleaseKind {
            group_kind: step.key.group_kind.clone(),
            version: "v1".into(),
            plural: String::new(),
        }),
        key: step.key.clone(),
        uid: step.uid.clone(),
        resource_version: "1".into(),
        fate: if step.fate == crate::plan::Fate::Move { ReleaseFate::Delete } else { ReleaseFate::Keep },
        digest: None,
        with_status: false,
        no_finalizers: false,
        pausing: Pausing::Untouched,
        used: false,
        brought: false,
        elsewhere: false,
        last: false,
        after: Vec::new(),
    };
    ReleaseList { entries: case.plan().steps.iter().map(entry).collect() }
}

/// Refused objects among those created `early`, before the move began, and `late`.
fn refused(case: &Case, early: &str, late: &str) -> Option<String> {
    let at = |time: &'static str| {
        move |object: Object| {
            let meta = Meta { creation_timestamp: Some(time.into()), ..object.meta };
            (object.kind, meta)
        }
    };
    let early =
        case.inventory.objects().iter().cloned().chain(objects(early)).map(at("2026-01-01T00:00:00Z"));
    let all: Vec<_> = early.chain(objects(late).into_iter().map(at("2026-01-03T00:00:00Z"))).collect();
    let all: Vec<Bystander<'_>> = all.iter().map(|(kind, meta)| Bystander { kind, meta }).collect();
    let refusal = find_new_dependents(
        &list(case),
        case.scope.accept.kinds(Risk::DependentsLost),
        Some("2026-01-02T00:00:00Z"),
        &all,
    )?;
    assert_eq!(refusal.code, "latecomers");
    refusal.message.split_once(" appeared after").map(|(names, _)| names.to_owned())
}

/// The rule is the same before the commit and after it.
#[test]
fn new_dependents_follow_the_same_rule() {
    let case = Case::new(CLUSTER);
    for (others, what) in [
        ("Claim ns/c < Machine ns/m", Some("Claim ns/c")),
        ("Claim ns/c < Machine ns/m, Widget ns/nowhere", Some("Claim ns/c")),
        ("Claim ns/c < Widget ns/nowhere", None),
        ("Widget ns/w\nClaim ns/c < Machine ns/m, Widget ns/w", None),
        ("GlobalConfig g\nClaim ns/c < Machine ns/m, GlobalConfig g", None),
        ("Claim ns/c < Machine ns/m\nPod ns/p < Claim ns/c", Some("Pod ns/p and Claim ns/c")),
        ("Event ns/e < Machine ns/m", None),
        ("Pod ns/free", None),
    ] {
        assert_eq!(refused(&case, "", others).as_deref(), what, "{others}");
        assert_eq!(lost(&case, others).is_empty(), what.is_none(), "{others}");
    }
}

#[test]
fn older_dependents_are_not_judged_again() {
    let mut case = Case::new(CLUSTER);
    assert_eq!(refused(&case, "Claim ns/left < Machine ns/m", "Pod ns/p < Claim ns/left"), None);
    let claim = kind("Claim").group_kind.clone();
    case.scope.accept.insert_kind(Risk::DependentsLost, claim);
    assert_eq!(refused(&case, "", "Claim ns/c < Machine ns/m"), None);
    let below = refused(&case, "Claim ns/accepted < Machine ns/m", "Pod ns/p < Claim ns/accepted");
    assert_eq!(below.as_deref(), Some("Pod ns/p"));
}

#[test]
fn kept_owners_save_new_dependents() {
    let case = Case::new("Identity id\nMachine ns/m < Cluster ns/foo\nCluster ns/foo");
    assert_eq!(refused(&case, "", "Claim ns/c < Identity id, Machine ns/m"), None);
}
