use pivot_worlds::mutants;
use serde_json::{Value, json};

use super::*;

#[test]
fn a_record_of_the_first_release_is_read_and_one_of_the_future_is_not() {
    let old = r#"{"moveId":"m","phase":"Copied","scope":{"namespaces":{"one":"a"}},"source":"u","target":null,
        "started":"t","namespaces":[],"plugins":[],"kinds":[],"touched":["a"],"releaseChunks":0}"#;
    let record = Record::parse(old).unwrap();
    assert_eq!((record.phase, record.written_by.as_str()), (Phase::Copied, ""));
    let again = serde_json::to_string(&record).unwrap();
    assert!(again.contains("\"format\":5"), "{again}");
    assert_eq!(Record::parse(&again).unwrap(), record);

    let newer = r#"{"format":6,"writtenBy":"9.1.0","anything":{}}"#;
    assert_eq!(
        Record::parse(newer).unwrap_err(),
        RecordError::Newer { format: 6, written_by: "9.1.0".into() }
    );
    for (from, to) in
        [("\"moveId\"", "\"only\":\"x\",\"moveId\""), ("{\"one\":\"a\"}", "{\"one\":\"a\"},\"only\":[\"c\"]")]
    {
        let error = Record::parse(&old.replacen(from, to, 1)).unwrap_err();
        assert!(error.to_string().contains("unknown field `only`"), "{error}");
    }
}

/// Anyone with permission to write ConfigMaps can write a record.
#[test]
fn a_record_that_no_move_wrote_is_not_believed() {
    let good = json!({"moveId": "m", "phase": "Copied", "scope": {"namespaces": {"one": "a"}, "exclude": [], "added": []}, "source": "u",
        "target": null, "started": "t", "namespaces": [], "plugins": [], "kinds": [], "touched": ["a"],
        "copyKey": "k", "earlierCopyKeys": ["j"], "releaseUids": {"count": 1, "digest": "d"}, "releaseChunks": 500, "seal": "Set", "handover": {"contents": format!("{}0", names::FILES), "imports": ["m"]}});
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
        ("/seal", json!(long)),
        ("/scope/namespaces", json!({"one": "../a"})),
        ("/scope/namespaces", json!({"one": ""})),
        ("/scope", json!({"namespaces": "all", "acceptLoss": kinds})),
        ("/scope/exclude", json!([{"kind": {"group": "g", "kind": "../K"}}])),
        ("/scope/exclude", json!([{"kind": {"group": "g", "kind": "K"}, "object": {"name": "../a"}}])),
        (
            "/scope/exclude",
            json!([{"kind": {"group": "g", "kind": "K"}, "object": {"namespace": "", "name": "a"}}]),
        ),
        ("/source", json!("")),
        ("/source", json!("u\nerror: x")),
        ("/target", json!(long)),
        ("/started", json!(long)),
        ("/namespaces", json!(names)),
        ("/namespaces", json!([".."])),
        ("/touched", json!(names)),
        ("/touched", json!(["a/../../b"])),
        ("/scope/added", json!([{"object": {"group": "", "kind": "Secret", "name": "../s"}, "uid": "u"}])),
        ("/scope/added", json!([{"object": {"group": "", "kind": "Se cret", "name": "s"}, "uid": "u"}])),
        ("/scope/added", json!([{"object": {"group": "", "kind": "Secret", "name": "s"}, "uid": "u\n"}])),
        (
            "/scope/added",
            json!([{"object": {"group": "", "kind": "Secret", "name": "s"}, "uid": "u", "data": {}}]),
        ),
        ("/scope/added", json!(added)),
        ("/kinds", json!(kinds)),
        ("/kinds", json!([{"group": "g", "kind": "../K"}])),
        ("/plugins", json!(vec![pin("p"); 101])),
        ("/plugins", json!([pin(&long)])),
        ("/plugins", json!([{"name": "p", "version": "1", "digest": "d", "vouchedBy": [long]}])),
        ("/plugins", json!([{"name": "p", "version": "1", "digest": "d", "vouchedBy": vec!["a"; 1_025]}])),
        ("/handover", json!({"contents": "u"})),
        ("/handover", json!({"contents": format!("{}{long}", names::FILES)})),
        ("/handover", json!({"imports": ["../m"]})),
        ("/handover", json!({"imports": names})),
        ("/handover", json!({"to": long})),
        ("/handover", json!({"acceptChanged": [{"group": "g", "kind": "../K"}]})),
        ("/handover", json!({"more": 1})),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(path).unwrap() = value;
        let told = Record::parse(&bad.to_string()).unwrap_err().to_string();
        assert!(told.len() < 1_000 && !told.contains('\n'), "{path}: {told}");
    }
    let mut product = good.clone();
    (product["kinds"], product["touched"]) = (json!(kinds[..1_000]), json!(names[..6_000]));
    assert!(Record::parse(&product.to_string()).unwrap_err().to_string().contains("kinds and namespaces"));
    for field in ["writtenBy", "by", "x\nerror: "] {
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
        let fields = json!({"moveId": "m", "phase": phase, "scope": {"namespaces": "all"}, "source": "u",
            "target": null, "started": "t", "namespaces": [], "plugins": [], "kinds": [], "touched": [],
            "releaseChunks": 0, "handover": handover});
        Record::parse(&fields.to_string()).unwrap()
    };
    let files = format!("{}0", names::FILES);
    assert!(record("Copied", Value::Null).handed_over().is_none());
    assert!(record("Copied", json!({})).handed_over().is_none());
    assert_eq!(record("Copied", json!({"contents": files})).handed_over(), Some(&Uid(files.clone())));
    assert!(record("Committed", json!({"contents": files})).handed_over().is_none());
}

#[test]
fn the_target_decides_from_committed_on() {
    assert!(!Phase::Copied.committed());
    assert!(Phase::Committed.committed() && Phase::Settled.committed());
}

/// A record with whatever a record can have.
const FULL: &str = r#"{"format":5,"writtenBy":"0.1.0","by":"jane@laptop","moveId":"01J-a","copyKey":"k","earlierCopyKeys":["j"],"phase":"Committed","scope":{"format":1,
    "namespaces":{"one":"a"},"clusters":[{"namespace":"a","name":"c"}],"exclude":[{"kind":{"group":"g","kind":"K"}}],"carry":[
    {"kind":{"group":"","kind":"Secret"},"object":{"namespace":"a","name":"s"}}],"added":[{"object":{"group":"","kind":"ConfigMap",
    "namespace":"a","name":"bom"},"uid":"added-1"}],"namespaceMap":{"a":"b"},"movePaused":true},"source":"u","target":"v",
    "intoDirectory":false,"started":"2026-11-25T00:00:00Z","namespaces":["b"],"plugins":[{"name":"p","version":"1","digest":"d",
    "vouchedBy":["k"],"granted":["hook hold"]}],"kinds":[{"group":"g","kind":"K"}],"touched":["a"],"confined":true,"plan":"sha256","seal":"Set",
    "releaseUids":{"count":1,"digest":"d"},"releaseChunks":2,"handover":{"contents":"directory-0","to":"a directory","at":"t","imports":["m"],"withdrawn":true}}"#;

#[test]
fn any_text_is_a_record_or_refused() {
    let (mut good, mut refused) = (0, 0);
    mutants::each(&[FULL.as_bytes()], 3_000, |bytes| match Record::parse(&String::from_utf8_lossy(bytes)) {
        Ok(record) => {
            good += 1;
            assert_eq!(Record::parse(&serde_json::to_string(&record).unwrap()).unwrap(), record);
        }
        Err(error) => {
            refused += 1;
            let told = error.to_string();
            assert!(told.len() < 1_000 && !told.contains(['\n', '\0', '\u{202e}']), "{told}");
        }
    });
    assert!(good > 40 && refused > 1_000, "{good} good, {refused} refused");
}
