//! Records a plugin's native answers in its `scene.json`: `plugin test` makes the same calls of the component and expects the
//! same answers. Part of each plugin's tests; `UPDATE_EXPECT=1` records them again.

use pivot_sdk::test::Harness;
use pivot_sdk::{Error, Exported, Finding, Key, Object, Patch, Point, Problem, Relation, Settlement};
use serde_json::{Value, json};

pub(crate) fn answers_as_recorded<P: Exported>(file: &str) {
    let mut scene: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let answers: Vec<Value> =
        scene["calls"].as_array().unwrap().iter().map(|call| answer_call::<P>(&scene, call)).collect();
    let recorded = scene.clone();
    for (call, answer) in scene["calls"].as_array_mut().unwrap().iter_mut().zip(answers) {
        call["expect"] = answer;
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(file, format!("{scene:#}\n")).unwrap();
    } else {
        assert_eq!(scene, recorded);
    }
}

fn answer_call<P: Exported>(scene: &Value, call: &Value) -> Value {
    let mut host = Harness::<P>::new();
    host.set_config(scene["config"].clone());
    for object in scene["source"].as_array().unwrap() {
        host.add_to_source(object);
    }
    for object in scene["target"].as_array().unwrap() {
        host.add_to_target(object);
    }
    let object = |side: &str| {
        let objects = scene[side].as_array().unwrap();
        Object::from(objects.iter().find(|object| object_name(object) == call["object"]).unwrap())
    };
    match call["hook"].as_str().unwrap() {
        "relate" => answer_json(host.relate(object("source")), |all| all.iter().map(relation_json).collect()),
        "check" => {
            answer_json(host.check(parse_point(call)), |all| all.iter().flat_map(finding_jsons).collect())
        }
        "hold" => answer_json(host.hold(object("source")), patch_json),
        "adapt" => answer_json(host.adapt(object("source")), patch_json),
        "restore" => answer_json(host.restore(object("source"), object("target")), patch_json),
        "settle" => answer_json(host.settle(object("target")), settlement_json),
        other => panic!("there is no hook {other}"),
    }
}

/// `KIND NAMESPACE/NAME`, or `KIND NAME`.
fn object_name(object: &Value) -> String {
    let text = |field: &Value| field.as_str().unwrap().to_owned();
    let metadata = &object["metadata"];
    let namespace = metadata.get("namespace").map(|name| text(name) + "/").unwrap_or_default();
    format!("{} {namespace}{}", text(&object["kind"]), text(&metadata["name"]))
}

fn parse_point(call: &Value) -> Point {
    match call["point"].as_str().unwrap() {
        "before-pause" => Point::BeforePause,
        "after-pause" => Point::AfterPause,
        "before-commit" => Point::BeforeCommit,
        "after-resume" => Point::AfterResume,
        other => panic!("there is no point {other}"),
    }
}

fn answer_json<T>(answer: Result<T, Error>, value: impl Fn(&T) -> Value) -> Value {
    match answer {
        Ok(answer) => value(&answer),
        Err(error) => json!({"error": *error.code, "message": error.message}),
    }
}

fn key_json(key: &Key) -> Value {
    let mut value = json!({"group": key.kind.group, "kind": key.kind.kind, "name": key.name});
    if let Some(namespace) = &key.namespace {
        value["namespace"] = json!(namespace);
    }
    value
}

fn relation_json(relation: &Relation) -> Value {
    match relation {
        Relation::Link(to) => json!({"link": key_json(to)}),
        Relation::Need(what) => json!({"need": key_json(what)}),
        Relation::Share(what) => json!({"share": key_json(what)}),
        Relation::Leave(why) => json!({"leave": why}),
        Relation::Keep(why) => json!({"keep": why}),
    }
}

/// Returns a finding for each object, as the host takes it.
fn finding_jsons(finding: &Finding) -> Vec<Value> {
    problem_jsons(finding.severity.as_str(), &finding.problem)
}

/// The host completes the command; in a trial it knows no kubeconfig.
fn problem_jsons(severity: &str, problem: &Problem) -> Vec<Value> {
    let Problem { code, message, objects, remedy, command } = problem;
    let remedy = match command {
        Some(command) if remedy.is_empty() => format!("`{command}`"),
        Some(command) => format!("{remedy}: `{command}`"),
        None => remedy.clone(),
    };
    let value = json!({"severity": severity, "code": code, "message": message, "remedy": remedy});
    if objects.is_empty() {
        return vec![value];
    }
    let values = objects.iter().map(|object| {
        let mut value = value.clone();
        value["object"] = key_json(object);
        value
    });
    values.collect()
}

fn patch_json(patch: &Patch) -> Value {
    patch.to_value().unwrap_or(Value::Null)
}

fn settlement_json(settlement: &Settlement) -> Value {
    match settlement {
        Settlement::Done => json!("done"),
        Settlement::Patch(said) => json!({"patch": patch_json(said)}),
        Settlement::Wait(found) => json!({"wait": problem_jsons("wait", found)[0]}),
        Settlement::Stop(found) => json!({"stop": problem_jsons("stop", found)[0]}),
    }
}
