//! What was observed of hosts during a move, and what their operators logged.

use std::collections::BTreeMap;

use pivot_lab::observer::{Log, Side};
use pivot_lab::{Dump, Rules};
use serde_json::{Value, json};

use super::companions::kept_status;
use super::world::{DETACHED, HOST, PAUSED};

/// The log lines of the operator's provisioner for commands that change a machine. Inspecting its state, registering it, adopting
/// it and leaving it switched off are harmless.
const HARM: [&str; 7] = [
    "ensuring host is deprovisioned",
    "deleting host",
    "starting inspection of hardware",
    "continuing inspection by setting details",
    "preparing host",
    "provisioning image to host",
    "ensuring host is powered off",
];

/// The schema of a board's settings: the operator recreates it from the board when it next reads the settings, which may be
/// minutes later, and the source's is deleted with its last host.
const SCHEMA: &str = "FirmwareSchema.metal3.io";

/// The states in which each host was seen on a side, without repetitions; a copy starts without one.
pub(crate) fn journeys(log: &Log, side: Side) -> BTreeMap<String, Vec<String>> {
    let mut journeys: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in log.events.iter().filter(|event| event.side == side && event.key.kind == HOST) {
        let text = |pointer: &str| event.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let state = match text("/status/provisioning/state") {
            "" => String::new(),
            state => format!("{state}, {}", text("/status/operationalStatus")),
        };
        let journey = journeys.entry(event.key.name.clone()).or_default();
        if journey.last() != Some(&state) {
            journey.push(state);
        }
    }
    journeys
}

/// States of hosts, paused or not, that differ from the host's initial state. A copy has none at first.
pub(crate) fn astray(log: &Log, side: Side, before: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let mut astray = Vec::new();
    for (name, journey) in journeys(log, side) {
        let was = before.get(&name).and_then(|journey| journey.first());
        let copied = side == Side::Target;
        let wrong = journey.iter().filter(|state| Some(*state) != was && !(copied && state.is_empty()));
        astray.extend(wrong.map(|state| format!("{name} was {state:?} in the {side}, not {was:?}")));
    }
    astray
}

/// Copies that their operator could have processed before they had their status.
pub(crate) fn exposed(log: &Log) -> Vec<String> {
    let copies = log.events.iter().filter(|event| event.side == Side::Target && event.key.kind == HOST);
    let naked = copies.filter(|event| {
        !event.gone && annotation(&event.object, PAUSED).is_none() && state(&event.object).is_empty()
    });
    naked.map(|event| format!("{} without a status and without a pause", event.key)).collect()
}

/// Returns the lines of a log in which a provisioner acts on machines. To detach a host, the simulated one deletes its own record of the host.
pub(crate) fn harm(log: &str) -> Vec<&str> {
    let says = |line: &str, words: &str| line.contains(&format!("\"msg\":\"{words}\""));
    let detaches = |line: &str| {
        let names = |host: &&str| line.contains(&format!("\"host\":\"{host}\""));
        says(line, "deleting host") && DETACHED.iter().any(names)
    };
    log.lines().filter(|line| HARM.iter().any(|words| says(line, words)) && !detaches(line)).collect()
}

/// The promises for hosts in addition to those for all objects.
pub(crate) fn rules() -> Rules {
    let rules = Rules::new().held(HOST, PAUSED).moved(|key| key.kind != SCHEMA).target_at_work();
    rules.bookkeeping("metal3-hosts.pivot-host.io/").bookkeeping("baremetalhost.metal3.io/status")
}

/// Everything except what is recreated.
pub(crate) fn without_schemas(mut dump: Dump) -> Dump {
    dump.retain(|key, _| key.kind != SCHEMA);
    dump
}

/// What must be the same for each host after a move: its state, that nothing was done to it, its inspection results, who uses it
/// and who paused it. And what was done to its firmware, and which image is attached to it.
pub(crate) fn kept(dump: &Dump) -> Dump {
    let hosts = dump.iter().filter(|(key, _)| key.kind == HOST);
    let companions = dump
        .iter()
        .filter_map(|(key, object)| Some((key.clone(), kept_status(&key.kind, &object["status"])?)));
    let kept = |host: &Value| {
        let at = |pointer: &str| host.pointer(pointer).cloned().unwrap_or_default();
        said(json!({
            "provisioning": at("/status/provisioning"),
            "operationalStatus": at("/status/operationalStatus"),
            "errorType": at("/status/errorType"),
            "poweredOn": at("/status/poweredOn"),
            "hardware": at("/status/hardware"),
            "inspect": at("/status/operationHistory/inspect"),
            "provision": at("/status/operationHistory/provision"),
            "deprovision": at("/status/operationHistory/deprovision"),
            "consumer": at("/spec/consumerRef"),
            "pause": annotation(host, PAUSED),
        }))
    };
    hosts.map(|(key, host)| (key.clone(), kept(host))).chain(companions).collect()
}

/// Without empty values: operators write a missing time as null, a copy omits it.
fn said(mut value: Value) -> Value {
    if let Some(fields) = value.as_object_mut() {
        *fields = std::mem::take(fields)
            .into_iter()
            .map(|(name, value)| (name, said(value)))
            .filter(|(_, value)| !value.is_null() && value.as_object().is_none_or(|map| !map.is_empty()))
            .collect();
    }
    value
}

fn state(host: &Value) -> &str {
    host.pointer("/status/provisioning/state").and_then(Value::as_str).unwrap_or_default()
}

fn annotation<'a>(host: &'a Value, name: &str) -> Option<&'a str> {
    host.pointer("/metadata/annotations")?.get(name)?.as_str()
}
