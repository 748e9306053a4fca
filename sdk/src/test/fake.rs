//! The host's functions for native tests: answered by the harness whose test calls the hook on this thread.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{declaration, pattern};
use crate::level::Level;
use crate::probe::{Answer, Probe};
use crate::provider::Provider;
use crate::query::Query;
use crate::{About, Error, Hook, Key, Kind, Object, Result, Side};

/// A test with an unnamed object would test nothing.
pub(super) fn assert_named(object: &Object) {
    let kind = object.kind();
    if kind.kind.is_empty() || object.name().is_empty() || object.text("/apiVersion").is_none() {
        panic!("a test's object needs apiVersion, kind and metadata.name: {}", object.value());
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Fake>> = const { RefCell::new(None) };
}

/// The host's state.
#[derive(Clone, Debug)]
pub(super) struct Fake {
    pub(super) about: About,
    pub(super) config: Value,
    pub(super) objects: BTreeMap<(Side, Key), Object>,
    pub(super) namespaces: Option<BTreeSet<String>>,
    pub(super) moving: Option<Vec<Key>>,
    pub(super) endpoints: BTreeMap<String, Result<Answer>>,
    pub(super) failing: Vec<(Side, Kind, Error)>,
    pub(super) log: Vec<(Level, String)>,
    pub(super) directories: BTreeSet<Side>,
    /// Names in the target of namespaces of the source.
    pub(super) namespace_map: BTreeMap<String, String>,
    pub(super) providers: Vec<(Side, Provider)>,
    pub(super) written_since_commit: bool,
    /// The hook that is being called.
    pub(super) hook: Option<Hook>,
    /// Actions of the plugin that the host would refuse.
    pub(super) wrongs: Vec<String>,
}

impl Fake {
    pub(super) fn new(about: About) -> Self {
        Self {
            about,
            config: Value::Object(serde_json::Map::new()),
            objects: BTreeMap::new(),
            namespaces: None,
            moving: None,
            endpoints: BTreeMap::new(),
            failing: Vec::new(),
            log: Vec::new(),
            directories: BTreeSet::new(),
            namespace_map: BTreeMap::new(),
            providers: Vec::new(),
            written_since_commit: true,
            hook: None,
            wrongs: Vec::new(),
        }
    }

    /// Answers with this host while `ask` runs, and records the calls.
    pub(super) fn answer_hook<T>(&mut self, hook: Hook, ask: impl FnOnce() -> T) -> T {
        let mut fake = self.clone();
        fake.hook = Some(hook);
        fake.log.clear();
        CURRENT.with_borrow_mut(|current| *current = Some(fake));
        let answer = ask();
        if let Some(fake) = CURRENT.take() {
            self.log = fake.log;
            self.wrongs = fake.wrongs;
        }
        answer
    }

    pub(super) fn moving_namespaces(&self) -> BTreeSet<String> {
        let there = || {
            let source = self.objects.keys().filter(|(side, _)| *side == Side::Source);
            source.filter_map(|(_, key)| key.namespace.clone()).collect()
        };
        self.namespaces.clone().unwrap_or_else(there)
    }

    pub(super) fn moving_objects(&self) -> Vec<Key> {
        let seen = |kind: &Kind| self.about.kinds.iter().any(|seen| seen.matches(kind));
        let namespaces = self.moving_namespaces();
        let there = || {
            let source = self.objects.keys().filter(|(side, key)| *side == Side::Source && seen(&key.kind));
            source.map(|(_, key)| key.clone()).filter(|key| is_in_any(key, &namespaces)).collect()
        };
        self.moving.clone().unwrap_or_else(there)
    }

    fn check_hook(&mut self, question: &str) -> Result<()> {
        match self.hook {
            Some(Hook::Check | Hook::Settle) => Ok(()),
            Some(hook) => Err(self.record_violation(format!(
                "{} must not {question}: only check and settle can",
                hook.as_str()
            ))),
            None => Ok(()),
        }
    }

    fn record_violation(&mut self, message: String) -> Error {
        self.wrongs.push(message.clone());
        Error::new("denied", message)
    }

    fn answer_query(&mut self, query: &Query) -> Result<Vec<String>> {
        self.check_hook("read objects")?;
        let namespaces = self.moving_namespaces();
        if let Err(advice) = declaration::check_query(&self.about, query, &namespaces) {
            return Err(self.record_violation(advice));
        }
        let failing = self
            .failing
            .iter()
            .rev()
            .find(|(side, kind, _)| *side == query.side && kind.matches(&query.kind));
        if let Some((_, _, error)) = failing {
            return Err(error.clone());
        }
        let wanted = |key: &Key| {
            let there = match query.namespace.as_deref() {
                None => is_in_any(key, &namespaces),
                Some("*") => true,
                Some(namespace) => key.namespace.as_deref() == Some(namespace),
            };
            there && query.kind.matches(&key.kind) && query.name.as_ref().is_none_or(|name| *name == key.name)
        };
        let found = self.objects.iter().filter(|((side, key), _)| *side == query.side && wanted(key));
        Ok(found.map(|(_, object)| self.object_for_plugin(object).value().to_string()).collect())
    }

    /// Returns an object as the plugin receives it.
    pub(super) fn object_for_plugin(&self, object: &Object) -> Object {
        if self.about.secret_data || object.kind() != Kind::core("Secret") {
            return object.clone();
        }
        let mut value = object.value().clone();
        for field in ["data", "stringData"] {
            if let Some(Value::Object(entries)) = value.get_mut(field) {
                entries.values_mut().for_each(|entry| *entry = Value::Null);
            }
        }
        Object::from(value)
    }

    fn answer_probe(&mut self, probe: &Probe) -> Result<Answer> {
        self.check_hook("probe endpoints")?;
        if !self.about.probes.iter().any(|allowed| pattern::matches_probe(allowed, probe)) {
            let advice =
                format!("it probes {} without saying so: about() needs .probes(\"host:port\")", probe.target);
            return Err(self.record_violation(advice));
        }
        let unknown = || Err(Error::new("unreachable", "the test gave this endpoint no answer"));
        self.endpoints.get(&endpoint_key(probe)).cloned().unwrap_or_else(unknown)
    }
}

fn is_in_any(key: &Key, namespaces: &BTreeSet<String>) -> bool {
    key.namespace.as_ref().is_none_or(|namespace| namespaces.contains(namespace))
}

/// Identifies an endpoint.
pub(super) fn endpoint_key(probe: &Probe) -> String {
    format!("{:?}", probe.target)
}

fn with_current<T>(ask: impl FnOnce(&mut Fake) -> T) -> Option<T> {
    CURRENT.with_borrow_mut(|current| current.as_mut().map(ask))
}

fn no_host_error<T>() -> Result<T> {
    Err(Error::new("denied", "there is no host here: call hooks through pivot_sdk::test::Harness"))
}

pub(crate) fn run_word() -> String {
    "trial".to_owned()
}

pub(crate) fn move_id() -> String {
    "test".to_owned()
}

pub(crate) fn place_type(side: Side) -> String {
    let is_directory = with_current(|fake| fake.directories.contains(&side)).unwrap_or_default();
    if is_directory { "directory" } else { "cluster" }.to_owned()
}

pub(crate) fn target_namespace(source: &str) -> String {
    with_current(|fake| fake.namespace_map.get(source).cloned())
        .flatten()
        .unwrap_or_else(|| source.to_owned())
}

pub(crate) fn list_providers(side: Side) -> Result<Vec<Provider>> {
    let answer = |fake: &mut Fake| {
        fake.check_hook("ask for providers")?;
        let there = fake.providers.iter().filter(|(other, _)| *other == side);
        Ok(there.map(|(_, provider)| provider.clone()).collect())
    };
    with_current(answer).unwrap_or_else(no_host_error)
}

pub(crate) fn written_since_commit() -> bool {
    with_current(|fake| fake.hook == Some(Hook::Settle) && fake.written_since_commit).unwrap_or_default()
}

pub(crate) fn read_config() -> String {
    with_current(|fake| fake.config.to_string()).unwrap_or_else(|| "{}".to_owned())
}

pub(crate) fn write_log(level: Level, message: &str) {
    // Printed by the test runner if the test fails.
    eprintln!("plugin: {}: {message}", level.as_str());
    with_current(|fake| fake.log.push((level, message.to_owned())));
}

pub(crate) fn read_objects(queries: &[Query]) -> Vec<Result<Vec<String>>> {
    queries
        .iter()
        .map(|query| with_current(|fake| fake.answer_query(query)).unwrap_or_else(no_host_error))
        .collect()
}

pub(crate) fn probe_endpoints(probes: &[Probe]) -> Vec<Result<Answer>> {
    probes
        .iter()
        .map(|probe| with_current(|fake| fake.answer_probe(probe)).unwrap_or_else(no_host_error))
        .collect()
}
