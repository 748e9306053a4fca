//! Valid configurations, and the errors for invalid ones.

use crate::Secrets;
use pivot_sdk::test::Harness;
use pivot_sdk::{Kind, Object, Relation};
use serde_json::{Value, json};

const CLUSTER: Kind = Kind::new("cluster.x-k8s.io", "Cluster");

fn secret(name: &str, labels: Value) -> Object {
    Object::from(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
        "metadata": {"name": name, "namespace": "metal3", "labels": labels},
    }))
}

fn ask(config: Value, secret: &Object) -> pivot_sdk::Result<Vec<Relation>> {
    Harness::<Secrets>::new().set_config(config).relate(secret)
}

#[test]
fn selected_secrets_stay_without_their_moving_owner() {
    let mut owned = secret("vault", json!({})).value().clone();
    owned["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "a/v1", "kind": "B", "name": "c", "uid": "1"}]);
    let config = json!({"leave": [{"match": {"name": "vault"}, "reason": "the target's vault writes it"}]});
    let said = ask(config, &Object::from(owned)).unwrap();
    assert_eq!(said, [Relation::leave("the target's vault writes it")]);
}

#[test]
fn operator_selects_by_type_and_labels() {
    let config = json!({"leave": [{"type": "kubernetes.io/docker*", "match": {"labels": {"team": "*"}}}], "rules": []});
    let fits = |labels| !ask(config.clone(), &secret("a", labels)).unwrap().is_empty();
    assert!(fits(json!({"team": "blue"})) && !fits(json!({})));
}

#[test]
fn rules_can_be_chosen() {
    let pull = secret("registry-pull", json!({}));
    assert_eq!(ask(json!({"rules": ["helm-releases"]}), &pull).unwrap(), []);
    assert_eq!(ask(json!({"rules": ["pull-secrets"]}), &pull).unwrap().len(), 1);
}

#[test]
fn selected_secret_moves_with_labelled_cluster() {
    let config = json!({"take": [{"match": {"name": "*-pull"}}]});
    let labelled = secret("edge-pull", json!({"cluster.x-k8s.io/cluster-name": "edge"}));
    assert_eq!(ask(config, &labelled).unwrap(), [Relation::link(CLUSTER.key_in("metal3", "edge"))]);
    let config = json!({"take": [{"match": {"name": "*-pull"}, "cluster-label": "site"}]});
    let labelled = secret("edge-pull", json!({"site": "north"}));
    assert_eq!(ask(config, &labelled).unwrap(), [Relation::link(CLUSTER.key_in("metal3", "north"))]);
}

#[test]
fn selected_secret_moves_with_configured_cluster() {
    for (cluster, key) in
        [("edge", CLUSTER.key_in("metal3", "edge")), ("sites/edge", CLUSTER.key_in("sites", "edge"))]
    {
        let config = json!({"take": [{"match": {"name": "registry-pull"}, "cluster": cluster}]});
        assert_eq!(ask(config, &secret("registry-pull", json!({}))).unwrap(), [Relation::link(key)]);
    }
}

#[test]
fn selected_secret_without_cluster_is_an_error() {
    let config = json!({"take": [{"match": {"name": "*"}}]});
    let error = ask(config, &secret("registry-pull", json!({}))).unwrap_err().to_string();
    assert!(
        error.contains("take[0] selects this Secret, which has no label cluster.x-k8s.io/cluster-name"),
        "{error}"
    );
}

#[test]
fn leave_outweighs_take() {
    let config = json!({
        "take": [{"match": {"name": "*"}, "cluster": "edge"}], "leave": [{"match": {"name": "registry-*"}}],
    });
    let said = ask(config, &secret("registry-pull", json!({}))).unwrap();
    assert_eq!(said, [Relation::leave("the configuration says that it stays")]);
}

#[test]
fn configuration_error_has_its_position() {
    for (config, wrong) in [
        (json!({"leave": [{"reason": "x"}]}), "leave[0] selects every Secret; give it a match or a type"),
        (json!({"take": [{"match": {"name": "a"}}, {}]}), "take[1] selects every Secret"),
        (
            json!({"take": [{"type": "a", "cluster": "b", "cluster-label": "c"}]}),
            "take[0] has both cluster and",
        ),
        (
            json!({"take": [{"type": "a", "cluster": "b/"}]}),
            "take[0] names the Cluster `b/`; write its name, or",
        ),
        (json!({"leafe": []}), "unknown field `leafe`, expected one of `rules`, `leave`, `take`"),
        (json!({"leave": [{"match": {"nam": "a"}}]}), "leave[0].match.nam: unknown field `nam`"),
        (
            json!({"rules": ["all"]}),
            "rules[0]: unknown variant `all`, expected one of `service-account-tokens`",
        ),
    ] {
        let error = ask(config.clone(), &secret("a", json!({}))).unwrap_err().to_string();
        assert!(error.contains("configuration: ") && error.contains(wrong), "{config}: {error}");
    }
}

#[test]
fn schema_agrees_with_the_plugin() {
    Harness::<Secrets>::new().compare_schema(&[json!({
        "rules": ["pull-secrets"],
        "leave": [{"match": {"name": "a", "namespace": "n", "labels": {"team": "*"}}, "type": "Opaque", "reason": "it is old"}],
        "take": [
            {"match": {"name": "b", "namespace": "n", "labels": {"team": "*"}}, "type": "Opaque", "cluster": "n/edge"},
            {"match": {"name": "c"}, "cluster-label": "team"},
        ],
    })]);
}
