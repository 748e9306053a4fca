//! What a server says: records of moves that no move wrote, and answers that are none.
//!
//! The program only looks (`plan`, `status`), or is refused before its first write. `engine: a_record_that_no_move_wrote…` and its
//! neighbours have the same where the target's record decides.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::case::Case;
use crate::server::{Answer, Answers, cluster, well};
use crate::words::WORDS;

const PLAN: &str = "plan --kubeconfig config -n ns";
const STATUS: &str = "status --kubeconfig config";
const ROLLBACK: &str = "rollback --kubeconfig config --target-gone";
const RESUME: &str = "resume --source-gone --to-kubeconfig config";
/// What makes no sense, where nothing was changed yet.
const REFUSED: i32 = 3;
/// What is read past, and what else the server says is fine.
const FINE: i32 = 0;
/// What leaves nothing to move.
const NOTHING: i32 = 7;

pub(crate) fn cases() -> Vec<Case> {
    let well_served =
        Case::new("a server that is well", PLAN, &[0]).served(Arc::new(|asked| well(asked, &[])));
    [
        vec![well_served],
        fields(),
        texts(),
        finished(),
        config_maps(),
        answers(),
        refusals(),
        objects(),
        discovered(),
    ]
    .concat()
}

fn good() -> Value {
    json!({"format": 2, "writtenBy": "0.1.0", "by": "a", "moveId": "m", "phase": "Copied",
        "scope": {"namespaces": {"one": "ns"}}, "source": "n-kube-system", "target": null, "started": "2026-01-01T00:00:00Z",
        "namespaces": [], "plugins": [], "kinds": [{"group": "cluster.x-k8s.io", "kind": "Cluster"}], "touched": ["ns"],
        "releaseChunks": 0})
}

fn config_map(name: &str, label: &str, role: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "kube-system", "uid": name, "resourceVersion": "1", "labels": {label: role}},
        "data": data})
}

fn serving(maps: Vec<Value>) -> Answers {
    Arc::new(move |asked| well(asked, &maps))
}

/// This text for a record, asked for in two ways.
fn record(name: &str, text: &str) -> Vec<Case> {
    let of = |verb: &str, line: &str, role: &str| {
        let map = config_map(
            &format!("pivot-host-{role}-m"),
            "pivot-host.io/record",
            role,
            json!({"record.json": text}),
        );
        Case::new(format!("{name}, {verb}"), line, &[REFUSED]).served(serving(vec![map]))
    };
    vec![of("status", STATUS, "source"), of("rollback", ROLLBACK, "source"), of("resume", RESUME, "target")]
}

fn changed(name: &str, path: &str, value: Value) -> Vec<Case> {
    let mut bad = good();
    let (parent, last) = path.rsplit_once('/').unwrap();
    bad.pointer_mut(parent).unwrap()[last] = value;
    record(&format!("a record whose {name}"), &bad.to_string())
}

fn fields() -> Vec<Case> {
    let long = "x".repeat(900_000);
    let names: Vec<String> = (0..60_000).map(|n| format!("n{n}")).collect();
    let kinds: Vec<Value> = (0..10_001).map(|n| json!({"group": "", "kind": format!("K{n}")})).collect();
    let bad: [(&str, &str, Value); 37] = [
        ("format is of the future", "/format", json!(pivot_core::record::FORMAT + 1)),
        ("format is far in the future", "/format", json!(u32::MAX)),
        ("format is beyond counting", "/format", json!(1e300)),
        ("format is below nothing", "/format", json!(-1)),
        ("writer is long", "/writtenBy", json!(long)),
        ("beginner is long", "/by", json!(long)),
        ("id is nothing", "/moveId", json!("")),
        ("id leads elsewhere", "/moveId", json!("../../secrets/x")),
        ("id is long", "/moveId", json!(long)),
        ("phase is a word", "/phase", json!("FORGED")),
        ("phase is long", "/phase", json!(long)),
        ("phase is a number", "/phase", json!(6)),
        ("scope is nothing", "/scope", json!(null)),
        ("scope is a word", "/scope", json!("all")),
        ("scope has a field more", "/scope/only", json!(["c"])),
        ("scope is of the future", "/scope/format", json!(9)),
        ("scope leads elsewhere", "/scope/namespaces", json!({"one": "../a"})),
        ("scope accepts ten thousand kinds", "/scope/acceptLoss", json!(kinds)),
        ("handover is of no files", "/handover", json!({"contents": "u", "to": "d", "at": "t"})),
        ("handover leads elsewhere", "/handover", json!({"imports": ["../../m"]})),
        ("handover is long", "/handover", json!({"to": long})),
        ("source is nothing", "/source", json!("")),
        ("source has lines", "/source", json!("u\nerror: FORGED")),
        ("target is long", "/target", json!(long)),
        ("start is a number", "/started", json!(1)),
        ("namespaces are a word", "/namespaces", json!("ns")),
        ("namespaces lead elsewhere", "/namespaces", json!([".."])),
        ("namespaces are many", "/namespaces", json!(names)),
        (
            "plugins are a hundred and one",
            "/plugins",
            json!(vec![json!({"name": "p", "version": "1", "digest": "d"}); 101]),
        ),
        ("plugins have fields more", "/plugins", json!([{"name": "p", "version": "1"}])),
        ("kinds are many", "/kinds", json!(kinds)),
        ("kinds lead elsewhere", "/kinds", json!([{"group": "..", "kind": "Secret"}])),
        ("namespaces that were touched are many", "/touched", json!(names)),
        ("pieces are a hundred million", "/releaseChunks", json!(100_000_000)),
        ("pieces are beyond counting", "/releaseChunks", json!(u64::MAX)),
        ("pieces are below nothing", "/releaseChunks", json!(-1)),
        ("pieces are a fraction", "/releaseChunks", json!(1.5)),
    ];
    let mut cases: Vec<Case> =
        bad.into_iter().flat_map(|(name, path, value)| changed(name, path, value)).collect();
    for (sort, words) in WORDS {
        cases.extend(changed(
            &format!("field more is called {sort}"),
            &format!("/{}", words.replace('/', "-")),
            json!(1),
        ));
        cases.extend(changed(&format!("phase is {sort}"), "/phase", words.into()));
    }
    cases
}

fn texts() -> Vec<Case> {
    let good = good().to_string();
    let texts: [(&str, String); 12] = [
        ("nothing", String::new()),
        ("a word", "hunter2".into()),
        ("null", "null".into()),
        ("a list", "[]".into()),
        ("a map of nothing", "{}".into()),
        ("half of it", good[..good.len() / 2].into()),
        ("itself twice", good.repeat(2)),
        ("YAML", "moveId: hunter2\n".into()),
        ("lists in lists", "[".repeat(900_000)),
        ("maps in maps", "{\"a\":".repeat(150_000)),
        ("a megabyte of spaces", " ".repeat(900_000)),
        ("a name twice", good.replacen('{', "{\"moveId\":\"x\",", 1)),
    ];
    texts.into_iter().flat_map(|(name, text)| record(&format!("a record that is {name}"), &text)).collect()
}

/// What moves of long ago left: it is only shown.
fn finished() -> Vec<Case> {
    let good = json!({"format": 1, "moveId": "m", "by": "a", "started": "s", "ended": "e", "from": "f", "to": "t", "moved": 1, "kept": 0,
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
    for field in ["moveId", "by", "started", "ended", "from", "to"] {
        for (sort, words) in WORDS {
            let mut bad = good.clone();
            bad[field] = words.into();
            cases.push(case(format!("whose {field} is {sort}"), vec![bad.to_string()]));
        }
        let mut bad = good.clone();
        bad[field] = "FORGED ".repeat(100_000).into();
        cases.push(case(format!("whose {field} is long"), vec![bad.to_string()]));
    }
    for (field, value) in [
        ("moved", json!(u64::MAX)),
        ("moved", json!(-1)),
        ("accepted", json!(["a\nerror: FORGED"])),
        ("format", json!(9)),
        ("plugins", json!("p")),
    ] {
        let mut bad = good.clone();
        bad[field] = value.clone();
        cases.push(case(format!("whose {field} is {value:.30}"), vec![bad.to_string()]));
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
        of("without data", REFUSED, map(json!(null))),
        of("whose data are words", REFUSED, map(json!("hunter2"))),
        of("whose data are a list", REFUSED, map(json!(["hunter2"]))),
        of("whose data are numbers", REFUSED, map(json!({"record.json": 1}))),
        of("whose record is a map", REFUSED, map(json!({"record.json": good()}))),
        of(
            "with another move's name",
            FINE,
            config_map("pivot-host-source-x", "pivot-host.io/record", "source", json!({"record.json": text})),
        ),
        of(
            "with the first release's name",
            FINE,
            config_map("pivot-host-source", "pivot-host.io/record", "", json!({"record.json": text})),
        ),
        of(
            "of nobody's role",
            FINE,
            config_map("pivot-host-source-m", "pivot-host.io/record", "FORGED", json!({"record.json": text})),
        ),
    ];
    for (sort, words) in WORDS {
        let name = format!("pivot-host-source-{words}");
        cases.push(of(
            &format!("called {sort}"),
            REFUSED,
            config_map(&name, "pivot-host.io/record", "source", json!({"record.json": "hunter2"})),
        ));
    }
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
    ("the records", "/api/v1/namespaces/kube-system/configmaps"),
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
    let list = |items: Value| {
        Answer::json(
            &json!({"kind": "APIGroupDiscoveryList", "metadata": {"name": "kube-system"}, "items": items}),
        )
    };
    let bodies: Vec<(&str, Answer)> = vec![
        ("nothing", ok("")),
        ("a word", ok("hunter2")),
        ("a page", ok("<html>hunter2</html>")),
        ("null", ok("null")),
        ("a number", ok("1")),
        ("a list", ok("[]")),
        ("a map of nothing", ok("{}")),
        ("half a map", ok("{\"items\":[{\"hunter2\":")),
        ("not UTF-8", Answer::new(200, "", &b"{\"items\":\"\xff\xfe\"}"[..])),
        ("lists in lists", ok(&"[".repeat(1 << 20))),
        ("maps in maps", ok(&"{\"items\":".repeat(1 << 17))),
        ("items that are a word", list(json!("hunter2"))),
        ("items that are nothing", list(json!([null]))),
        ("items that are words", list(json!(["hunter2"]))),
        ("items that are lists", list(json!([[[]]]))),
        ("items without anything", list(json!([{}]))),
        ("items whose metadata are words", list(json!([{"metadata": "hunter2", "versions": "hunter2"}]))),
        ("metadata that are words", ok("{\"metadata\":\"hunter2\",\"kind\":\"hunter2\",\"items\":[]}")),
        (
            "packed bytes",
            Answer::new(200, "content-encoding: gzip\r\n", &b"\x1f\x8b\x08\0\0\0\0\0\0\x03"[..]),
        ),
        ("the way to another server", Answer::new(302, "location: http://127.0.0.1:9/hunter2\r\n", "")),
        ("the way to a file", Answer::new(301, "location: file:///etc/passwd\r\n", "")),
        ("no content", Answer::new(204, "", "")),
        ("a code that there is none of", Answer::new(299, "", "hunter2")),
        (
            "a warning that forges lines",
            Answer::new(200, "warning: 299 - \"x\terror: FORGED\"\r\n", "hunter2"),
        ),
    ];
    let mut cases = Vec::new();
    for (what, path) in PATHS {
        for (sort, answer) in &bodies {
            // A list without items is empty, and what says nothing of itself is in no list.
            let code = match (what, *sort) {
                ("the core kinds", "items without anything")
                | ("the definitions", "a map of nothing" | "items that are lists")
                | ("the records", "a map of nothing") => FINE,
                ("all kinds", "items without anything") | ("the Clusters", "a map of nothing") => NOTHING,
                _ => REFUSED,
            };
            cases.push(but(format!("asked for {what} it says {sort}"), PLAN, code, path, answer.clone()));
        }
    }
    // Without an end.
    for (what, path) in [PATHS[0], PATHS[1], PATHS[3]] {
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
    for (sort, bytes) in [
        ("a word", b"hunter2\r\n\r\n".to_vec()),
        ("a head of a megabyte", [b"HTTP/1.1 200 OK\r\nx: ".to_vec(), vec![b'x'; 1 << 20]].concat()),
    ] {
        let answers: Answers = Arc::new(move |_| Answer::raw(bytes.clone()));
        cases.push(
            Case::new(format!("it speaks no HTTP, but {sort}"), PLAN, &[REFUSED])
                .served(answers)
                .within(30, 192),
        );
    }
    cases
}

/// Refusals with words.
fn refusals() -> Vec<Case> {
    let mut cases = Vec::new();
    for (what, path) in PATHS {
        for (code, reason) in [
            (400, "BadRequest"),
            (401, "Unauthorized"),
            (403, "Forbidden"),
            (404, "NotFound"),
            (409, "Conflict"),
            (410, "Expired"),
            (422, "Invalid"),
        ] {
            let words = "x\nerror: FORGED\u{1b}[2J\u{202e}\u{ad}".to_owned() + &" FORGED".repeat(100_000);
            let line = if path.ends_with("configmaps") { STATUS } else { PLAN };
            let exit = match (what, code) {
                // Then two clusters are told apart by a Lease, and only the Clusters that move are read.
                ("who it is" | "the Clusters", 403) => FINE,
                // The definition went away between discovery and list.
                ("the Clusters", 404) => NOTHING,
                _ => REFUSED,
            };
            cases.push(but(
                format!("asked for {what} it refuses with {code}"),
                line,
                exit,
                path,
                Answer::status(code, reason, &words),
            ));
        }
    }
    cases
}

/// A Cluster that no server would store.
fn objects() -> Vec<Case> {
    let values = [
        ("nothing", json!(null)),
        ("a number", json!(1)),
        ("words", json!("x\nerror: FORGED")),
        ("a list", json!([[]])),
        ("a map", json!({"a": {}})),
    ];
    let of = |name: String, code: i32, object: Value| {
        let list = json!({"kind": "List", "metadata": {"resourceVersion": "1"}, "items": [object]});
        but(name, PLAN, code, PATHS[4].1, Answer::json(&list))
    };
    let mut cases = Vec::new();
    for path in [
        "/metadata",
        "/metadata/name",
        "/metadata/namespace",
        "/metadata/uid",
        "/metadata/resourceVersion",
        "/metadata/labels",
        "/metadata/annotations",
        "/metadata/ownerReferences",
        "/metadata/finalizers",
        "/status",
        "/status/conditions",
        "/spec",
    ] {
        for (sort, value) in &values {
            let mut object = cluster();
            let (parent, last) = path.rsplit_once('/').unwrap();
            object.pointer_mut(parent).unwrap()[last] = value.clone();
            let code = match (path, *sort) {
                // What is not looked at is copied as it is, and what is in another namespace stays.
                ("/spec", "a map") => FINE,
                ("/metadata/namespace", "nothing" | "words") => NOTHING,
                _ => REFUSED,
            };
            cases.push(of(format!("a Cluster whose {path} is {sort}"), code, object));
        }
    }
    for (sort, words) in WORDS {
        let mut object = cluster();
        object["metadata"]["name"] = words.into();
        cases.push(of(format!("a Cluster called {sort}"), REFUSED, object));
    }
    cases
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
    for (sort, words) in WORDS {
        cases.push(of(format!("a group called {sort}"), NOTHING, words, "v1", json!([resource("as", "A")])));
        cases.push(of(
            format!("a version called {sort}"),
            NOTHING,
            "a.b",
            words,
            json!([resource("as", "A")]),
        ));
        cases.push(of(
            format!("a resource called {sort}"),
            NOTHING,
            "a.b",
            "v1",
            json!([resource(words, "A")]),
        ));
        cases.push(of(format!("a kind called {sort}"), NOTHING, "a.b", "v1", json!([resource("as", words)])));
    }
    let many: Vec<Value> = (0..20_000).map(|n| resource(&format!("r{n}"), &format!("K{n}"))).collect();
    cases.push(of("20000 kinds".into(), REFUSED, "a.b", "v1", many.into()));
    cases
}
