//! The CustomResourceDefinition of Pivots. It has the fields of [`Spec`](crate::resource::Spec); a test compares them.

use std::time::Duration;

use pivot_core::messages::risk::{AcceptedBy, Risk};
use pivot_engine::Options;
use serde_json::{Map, Value, json};

use crate::resource::{
    GROUP, MAX_REQUEST_BYTES, NO_AGENT, ONE_SOURCE, ONE_TARGET, OWN_NAMESPACE, OWN_TARGET, SAME_CLUSTER,
    VERSION,
};
use crate::status::MAX_MESSAGE_CHARACTERS;

/// The longest name of an object.
const MAX_NAME_LENGTH: usize = 253;
/// Characters of names, of one byte each.
const NAME_CHARACTERS: &str = "^[-._a-zA-Z0-9]+$";
/// Characters of what is typed for options. As text in JSON, each has one byte, too.
const TYPED_CHARACTERS: &str = r"^[ !#-\[\]-~]+$";
/// The most fields of an object that keeps those that its schema doesn't have.
const MAX_UNKNOWN_FIELDS: usize = 32;
/// The longest text that a controller shows, except messages and the value of a request for an attempt.
const MAX_TEXT_LENGTH: usize = 64;
/// The most conditions. A controller shows fewer.
const MAX_CONDITIONS: usize = 16;

/// The most entries of a list, and the longest of them. An API server estimates by them what it costs to compare two Pivots, and a
/// controller reads nothing larger than all lists together.
#[derive(Clone, Copy)]
struct ListLimits {
    entries: usize,
    length: usize,
}

/// Each Cluster's name is the value of a label, too.
const CLUSTER_LIMITS: ListLimits = ListLimits { entries: 100, length: 63 };
const KIND_LIMITS: ListLimits = ListLimits { entries: 16, length: 128 };
const PART_LIMITS: ListLimits = ListLimits { entries: 32, length: 400 };
/// Makes a server keep the fields that a schema doesn't have. Otherwise it drops them without a word, and a Pivot whose `clusters`
/// is mistyped would move all of them; so they reach the controller, which refuses the Pivot.
const KEEPS_UNKNOWN: &str = "x-kubernetes-preserve-unknown-fields";
/// Options that may change while the move is under way: those that a move is resumed with at a terminal.
const CHANGEABLE: [&str; 4] =
    ["checkTimeoutSeconds", "pauseTimeoutSeconds", "unpauseBatch", "takeoverTimeoutSeconds"];
/// Forms in which users name objects.
const FORMS_OF_PARTS: &str =
    "KIND.group, KIND.group/NAMESPACE/NAME, KIND.group/NAMESPACE/* or KIND.group:LABEL=VALUE";

/// Returns the definition.
pub fn pivot_definition() -> Value {
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
                "schema": {"openAPIV3Schema": pivot_schema()},
            }],
        },
    })
}

fn pivot_schema() -> Value {
    json!({
        "type": "object", "required": ["spec"], KEEPS_UNKNOWN: true,
        "description": "A Pivot moves Cluster API objects from one management cluster to another. A pivot-host controller carries it out.",
        "properties": {
            "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
            "spec": spec_schema(),
            "status": status_schema(),
        },
        // Until the source is paused nothing is changed, and a mistake can be corrected.
        "x-kubernetes-validations": [{
            "rule": format!(
                "!has(oldSelf.status) || !has(oldSelf.status.phase) || oldSelf.status.phase in ['Pending', 'Checked'] || ({})",
                unchanged_move_rule()
            ),
            "message": format!(
                "the move is under way or has ended, so only suspend and these options can be changed: {}, and in accept {}. To change anything \
                 else, delete this Pivot and create another. If the move isn't committed, deleting the Pivot rolls it back",
                CHANGEABLE.join(", "),
                changeable_risks().join(", ")
            ),
        }],
    })
}

/// Returns a rule that allows changes of the spec only in options that a move can be resumed with. `suspend`
/// can always be changed.
fn unchanged_move_rule() -> String {
    let unchanged = |is_there: &dyn Fn(&str) -> String, field: &str| {
        let (now, before) = (is_there("self"), is_there("oldSelf"));
        format!("{now} == {before} && (!{now} || self.{field} == oldSelf.{field})")
    };
    let (spec, options) = (spec_schema(), options_schema());
    let names = |schema: &Value| -> Vec<String> {
        schema["properties"].as_object().into_iter().flat_map(Map::keys).cloned().collect()
    };
    let fields = names(&spec)
        .into_iter()
        .filter(|name| !["options", "suspend"].contains(&name.as_str()))
        .map(|name| {
            let field = format!("spec.{name}");
            unchanged(&|of| format!("has({of}.{field})"), &field)
        });
    let options =
        names(&options).into_iter().filter(|name| name != "accept" && !CHANGEABLE.contains(&name.as_str()));
    let options = options.map(|name| {
        let field = format!("spec.options.{name}");
        unchanged(&|of| format!("(has({of}.spec.options) && has({of}.{field}))"), &field)
    });
    fields.chain(options).chain([unchanged_risks_rule()]).collect::<Vec<_>>().join(" && ")
}

/// Returns a rule that the risks of the choice of objects are unchanged.
fn unchanged_risks_rule() -> String {
    let codes = changeable_risks().iter().map(|code| format!("'{code}'")).collect::<Vec<_>>().join(", ");
    let fixed = |of: &str| {
        let accept = format!("{of}.spec.options.accept");
        format!(
            "(has({of}.spec.options) && has({accept}) ? {accept}.filter(risk, !(risk.code in [{codes}])) : [])"
        )
    };
    format!("{} == {}", fixed("self"), fixed("oldSelf"))
}

fn name_schema(description: &str) -> Value {
    json!({
        "type": "string", "description": description, "minLength": 1, "maxLength": MAX_NAME_LENGTH,
        "pattern": NAME_CHARACTERS,
    })
}

fn list_schema(description: &str, most: ListLimits) -> Value {
    let items =
        json!({"type": "string", "minLength": 1, "maxLength": most.length, "pattern": TYPED_CHARACTERS});
    json!({"type": "array", "description": description, "maxItems": most.entries, "items": items})
}

/// Returns the schema of the limit of a wait in seconds, with the default and the maximum of its flag.
fn seconds_schema(awaited: &str, default: Duration) -> Value {
    let description =
        format!("Limit of the wait for {awaited}, in seconds. By default {}.", default.as_secs());
    json!({"type": "integer", "description": description, "minimum": 0, "maximum": Options::MAX_TIMEOUT.as_secs()})
}

fn object_schema(description: &str, required: &[&str], properties: &[(&str, Value)]) -> Value {
    let properties: Map<String, Value> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    let mut schema = json!({"type": "object", "description": description, "properties": properties});
    if let (false, Some(schema)) = (required.is_empty(), schema.as_object_mut()) {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}

/// Returns the schema of an object of the spec.
fn spec_object_schema(description: &str, required: &[&str], properties: &[(&str, Value)]) -> Value {
    let mut schema = object_schema(description, required, properties);
    if let Some(schema) = schema.as_object_mut() {
        schema.insert(KEEPS_UNKNOWN.to_owned(), json!(true));
        schema.insert("maxProperties".to_owned(), json!(MAX_UNKNOWN_FIELDS));
    }
    schema
}

fn spec_schema() -> Value {
    let kubeconfig = |whose: &str| {
        let entry = name_schema("Key of the kubeconfig in the Secret's data. By default value.");
        let description = format!("Secret in the Pivot's namespace with a kubeconfig of {whose}.");
        spec_object_schema(
            &description,
            &["name"],
            &[("name", name_schema("Name of the Secret.")), ("key", entry)],
        )
    };
    let agent = |side: &str| {
        name_schema(&format!(
            "Name of the agent in the {side}. The agent was invited into the Pivot's namespace."
        ))
    };
    let from = spec_object_schema(
        "Source of the move. By default the Pivot's own cluster and namespace.",
        &[],
        &[
            ("kubeconfig", kubeconfig("the source")),
            ("agent", agent("source")),
            ("namespace", name_schema("Namespace in the source. By default the Pivot's.")),
        ],
    );
    let to = spec_object_schema(
        "Target of the move. If it is empty, the Pivot's own cluster.",
        &[],
        &[
            ("cluster", name_schema("Name of a Cluster in the source whose workload cluster is the target.")),
            ("kubeconfig", kubeconfig("the target")),
            ("agent", agent("target")),
            (
                "namespace",
                name_schema(
                    "Namespace in the target. By default the source's. In the Pivot's own cluster always the Pivot's.",
                ),
            ),
        ],
    );
    let mut spec = spec_object_schema(
        "Source, target and objects of the move.",
        &["to"],
        &[
            ("from", from),
            ("to", to),
            (
                "clusters",
                list_schema(
                    "Names of the Clusters that move, each with the objects that it needs. If the list is empty, the whole namespace moves.",
                    CLUSTER_LIMITS,
                ),
            ),
            (
                "whenAway",
                json!({
                    "type": "string", "enum": ["Wait", "Finish"],
                    "description": "What happens to a committed move while the controller can't be reached. Wait: the move waits. Finish: \
                                    the target's agent finishes it, if the agent runs with --finish-alone-after. By default Wait.",
                }),
            ),
            (
                "suspend",
                json!({
                    "type": "boolean",
                    "description": "Whether the controller begins no move of this Pivot. A move that has copied nothing yet is rolled back; a later one goes on. By default false.",
                }),
            ),
            ("options", options_schema()),
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

fn options_schema() -> Value {
    spec_object_schema(
        "Options of the move, with the names of the flags of pivot-host move.",
        &[],
        &[
            (
                "exclude",
                list_schema(&format!("Objects that stay in the source: {FORMS_OF_PARTS}."), PART_LIMITS),
            ),
            (
                "alsoCopy",
                list_schema(
                    &format!(
                        "Objects that are also copied, and kept in the source: {FORMS_OF_PARTS}. If the source is the Pivot's \
                         own cluster, only those in the Pivot's namespace."
                    ),
                    PART_LIMITS,
                ),
            ),
            ("accept", accept_schema()),
            (
                "pauseTimeoutSeconds",
                seconds_schema("the source's controllers to acknowledge the pause", Options::PAUSE_TIMEOUT),
            ),
            ("checkTimeoutSeconds", seconds_schema("plugins' checks", Options::CHECK_TIMEOUT)),
            (
                "takeoverTimeoutSeconds",
                seconds_schema("the target's controllers to take over", Options::TAKEOVER_TIMEOUT),
            ),
            (
                "unpauseBatch",
                json!({
                    "type": "integer", "minimum": 1, "maximum": Options::MAX_UNPAUSE_BATCH,
                    "description": format!(
                        "Maximum number of held objects, such as hosts, that are unpaused together. By default {}.",
                        Options::UNPAUSE_BATCH
                    ),
                }),
            ),
        ],
    )
}

/// Returns the risks that may also be accepted while the move is under way.
fn changeable_risks() -> Vec<&'static str> {
    Risk::accepted_by(AcceptedBy::Pivot).filter(|risk| !risk.is_of_scope()).map(Risk::code).collect()
}

fn accept_schema() -> Value {
    let codes: Vec<&str> = Risk::accepted_by(AcceptedBy::Pivot).map(Risk::code).collect();
    let code = json!({"type": "string", "description": "Code of the risk, as a refusal prints it.", "maxLength": MAX_TEXT_LENGTH, "enum": codes});
    let kinds = list_schema("Kinds for which the risk is accepted, if it takes kinds.", KIND_LIMITS);
    let risk =
        spec_object_schema("A risk that the move accepts.", &["code"], &[("code", code), ("kinds", kinds)]);
    json!({
        "type": "array", "maxItems": codes.len(), "items": risk,
        "description": "Risks that the move accepts. pivot-host explain CODE describes a risk.",
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["code"],
    })
}

fn status_schema() -> Value {
    let text = |description: &str, most: usize| json!({"type": "string", "description": description, "maxLength": most});
    let word = |description: &str| text(description, MAX_TEXT_LENGTH);
    let number =
        |description: &str| json!({"type": "integer", "description": description, "format": "int64"});
    let time = |description: &str| json!({"type": "string", "description": description, "format": "date-time", "maxLength": MAX_TEXT_LENGTH});
    let condition = object_schema(
        "One condition.",
        &["type", "status", "reason", "lastTransitionTime"],
        &[
            ("type", word("Connected, Committed, Succeeded, Stalled, Reconciling or Ready.")),
            (
                "status",
                json!({"type": "string", "description": "True, False or Unknown.", "enum": ["True", "False", "Unknown"]}),
            ),
            ("reason", word("One word for programs.")),
            ("message", text("One line for people.", MAX_MESSAGE_CHARACTERS)),
            ("observedGeneration", number("Generation of the Pivot that the condition is about.")),
            ("lastTransitionTime", time("Time of the last change of the status.")),
        ],
    );
    object_schema(
        "State of the move, for information. The records on the move's two sides decide.",
        &[],
        &[
            ("observedGeneration", number("Generation of the Pivot that the status is about.")),
            (
                "phase",
                word(
                    "Pending, a phase of the move, RollingBack, or Succeeded. The phase Ready is before the commit, and not the condition Ready.",
                ),
            ),
            ("moveId", word("Id of the move, as pivot-host status prints it.")),
            (
                "objects",
                object_schema(
                    "Numbers of objects.",
                    &[],
                    &[
                        ("planned", number("Objects to copy.")),
                        ("copied", number("Objects that are in the target.")),
                        ("deleted", number("Objects that the last attempt deleted from the source.")),
                    ],
                ),
            ),
            ("progress", word("Copied and planned objects, for a column.")),
            ("message", text("What the move does or waits for, or why it stopped.", MAX_MESSAGE_CHARACTERS)),
            ("failures", number("Consecutive attempts that failed.")),
            ("nextAttempt", time("Time of the next attempt, if none runs.")),
            (
                "lastHandledRequest",
                text(
                    "Value of the annotation pivot-host.io/requestedAt when the last attempt began.",
                    MAX_REQUEST_BYTES,
                ),
            ),
            (
                "conditions",
                json!({
                    "type": "array", "description": "Conditions of the move.", "items": condition, "maxItems": MAX_CONDITIONS,
                    "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
                }),
            ),
        ],
    )
}

#[cfg(test)]
mod tests {
    use pivot_core::records::record::move_id_for;
    use pivot_core::{Object, Uid};

    use crate::reason::Reason;
    use crate::resource::{
        KubeconfigSecret, MoveOptions, Pivot, PivotRisk, PivotSource, PivotTarget, Spec, WhenAway,
    };
    use crate::status::{ConditionType, PivotStatus};

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
        collect_unbounded(&pivot_schema(), "", &mut unbounded);
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
        let body = json!({"metadata": {"name": "p", "namespace": "a"}, "spec": largest(&spec_schema())});
        let object = Object::from_value(crate::resource::pivot_kind(), &body).unwrap();
        Pivot::from_object(&object).spec.unwrap();
    }

    #[test]
    fn largest_status_fits_the_definition() {
        let long = "ä".repeat(100_000);
        let mut shown = PivotStatus::default();
        shown.set_message(&long);
        shown.set_condition(ConditionType::Connected, true, Reason::Answered, &long);
        let most = |schema: &Value| usize::try_from(schema["maxLength"].as_u64().unwrap()).unwrap();
        let message = &status_schema()["properties"]["message"];
        assert_eq!(shown.message.unwrap().chars().count(), most(message));
        assert_eq!(shown.conditions[0].message.chars().count(), most(message));
        let id = move_id_for(&Uid("0d6a9c1e-4a4c-4d0c-9c53-1b2f0c9c8f11".into()), "0123456789ab");
        assert!(id.len() <= most(&status_schema()["properties"]["moveId"]));
    }

    #[test]
    fn unknown_fields_of_the_spec_are_kept() {
        let (mut whole, mut dropping) = (pivot_schema(), Vec::new());
        // Written by the controller alone.
        whole["properties"]["status"] = Value::Null;
        collect_dropping(&whole, "", &mut dropping);
        assert_eq!(dropping, [".metadata"], "a server knows its fields itself");
    }

    #[test]
    fn definition_has_exactly_the_fields_read() {
        let secret = || Some(KubeconfigSecret { name: "s".into(), key: "value".into() });
        let full = Spec {
            from: PivotSource { kubeconfig: secret(), agent: Some("e".into()), namespace: Some("a".into()) },
            to: PivotTarget {
                cluster: Some("c".into()),
                kubeconfig: secret(),
                agent: Some("e".into()),
                namespace: Some("b".into()),
            },
            clusters: ["c".to_owned()].into(),
            when_away: WhenAway::Finish,
            suspend: true,
            options: MoveOptions {
                accept: vec![PivotRisk { code: "shared".into(), kinds: vec!["A.g".into()] }],
                ..MoveOptions::default()
            },
        };
        same_fields(&serde_json::to_value(full).unwrap(), &spec_schema());
    }

    #[test]
    fn each_option_is_either_changeable_or_compared() {
        let (rule, options) = (unchanged_move_rule(), options_schema());
        for name in options["properties"].as_object().unwrap().keys() {
            let compared = rule.contains(&format!("self.spec.options.{name} == oldSelf.spec.options.{name}"));
            let is_changeable = CHANGEABLE.contains(&name.as_str()) || name == "accept";
            assert_ne!(compared, is_changeable, "{name}");
        }
        assert!(
            rule.contains("self.spec.to == oldSelf.spec.to") && rule.contains("oldSelf.spec.clusters"),
            "{rule}"
        );
        assert!(!rule.contains("suspend"), "{rule}");
        assert_eq!(CHANGEABLE.iter().filter(|name| !options["properties"][name].is_object()).count(), 0);
    }

    #[test]
    fn definition_has_the_fields_shown() {
        let mut shown = PivotStatus::default();
        shown.set_condition(ConditionType::Connected, true, Reason::Answered, "");
        same_fields(&serde_json::to_value(shown).unwrap(), &status_schema());
    }
}
