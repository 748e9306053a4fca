//! A schema, and how it can differ from the plugin.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::prelude::*;
use crate::test::Harness;
use crate::{Exported, Hook};

/// The first one is right.
const SCHEMAS: [&str; 4] = [
    r#"{"type": "object", "additionalProperties": false, "properties": {"mode": {"type": "string", "enum": ["fast", "safe"]}, "hosts": {"type": "array", "items": {"type": "integer"}}}}"#,
    r#"{"type": "object", "additionalProperties": false, "properties": {"mode": {"type": "string", "enum": ["fast", "slow"]}, "hosts": {"type": "array"}}}"#,
    r#"{"type": "object", "additionalProperties": false, "properties": {"mode": {"type": "string"}, "hosts": {"type": "array"}, "labels": {"type": "object"}}}"#,
    r#"{"type": "object", "additionalProperties": false, "properties": {"mode": {"type": "boolean"}, "hosts": {"type": "array"}}}"#,
];

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct Config {
    mode: Mode,
    hosts: Vec<u8>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    #[default]
    Fast,
    Safe,
}

#[derive(Default)]
struct Hosts<const SCHEMA: usize>;

impl<const SCHEMA: usize> Plugin for Hosts<SCHEMA> {
    fn about() -> About {
        About::new("hosts", "0.1.0", "Has options.")
    }

    fn configure() -> Result<Self> {
        let Config { mode, hosts } = config::get()?;
        match (mode, hosts.as_slice()) {
            (Mode::Safe, [7, ..]) => Err(Error::invalid("7 is not safe")),
            _ => Ok(Self),
        }
    }
}

impl<const SCHEMA: usize> Exported for Hosts<SCHEMA> {
    const HOOKS: &'static [Hook] = &[Hook::Check];
    const SCHEMA: Option<&'static [u8]> = Some(SCHEMAS[SCHEMA].as_bytes());
}

fn compare<const SCHEMA: usize>(examples: &[Value]) -> Result<(), String> {
    let compared =
        catch_unwind(AssertUnwindSafe(|| Harness::<Hosts<SCHEMA>>::new().compare_schema(examples)));
    compared.map_err(|panic| *panic.downcast::<String>().unwrap())
}

#[test]
fn schema_must_agree_with_the_plugin() {
    let example = || json!({"mode": "safe", "hosts": [1]});
    assert_eq!(compare::<0>(&[example()]), Ok(()));
    for (compared, expected) in [
        (compare::<0>(&[json!({"mode": "safe"})]), "hosts: no example sets hosts"),
        (
            compare::<0>(&[json!({"mode": "safe", "hosts": [7]})]),
            "the plugin says Err(\"invalid: 7 is not safe",
        ),
        (
            compare::<0>(&[json!({"mode": "fast", "hosts": [7]})]),
            "the plugin says Err(\"invalid: 7 is not safe",
        ),
        (compare::<1>(&[example()]), "hosts: the schema says Err("),
        (compare::<1>(&[json!({"mode": "fast", "hosts": [1]})]), "hosts: the plugin says Err("),
        (
            compare::<2>(&[json!({"labels": {"a": 1}, "mode": "fast", "hosts": []})]),
            "hosts: the plugin says Err(",
        ),
        (compare::<3>(&[example()]), "hosts: the schema says Err("),
    ] {
        let message = compared.unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
}
