//! The CustomResourceDefinition of Pivots. Its fields are those of [`Spec`](crate::resource::Spec); a test compares them.

use pivot_core::risk::{AcceptedBy, Risk};
use serde_json::{Map, Value, json};

use crate::resource::{
    GROUP, NO_AGENT, ONE_SOURCE, ONE_TARGET, OWN_NAMESPACE, OWN_TARGET, REQUEST, SAME_CLUSTER, VERSION,
};
use crate::status::LONGEST_MESSAGE;

/// The longest name of an object.
const NAME: usize = 253;
/// Characters of names, of one byte each.
const NAME_CHARACTERS: &str = "^[-._a-zA-Z0-9]+$";
/// Characters of what is typed for options. As text in JSON, each has one byte, too.
const TYPED_CHARACTERS: &str = r"^[ !#-\[\]-~]+$";
/// The most fields of an object that keeps those that its schema doesn't have.
const FIELDS: usize = 32;
/// The longest text that a controller shows, except messages and the value with which an attempt was asked for.
const SHOWN: usize = 64;
/// The most conditions. A controller shows fewer.
const CONDITIONS: usize = 16;
const HOUR: u32 = 3_600;

/// The most entries of a list, and the longest of them. An API server estimates by them what it costs to compare two Pivots, and a
/// controller reads nothing larger than all lists together.
#[derive(Clone, Copy)]
struct Most {
    entries: usize,
    length: usize,
}

/// Each Cluster's name is the value of a label, too.
const CLUSTERS: Most = Most { entries: 100, length: 63 };
const KINDS: Most = Most { entries: 16, length: 128 };
const PARTS: Most = Most { entries: 32, length: 400 };
/// Makes a server keep the fields that a schema doesn't have. Otherwise it drops them without a word, and a Pivot whose `clusters`
/// is mistyped would move all of them; so they reach the controller, which refuses the Pivot.
const KEEPS_UNKNOWN: &str = "x-kubernetes-preserve-unknown-fields";
/// Options that may change while the move is under way: those that a move is resumed with at a terminal.
const CHANGEABLE: [&str; 4] =
    ["checkTimeoutSeconds", "pauseTimeoutSeconds", "unpauseBatch", "takeoverTimeoutSeconds"];
/// How parts of what moves are written.
const FORMS_OF_PARTS: &str =
    "KIND.group, KIND.group/NAMESPACE/NAME, KIND.group/NAMESPACE/* or KIND.group:LABEL=VALUE";

/// The definition.
pub fn definition() -> Value {
    let column = |name: &str, path: &str| json!({"name": name, "type": "string", "jsonPath": path});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("pivots.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": "Namespaced",
            "names": {
                "kind": "Pivot", "listKind": "PivotList", "plural": "pivots", "singular": "pivot",
                "shortNames": ["pvt"], "categories": ["cluster-api"],
            },
            "versions": [{
                "name": VERSION, "served": true, "storage": true,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    column("Phase", ".status.phase"),
                    column("Moved", ".status.progress"),
                    column("Succeeded", ".status.conditions[?(@.type=='Succeeded')].status"),
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                    column("Message", ".status.message"),
                ],
                "schema": {"openAPIV3Schema": schema()},
            }],
        },
    })
}

fn schema() -> Value {
    json!({
        "type": "object", "required": ["spec"], KEEPS_UNKNOWN: true,
        "description": "A move of Cluster API objects from one management cluster to another, carried out by pivot-host.",
        "properties": {
            "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
            "spec": spec(),
            "status": status(),
        },
        // Until the source is paused nothing is changed, and a mistake can be corrected.
        "x-kubernetes-validations": [{
            "rule": format!(
                "!has(oldSelf.status) || !has(oldSelf.status.phase) || oldSelf.status.phase in ['Pending', 'Checked'] || ({})",
                what_moves_is_unchanged()
            ),
            "message": format!(
                "the move is under way or has ended, and only these options can be changed: {}, and of accept {}; for anything \
                 else delete this Pivot, which undoes the move if it is not committed, and make another",
                CHANGEABLE.join(", "),
                changeable_risks().join(", ")
            ),
        }],
    })
}

/// A rule that nothing of the spec differs from what it was but options that a move can be resumed with.
fn what_moves_is_unchanged() -> String {
    let unchanged = |is_there: &dyn Fn(&str) -> String, field: &str| {
        let (now, before) = (is_there("self"), is_there("oldSelf"));
        format!("{now} == {before} && (!{now} || self.{field} == oldSelf.{field})")
    };
    let (spec, options) = (spec(), options());
    let names = |schema: &Value| -> Vec<String> {
        schema["properties"].as_object().into_iter().flat_map(Map::keys).cloned().collect()
    };
    let fields = names(&spec).into_iter().filter(|name| name != "options").map(|name| {
        let field = format!("spec.{name}");
        unchanged(&|of| format!("has({of}.{field})"), &field)
    });
    let fixed = |name: &String| name != "accept" && !CHANGEABLE.contains(&name.as_str());
    let options = names(&options).into_iter().filter(fixed).map(|name| {
        let field = format!("spec.options.{name}");
        unchanged(&|of| format!("(has({of}.spec.options) && has({of}.{field}))"), &field)
    });
    fields.chain(options).chain([fixed_risks_are_unchanged()]).collect::<Vec<_>>().join(" && ")
}

/// A rule that the risks of the choice of objects are as they were.
fn fixed_risks_are_unchanged() -> String {
    let codes = changeable_risks().iter().map(|code| format!("'{code}'")).collect::<Vec<_>>().join(", ");
    let fixed = |of: &str| {
        let accept = format!("{of}.spec.options.accept");
        format!(
            "(has({of}.spec.options) && has({accept}) ? {accept}.filter(risk, !(risk.code in [{codes}])) : [])"
        )
    };
    format!("{} == {}", fixed("self"), fixed("oldSelf"))
}

fn name(description: &str) -> Value {
    json!({
        "type": "string", "description": description, "minLength": 1, "maxLength": NAME,
        "pattern": NAME_CHARACTERS,
    })
}

fn list(description: &str, most: Most) -> Value {
    let items =
        json!({"type": "string", "minLength": 1, "maxLength": most.length, "pattern": TYPED_CHARACTERS});
    json!({"type": "array", "description": description, "maxItems": most.entries, "items": items})
}

fn seconds(description: &str) -> Value {
    json!({"type": "integer", "description": description, "minimum": 0, "maximum": 24 * HOUR})
}

fn object(description: &str, required: &[&str], properties: &[(&str, Value)]) -> Value {
    let properties: Map<String, Value> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    let mut schema = json!({"type": "object", "description": description, "properties": properties});
    if let (false, Some(schema)) = (required.is_empty(), schema.as_object_mut()) {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}

/// An object of the spec.
fn spec_object(description: &str, required: &[&str], properties: &[(&str, Value)]) -> Value {
    let mut schema = object(description, required, properties);
    if let Some(schema) = schema.as_object_mut() {
        schema.insert(KEEPS_UNKNOWN.to_owned(), json!(true));
        schema.insert("maxProperties".to_owned(), json!(FIELDS));
    }
    schema
}

fn spec() -> Value {
    let kubeconfig = |whose: &str| {
        let entry = name("The entry of its data; by default value.");
        let what = format!("A Secret beside the Pivot that has a kubeconfig of {whose}.");
        spec_object(&what, &["name"], &[("name", name("Its name.")), ("key", entry)])
    };
    let from = spec_object(
        "Where the objects are; by default in the Pivot's own cluster and namespace.",
        &[],
        &[
            ("kubeconfig", kubeconfig("another source")),
            ("agent", name("The cluster of an agent of the Pivot's namespace.")),
            ("namespace", name("The namespace in that cluster; by default the Pivot's.")),
        ],
    );
    let to = spec_object(
        "Where they go; if no cluster is named, into the Pivot's own.",
        &[],
        &[
            ("cluster", name("The workload cluster of this Cluster, which is in the source.")),
            ("kubeconfig", kubeconfig("the target")),
            ("agent", name("The cluster of an agent of the Pivot's namespace.")),
            (
                "namespace",
                name(
                    "The namespace there; by default the source's. In the Pivot's own cluster it is the Pivot's.",
                ),
            ),
        ],
    );
    let mut spec = spec_object(
        "What moves, from where to where.",
        &["to"],
        &[
            ("from", from),
            ("to", to),
            (
                "clusters",
                list(
                    "Only these Clusters and what they need; if none is named, all of the namespace.",
                    CLUSTERS,
                ),
            ),
            (
                "whenAway",
                json!({
                    "type": "string", "enum": ["Wait", "Finish"],
                    "description": "What becomes of a committed move while this cluster is away: it waits, or the target's agent \
                                    resumes and settles the copies, if it has --finish-alone-after. By default it waits.",
                }),
            ),
            ("options", options()),
        ],
    );
    let elsewhere = "(has(self.from) && (has(self.from.kubeconfig) || has(self.from.agent)))";
    let to_another = "(has(self.to.cluster) || has(self.to.kubeconfig) || has(self.to.agent))";
    let rules = json!([
        {
            "rule": "!has(self.from) || !(has(self.from.kubeconfig) && has(self.from.agent))",
            "message": ONE_SOURCE,
        },
        {
            "rule": "[has(self.to.cluster), has(self.to.kubeconfig), has(self.to.agent)].filter(named, named).size() < 2",
            "message": ONE_TARGET,
        },
        {
            "rule": format!("{to_another} || {elsewhere}"),
            "message": SAME_CLUSTER,
        },
        {
            "rule": format!("!has(self.from) || !has(self.from.namespace) || {elsewhere}"),
            "message": OWN_NAMESPACE,
        },
        {
            "rule": format!("!has(self.to.namespace) || {to_another}"),
            "message": OWN_TARGET,
        },
        {
            "rule": "!has(self.whenAway) || self.whenAway == 'Wait' || has(self.to.agent)",
            "message": NO_AGENT,
        },
    ]);
    if let Some(spec) = spec.as_object_mut() {
        spec.insert("x-kubernetes-validations".to_owned(), rules);
    }
    spec
}

fn options() -> Value {
    spec_object(
        "Options of the move, each by the name of the flag of pivot-host move.",
        &[],
        &[
            ("exclude", list(&format!("What stays: {FORMS_OF_PARTS}."), PARTS)),
            (
                "alsoCopy",
                list(
                    &format!(
                        "What is copied and stays too: {FORMS_OF_PARTS}. Of this cluster, what is in the Pivot's namespace."
                    ),
                    PARTS,
                ),
            ),
            ("accept", accept()),
            (
                "pauseTimeoutSeconds",
                seconds("How long to wait for controllers to acknowledge the pause; by default 300."),
            ),
            (
                "checkTimeoutSeconds",
                seconds("How long plugins' checks may make the move wait; by default 600."),
            ),
            (
                "takeoverTimeoutSeconds",
                seconds("How long to wait for the target's controllers; by default 600."),
            ),
            (
                "unpauseBatch",
                json!({
                    "type": "integer", "minimum": 1, "maximum": 1_000,
                    "description": "The most held objects to release at once; by default 8.",
                }),
            ),
        ],
    )
}

/// The risks that may be accepted while the move is under way, as well.
fn changeable_risks() -> Vec<&'static str> {
    Risk::accepted_by(AcceptedBy::Pivot).filter(|risk| !risk.is_of_scope()).map(Risk::code).collect()
}

fn accept() -> Value {
    let codes: Vec<&str> = Risk::accepted_by(AcceptedBy::Pivot).map(Risk::code).collect();
    let code = json!({"type": "string", "description": "Code of the risk, as a refusal prints it.", "maxLength": SHOWN, "enum": codes});
    let kinds = list("Kinds for which the risk is accepted, if it takes kinds.", KINDS);
    let risk = spec_object("A risk that the move accepts.", &["code"], &[("code", code), ("kinds", kinds)]);
    json!({
        "type": "array", "maxItems": codes.len(), "items": risk,
        "description": "Risks that the move accepts. pivot-host explain CODE describes a risk.",
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["code"],
    })
}

fn status() -> Value {
    let text = |most: usize| json!({"type": "string", "maxLength": most});
    let (word, number) = (text(SHOWN), json!({"type": "integer", "format": "int64"}));
    let message = text(LONGEST_MESSAGE);
    let time = json!({"type": "string", "format": "date-time", "maxLength": SHOWN});
    let condition = object(
        "One condition.",
        &["type", "status", "reason", "lastTransitionTime"],
        &[
            ("type", word.clone()),
            ("status", json!({"type": "string", "enum": ["True", "False", "Unknown"]})),
            ("reason", word.clone()),
            ("message", message.clone()),
            ("observedGeneration", number.clone()),
            ("lastTransitionTime", time.clone()),
        ],
    );
    object(
        "What the move does: a view. What decides are the records on its two sides.",
        &[],
        &[
            ("observedGeneration", number.clone()),
            ("phase", word.clone()),
            ("moveId", word.clone()),
            (
                "objects",
                object(
                    "The objects of the move, in numbers.",
                    &[],
                    &[("planned", number.clone()), ("copied", number.clone()), ("deleted", number.clone())],
                ),
            ),
            ("progress", word),
            ("message", message),
            ("failures", number),
            ("nextAttempt", time),
            ("lastHandledRequest", text(REQUEST)),
            (
                "conditions",
                json!({
                    "type": "array", "items": condition, "maxItems": CONDITIONS,
                    "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
                }),
            ),
        ],
    )
}

#[cfg(test)]
mod tests {
    use pivot_core::record::move_id_for;
    use pivot_core::{Object, Uid};

    use crate::resource::{From, KubeconfigSecret, MoveOptions, Pivot, PivotRisk, Spec, To, WhenAway};
    use crate::status::{About, Status};

    use super::*;

    /// Every field of a value, with those inside.
    fn fields(value: &Value, path: &str, into: &mut Vec<String>) {
        match value {
            Value::Object(map) => map.iter().for_each(|(name, value)| {
                into.push(format!("{path}.{name}"));
                fields(value, &format!("{path}.{name}"), into);
            }),
            Value::Array(items) => items.iter().for_each(|item| fields(item, &format!("{path}[]"), into)),
            _ => {}
        }
    }

    /// Every field that a schema has.
    fn known(schema: &Value, path: &str, into: &mut Vec<String>) {
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            into.push(format!("{path}.{name}"));
            known(schema, &format!("{path}.{name}"), into);
        }
        if schema["items"].is_object() {
            known(&schema["items"], &format!("{path}[]"), into);
        }
    }

    fn same_fields(value: &Value, schema: &Value) {
        let (mut there, mut defined) = (Vec::new(), Vec::new());
        fields(value, "", &mut there);
        known(schema, "", &mut defined);
        there.sort();
        there.dedup();
        defined.sort();
        assert_eq!(there, defined);
    }

    /// Objects that drop unknown fields, by their paths.
    fn collect_dropping(schema: &Value, path: &str, into: &mut Vec<String>) {
        if schema["type"] == "object" && schema[KEEPS_UNKNOWN] != true {
            into.push(path.to_owned());
        }
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            collect_dropping(schema, &format!("{path}.{name}"), into);
        }
    }

    /// Texts, lists and maps without a maximum, by their paths.
    fn collect_unbounded(schema: &Value, path: &str, into: &mut Vec<String>) {
        let properties = || schema["properties"].as_object().into_iter().flatten();
        let bounds: &[&str] = match schema["type"].as_str().unwrap() {
            "string" => &["maxLength", "enum"],
            "array" => &["maxItems"],
            "object" if properties().count() == 0 || schema[KEEPS_UNKNOWN] == true => &["maxProperties"],
            "object" if !schema["additionalProperties"].is_null() => &["maxProperties"],
            "object" | "integer" | "boolean" => &[],
            other => panic!("{path}: {other}"),
        };
        if !bounds.is_empty() && bounds.iter().all(|bound| schema[bound].is_null()) {
            into.push(path.to_owned());
        }
        properties().for_each(|(name, schema)| collect_unbounded(schema, &format!("{path}.{name}"), into));
        if schema["type"] == "array" {
            collect_unbounded(&schema["items"], &format!("{path}[]"), into);
        }
    }

    // proves: T147
    #[test]
    fn texts_lists_and_maps_have_maxima() {
        let mut unbounded = Vec::new();
        collect_unbounded(&schema(), "", &mut unbounded);
        // An API server checks these itself, and allows no maximum of a Pivot's own fields.
        assert_eq!(unbounded, ["", ".apiVersion", ".kind", ".metadata"]);
    }

    /// The largest value that a schema allows.
    fn largest(schema: &Value) -> Value {
        let most = |bound: &str| usize::try_from(schema[bound].as_u64().unwrap()).unwrap();
        match schema["type"].as_str().unwrap() {
            "string" if !schema["enum"].is_null() => {
                let values = schema["enum"].as_array().unwrap().iter();
                values.max_by_key(|value| value.to_string().len()).unwrap().clone()
            }
            "string" => json!("~".repeat(most("maxLength"))),
            "array" => Value::Array(vec![largest(&schema["items"]); most("maxItems")]),
            "integer" => schema["maximum"].clone(),
            "boolean" => json!(false),
            "object" => {
                let properties = schema["properties"].as_object().unwrap().iter();
                properties.map(|(name, schema)| (name.clone(), largest(schema))).collect()
            }
            other => panic!("{other}"),
        }
    }

    #[test]
    fn largest_allowed_spec_is_read() {
        let body = json!({"metadata": {"name": "p", "namespace": "a"}, "spec": largest(&spec())});
        let object = Object::from_value(crate::resource::kind(), &body).unwrap();
        Pivot::of(&object).spec.unwrap();
    }

    #[test]
    fn whatever_is_shown_fits_the_definition() {
        let long = "ä".repeat(100_000);
        let mut shown = Status::default();
        shown.say(&long);
        shown.set(About::Connected, true, "Answered", &long);
        let most = |schema: &Value| usize::try_from(schema["maxLength"].as_u64().unwrap()).unwrap();
        let message = &status()["properties"]["message"];
        assert_eq!(shown.message.unwrap().chars().count(), most(message));
        assert_eq!(shown.conditions[0].message.chars().count(), most(message));
        let id = move_id_for(&Uid("0d6a9c1e-4a4c-4d0c-9c53-1b2f0c9c8f11".into()), "0123456789ab");
        assert!(id.len() <= most(&status()["properties"]["moveId"]));
    }

    #[test]
    fn unknown_fields_of_the_spec_are_kept() {
        let (mut whole, mut dropping) = (schema(), Vec::new());
        // Written by the controller alone.
        whole["properties"]["status"] = Value::Null;
        collect_dropping(&whole, "", &mut dropping);
        assert_eq!(dropping, [".metadata"], "a server knows its fields itself");
    }

    #[test]
    fn the_definition_has_the_fields_that_the_controller_reads_and_no_others() {
        let secret = || Some(KubeconfigSecret { name: "s".into(), key: "value".into() });
        let full = Spec {
            from: From { kubeconfig: secret(), agent: Some("e".into()), namespace: Some("a".into()) },
            to: To {
                cluster: Some("c".into()),
                kubeconfig: secret(),
                agent: Some("e".into()),
                namespace: Some("b".into()),
            },
            clusters: ["c".to_owned()].into(),
            when_away: WhenAway::Finish,
            options: MoveOptions {
                accept: vec![PivotRisk { code: "shared".into(), kinds: vec!["A.g".into()] }],
                ..MoveOptions::default()
            },
        };
        same_fields(&serde_json::to_value(full).unwrap(), &spec());
    }

    #[test]
    fn each_option_is_either_changeable_or_compared() {
        let (rule, options) = (what_moves_is_unchanged(), options());
        for name in options["properties"].as_object().unwrap().keys() {
            let compared = rule.contains(&format!("self.spec.options.{name} == oldSelf.spec.options.{name}"));
            let is_changeable = CHANGEABLE.contains(&name.as_str()) || name == "accept";
            assert_ne!(compared, is_changeable, "{name}");
        }
        assert!(
            rule.contains("self.spec.to == oldSelf.spec.to") && rule.contains("oldSelf.spec.clusters"),
            "{rule}"
        );
        assert_eq!(CHANGEABLE.iter().filter(|name| !options["properties"][name].is_object()).count(), 0);
    }

    #[test]
    fn the_definition_has_the_fields_that_the_controller_shows() {
        let mut shown = Status::default();
        shown.set(About::Connected, true, "Answered", "");
        same_fields(&serde_json::to_value(shown).unwrap(), &status());
    }
}
