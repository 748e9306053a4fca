use serde_json::{Value, json};

use super::*;
use crate::request::mapping::NamespaceMap;
use crate::testing::{Case, kind};

fn deployment(provider: &str, containers: &Value) -> ProviderDeployment {
    let body = json!({
        "metadata": {"name": "d", "namespace": "system", "labels": {LABEL_PROVIDER: provider}},
        "spec": {"template": {"spec": {"containers": containers}}}, "status": {"availableReplicas": 1},
    });
    ProviderDeployment::from_object(&Object::from_value(kind("Deployment"), &body).unwrap()).unwrap()
}

/// A Deployment that was just scaled to 0 still has the status of before.
#[test]
fn status_of_an_earlier_generation_counts_for_nothing() {
    for (generation, status, expected) in [
        (json!(null), json!({"availableReplicas": 1}), true),
        (json!(2), json!({"availableReplicas": 1, "observedGeneration": 2}), true),
        (json!(2), json!({"availableReplicas": 1, "observedGeneration": 1}), false),
        (json!(2), json!({"availableReplicas": 0, "observedGeneration": 2}), false),
        (json!(2), json!({}), false),
    ] {
        let metadata = json!({"name": "d", "labels": {LABEL_PROVIDER: "p"}, "generation": generation});
        let body = json!({"metadata": metadata, "spec": {"template": {"spec": {"containers": []}}}, "status": status});
        let object = Object::from_value(kind("Deployment"), &body).unwrap();
        let deployment = ProviderDeployment::from_object(&object).unwrap();
        assert_eq!(deployment.runs("p"), expected, "{body}");
    }
}

/// `infrastructure-x --namespace=a`.
fn running(texts: &[&str]) -> RunningProviders {
    let deployments = texts.iter().map(|text| {
        let (provider, args) = text.split_once(' ').unwrap_or((text, ""));
        deployment(
            provider,
            &json!([{"name": "manager", "args": args.split_whitespace().collect::<Vec<_>>()}]),
        )
    });
    let kinds =
        [("Machine", CORE), ("InfraCluster", "infrastructure-x"), ("InfraTemplate", "infrastructure-x")];
    let kinds = kinds.map(|(name, provider)| (kind(name).group_kind.clone(), provider.to_owned())).into();
    RunningProviders { deployments: deployments.collect(), kinds }
}

#[test]
fn flags_are_read_from_the_manager() {
    let limits = |containers: Value| {
        let ProviderDeployment { namespace, filter, .. } = deployment("p", &containers);
        (namespace.unwrap_or_default(), filter.unwrap_or_default())
    };
    for (container, namespace, filter) in [
        (json!({"name": "manager"}), "", ""),
        (
            json!({"name": "manager", "args": ["--leader-elect", "--namespace=a", "--watch-filter=v"]}),
            "a",
            "v",
        ),
        (json!({"name": "manager", "args": ["--namespace", "a", "--watch-filter", "v"]}), "a", "v"),
        (json!({"name": "manager", "args": ["--namespace=a", "--namespace=b"]}), "b", ""),
        (json!({"name": "manager", "command": ["/manager", "--namespace=a"]}), "a", ""),
        (json!({"name": "manager", "args": ["--namespace=", "--watch-filter"]}), "", ""),
        (json!({"name": "manager", "args": ["--namespaces=a", "--watch-filter-expression=v"]}), "", ""),
        (json!({"name": "manager", "args": ["--namespace=$(NAMESPACE)"]}), "", ""),
        (json!({"name": "proxy", "args": ["--namespace=a"]}), "", ""),
    ] {
        assert_eq!(limits(json!([container])), (namespace.into(), filter.into()), "{container}");
    }
}

#[test]
fn each_object_needs_a_watching_deployment() {
    let label = format!("label={LABEL_WATCH_FILTER}");
    let cluster = "Cluster ns/c ! status";
    let labelled = format!("{cluster} {label}:v");
    let infra = format!("{labelled}\nInfraCluster ns/c < Cluster ns/c ! status");
    let template = format!("{labelled}\nInfraTemplate ns/t < Cluster ns/c");
    for (objects, deployments, expected) in [
        (cluster, &[][..], &[][..]),
        (cluster, &["cluster-api"], &[]),
        (cluster, &["cluster-api --namespace=ns"], &[]),
        (cluster, &["cluster-api --namespace=a"], &["provider-not-watching"]),
        (cluster, &["cluster-api --namespace=a", "cluster-api --namespace=ns"], &[]),
        (cluster, &["cluster-api --namespace=a", "infrastructure-x"], &["provider-not-watching"]),
        (cluster, &["infrastructure-x --namespace=a --watch-filter=v"], &[]),
        (cluster, &["cluster-api --watch-filter=v"], &["provider-filters"]),
        (cluster, &["cluster-api --watch-filter=v", "cluster-api"], &[]),
        (cluster, &["cluster-api --watch-filter=v --namespace=a", "cluster-api --namespace=ns"], &[]),
        (cluster, &["cluster-api --watch-filter=v", "cluster-api --namespace=a"], &["provider-filters"]),
        (&labelled, &["cluster-api --watch-filter=v"], &[]),
        (&labelled, &["cluster-api --watch-filter=w"], &["provider-filters"]),
        (&labelled, &["cluster-api --watch-filter=w", "cluster-api --watch-filter=v"], &[]),
        (&infra, &["cluster-api --watch-filter=v"], &[]),
        (&infra, &["infrastructure-x --watch-filter=v"], &["provider-filters"]),
        // No controller of the source watches these either.
        (&template, &["infrastructure-x --watch-filter=v"], &[]),
        ("Cluster ns/c", &["cluster-api --namespace=a --watch-filter=v"], &[]),
    ] {
        let case = Case::new(objects);
        let none = BTreeSet::new();
        let found = check_deployments(
            &running(deployments),
            &case.plan(),
            &case.inventory,
            &case.scope,
            &AcceptedRisks::default(),
            &none,
        );
        let codes: Vec<&str> = found.iter().map(|refusal| refusal.code).collect();
        assert_eq!(codes, expected, "{objects}: {deployments:?}");
    }
}

/// Anyone who may create a Deployment in some namespace of the target can label it.
#[test]
fn unavailable_deployments_count_for_nothing() {
    let mut limited = running(&["cluster-api --namespace=a"]);
    let mut all = running(&["cluster-api"]);
    let case = Case::new("Cluster ns/c ! status");
    let codes = |running: &RunningProviders, accept: &AcceptedRisks| -> Vec<&'static str> {
        let found =
            check_deployments(running, &case.plan(), &case.inventory, &case.scope, accept, &BTreeSet::new());
        found.iter().map(|refusal| refusal.code).collect()
    };
    let nothing = AcceptedRisks::default();
    all.deployments.iter_mut().for_each(|deployment| deployment.is_available = false);
    limited.deployments.append(&mut all.deployments);
    assert_eq!(codes(&limited, &nothing), ["provider-not-watching"]);
    let mut accepted = AcceptedRisks::default();
    accepted.insert_kind(Risk::Unseen, kind("Cluster").group_kind.clone());
    assert!(codes(&limited, &accepted).is_empty());
    limited.deployments.iter_mut().for_each(|deployment| deployment.is_available = false);
    assert!(codes(&limited, &nothing).is_empty());
}

#[test]
fn messages_name_what_is_left_out() {
    let case = Case::new(
        "Cluster ns/a ! status
         Cluster ns/b ! status
         Cluster other/c ! status",
    );
    let check = |running: &RunningProviders, adapted: &BTreeSet<GroupKind>| {
        check_deployments(
            running,
            &case.plan(),
            &case.inventory,
            &case.scope,
            &AcceptedRisks::default(),
            adapted,
        )
    };
    let filters =
        ["cluster-api --watch-filter=v --namespace=ns", "cluster-api --watch-filter=w --namespace=ns"];
    let told: Vec<String> =
        check(&running(&filters), &BTreeSet::new()).iter().map(Refusal::to_string).collect();
    expect_test::expect![[r#"
        target: no Deployment of cluster-api in the target watches namespace other
        source: cluster-api in the target reconciles only objects with the label cluster.x-k8s.io/watch-filter=v or w, not Cluster ns/a and Cluster ns/b; set that label on them in the source, and on the templates that they are made from; change the watch filter of its Deployment, or add a Deployment for their label"#]].assert_eq(&told.join("\n"));
    // A plugin may set the label.
    let adapted = BTreeSet::from([kind("Cluster").group_kind.clone()]);
    assert!(check(&running(&["cluster-api --watch-filter=v"]), &adapted).is_empty());
}

#[test]
fn namespaces_have_the_targets_names() {
    let mut case = Case::new("Cluster ns/a ! status");
    case.scope.namespace_map = NamespaceMap::new([("ns".into(), "site".into())]).unwrap();
    for (namespace, expected) in [("site", 0), ("ns", 1)] {
        let running = running(&[&format!("cluster-api --namespace={namespace}")]);
        let found = check_deployments(
            &running,
            &case.plan(),
            &case.inventory,
            &case.scope,
            &AcceptedRisks::default(),
            &BTreeSet::new(),
        );
        assert_eq!(found.len(), expected, "{namespace}");
    }
}
