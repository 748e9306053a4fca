//! Conversion of format 4, record and summary, to the present format.
//!
//! Only names differ, and risks, each of which had its field. A field that format 4 doesn't have keeps its name, so
//! that the parser of the present format refuses it.

use serde_json::{Map, Value, json};

use crate::messages::risk::Risk;

/// Name in format 4, and name now.
type Renamed = (&'static str, &'static str);

const RECORD: [Renamed; 6] = [
    ("by", "startedBy"),
    ("started", "startedAt"),
    ("namespaces", "createdNamespaces"),
    ("touched", "copiedNamespaces"),
    ("plan", "planChecksum"),
    ("seal", "finishAlone"),
];
const SUMMARY: [Renamed; 5] = [
    ("by", "startedBy"),
    ("started", "startedAt"),
    ("ended", "endedAt"),
    ("from", "sourceLabel"),
    ("to", "targetLabel"),
];
const HANDOVER: [Renamed; 6] = [
    ("contents", "files"),
    ("to", "directory"),
    ("at", "writtenAt"),
    ("imports", "importedBy"),
    ("acceptChanged", "copyChanged"),
    ("withdrawn", "rollbackBegun"),
];
const SCOPE: [Renamed; 2] = [("carry", "alsoCopy"), ("added", "fromManifests")];
/// Values of the field `seal`.
const SEAL: [Renamed; 2] = [("Wanted", "Requested"), ("Set", "Allowed")];
const RISKS: [(&str, Risk); 8] = [
    ("dropOwners", Risk::OwnerDropped),
    ("acceptLoss", Risk::DependentsLost),
    ("withoutPluginFor", Risk::NoPlugin),
    ("acceptShared", Risk::Shared),
    ("acceptOldNamespace", Risk::OldNamespace),
    ("movePaused", Risk::AlreadyPaused),
    ("acceptUnprovisioned", Risk::Unprovisioned),
    ("sourceIsOff", Risk::SourceMayRun),
];

/// Converts a record.
pub(super) fn convert_record(record: &mut Value, format: u32) {
    let Some(record) = record.as_object_mut() else { return };
    rename_fields(record, &RECORD);
    if let Some(seal) = record.get_mut("finishAlone")
        && let Some((_, now)) = SEAL.iter().find(|(before, _)| *seal == **before)
    {
        *seal = json!(now);
    }
    if let Some(scope) = record.get_mut("scope") {
        convert_scope(scope);
    }
    if let Some(handover) = record.get_mut("handover").and_then(Value::as_object_mut) {
        rename_fields(handover, &HANDOVER);
    }
    record.insert("format".to_owned(), json!(format));
}

/// Converts the summary of a move that has ended.
pub(super) fn convert_summary(summary: &mut Value, format: u32) {
    let Some(summary) = summary.as_object_mut() else { return };
    rename_fields(summary, &SUMMARY);
    if let Some(scope) = summary.get_mut("scope") {
        convert_scope(scope);
    }
    summary.insert("format".to_owned(), json!(format));
}

fn convert_scope(scope: &mut Value) {
    let Some(scope) = scope.as_object_mut() else { return };
    rename_fields(scope, &SCOPE);
    // The scope had its own format.
    if scope.get("format") == Some(&json!(1)) {
        scope.remove("format");
    }
    if scope.contains_key("accept") {
        return;
    }
    let accept: Vec<Value> =
        RISKS.iter().filter_map(|(field, risk)| read_risk(&scope.remove(*field)?, *risk)).collect();
    scope.insert("accept".to_owned(), json!(accept));
}

/// Returns the entry in the list of accepted risks, if a field of format 4 accepts the risk.
fn read_risk(field: &Value, risk: Risk) -> Option<Value> {
    match field {
        Value::Bool(false) => None,
        Value::Bool(true) => Some(json!({"code": risk})),
        Value::Array(kinds) if kinds.is_empty() => None,
        kinds => Some(json!({"code": risk, "kinds": kinds})),
    }
}

fn rename_fields(fields: &mut Map<String, Value>, names: &[Renamed]) {
    for (before, now) in names {
        if !fields.contains_key(*now)
            && let Some(value) = fields.remove(*before)
        {
            fields.insert((*now).to_owned(), value);
        }
    }
}
