//! The guard of a move: an admission policy on each side that refuses to unpause the move's objects.
//!
//! A guard is against accidents, and nothing relies on it. An API server applies a policy a moment after it was written, and skips it on
//! errors. API servers recognise pivot-host only by its field manager. A policy covers objects with the move's undo annotation, and from
//! the commit on scaling by UIDs. So it covers nothing once the move has ended. A recovery removes it on both sides, because users may
//! correct Clusters that stay paused.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::messages::shell::{self, Kubectl};
use crate::objects::kind::GroupKind;
use crate::objects::names::{FIELD_MANAGER, GROUP_CLUSTER, GUARD, UNDO};
use crate::objects::object::Uid;
use crate::objects::side::Side;
use crate::records::record::is_move_id;
use crate::records::release::{ReleaseFate, ReleaseList};

/// Group of the policies.
pub const POLICY_GROUP: &str = "admissionregistration.k8s.io";
/// Kinds and resources of a guard, in the order of creation.
pub const POLICY_KINDS: [(&str, &str); 2] = [
    ("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
    ("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
];
/// Prefix of the names of guards; the move's id follows.
const PREFIX: &str = "pivot-host-guard-";
/// Most UIDs in a policy. API servers refuse an expression of more than 100,000 characters.
pub const MAX_SCALED: usize = 2000;
/// True in a request to scale. An object of the group `autoscaling` that moves is of another kind.
const IS_SCALE: &str = "request.kind.group == 'autoscaling' && request.kind.kind == 'Scale'";
/// Users of Kubernetes' own controllers, which collect garbage and empty namespaces.
const COLLECTORS: [&str; 3] = [
    "system:serviceaccount:kube-system:generic-garbage-collector",
    "system:serviceaccount:kube-system:namespace-controller",
    "system:kube-controller-manager",
];

/// Content that a source's guard covers from the commit on.
pub struct CommittedContent<'a> {
    /// UIDs of objects that must not be scaled. A request to scale has no annotations.
    scaled: Vec<&'a Uid>,
    /// True if the policy has all these UIDs.
    pub is_whole: bool,
    /// Namespaces of providers, whose service accounts may change content.
    provider_namespaces: BTreeSet<&'a str>,
}

impl<'a> CommittedContent<'a> {
    /// Returns the content of a committed list.
    pub fn new(list: &'a ReleaseList, provider_namespaces: BTreeSet<&'a str>) -> Self {
        let is_scaled = |kind: &GroupKind| {
            let is_worker = ["MachineDeployment", "MachineSet", "MachinePool"]
                .iter()
                .any(|name| kind.is(GROUP_CLUSTER, name));
            is_worker || kind.group == "controlplane.cluster.x-k8s.io"
        };
        let deleted = list.entries.iter().filter(|entry| entry.fate == ReleaseFate::Delete);
        let scaled = deleted.filter(|entry| is_scaled(&entry.key.group_kind)).map(|entry| &entry.uid);
        let mut scaled: Vec<&Uid> = scaled.collect();
        let is_whole = scaled.len() <= MAX_SCALED;
        scaled.truncate(MAX_SCALED);
        Self { scaled, is_whole, provider_namespaces }
    }
}

/// Returns the name of a move's guard.
pub fn guard_name(move_id: &str) -> String {
    format!("{PREFIX}{move_id}")
}

/// Returns the id of the move whose guard has a name.
pub fn move_of_guard(name: &str) -> Option<&str> {
    name.strip_prefix(PREFIX).filter(|id| is_move_id(id))
}

/// Returns the side on which a guard with these labels was put up. Without a label, nothing shows that its cluster is the source.
pub fn side_of_guard(labels: &BTreeMap<String, String>) -> Side {
    match labels.get(GUARD) {
        Some(side) if *side == Side::Source.to_string() => Side::Source,
        _ => Side::Target,
    }
}

/// Returns the command that removes a guard.
pub fn removal_command(side: Side, move_id: &str) -> Kubectl {
    let [(_, policies), (_, bindings)] = POLICY_KINDS;
    Kubectl::delete_if_present(side, &format!("{bindings},{policies}"), &guard_name(move_id))
}

/// Returns the words in which a guard refuses a request.
pub fn refusal_text(move_id: &str) -> String {
    shell::guard_refusal_text(move_id, &removal_command(Side::Source, move_id))
}

/// Returns the words in which a guard refuses a change of content. The move itself may ask for it, if the content changed before.
fn content_refusal_text(move_id: &str) -> String {
    format!("{}; {}", shell::restoring_advice(FIELD_MANAGER), refusal_text(move_id))
}

/// Returns the object whose creation a guard refuses to every user. A dry run of it shows whether the guard is in force.
pub fn probe_manifest(move_id: &str, namespace: &str) -> Value {
    let metadata = json!({"name": guard_name(move_id), "namespace": namespace});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
}

/// Returns the binding of a move's policy on one side.
pub fn binding_manifest(side: Side, move_id: &str) -> Value {
    let spec = json!({"policyName": guard_name(move_id), "validationActions": ["Deny"]});
    manifest(POLICY_KINDS[1].0, side, move_id, spec)
}

/// Returns the policy of a move on one side, for objects in the groups of these kinds. From the commit on, the source's covers content, too.
pub fn policy_manifest(
    side: Side,
    move_id: &str,
    kinds: &BTreeSet<GroupKind>,
    committed: Option<&CommittedContent<'_>>,
) -> Value {
    let groups: BTreeSet<&str> =
        kinds.iter().map(|kind| kind.group.as_str()).filter(|group| !group.is_empty()).collect();
    let resources = if committed.is_some() { &["*", "*/scale"][..] } else { &["*"] };
    let content = committed.map(|content| (keeps_content(content), content_refusal_text(move_id)));
    let checks = std::iter::once((stays_paused(), refusal_text(move_id))).chain(content);
    let validations: Vec<Value> = checks
        .map(|(expression, message)| json!({"expression": expression, "reason": "Forbidden", "message": message}))
        .collect();
    // Cluster API copies annotations of a MachineDeployment to its MachineSets, and removes them with its own.
    let except_pokes = match side {
        Side::Source => String::new(),
        Side::Target => format!(" && !oldObject.metadata.annotations['{UNDO}'].contains('\"patch\":{{}}')"),
    };
    let spec = json!({
        // Neither an error nor an expensive object may keep others from their work.
        "failurePolicy": "Ignore",
        "matchConstraints": {"resourceRules": [
            {"apiGroups": groups, "apiVersions": ["*"], "operations": ["UPDATE"], "resources": resources},
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"],
                "resourceNames": [guard_name(move_id)]},
        ]},
        "matchConditions": [
            {"name": "by-others", "expression": format!(
                "request.operation == 'CREATE' || !has(request.options) || !has(request.options.fieldManager) || \
                 request.options.fieldManager != '{FIELD_MANAGER}'"
            )},
            {"name": "of-this-move", "expression": format!(
                "request.operation == 'CREATE' || {IS_SCALE} || has(oldObject.metadata.annotations) && \
                 '{UNDO}' in oldObject.metadata.annotations && oldObject.metadata.annotations['{UNDO}'].contains('{move_id}'){except_pokes}"
            )},
        ],
        "validations": validations,
    });
    manifest(POLICY_KINDS[0].0, side, move_id, spec)
}

fn manifest(kind: &str, side: Side, move_id: &str, spec: Value) -> Value {
    let metadata = json!({"name": guard_name(move_id), "labels": {GUARD: side.to_string()}});
    json!({"apiVersion": format!("{POLICY_GROUP}/v1"), "kind": kind, "metadata": metadata, "spec": spec})
}

/// Keeps `spec.paused`, the undo annotation, and each annotation that it names: those that the move or a plugin set.
fn stays_paused() -> String {
    format!(
        "{IS_SCALE} || request.operation != 'CREATE' && has(object.metadata.annotations) && \
         oldObject.metadata.annotations.all(name, \
         name != '{UNDO}' && !oldObject.metadata.annotations['{UNDO}'].contains('\"' + name + '\"') || \
         name in object.metadata.annotations && object.metadata.annotations[name] == oldObject.metadata.annotations[name]) && \
         (!has(oldObject.spec) || !has(oldObject.spec.paused) || oldObject.spec.paused != true || \
         has(object.spec) && has(object.spec.paused) && object.spec.paused == true)"
    )
}

/// Keeps `spec`, and replicas, but allows each pause. Without a list of providers, any service account may be a provider's.
fn keeps_content(content: &CommittedContent<'_>) -> String {
    let of_namespace = |namespace: &&str| format!("system:serviceaccounts:{namespace}");
    let mut groups: Vec<String> = content.provider_namespaces.iter().map(of_namespace).collect();
    if groups.is_empty() {
        groups.push("system:serviceaccounts".to_owned());
    }
    format!(
        "request.operation == 'CREATE' || request.userInfo.username in {} || \
         has(request.userInfo.groups) && request.userInfo.groups.exists(group, group in {}) || \
         ({IS_SCALE} ? !(oldObject.metadata.uid in {}) : \
         !has(oldObject.spec) || has(object.spec) && (object.spec == oldObject.spec || \
         has(object.spec.paused) && object.spec.paused == true && \
         (!has(oldObject.spec.paused) || oldObject.spec.paused != true)))",
        json!(COLLECTORS),
        json!(groups),
        json!(content.scaled)
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use expect_test::expect;

    use super::*;
    use crate::objects::object::Key;
    use crate::records::release::{Entry, Pausing, ReleaseKind};

    fn kinds() -> BTreeSet<GroupKind> {
        [
            ("", "Secret"),
            (GROUP_CLUSTER, "Cluster"),
            (GROUP_CLUSTER, "Machine"),
            ("metal3.io", "BareMetalHost"),
        ]
        .map(|(group, kind)| GroupKind::new(group, kind))
        .into()
    }

    fn list(objects: &[(&str, &str, ReleaseFate)]) -> ReleaseList {
        let entry = |&(group, kind, fate): &(&str, &str, ReleaseFate)| Entry {
            kind: Arc::new(ReleaseKind {
                group_kind: GroupKind::new(group, kind),
                version: "v1".into(),
                plural: String::new(),
            }),
            key: Key::new(GroupKind::new(group, kind), Some("ns"), "a"),
            uid: Uid(format!("uid-of-{kind}")),
            resource_version: "1".into(),
            fate,
            digest: None,
            with_status: false,
            pausing: Pausing::Untouched,
            used: false,
            no_finalizers: false,
            brought: false,
            elsewhere: false,
            last: false,
            after: Vec::new(),
        };
        ReleaseList { entries: objects.iter().map(entry).collect() }
    }

    #[test]
    fn policy_before_the_commit_covers_the_pause() {
        let policy = policy_manifest(Side::Source, "1-a", &kinds(), None);
        expect![[r#"
            {
              "apiVersion": "admissionregistration.k8s.io/v1",
              "kind": "ValidatingAdmissionPolicy",
              "metadata": {
                "labels": {
                  "pivot-host.io/guard": "source"
                },
                "name": "pivot-host-guard-1-a"
              },
              "spec": {
                "failurePolicy": "Ignore",
                "matchConditions": [
                  {
                    "expression": "request.operation == 'CREATE' || !has(request.options) || !has(request.options.fieldManager) || request.options.fieldManager != 'pivot-host'",
                    "name": "by-others"
                  },
                  {
                    "expression": "request.operation == 'CREATE' || request.kind.group == 'autoscaling' && request.kind.kind == 'Scale' || has(oldObject.metadata.annotations) && 'pivot-host.io/undo' in oldObject.metadata.annotations && oldObject.metadata.annotations['pivot-host.io/undo'].contains('1-a')",
                    "name": "of-this-move"
                  }
                ],
                "matchConstraints": {
                  "resourceRules": [
                    {
                      "apiGroups": [
                        "cluster.x-k8s.io",
                        "metal3.io"
                      ],
                      "apiVersions": [
                        "*"
                      ],
                      "operations": [
                        "UPDATE"
                      ],
                      "resources": [
                        "*"
                      ]
                    },
                    {
                      "apiGroups": [
                        ""
                      ],
                      "apiVersions": [
                        "v1"
                      ],
                      "operations": [
                        "CREATE"
                      ],
                      "resourceNames": [
                        "pivot-host-guard-1-a"
                      ],
                      "resources": [
                        "configmaps"
                      ]
                    }
                  ]
                },
                "validations": [
                  {
                    "expression": "request.kind.group == 'autoscaling' && request.kind.kind == 'Scale' || request.operation != 'CREATE' && has(object.metadata.annotations) && oldObject.metadata.annotations.all(name, name != 'pivot-host.io/undo' && !oldObject.metadata.annotations['pivot-host.io/undo'].contains('\"' + name + '\"') || name in object.metadata.annotations && object.metadata.annotations[name] == oldObject.metadata.annotations[name]) && (!has(oldObject.spec) || !has(oldObject.spec.paused) || oldObject.spec.paused != true || has(object.spec) && has(object.spec.paused) && object.spec.paused == true)",
                    "message": "move 1-a of pivot-host is under way and paused this object: continue the move with `pivot-host resume`, or, before the commit, undo it with `pivot-host rollback`; to remove this guard, in this cluster: kubectl delete --ignore-not-found validatingadmissionpolicybindings,validatingadmissionpolicies pivot-host-guard-1-a",
                    "reason": "Forbidden"
                  }
                ]
              }
            }"#]].assert_eq(&serde_json::to_string_pretty(&policy).unwrap());
        expect![[r#"
            {
              "apiVersion": "admissionregistration.k8s.io/v1",
              "kind": "ValidatingAdmissionPolicyBinding",
              "metadata": {
                "labels": {
                  "pivot-host.io/guard": "source"
                },
                "name": "pivot-host-guard-1-a"
              },
              "spec": {
                "policyName": "pivot-host-guard-1-a",
                "validationActions": [
                  "Deny"
                ]
              }
            }"#]]
        .assert_eq(&serde_json::to_string_pretty(&binding_manifest(Side::Source, "1-a")).unwrap());
    }

    #[test]
    fn policy_after_the_commit_covers_content() {
        let list = list(&[
            (GROUP_CLUSTER, "Cluster", ReleaseFate::Delete),
            (GROUP_CLUSTER, "MachineDeployment", ReleaseFate::Delete),
            (GROUP_CLUSTER, "MachineSet", ReleaseFate::Keep),
            ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane", ReleaseFate::Delete),
        ]);
        let before = policy_manifest(Side::Source, "1-a", &kinds(), None);
        let covering = |namespaces: &[&'static str]| {
            let content = CommittedContent::new(&list, namespaces.iter().copied().collect());
            policy_manifest(Side::Source, "1-a", &kinds(), Some(&content))["spec"].take()
        };
        let spec = covering(&["capi-system", "capm3-system"]);
        assert_eq!(spec["matchConditions"], before["spec"]["matchConditions"]);
        assert_eq!(spec["validations"][0], before["spec"]["validations"][0]);
        assert_eq!(spec["matchConstraints"]["resourceRules"][0]["resources"], json!(["*", "*/scale"]));
        expect![[r#"request.operation == 'CREATE' || request.userInfo.username in ["system:serviceaccount:kube-system:generic-garbage-collector","system:serviceaccount:kube-system:namespace-controller","system:kube-controller-manager"] || has(request.userInfo.groups) && request.userInfo.groups.exists(group, group in ["system:serviceaccounts:capi-system","system:serviceaccounts:capm3-system"]) || (request.kind.group == 'autoscaling' && request.kind.kind == 'Scale' ? !(oldObject.metadata.uid in ["uid-of-MachineDeployment","uid-of-KubeadmControlPlane"]) : !has(oldObject.spec) || has(object.spec) && (object.spec == oldObject.spec || has(object.spec.paused) && object.spec.paused == true && (!has(oldObject.spec.paused) || oldObject.spec.paused != true)))"#]]
            .assert_eq(spec["validations"][1]["expression"].as_str().unwrap());
        let message = spec["validations"][1]["message"].as_str().unwrap();
        assert!(message.contains("--field-manager pivot-host") && message.ends_with(&refusal_text("1-a")));
        let expression = covering(&[])["validations"][1]["expression"].take();
        assert!(
            expression.as_str().unwrap().contains(r#"group in ["system:serviceaccounts"]"#),
            "{expression}"
        );
    }

    #[test]
    fn guards_in_targets_leave_pokes_alone() {
        let [source, target] = [Side::Source, Side::Target]
            .map(|side| policy_manifest(side, "1-a", &kinds(), None)["spec"]["matchConditions"].to_string());
        let poke = crate::objects::pause::poke_patch("1-a")["metadata"]["annotations"][UNDO].to_string();
        let of_poke = r#"\"patch\":{}"#;
        assert!(
            poke.contains(of_poke)
                && target
                    .contains(&format!("!oldObject.metadata.annotations['{UNDO}'].contains('{of_poke}')"))
        );
        assert!(!source.contains(of_poke));
    }

    #[test]
    fn guards_beyond_the_limit_are_not_whole() {
        let pool = |count| list(&vec![(GROUP_CLUSTER, "MachinePool", ReleaseFate::Delete); count]);
        for (count, is_whole) in [(MAX_SCALED, true), (MAX_SCALED + 1, false)] {
            assert_eq!(CommittedContent::new(&pool(count), BTreeSet::new()).is_whole, is_whole);
        }
    }

    #[test]
    fn only_names_of_moves_name_guards() {
        let of_source = policy_manifest(Side::Source, "1-a", &kinds(), None)["metadata"]["labels"].take();
        assert_eq!(side_of_guard(&serde_json::from_value(of_source).unwrap()), Side::Source);
        assert_eq!(side_of_guard(&BTreeMap::new()), Side::Target);
        for (name, id) in
            [("pivot-host-guard-1-a", Some("1-a")), ("pivot-host-guard-", None), ("other", None)]
        {
            assert_eq!(move_of_guard(name), id);
        }
        assert_eq!(
            removal_command(Side::Target, "1-a").to_string(),
            "kubectl delete --ignore-not-found validatingadmissionpolicybindings,validatingadmissionpolicies pivot-host-guard-1-a"
        );
    }
}
