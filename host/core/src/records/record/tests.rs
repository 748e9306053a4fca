use pivot_worlds::mutants;
use serde_json::{Value, json};

use super::*;
use crate::messages::risk::Risk;

fn small() -> Value {
    json!({"format": 5, "writtenBy": "0.1.0", "startedBy": "jane", "moveId": "m", "phase": "Copied", "scope": {"namespaces": {"one": "a"}},
        "source": "u", "target": null, "startedAt": "t", "createdNamespaces": [], "plugins": [], "kinds": [], "copiedNamespaces": ["a"],
        "releaseChunks": 0})
}

// proves: T104
#[test]
fn records_of_unsupported_formats_are_refused() {
    let small = small();
    assert_eq!(Record::parse(&small.to_string()).unwrap().phase, Phase::Copied);
    for format in [0, 3, 6, u64::MAX] {
        let other = json!({"format": format, "writtenBy": "9.1.0", "anything": {}}).to_string();
        let written_by = "9.1.0".to_owned();
        let expected = match format > 5 {
            true => RecordError::Newer { format, written_by },
            false => RecordError::Older { format, written_by },
        };
        assert_eq!(Record::parse(&other).unwrap_err(), expected);
    }
    for format in [json!("5"), json!(-1), Value::Null] {
        let mut odd = small.clone();
        odd["format"] = format;
        assert!(matches!(Record::parse(&odd.to_string()), Err(RecordError::Unreadable { .. })), "{odd}");
    }
}

/// A later version adds a phase before the commit, and a guard.
// proves: T104
#[test]
fn unknown_phases_and_fields_are_refused_by_name() {
    for (path, value, name) in [
        ("", json!({"guard": {"policy": "p"}}), "guard"),
        ("", json!({"phase": "Verified"}), "Verified"),
        ("", json!({"finishAlone": "Later"}), "Later"),
        ("/scope", json!({"only": ["c"]}), "only"),
        ("/scope", json!({"accept": [{"code": "unguarded"}]}), "unguarded"),
    ] {
        let mut newer = small();
        newer["writtenBy"] = json!("0.2.0");
        crate::objects::merge::apply_patch(newer.pointer_mut(path).unwrap(), &value);
        let error = Record::parse(&newer.to_string()).unwrap_err();
        assert_eq!(error, RecordError::Unknown { name: name.into(), written_by: "0.2.0".into() });
        let message = error.to_string();
        assert!(
            message.starts_with(&format!("pivot-host 0.2.0 wrote it with \"{name}\", which")),
            "{message}"
        );
    }
}

/// Each field that format 4 had.
const FORMAT_4: &str = r#"{"format":4,"writtenBy":"0.1.0","by":"jane","moveId":"m","phase":"Committed","scope":{"format":1,
    "namespaces":{"one":"a"},"clusters":[{"namespace":"a","name":"c"}],"exclude":[{"kind":{"group":"g","kind":"K"}}],
    "carry":[{"kind":{"group":"","kind":"Secret"}}],"added":[{"object":{"group":"","kind":"ConfigMap","namespace":"a","name":"bom"},"uid":"added-1"}],
    "namespaceMap":{"a":"b"},"dropOwners":[{"group":"g","kind":"K"}],"acceptLoss":[],"withoutPluginFor":[],"acceptShared":[],
    "movePaused":true,"acceptUnprovisioned":false,"sourceIsOff":false},"source":"u","target":"v","intoDirectory":false,"started":"t",
    "namespaces":["b"],"plugins":[{"name":"p","version":"1","digest":"d","vouchedBy":["k"],"granted":["hook hold"]}],
    "kinds":[{"group":"g","kind":"K"}],"touched":["a"],"plan":"sha256","seal":"Set","releaseDigest":"d","releaseChunks":2,
    "handover":{"contents":"directory-0","to":"a directory","at":"t","imports":["m"],"acceptChanged":[{"group":"g","kind":"K"}],"withdrawn":true}}"#;

#[test]
fn each_field_of_format_4_is_read() {
    let expected = json!({"format": 5, "writtenBy": "0.1.0", "startedBy": "jane", "moveId": "m", "phase": "Committed",
        "scope": {"namespaces": {"one": "a"}, "clusters": [{"namespace": "a", "name": "c"}], "exclude": [{"kind": {"group": "g", "kind": "K"}}],
            "alsoCopy": [{"kind": {"group": "", "kind": "Secret"}}],
            "fromManifests": [{"object": {"group": "", "kind": "ConfigMap", "namespace": "a", "name": "bom"}, "uid": "added-1"}],
            "namespaceMap": {"a": "b"},
            "accept": [{"code": "owner-dropped", "kinds": [{"group": "g", "kind": "K"}]}, {"code": "already-paused"}]},
        "source": "u", "target": "v", "intoDirectory": false, "startedAt": "t", "createdNamespaces": ["b"],
        "plugins": [{"name": "p", "version": "1", "digest": "d", "vouchedBy": ["k"], "granted": ["hook hold"]}],
        "kinds": [{"group": "g", "kind": "K"}], "copiedNamespaces": ["a"], "planChecksum": "sha256", "finishAlone": "Allowed",
        "releaseDigest": "d", "releaseChunks": 2,
        "handover": {"files": "directory-0", "directory": "a directory", "writtenAt": "t", "importedBy": ["m"],
            "copyChanged": [{"group": "g", "kind": "K"}], "rollbackBegun": true}});
    let record = Record::parse(FORMAT_4).unwrap();
    assert_eq!(serde_json::to_value(&record).unwrap(), expected);
    assert_eq!(Record::parse(&expected.to_string()).unwrap(), record);
    for unknown in ["startedBy", "only"] {
        let text = FORMAT_4.replacen("\"by\"", &format!("\"{unknown}\":\"x\",\"by\""), 1);
        let error = Record::parse(&text).unwrap_err().to_string();
        let name = if unknown == "startedBy" { "by" } else { unknown };
        assert!(error.contains(&format!("wrote it with \"{name}\"")), "{error}");
    }
}

#[test]
fn each_risk_had_a_field_in_format_4() {
    let kinds = json!([{"group": "g", "kind": "K"}]);
    let mut record: Value = serde_json::from_str(FORMAT_4).unwrap();
    record["scope"] = json!({
        "format": 1, "namespaces": "all", "dropOwners": kinds, "acceptLoss": kinds, "withoutPluginFor": kinds,
        "acceptShared": kinds, "acceptOldNamespace": kinds, "movePaused": true, "acceptUnprovisioned": true,
        "sourceIsOff": true,
    });
    let accept = Record::parse(&record.to_string()).unwrap().scope.accept;
    let of_scope = Risk::ALL.into_iter().filter(|risk| risk.is_of_scope());
    assert!(accept.iter().map(|(risk, _)| risk).eq(of_scope));
    assert!(accept.iter().all(|(risk, kinds)| kinds.len() == usize::from(risk.takes_kinds())));
}

#[test]
fn summaries_of_earlier_formats_are_read() {
    let older = json!({"format": 2, "moveId": "m", "by": "jane", "started": "s", "ended": "e", "files": "directory-0",
        "scope": {"format": 1, "namespaces": "all", "carry": []}, "from": "boot", "to": "prod", "moved": 1, "kept": 0, "plugins": [],
        "accepted": []});
    let summary = Finished::parse(&older.to_string()).unwrap();
    let Finished { started_by, started_at, ended_at, source_label, target_label, scope, .. } = &summary;
    assert_eq!(
        [started_by, started_at, ended_at, source_label, target_label],
        ["jane", "s", "e", "boot", "prod"]
    );
    assert_eq!(*scope, Some(Scope::new(Namespaces::All)));
    assert_eq!(Finished::parse(&serde_json::to_string(&summary).unwrap()), Some(summary));
    let mut newer = older;
    newer["format"] = json!(SUMMARY_FORMAT + 1);
    assert_eq!(Finished::parse(&newer.to_string()), None);
}

/// A foreign target says what its summaries name.
#[test]
fn summary_of_endless_clusters_is_not_believed() {
    let with = |clusters: usize, plugins: usize| {
        let cluster = json!({"namespace": "a", "name": "c", "uid": "u"});
        let plugin = json!({"name": "p", "version": "1.0.0", "digest": "d"});
        let summary = json!({"format": SUMMARY_FORMAT, "moveId": "m", "startedBy": "jane", "startedAt": "s", "endedAt": "e",
            "sourceLabel": "boot", "targetLabel": "prod", "moved": 1, "kept": 0, "accepted": [],
            "clusters": vec![cluster; clusters], "plugins": vec![plugin; plugins]});
        Finished::parse(&summary.to_string()).is_some()
    };
    assert!(with(MOST_MOVED_CLUSTERS, 100));
    assert!(!with(MOST_MOVED_CLUSTERS + 1, 1));
    assert!(!with(1, 101));
}

/// Anyone with permission to write ConfigMaps can write a record.
#[test]
fn a_record_that_no_move_wrote_is_not_believed() {
    let mut good = small();
    let more = json!({"scope": {"exclude": [], "fromManifests": []}, "copyKey": "k", "earlierCopyKeys": ["j"],
        "releaseUids": {"count": 1, "digest": "d"}, "releaseChunks": 500, "finishAlone": "Allowed",
        "handover": {"files": format!("{}0", names::FILES), "importedBy": ["m"]}});
    crate::objects::merge::apply_patch(&mut good, &more);
    assert!(Record::parse(&good.to_string()).is_ok());
    let long = "x".repeat(1_000_000);
    let names: Vec<String> = (0..50_001).map(|n| format!("n{n}")).collect();
    let added: Vec<Value> = (0..501)
        .map(|n| json!({"object": {"group": "", "kind": "Secret", "name": format!("s{n}")}, "uid": format!("u{n}")}))
        .collect();
    let kinds: Vec<Value> = (0..10_001).map(|n| json!({"group": "", "kind": format!("K{n}")})).collect();
    let pin = |name: &str| json!({"name": name, "version": "1", "digest": "d"});
    for (path, value) in [
        ("/moveId", json!("../m")),
        ("/moveId", json!("")),
        ("/moveId", json!("m\nerror: x")),
        ("/moveId", json!(long)),
        ("/copyKey", json!("")),
        ("/copyKey", json!("k\nu")),
        ("/copyKey", json!(long)),
        ("/earlierCopyKeys", json!([""])),
        ("/earlierCopyKeys", json!(["k\nu"])),
        ("/earlierCopyKeys", json!(vec!["k"; 101])),
        ("/releaseUids", json!({"count": -1, "digest": "d"})),
        ("/releaseUids", json!({"count": 1, "digest": long})),
        ("/releaseUids", json!({"count": 1, "digest": "d", "more": 1})),
        ("/releaseChunks", json!(501)),
        ("/releaseChunks", json!(100_000_000)),
        ("/releaseChunks", json!(u64::MAX)),
        ("/releaseChunks", json!(-1)),
        ("/releaseChunks", json!(1e300)),
        ("/phase", json!(long)),
        ("/finishAlone", json!(long)),
        ("/scope/namespaces", json!({"one": "../a"})),
        ("/scope/namespaces", json!({"one": ""})),
        ("/scope", json!({"namespaces": "all", "accept": [{"code": "dependents-lost", "kinds": kinds}]})),
        ("/scope/exclude", json!([{"kind": {"group": "g", "kind": "../K"}}])),
        ("/scope/exclude", json!([{"kind": {"group": "g", "kind": "K"}, "object": {"name": "../a"}}])),
        (
            "/scope/exclude",
            json!([{"kind": {"group": "g", "kind": "K"}, "object": {"namespace": "", "name": "a"}}]),
        ),
        ("/source", json!("")),
        ("/source", json!("u\nerror: x")),
        ("/target", json!(long)),
        ("/startedAt", json!(long)),
        ("/createdNamespaces", json!(names)),
        ("/createdNamespaces", json!([".."])),
        ("/copiedNamespaces", json!(names)),
        ("/copiedNamespaces", json!(["a/../../b"])),
        (
            "/scope/fromManifests",
            json!([{"object": {"group": "", "kind": "Secret", "name": "../s"}, "uid": "u"}]),
        ),
        (
            "/scope/fromManifests",
            json!([{"object": {"group": "", "kind": "Se cret", "name": "s"}, "uid": "u"}]),
        ),
        (
            "/scope/fromManifests",
            json!([{"object": {"group": "", "kind": "Secret", "name": "s"}, "uid": "u\n"}]),
        ),
        (
            "/scope/fromManifests",
            json!([{"object": {"group": "", "kind": "Secret", "name": "s"}, "uid": "u", "data": {}}]),
        ),
        ("/scope/fromManifests", json!(added)),
        ("/kinds", json!(kinds)),
        ("/kinds", json!([{"group": "g", "kind": "../K"}])),
        ("/plugins", json!(vec![pin("p"); 101])),
        ("/plugins", json!([pin(&long)])),
        ("/plugins", json!([{"name": "p", "version": "1", "digest": "d", "vouchedBy": [long]}])),
        ("/plugins", json!([{"name": "p", "version": "1", "digest": "d", "vouchedBy": vec!["a"; 1_025]}])),
        ("/handover", json!({"files": "u"})),
        ("/handover", json!({"files": format!("{}{long}", names::FILES)})),
        ("/handover", json!({"importedBy": ["../m"]})),
        ("/handover", json!({"importedBy": names})),
        ("/handover", json!({"directory": long})),
        ("/handover", json!({"copyChanged": [{"group": "g", "kind": "../K"}]})),
        ("/handover", json!({"more": 1})),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(path).unwrap() = value;
        let told = Record::parse(&bad.to_string()).unwrap_err().to_string();
        assert!(told.len() < 1_000 && !told.contains('\n'), "{path}: {told}");
    }
    let mut product = good.clone();
    (product["kinds"], product["copiedNamespaces"]) = (json!(kinds[..1_000]), json!(names[..6_000]));
    assert!(Record::parse(&product.to_string()).unwrap_err().to_string().contains("kinds and namespaces"));
    for field in ["writtenBy", "startedBy", "x\nerror: "] {
        let mut bad = good.clone();
        bad[field] = json!(format!("9\nerror: {long}"));
        let told = Record::parse(&bad.to_string()).unwrap_err().to_string();
        assert!(told.len() < 1_000 && !told.contains('\n'), "{field}: {told}");
    }
    let newer = json!({"format": 6, "writtenBy": format!("9\nerror: {long}")}).to_string();
    let told = Record::parse(&newer).unwrap_err().to_string();
    assert!(told.len() < 1_000 && !told.contains('\n'), "{told}");
}

#[test]
fn a_source_is_handed_over_from_the_last_file_to_the_commit() {
    let record = |phase: &str, handover: Value| -> Record {
        let mut fields = small();
        (fields["phase"], fields["handover"]) = (json!(phase), handover);
        Record::parse(&fields.to_string()).unwrap()
    };
    let files = format!("{}0", names::FILES);
    assert!(record("Copied", Value::Null).handed_over().is_none());
    assert!(record("Copied", json!({})).handed_over().is_none());
    assert_eq!(record("Copied", json!({"files": files})).handed_over(), Some(&Uid(files.clone())));
    assert!(record("Committed", json!({"files": files})).handed_over().is_none());
}

#[test]
fn the_target_decides_from_committed_on() {
    assert!(!Phase::Copied.is_committed());
    assert!(Phase::Committed.is_committed() && Phase::Settled.is_committed());
}

/// A record with whatever a record can have.
const FULL: &str = r#"{"format":5,"writtenBy":"0.1.0","startedBy":"jane@laptop","moveId":"01J-a","copyKey":"k","earlierCopyKeys":["j"],"phase":"Committed","scope":{
    "namespaces":{"one":"a"},"clusters":[{"namespace":"a","name":"c"}],"exclude":[{"kind":{"group":"g","kind":"K"}}],"alsoCopy":[
    {"kind":{"group":"","kind":"Secret"},"object":{"namespace":"a","name":"s"}}],"fromManifests":[{"object":{"group":"","kind":"ConfigMap",
    "namespace":"a","name":"bom"},"uid":"added-1"}],"namespaceMap":{"a":"b"},"accept":[{"code":"already-paused"}]},"source":"u","target":"v",
    "intoDirectory":false,"startedAt":"2026-11-25T00:00:00Z","createdNamespaces":["b"],"plugins":[{"name":"p","version":"1","digest":"d",
    "vouchedBy":["k"],"granted":["hook hold"]}],"kinds":[{"group":"g","kind":"K"}],"copiedNamespaces":["a"],"confined":true,"planChecksum":"sha256","finishAlone":"Allowed",
    "releaseUids":{"count":1,"digest":"d"},"releaseChunks":2,"handover":{"files":"directory-0","directory":"a directory","writtenAt":"t","importedBy":["m"],"rollbackBegun":true}}"#;

#[test]
fn any_text_is_a_record_or_refused() {
    let (mut good, mut refused) = (0, 0);
    mutants::each(&[FULL.as_bytes(), FORMAT_4.as_bytes()], 3_000, |bytes| {
        match Record::parse(&String::from_utf8_lossy(bytes)) {
            Ok(record) => {
                good += 1;
                assert_eq!(Record::parse(&serde_json::to_string(&record).unwrap()).unwrap(), record);
            }
            Err(error) => {
                refused += 1;
                let told = error.to_string();
                assert!(told.len() < 1_000 && !told.contains(['\n', '\0', '\u{202e}']), "{told}");
            }
        }
    });
    assert!(good > 40 && refused > 1_000, "{good} good, {refused} refused");
}
