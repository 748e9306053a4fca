//! A Deployment of the baremetal operator, and the namespaces that it watches.
//!
//! A flag or a variable can limit it to some namespaces.

use std::collections::{BTreeMap, BTreeSet};

use pivot_sdk::prelude::*;
use serde_json::Value;

use crate::state::State;

/// The variable that limits the operator, if no flag does.
pub(crate) const WATCH_NAMESPACE: &str = "WATCH_NAMESPACE";
/// Name of the operator's program and of its image.
const PROGRAM: &str = "baremetal-operator";

/// A Deployment of the baremetal operator.
#[derive(Debug)]
pub(crate) struct Operator {
    pub(crate) key: Key,
    pub(crate) state: State,
    namespaces: Namespaces,
}

/// The namespaces that an operator watches, by their names in its cluster.
#[derive(Debug, PartialEq, Eq)]
enum Namespaces {
    All,
    Only(BTreeSet<String>),
    /// The limit is in an object that this plugin doesn't read.
    Unknown,
}

impl Operator {
    /// Reads a Deployment; none if it isn't the operator's. `limits` are the values of the variable in ConfigMaps.
    pub(crate) fn from_deployment(deployment: &Object, limits: &BTreeMap<Key, String>) -> Option<Self> {
        let container =
            deployment.items("/spec/template/spec/containers").find(|container| runs_operator(container))?;
        let key = deployment.key();
        let namespaces = read_flag(container).or_else(|| read_variable(container, &key, limits));
        let state = State::from_deployment(deployment);
        Some(Self { key, state, namespaces: namespaces.unwrap_or(Namespaces::All) })
    }

    /// Returns true if nothing shows that the operator leaves out a namespace.
    pub(crate) fn may_watch(&self, namespace: &str) -> bool {
        match &self.namespaces {
            Namespaces::All | Namespaces::Unknown => true,
            Namespaces::Only(names) => names.contains(namespace),
        }
    }
}

impl Namespaces {
    /// Parses names that commas separate. Without a name, the operator watches all namespaces.
    fn parse(names: &str) -> Self {
        match names {
            "" => Self::All,
            // The cluster replaces variables when it starts the container.
            names if names.contains("$(") => Self::Unknown,
            names => Self::Only(names.split(',').map(str::to_owned).collect()),
        }
    }
}

fn runs_operator(container: &Value) -> bool {
    let program = container.pointer("/command/0").and_then(Value::as_str).unwrap_or_default();
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    let (_, program) = program.rsplit_once('/').unwrap_or(("", program));
    let (_, image) = image.rsplit_once('/').unwrap_or(("", image));
    let image = image.split(['@', ':']).next().unwrap_or_default();
    program == PROGRAM || image == PROGRAM
}

/// Reads the last `--namespace` of the command line, which may have one dash, too.
fn read_flag(container: &Value) -> Option<Namespaces> {
    let words = ["command", "args"].into_iter().filter_map(|list| container.get(list)?.as_array()).flatten();
    let words: Vec<&str> = words.filter_map(Value::as_str).collect();
    let mut values = words.iter().enumerate().filter_map(|(at, word)| {
        let flag = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
        match flag.strip_prefix("namespace")? {
            "" => words.get(at + 1).copied(),
            rest => rest.strip_prefix('='),
        }
    });
    values.next_back().map(Namespaces::parse)
}

/// Reads the variable, which wins over the ConfigMaps that the container takes all its variables from.
fn read_variable(container: &Value, operator: &Key, limits: &BTreeMap<Key, String>) -> Option<Namespaces> {
    let list = |field: &str| container.get(field).and_then(Value::as_array).into_iter().flatten();
    let text =
        |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let map =
        |name: String| limits.iter().find(|(key, _)| key.namespace == operator.namespace && key.name == name);
    let mut named =
        list("env").filter(|variable| text(variable, "/name").as_deref() == Some(WATCH_NAMESPACE));
    if let Some(variable) = named.next_back() {
        let is_own = text(variable, "/valueFrom/fieldRef/fieldPath").as_deref() == Some("metadata.namespace");
        let key = text(variable, "/valueFrom/configMapKeyRef/key").filter(|key| key == WATCH_NAMESPACE);
        let from_map = key.and_then(|_| map(text(variable, "/valueFrom/configMapKeyRef/name")?));
        return Some(match (text(variable, "/value"), from_map) {
            (Some(value), _) => Namespaces::parse(&value),
            (None, Some((_, value))) => Namespaces::parse(value),
            (None, None) if is_own => Namespaces::parse(&context::target_namespace(
                operator.namespace.as_deref().unwrap_or_default(),
            )),
            (None, None) if variable.get("valueFrom").is_none() => Namespaces::All,
            (None, None) => Namespaces::Unknown,
        });
    }
    let sources =
        list("envFrom").filter(|source| text(source, "/prefix").is_none_or(|prefix| prefix.is_empty()));
    let mut maps = sources.filter_map(|source| map(text(source, "/configMapRef/name")?));
    maps.next_back().map(|(_, value)| Namespaces::parse(value))
}
