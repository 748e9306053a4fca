//! What the user adds from files is in the target beside what moves, and has nothing to do with the source.

use expect_test::{Expect, expect};
use serde_json::json;

use crate::request::manifest_object::Addition;
use crate::testing::{Case, key, kind, remedies, render};

const ONE: &str = "
    Cluster ns/a
    Machine ns/m < Cluster ns/a
    Secret ns/a-ca
    ConfigMap ns/bom
    Secret other/credentials";
const SERVED: [&str; 10] = [
    "ConfigMap",
    "Secret",
    "Widget",
    "Node",
    "Cluster",
    "ClusterClass",
    "BareMetalHost",
    "Pool",
    "InfraTemplate",
    "External",
];

fn addition(text: &str) -> Addition {
    let (key, kind) = (key(text), kind(text.split(' ').next().unwrap()));
    let body =
        json!({"metadata": {"name": key.name, "namespace": key.namespace}, "data": {"of": "the file"}});
    Addition::new(("f.yaml", 1), key.group_kind, kind.version.clone(), body).unwrap()
}

fn additions(texts: &[&str]) -> Vec<Addition> {
    texts.iter().map(|text| addition(text)).collect()
}

fn refused(case: &Case, text: &str, expected: Expect) {
    let (plan, _) = case.plan_with(&[addition(text)], &SERVED);
    assert!(plan.added_steps().next().is_none());
    let lines = plan
        .refusals
        .iter()
        .map(|one| format!("{} {}: {}\n  -> {}\n", one.side, one.code, one.message, remedies(one)));
    expected.assert_eq(&lines.collect::<String>());
}

#[test]
fn added_objects_come_last() {
    let case = Case::new(ONE).namespace("ns");
    let (plan, inventory) =
        case.plan_with(&additions(&["Widget ns/w", "ConfigMap ns/bom", "Node n"]), &SERVED);
    expect![[r#"
        move Cluster ns/a (moves with everything it owns)
        move Secret ns/a-ca (belongs to Cluster ns/a) after Cluster ns/a
        move Machine ns/m (belongs to Cluster ns/a) after Cluster ns/a
        add Widget ns/w (added from f.yaml)
        add ConfigMap ns/bom (added from f.yaml)
        add Node n (added from f.yaml)
        stay ConfigMap ns/bom: not linked with any Cluster
        stay Secret other/credentials: in a namespace that is not moved
    "#]]
    .assert_eq(&render(&plan));
    // Every step leads to its object, and that of an added one is the file's.
    for step in &plan.steps {
        let object = inventory.get(step.object).unwrap();
        assert_eq!((object.key(), &object.meta.uid), (step.key.clone(), &step.uid));
        assert_eq!(object.value().unwrap()["data"] == json!({"of": "the file"}), step.added_from().is_some());
    }
    assert_eq!((plan.kept_steps().count(), plan.added_steps().count()), (0, 3));
}

#[test]
fn moved_objects_can_not_be_added() {
    let case = || Case::new(ONE).namespace("ns");
    refused(
        &case(),
        "Secret ns/a-ca",
        expect![[r#"
            target manifest-moves: Secret ns/a-ca (f.yaml, document 1) can't be added: the move copies the source's object of that name
              -> remove it from f.yaml; if the move has begun already, roll it back first
        "#]],
    );
    refused(
        &case().carry(&["ConfigMap"]),
        "ConfigMap ns/bom",
        expect![[r#"
            target manifest-moves: ConfigMap ns/bom (f.yaml, document 1) can't be added: the move copies the source's object of that name
              -> remove it from f.yaml; if the move has begun already, roll it back first | {"remedy":"leave-out-carry","parts":[{"kind":{"group":"","kind":"ConfigMap"}}]}
        "#]],
    );
    // What stays there is another object.
    let excluded = case().carry(&["ConfigMap"]).exclude(&["ConfigMap ns/bom"]);
    let (plan, _) = excluded.plan_with(&[addition("ConfigMap ns/bom")], &SERVED);
    assert_eq!(plan.added_steps().count(), 1);
}

#[test]
fn active_objects_can_not_be_added() {
    let case = Case::new(ONE);
    refused(
        &case,
        "Cluster ns/b",
        expect![[r#"
            target manifest-active: Cluster ns/b (f.yaml, document 1) can't be added: controllers of the target would act on it before the move is committed, and tear down what it stands for if the move is rolled back
              -> create it in the target once the move is done
        "#]],
    );
    for text in ["ClusterClass ns/c", "BareMetalHost ns/h", "Pool ns/p", "External ns/e"] {
        let (plan, _) = case.plan_with(&[addition(text)], &SERVED);
        assert_eq!(
            plan.refusals.iter().map(|one| one.code).collect::<Vec<_>>(),
            ["manifest-active"],
            "{text}"
        );
    }
    let (plan, _) = case.plan_with(&[addition("InfraTemplate ns/t")], &SERVED);
    assert_eq!((plan.refusals, plan.steps.last().unwrap().key.name.as_str()), (Vec::new(), "t"));
}

#[test]
fn unserved_objects_can_not_be_added() {
    let case = Case::new(ONE);
    refused(
        &case,
        "Event ns/e",
        expect![[r#"
            target manifest-kind-missing: Event ns/e (f.yaml, document 1) can't be added: the target does not serve Event
              -> install what defines it there (a directory has the kinds of the source)
        "#]],
    );
    refused(
        &case,
        "ConfigMap c",
        expect![[r#"
            target manifest-namespace: ConfigMap c (f.yaml, document 1) can't be added: it has no namespace
              -> correct that in f.yaml; if the move has begun already, roll it back first
        "#]],
    );
    refused(
        &case,
        "Node ns/n",
        expect![[r#"
            target manifest-namespace: Node ns/n (f.yaml, document 1) can't be added: it has a namespace, and Node is cluster-scoped
              -> correct that in f.yaml; if the move has begun already, roll it back first
        "#]],
    );
    let older = Addition::new(
        ("f.yaml", 1),
        key("Widget ns/w").group_kind,
        "v1alpha1".into(),
        json!({"metadata": {"name": "w", "namespace": "ns"}}),
    );
    let (plan, _) = case.plan_with(&[older.unwrap()], &SERVED);
    assert_eq!(
        plan.refusals[0].message,
        "Widget ns/w (f.yaml, document 1) can't be added: the target serves Widget.example.com as v1beta2, and not as v1alpha1"
    );
}

/// They are written for the target, where the namespace has another name.
#[test]
fn files_name_namespaces_as_the_target_does() {
    let mut case = Case::new(ONE).namespace("ns");
    let pairs = [("ns".to_owned(), "prod".to_owned())];
    case.scope.namespace_map = crate::request::mapping::NamespaceMap::new(pairs).unwrap();
    let (plan, inventory) =
        case.plan_with(&additions(&["ConfigMap prod/bom", "ConfigMap other/bom"]), &SERVED);
    let added: Vec<_> = plan.added_steps().map(|step| step.key.to_string()).collect();
    assert_eq!(
        (added, plan.refusals),
        (vec!["ConfigMap ns/bom".to_owned(), "ConfigMap other/bom".to_owned()], vec![])
    );
    assert_eq!(inventory.index_of_key(&key("ConfigMap prod/bom")), None);
    refused(
        &case,
        "Secret prod/a-ca",
        expect![[r#"
            target manifest-moves: Secret prod/a-ca (f.yaml, document 1) can't be added: the move copies the source's object of that name
              -> remove it from f.yaml; if the move has begun already, roll it back first
        "#]],
    );
}

#[test]
fn nothing_is_added_to_empty_plan() {
    let (plan, _) = Case::new("Secret ns/a").plan_with(&additions(&["Cluster ns/b", "Widget ns/w"]), &SERVED);
    assert!(plan.is_empty() && plan.refusals.is_empty());
}
