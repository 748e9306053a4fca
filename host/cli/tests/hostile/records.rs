//! What a server says: records of moves that no move wrote, and answers that are none.
//!
//! The program only looks (`plan`, `status`), or is refused before its first write. `engine: a_record_that_no_move_wrote…` and its
//! neighbours have the same where the target's record decides.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::case::Case;
use crate::judge::WORDS;
use crate::server::{Answer, Answers, cluster, well};

const PLAN: &str = "plan --kubeconfig config -n ns";
const STATUS: &str = "status --kubeconfig config";
const ROLLBACK: &str = "rollback --kubeconfig config --without-target";
const RESUME: &str = "resume --without-source --to-kubeconfig config";
/// What makes no sense, where nothing was changed yet.
const REFUSED: i32 = 3;
/// The server doesn't answer in a way that counts.
const SILENT: i32 = 9;
/// What is read past, and what else the server says is fine.
const FINE: i32 = 0;
/// What leaves nothing to move.
const NOTHING: i32 = 7;

pub(crate) fn cases() -> Vec<Case> {
    let well_served =
        Case::new("a server that is well", PLAN, &[0]).served(Arc::new(|asked| well(asked, &[])));
    [vec![well_served], fields(), finished(), config_maps(), answers(), refusals(), objects(), discovered()]
        .concat()
}

fn good() -> Value {
    json!({"format": 5, "writtenBy": "0.1.0", "startedBy": "a", "moveId": "m", "phase": "Copied",
        "scope": {"namespaces": {"one": "ns"}}, "source": "n-kube-system", "target": null, "startedAt": "2026-01-01T00:00:00Z",
        "createdNamespaces": [], "plugins": [], "kinds": [{"group": "cluster.x-k8s.io", "kind": "Cluster"}], "copiedNamespaces": ["ns"],
        "releaseChunks": 0})
}

fn config_map(name: &str, label: &str, role: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "pivot-host-records", "uid": name, "resourceVersion": "1", "labels": {label: role}},
        "data": data})
}

fn serving(maps: Vec<Value>) -> Answers {
    Arc::new(move |asked| well(asked, &maps))
}

/// This text for a record.
fn record(name: &str, (line, role): (&str, &str), text: &str) -> Case {
    let data = json!({"record.json": text});
    let map = config_map(&format!("pivot-host-{role}-m"), "pivot-host.io/record", role, data);
    Case::new(format!("a record {name}"), line, &[REFUSED]).served(serving(vec![map]))
}

/// One of each sort; `core: a_record_that_no_move_wrote_is_not_believed` has the others.
fn fields() -> Vec<Case> {
    let changed = |name: &str, line, path: &str, value: Value| {
        let mut bad = good();
        bad[path] = value;
        record(name, line, &bad.to_string())
    };
    let (status, rollback, resume) = ((STATUS, "source"), (ROLLBACK, "source"), (RESUME, "target"));
    let names: Vec<String> = (0..60_000).map(|n| format!("n{n}")).collect();
    let format = pivot_core::records::record::FORMAT + 1;
    vec![
        changed("of the future", status, "format", json!(format)),
        changed("of the future, to be undone", rollback, "format", json!(format)),
        changed("of the future, to be continued", resume, "format", json!(format)),
        changed("whose id leads elsewhere", rollback, "moveId", json!("../../secrets/x")),
        changed("whose phase forges", status, "phase", WORDS.into()),
        changed("with a field more that forges", status, WORDS, json!(1)),
        changed("with a writer of 900000 letters", status, "writtenBy", "x".repeat(900_000).into()),
        changed("with 60000 namespaces", status, "copiedNamespaces", json!(names)),
        changed("of a hundred million pieces", resume, "releaseChunks", json!(100_000_000)),
        record("that is half of it", status, &good().to_string()[..100]),
        record("that is lists in lists", status, &"[".repeat(900_000)),
        record("that is maps in maps", status, &"{\"a\":".repeat(150_000)),
    ]
}

/// What moves of long ago left: it is only shown.
fn finished() -> Vec<Case> {
    let good = json!({"format": 3, "moveId": "m", "startedBy": "a", "startedAt": "s", "endedAt": "e", "sourceLabel": "f", "targetLabel": "t", "moved": 1, "kept": 0,
        "plugins": [], "accepted": []});
    let mut cases = Vec::new();
    let case = |name: String, texts: Vec<String>| {
        let map = |(n, text): (usize, &String)| {
            config_map(
                &format!("pivot-host-source-{n}"),
                "pivot-host.io/finished",
                "source",
                json!({"finished.json": text}),
            )
        };
        let maps = texts.iter().enumerate().map(map).collect();
        Case::new(format!("a finished move {name}"), STATUS, &[FINE]).served(serving(maps))
    };
    for (field, value) in [
        ("moveId", json!(WORDS)),
        ("startedBy", json!(WORDS)),
        ("sourceLabel", "FORGED ".repeat(100_000).into()),
        ("accepted", json!([WORDS])),
        ("moved", json!(-1)),
    ] {
        let mut bad = good.clone();
        bad[field] = value;
        cases.push(case(format!("with an odd {field}"), vec![bad.to_string()]));
    }
    cases.push(case("that is no JSON".into(), vec!["hunter2".into()]));
    cases.push(case("3000 times".into(), vec![good.to_string(); 3_000]).words(8_000));
    cases
}

/// ConfigMaps that only look like a record.
fn config_maps() -> Vec<Case> {
    let of = |name: &str, code: i32, map: Value| {
        Case::new(format!("a ConfigMap {name}"), STATUS, &[code]).served(serving(vec![map]))
    };
    let text = good().to_string();
    let map = |data: Value| config_map("pivot-host-source-m", "pivot-host.io/record", "source", data);
    let mut cases = vec![
        of("whose data are words", REFUSED, map(json!("hunter2"))),
        of(
            "with another move's name",
            FINE,
            config_map("pivot-host-source-x", "pivot-host.io/record", "source", json!({"record.json": text})),
        ),
        of(
            "with no move's name",
            FINE,
            config_map("pivot-host-source", "pivot-host.io/record", "", json!({"record.json": text})),
        ),
        of(
            "of nobody's role",
            FINE,
            config_map("pivot-host-source-m", "pivot-host.io/record", "FORGED", json!({"record.json": text})),
        ),
    ];
    let (name, data) = (format!("pivot-host-source-{WORDS}"), json!({"record.json": "hunter2"}));
    cases.push(of("whose name forges", REFUSED, config_map(&name, "pivot-host.io/record", "source", data)));
    let many = (0..2_000).map(|n| {
        config_map(
            &format!("pivot-host-source-{n}"),
            "pivot-host.io/record",
            "source",
            json!({"record.json": "{}"}),
        )
    });
    cases.push(Case::new("2000 records that are none", STATUS, &[REFUSED]).served(serving(many.collect())));
    cases
}

/// What is asked first, of whom everything else depends.
const PATHS: [(&str, &str); 6] = [
    ("the core kinds", "/api"),
    ("all kinds", "/apis"),
    ("the definitions", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"),
    ("who it is", "/api/v1/namespaces/kube-system"),
    ("the Clusters", "/apis/cluster.x-k8s.io/v1/clusters"),
    ("the records", "/api/v1/namespaces/pivot-host-records/configmaps"),
];

/// A server that is well but for one path.
fn but(name: String, line: &str, code: i32, path: &'static str, answer: Answer) -> Case {
    let answers: Answers = Arc::new(move |asked| {
        let at = asked.path.split('?').next().unwrap_or_default();
        if at == path && asked.verb == "GET" { answer.clone() } else { well(asked, &[]) }
    });
    Case::new(name, line, &[code]).served(answers)
}

fn answers() -> Vec<Case> {
    let ok = |body: &str| Answer::new(200, "", body);
    let redirect = "location: file:///etc/passwd\r\n";
    let bodies: Vec<(&str, Answer)> = vec![
        ("nothing", ok("")),
        ("a page", ok("<html>hunter2</html>")),
        ("half a map", ok("{\"items\":[{\"hunter2\":")),
        ("not UTF-8", Answer::new(200, "", &b"{\"items\":\"\xff\xfe\"}"[..])),
        ("lists in lists", ok(&"[".repeat(1 << 20))),
        ("maps in maps", ok(&"{\"items\":".repeat(1 << 17))),
        (
            "packed bytes",
            Answer::new(200, "content-encoding: gzip\r\n", &b"\x1f\x8b\x08\0\0\0\0\0\0\x03"[..]),
        ),
        ("the way to a file", Answer::new(301, redirect, "")),
        (
            "a warning that forges lines",
            Answer::new(200, "warning: 299 - \"x\terror: FORGED\"\r\n", "hunter2"),
        ),
    ];
    let mut cases = Vec::new();
    for (sort, answer) in bodies {
        cases.push(but(
            format!("asked for the core kinds it says {sort}"),
            PLAN,
            REFUSED,
            PATHS[0].1,
            answer,
        ));
    }
    let items = ok("{\"kind\":\"List\",\"metadata\":{},\"items\":[\"hunter2\"]}");
    for (what, path) in [&PATHS[2], &PATHS[5]] {
        cases.push(but(format!("asked for {what} it says words"), PLAN, REFUSED, path, items.clone()));
    }
    // Without an end.
    for (what, path) in [PATHS[0], PATHS[3]] {
        let endless = Answer::endless("{\"kind\":\"", &[b'x'; 1 << 16], 1 << 20);
        let case = but(format!("asked for {what} it never ends"), PLAN, REFUSED, path, endless);
        cases.push(case.says("larger than").within(30, 256));
    }
    let records = but(
        "asked for the records it never ends".into(),
        STATUS,
        REFUSED,
        PATHS[5].1,
        Answer::endless("{\"items\":[\"", &[b'x'; 1 << 16], 1 << 20),
    );
    cases.push(records.says("larger than").within(30, 320));
    let again = json!({"metadata": {"continue": "again"}, "items": []});
    cases.push(
        but("the same page again and again".into(), PLAN, REFUSED, PATHS[2].1, Answer::json(&again))
            .says("again and again"),
    );
    // What is no HTTP is tried again for a while.
    let bytes = [b"HTTP/1.1 200 OK\r\nx: ".to_vec(), vec![b'x'; 1 << 20]].concat();
    let answers: Answers = Arc::new(move |_| Answer::raw(bytes.clone()));
    let case = Case::new("it speaks no HTTP, but a head of a megabyte", PLAN, &[SILENT]);
    cases.push(case.served(answers).within(30, 192));
    cases
}

/// Refusals with words.
fn refusals() -> Vec<Case> {
    let mut cases = Vec::new();
    let words = WORDS.to_owned() + &" FORGED".repeat(100_000);
    for (path, line, code, reason, exit) in [
        (PATHS[0], PLAN, 403, "Forbidden", REFUSED),
        (PATHS[1], PLAN, 422, "Invalid", REFUSED),
        // Then two clusters are told apart by a Lease, and only the Clusters that move are read.
        (PATHS[3], PLAN, 403, "Forbidden", FINE),
        (PATHS[4], PLAN, 403, "Forbidden", FINE),
        // The definition went away between discovery and list.
        (PATHS[4], PLAN, 404, "NotFound", NOTHING),
        (PATHS[5], STATUS, 401, "Unauthorized", REFUSED),
    ] {
        let answer = Answer::status(code, reason, &words);
        cases.push(but(format!("asked for {} it refuses with {code}", path.0), line, exit, path.1, answer));
    }
    cases
}

/// A Cluster that no server would store.
fn objects() -> Vec<Case> {
    let of = |name: &str, code: i32, path: &str, value: Value| {
        let mut object = cluster();
        let (parent, last) = path.rsplit_once('/').unwrap();
        object.pointer_mut(parent).unwrap()[last] = value;
        let list = json!({"kind": "List", "metadata": {"resourceVersion": "1"}, "items": [object]});
        but(format!("a Cluster {name}"), PLAN, code, PATHS[4].1, Answer::json(&list))
    };
    vec![
        of("whose metadata are words", REFUSED, "/metadata", json!(WORDS)),
        of("whose name forges", REFUSED, "/metadata/name", json!(WORDS)),
        of("whose owners are a map", REFUSED, "/metadata/ownerReferences", json!({"a": {}})),
        of("whose conditions are a number", REFUSED, "/status/conditions", json!(1)),
        // What is not looked at is copied as it is, and what is in another namespace stays.
        of("whose spec is odd", FINE, "/spec", json!({"a": {}})),
        of("of a namespace that forges", NOTHING, "/metadata/namespace", json!(WORDS)),
    ]
}

/// Kinds that no server would serve.
fn discovered() -> Vec<Case> {
    // There is no kind Cluster among them.
    let of = |name: String, code: i32, group: &str, version: &str, resources: Value| {
        let items = json!([{"metadata": {"name": group}, "versions": [{"version": version, "resources": resources}]}]);
        let groups = json!({"kind": "APIGroupDiscoveryList", "metadata": {}, "items": items});
        but(name, PLAN, code, PATHS[1].1, Answer::json(&groups))
    };
    let resource = |plural: &str, kind: &str| json!({"resource": plural, "responseKind": {"kind": kind}, "scope": "Namespaced", "verbs": ["list", "get"]});
    let mut cases = Vec::new();
    for (what, group, version, plural, kind) in [
        ("group", WORDS, "v1", "as", "A"),
        ("version", "a.b", WORDS, "as", "A"),
        ("resource", "a.b", "v1", WORDS, "A"),
        ("kind", "a.b", "v1", "as", WORDS),
    ] {
        let resources = json!([resource(plural, kind)]);
        cases.push(of(format!("a {what} that forges"), NOTHING, group, version, resources));
    }
    let many: Vec<Value> = (0..20_000).map(|n| resource(&format!("r{n}"), &format!("K{n}"))).collect();
    cases.push(of("20000 kinds".into(), REFUSED, "a.b", "v1", many.into()));
    cases
}
