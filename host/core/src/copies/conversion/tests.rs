use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::testing::kind;

/// A kind in v1beta1, of a server that prefers the given version.
fn written(group: &str, name: &str, preferred: &str) -> Kind {
    let mut kind = Kind { version: "v1beta1".into(), ..Kind::clone(&kind(name)) };
    kind.group_kind.group = group.to_owned();
    kind.served = vec![preferred.to_owned(), "v1beta1".to_owned()];
    kind
}

fn removed_of(kind: &Kind, value: &Value) -> Vec<&'static str> {
    let mut value = value.clone();
    value["metadata"] = json!({"name": "a"});
    find_removed_fields(kind, &Object::from_value(Arc::new(kind.clone()), &value).unwrap()).unwrap()
}

/// A Machine of Cluster API 1.8.4, and the answer of 1.14.2 to its create.
fn machine() -> (Value, Value) {
    let reference = |kind: &str, version: &str| {
        json!({
            "apiVersion": format!("bootstrap.cluster.x-k8s.io/{version}"), "kind": kind, "name": "plain-95gsg", "namespace": "shop",
        })
    };
    let mut sent = reference("KubeadmConfig", "v1beta1");
    sent["uid"] = "9f1d7a34".into();
    let object = |reference: Value| {
        json!({
            "metadata": {"name": "plain-95gsg", "ownerReferences": [{"kind": "KubeadmControlPlane", "name": "plain", "uid": "1"}]},
            "spec": {"bootstrap": {"configRef": reference, "dataSecretName": "plain-95gsg"}, "clusterName": "plain"},
        })
    };
    (object(sent), object(reference("KubeadmConfig", "v1beta2")))
}

#[test]
fn references_survive_their_conversion() {
    let kind = written(GROUP_CLUSTER, "Machine", "v1beta2");
    let (sent, answer) = machine();
    assert_eq!(find_lost_fields(&kind, &sent, &answer), Vec::<String>::new());
    for (pointer, other) in [
        ("/spec/bootstrap/configRef/name", json!("other")),
        ("/spec/bootstrap/configRef/kind", json!("Other")),
        ("/spec/bootstrap/configRef/namespace", json!("other")),
        ("/spec/bootstrap/configRef/apiVersion", json!("other.x-k8s.io/v1beta2")),
        ("/spec/bootstrap/dataSecretName", json!(null)),
        ("/metadata/ownerReferences/0/uid", json!("2")),
    ] {
        let mut answer = answer.clone();
        *answer.pointer_mut(pointer).unwrap() = other;
        assert!(!find_lost_fields(&kind, &sent, &answer).is_empty(), "{pointer}");
    }
}

#[test]
fn unconverted_copies_keep_each_field() {
    let kind = written(GROUP_CLUSTER, "Machine", "v1beta1");
    let (sent, answer) = machine();
    let lost = ["spec.bootstrap.configRef.apiVersion", "spec.bootstrap.configRef.uid"];
    assert_eq!(find_lost_fields(&kind, &sent, &answer), lost);
    let deployment = written(GROUP_CLUSTER, "MachineDeployment", "v1beta1");
    let sent = json!({"spec": {"revisionHistoryLimit": 1}});
    assert_eq!(find_lost_fields(&deployment, &sent, &json!({"spec": {}})), ["spec.revisionHistoryLimit"]);
    assert_eq!(removed_of(&deployment, &sent), Vec::<&str>::new());
}

/// The defaults of a MachineDeployment of Cluster API 1.8.4, and the answer of 1.14.2.
#[test]
fn removed_fields_are_reported_and_not_lost() {
    let kind = written(GROUP_CLUSTER, "MachineDeployment", "v1beta2");
    let sent = json!({"spec": {"replicas": 2, "progressDeadlineSeconds": 600, "revisionHistoryLimit": 1, "other": 1}});
    let answer = json!({"spec": {"replicas": 2}});
    assert_eq!(find_lost_fields(&kind, &sent, &answer), ["spec.other"]);
    assert_eq!(removed_of(&kind, &sent), ["progressDeadlineSeconds", "revisionHistoryLimit"]);
    let other = written(GROUP_CLUSTER, "MachineSet", "v1beta2");
    assert_eq!(find_lost_fields(&other, &sent, &answer).len(), 3);
}

#[test]
fn removed_fields_are_found_in_templates() {
    let kind = written("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate", "v1beta2");
    let template = |spec: Value| json!({"spec": {"template": {"spec": spec}}});
    let sent = template(json!({"useExperimentalRetryJoin": true, "format": "ignition"}));
    assert_eq!(
        find_lost_fields(&kind, &sent, &template(json!({"format": "ignition"}))),
        Vec::<String>::new()
    );
    assert_eq!(removed_of(&kind, &sent), ["useExperimentalRetryJoin"]);
}

/// A KubeadmConfig of the first control plane machine, as the controller of 1.10.10 completes it.
#[test]
fn computed_fields_of_configs_are_not_lost() {
    let sent = json!({"spec": {
        "clusterConfiguration": {"clusterName": "canary", "kubernetesVersion": "v1.30.3", "dns": {}},
        "initConfiguration": {"apiVersion": "kubeadm.k8s.io/v1beta3", "kind": "InitConfiguration", "nodeRegistration": {}},
    }});
    let answer =
        json!({"spec": {"clusterConfiguration": {"dns": {}}, "initConfiguration": {"nodeRegistration": {}}}});
    let config = written("bootstrap.cluster.x-k8s.io", "KubeadmConfig", "v1beta2");
    assert_eq!(find_lost_fields(&config, &sent, &answer), Vec::<String>::new());
    assert_eq!(removed_of(&config, &sent), ["clusterName", "kubernetesVersion", "apiVersion", "kind"]);
    let template = written("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate", "v1beta2");
    let users = ["spec.clusterConfiguration.clusterName", "spec.clusterConfiguration.kubernetesVersion"];
    assert_eq!(find_lost_fields(&template, &sent, &answer), users);
}

#[test]
fn changed_removed_fields_are_lost() {
    let kind = written(GROUP_CLUSTER, "MachineDeployment", "v1beta2");
    let spec = |limit: u32| json!({"spec": {"revisionHistoryLimit": limit}});
    assert_eq!(find_lost_fields(&kind, &spec(1), &spec(2)), ["spec.revisionHistoryLimit"]);
}

/// The kubeconfig of a join has an `apiVersion` that is not the version of kubeadm's format.
#[test]
fn removed_fields_count_only_in_their_place() {
    let config = written("bootstrap.cluster.x-k8s.io", "KubeadmConfig", "v1beta2");
    let spec = |exec: Value| json!({"spec": {"joinConfiguration": {"discovery": {"file": {"kubeConfig": {"user": {"exec": exec}}}}}}});
    let sent = spec(json!({"command": "aws", "apiVersion": "client.authentication.k8s.io/v1"}));
    let lost = ["spec.joinConfiguration.discovery.file.kubeConfig.user.exec.apiVersion"];
    assert_eq!(find_lost_fields(&config, &sent, &spec(json!({"command": "aws"}))), lost);
    assert_eq!(removed_of(&config, &sent), Vec::<&str>::new());
}
