//! A Pivot's options beside the flags of `move`, and the page that lists all fields of a Pivot.

use std::collections::BTreeSet;

use expect_test::{expect, expect_file};
use pivot_engine::Options;
use serde_json::Value;

use super::*;

const BEGINNING: &str = "# Fields of a Pivot

A Pivot describes one move, and a [controller](controller.md) carries it out. Options have the names of the flags of `pivot-host move`, and
the same defaults and limits. `kubectl explain pivots.pivot-host.io.spec` prints these descriptions, too.
";

/// Type of a field, with its limits.
fn describe_type(schema: &Value) -> String {
    let limit = |bound: &str| schema[bound].as_u64().map(|limit| limit.to_string());
    match schema["type"].as_str().unwrap() {
        "string" if schema["enum"].is_array() => {
            let values = schema["enum"]
                .as_array()
                .unwrap()
                .iter()
                .map(|value| format!("`{}`", value.as_str().unwrap()));
            values.collect::<Vec<_>>().join(", ")
        }
        "integer" => match (limit("minimum"), limit("maximum")) {
            (Some(least), Some(most)) => format!("integer, {least} to {most}"),
            _ => "integer".to_owned(),
        },
        "array" => format!("list, at most {}", limit("maxItems").unwrap()),
        "string" if schema["format"] == "date-time" => "time".to_owned(),
        other => other.to_owned(),
    }
}

fn pivots() -> Value {
    let definition = pivot_controller::pivot_definition();
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"].clone()
}

fn push_rows(schema: &Value, path: &str, page: &mut String) {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let (path, description) = (format!("{path}{name}"), field["description"].as_str().unwrap());
        let needed = if required.contains(&name.as_str()) { ", required" } else { "" };
        page.push_str(&format!("| `{path}` | {}{needed} | {description} |\n", describe_type(field)));
        push_rows(field, &format!("{path}."), page);
        push_rows(&field["items"], &format!("{path}[]."), page);
    }
}

/// `UPDATE_EXPECT=1` writes the page.
#[test]
fn page_of_pivots_has_every_field() {
    let mut page = BEGINNING.to_owned();
    for part in ["spec", "status"] {
        let schema = &pivots()[part];
        let description = schema["description"].as_str().unwrap();
        page.push_str(&format!(
            "\n## {part}\n\n{description}\n\n| field | type | description |\n|---|---|---|\n"
        ));
        push_rows(schema, "", &mut page);
    }
    expect_file!["../../../../../docs/pivots.md"].assert_eq(&page);
}

/// Flag of an option: `pauseTimeoutSeconds` is `pause-timeout`.
fn flag_of(option: &str) -> String {
    let mut flag = String::new();
    for letter in option.trim_end_matches("Seconds").chars() {
        if letter.is_uppercase() {
            flag.push('-');
        }
        flag.push(letter.to_ascii_lowercase());
    }
    flag
}

/// A new flag of `move` changes the list of flags that are no options.
#[test]
fn options_have_names_of_flags() {
    let command = command(None);
    let flags = command.find_subcommand("move").unwrap().get_arguments().filter_map(clap::Arg::get_long);
    let flags: BTreeSet<&str> = flags.collect();
    let options = pivots()["spec"]["properties"]["options"]["properties"].as_object().unwrap().clone();
    let options: Vec<String> = options.keys().map(|name| flag_of(name)).collect();
    let options: BTreeSet<&str> = options.iter().map(String::as_str).collect();
    assert_eq!(options.difference(&flags).collect::<Vec<_>>(), Vec::<&&str>::new(), "options without a flag");
    let others: Vec<&str> = flags.difference(&options).copied().collect();
    // Source, target and objects are other fields of the Pivot. The controller decides the rest for all Pivots.
    expect!["all-namespaces as as-group break-lease cluster dry-run encrypt-to from-directory guard identity kubeconfig kubeconfig-context map-namespace namespace plan plugins record record-namespace report stop-before strict to-as to-as-group to-directory to-kubeconfig to-kubeconfig-context to-workload trust wait-for-provisioning with-manifest"].assert_eq(&others.join(" "));
}

#[test]
fn options_have_defaults_and_limits_of_flags() {
    let options = pivots()["spec"]["properties"]["options"]["properties"].as_object().unwrap().clone();
    let integers: Vec<_> = options.iter().filter(|(_, schema)| schema["type"] == "integer").collect();
    assert_eq!(integers.len(), 4);
    for (name, schema) in integers {
        let flag = flag_of(name);
        let line = |value: String| format!("pivot-host move --to-kubeconfig b --{flag}={value}");
        let value_of = |options: &Options| match flag.as_str() {
            "pause-timeout" => options.pause_timeout.as_secs(),
            "check-timeout" => options.check_timeout.as_secs(),
            "takeover-timeout" => options.takeover_timeout.as_secs(),
            "unpause-batch" => u64::try_from(options.unpause_batch).unwrap(),
            other => panic!("{other}"),
        };
        for bound in ["minimum", "maximum"] {
            let value = schema[bound].as_u64().unwrap();
            assert_eq!(value_of(&choices(&line(value.to_string())).options(None)), value, "{flag}");
        }
        let beyond = parsed(&line((schema["maximum"].as_u64().unwrap() + 1).to_string()));
        assert!(beyond.map_or(true, |cli| check(cli).is_err()), "{flag}");
        let default = value_of(&choices("pivot-host move --to-kubeconfig b").options(None));
        let description = schema["description"].as_str().unwrap();
        assert!(description.ends_with(&format!("By default {default}.")), "{flag}: {description}");
    }
}
