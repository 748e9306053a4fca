//! The definition of Pivots in a real API server.

use kube::api::{DynamicObject, PostParams};
use pivot_lab::Server;
use pivot_scenarios::host::Host;
use pivot_scenarios::pivots::Pivots;
use serde_json::{Map, Value, json};

/// Fields that exclude others, which the largest Pivot has.
const EXCLUDED: [&str; 4] = ["/from/agent", "/to/cluster", "/to/agent", "/whenAway"];

/// The largest value that a schema allows.
fn largest(schema: &Value, pointer: &str) -> Value {
    match schema["type"].as_str().unwrap() {
        "string" if schema["enum"].is_array() => schema["enum"][0].clone(),
        "string" => json!("a".repeat(most(schema, "maxLength"))),
        // Each code once.
        "array" if schema["items"]["properties"]["code"]["enum"].is_array() => {
            let codes = schema["items"]["properties"]["code"]["enum"].as_array().unwrap();
            assert_eq!(codes.len(), most(schema, "maxItems"));
            let mut item = largest(&schema["items"], pointer);
            let of_code = codes.iter().map(|code| {
                item["code"] = code.clone();
                item.clone()
            });
            of_code.collect()
        }
        "array" => json!(vec![largest(&schema["items"], pointer); most(schema, "maxItems")]),
        "integer" => schema["maximum"].clone(),
        "boolean" => json!(true),
        "object" => {
            let properties = schema["properties"].as_object().unwrap().iter();
            let properties = properties.map(|(name, schema)| (name, format!("{pointer}/{name}"), schema));
            let allowed = properties.filter(|(_, pointer, _)| !EXCLUDED.contains(&pointer.as_str()));
            allowed.map(|(name, pointer, schema)| (name.clone(), largest(schema, &pointer))).collect()
        }
        other => panic!("{pointer}: {other}"),
    }
}

fn most(schema: &Value, bound: &str) -> usize {
    usize::try_from(schema[bound].as_u64().unwrap_or_else(|| panic!("no {bound}: {schema}"))).unwrap()
}

/// Values that are larger by one than a schema allows, by where they are.
fn collect_larger(schema: &Value, pointer: &str, into: &mut Vec<(String, Value)>) {
    if EXCLUDED.contains(&pointer) {
        return;
    }
    let larger = match schema["type"].as_str().unwrap() {
        "string" => json!("a".repeat(most(schema, "maxLength") + 1)),
        "array" => {
            collect_larger(&schema["items"], &format!("{pointer}/0"), into);
            json!(vec![largest(&schema["items"], pointer); most(schema, "maxItems") + 1])
        }
        "integer" => json!(schema["maximum"].as_u64().unwrap() + 1),
        "boolean" => return,
        "object" => {
            let mut fields: Map<String, Value> = largest(schema, pointer).as_object().unwrap().clone();
            for (name, schema) in schema["properties"].as_object().unwrap() {
                collect_larger(schema, &format!("{pointer}/{name}"), into);
            }
            (fields.len()..=most(schema, "maxProperties")).for_each(|n| {
                fields.insert(format!("unknown{n}"), json!(true));
            });
            Value::Object(fields)
        }
        other => panic!("{pointer}: {other}"),
    };
    into.push((pointer.to_owned(), larger));
}

// proves: T147
#[tokio::test(flavor = "multi_thread")]
async fn largest_pivot_is_accepted_and_larger_ones_refused() {
    let words = ["generate", "controller", "--image", "registry.example.com/pivot-host:v1"];
    let list = Host::alone().run(&words).await.unwrap().done().unwrap();
    let definition = |item: &&Value| item["kind"] == "CustomResourceDefinition";
    let definition = list["items"].as_array().unwrap().iter().find(definition).unwrap();
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let server = Server::start_with("server", &Pivots::definitions(&[]).await.unwrap()).await.unwrap();
    let pivots = Pivots::of(&server).in_namespace("default");
    let create = async |spec: &Value| {
        let pivot: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "pivot-host.io/v1alpha1", "kind": "Pivot", "metadata": {"name": "pivot"}, "spec": spec,
        }))
        .unwrap();
        let dry_run = PostParams { dry_run: true, ..PostParams::default() };
        pivots.create(&dry_run, &pivot).await.map(drop)
    };
    let spec = largest(schema, "");
    create(&spec).await.unwrap();
    let mut larger = Vec::new();
    collect_larger(schema, "", &mut larger);
    assert!(larger.len() > 25, "{larger:?}");
    for (pointer, value) in larger {
        let mut spec = spec.clone();
        *spec.pointer_mut(&pointer).unwrap() = value;
        let refused = create(&spec).await.map(|()| pointer.clone()).unwrap_err().to_string();
        let says = ["may not be more than", "Too long", "must have at most", "less than or equal"];
        assert!(says.iter().any(|why| refused.contains(why)), "{pointer}: {refused}");
    }
}
