//! Files that no server and no program of Kubernetes wrote: read, or refused in one short line that quotes nothing.

use super::*;

/// Returns true if a directory with this file next to a definition can be read.
fn is_read(file: &str, content: impl AsRef<[u8]>) -> bool {
    let dir = directory(&[("crd.json", &definition().to_string())]);
    fs::write(dir.path().join(file), content.as_ref()).unwrap();
    let begin = String::from_utf8_lossy(content.as_ref()).chars().take(300).collect::<String>();
    match DirectoryPlace::to_read(dir.path()).map_err(|why| why.to_string()) {
        Ok(_) => true,
        Err(why) => {
            assert!(why.contains(file), "{begin}: {why}");
            assert!(why.len() < 1_000 && !why.contains("hunter2"), "{begin}: {why}");
            assert!(!why.chars().any(pivot_core::messages::safe_text::is_hidden), "{begin}: {why}");
            false
        }
    }
}

fn definition() -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.g.io", "labels": {"clusterctl.cluster.x-k8s.io": ""}},
        "spec": {"group": "g.io", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things"},
            "versions": [{"name": "v1", "served": true, "storage": true}]}})
}

fn thing() -> Value {
    json!({"apiVersion": "g.io/v1", "kind": "Thing",
        "metadata": {"name": "t", "namespace": "a", "uid": "u", "labels": {"l": "x"},
            "ownerReferences": [{"apiVersion": "g.io/v1", "kind": "Thing", "name": "o", "uid": "o"}]},
        "spec": {"paused": false}, "status": {"conditions": []}})
}

fn with(mut object: Value, path: &str, value: &Value) -> Value {
    let (parent, last) = path.rsplit_once('/').unwrap();
    match object.pointer_mut(parent).unwrap() {
        Value::Array(items) => items[last.parse::<usize>().unwrap()] = value.clone(),
        other => other[last] = value.clone(),
    }
    object
}

fn odd_values() -> [Value; 11] {
    [
        json!(null),
        json!(-1),
        json!(1e300),
        json!("a\nerror: x"),
        json!(true),
        json!([]),
        json!([null]),
        json!([[[]]]),
        json!({}),
        json!({"": null}),
        json!({"a": {"b": {}}}),
    ]
}

#[test]
fn fields_of_any_type_are_read_or_refused() {
    assert!(is_read("t.json", thing().to_string()));
    for path in [
        "/apiVersion",
        "/kind",
        "/metadata",
        "/metadata/name",
        "/metadata/namespace",
        "/metadata/uid",
        "/metadata/resourceVersion",
        "/metadata/generation",
        "/metadata/labels",
        "/metadata/labels/l",
        "/metadata/annotations",
        "/metadata/finalizers",
        "/metadata/ownerReferences",
        "/metadata/ownerReferences/0",
        "/metadata/ownerReferences/0/uid",
        "/metadata/ownerReferences/0/kind",
        "/metadata/ownerReferences/0/apiVersion",
        "/metadata/ownerReferences/0/controller",
        "/metadata/managedFields",
        "/metadata/creationTimestamp",
        "/metadata/deletionTimestamp",
        "/spec",
        "/spec/paused",
        "/status",
        "/status/conditions",
    ] {
        let nameless = ["/apiVersion", "/kind", "/metadata", "/metadata/name"];
        for value in odd_values() {
            let read = is_read("t.json", with(thing(), path, &value).to_string());
            assert!(!(read && nameless.contains(&path)), "{path}: {value}");
            // Data are copied as they are, whatever is in them.
            assert!(read || !path.starts_with("/spec") && !path.starts_with("/status"), "{path}: {value}");
        }
    }
}

#[test]
fn definitions_of_any_type_are_read_or_refused() {
    for path in [
        "/spec/group",
        "/spec/scope",
        "/spec/names",
        "/spec/names/kind",
        "/spec/names/plural",
        "/spec/versions",
        "/spec/versions/0",
        "/spec/versions/0/name",
        "/spec/versions/0/served",
    ] {
        for value in odd_values() {
            is_read("d.json", with(definition(), path, &value).to_string());
        }
    }
    for path in ["/spec/group", "/spec/names/kind", "/spec/names/plural", "/spec/versions/0/name"] {
        for name in ["../x", "a/b", "a\0b", "a b", "a\nerror: x", "a\u{202e}b", "..%2fsecrets"] {
            assert!(
                !is_read("d.json", with(definition(), path, &json!(name)).to_string()),
                "{path}: {name:?}"
            );
        }
    }
}

#[test]
fn text_in_other_encodings_is_refused() {
    let text = thing().to_string();
    let wide = |bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
    let byte = |byte: u8| {
        let bytes = text.replace("Thing", "Q").into_bytes();
        bytes.into_iter().map(|b| if b == b'Q' { byte } else { b }).collect::<Vec<u8>>()
    };
    for file in ["t.json", "t.yaml"] {
        for content in [
            [b"\xff\xfe".to_vec(), wide(u16::to_le_bytes)].concat(),
            [b"\xfe\xff".to_vec(), wide(u16::to_be_bytes)].concat(),
            wide(u16::to_le_bytes),
            byte(0xe4),
            byte(0xc0),
            text.replace("Thing", "Th\0ing").into_bytes(),
            format!("{text}\0").into_bytes(),
            text.replace("\"Thing\"", "\"\\ud800\"").into_bytes(),
            text.replace("\"Thing\"", "\"\\u001b[2J\\u202e\"").into_bytes(),
        ] {
            assert!(!is_read(file, &content), "{file}: {:?}", String::from_utf8_lossy(&content));
        }
    }
}

#[test]
fn invalid_json_is_refused() {
    let text = thing().to_string();
    for content in [
        text[..text.len() / 2].to_owned(),
        format!("{text}}}"),
        text.replacen('{', "{,", 1),
        format!("{text}\nerror: x\n"),
        text.replace('"', "'"),
        format!("{{/* hunter2 */{}", &text[1..]),
        "{\"kind\": hunter2}".into(),
        "{\"kind\": NaN}".into(),
        format!("[{text}]"),
        "\"hunter2\"".into(),
        "12".into(),
    ] {
        assert!(!is_read("t.json", &content), "{content}");
    }
}

#[test]
fn invalid_yaml_is_refused() {
    let head = "apiVersion: g.io/v1\nkind: Thing\nmetadata: {name: t, namespace: a}\n";
    assert!(is_read("t.yaml", head));
    for rest in [
        "spec:\n\ta: 1\n",
        "spec: *hunter2\n",
        "spec: &a [*a]\n",
        "spec: &a {<<: *a}\n",
        "kind: Other\n",
        "? {a: hunter2}\n: 1\n",
        "? [hunter2]\n: 1\n",
        "spec: \"hunter2\n",
        "spec: [1, 2\n",
        "spec: \"\\q\"\n",
        "spec: {{ .Values.x }}\n",
        "=======\n>>>>>>> x\n",
    ] {
        assert!(!is_read("t.yaml", format!("{head}{rest}")), "{rest}");
    }
    // Others may be, as long as nothing runs.
    for rest in [
        "spec: {<<: [1, 2]}\n",
        "~: 1\n",
        "1: 1\n",
        "spec: !!python/object/apply:os.system ['touch hunter2']\n",
        "spec: !ruby/object:Gem::Installer {}\n",
        "spec: !!javax.script.ScriptEngineManager [x]\n",
        "spec: !<tag:hunter2> x\n",
        "spec: !!int hunter2\n",
        "spec: {a: !!binary 'hunter2 *'}\n",
        "spec: {a: !!binary 'AAEC'}\n",
        "spec: !!set {a, b}\n",
        "error: x\nnext: x\n",
    ] {
        is_read("t.yaml", format!("{head}{rest}"));
    }
    for number in [
        ".inf",
        "-.inf",
        ".nan",
        "0o777",
        "0x7fffffffffffffffff",
        "1_000",
        "0b1",
        "12:30:45",
        "+1",
        "1e3",
        "0777",
        "~",
        "2026-01-01T00:00:00Z",
        "1e400",
        "-0",
        "18446744073709551616",
        "99999999999999999999.5",
    ] {
        is_read("t.yaml", format!("{head}spec: {{n: {number}}}\n"));
        is_read("t.json", thing().to_string().replace("false", number));
    }
}

#[test]
fn lists_of_odd_items_are_refused() {
    let list = |items: &Value| json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    assert!(is_read("l.json", list(&json!([thing()]))));
    for items in [
        json!("hunter2"),
        json!({"a": thing()}),
        json!(["hunter2"]),
        json!([null]),
        json!([[thing()]]),
        vec![thing(); 5_000].into(),
    ] {
        assert!(!is_read("l.json", list(&items)));
    }
    assert!(!is_read("l.json", json!({"apiVersion": "v1", "kind": "List"}).to_string()));
}

#[test]
fn manifest_fields_of_another_type_are_refused() {
    let good = json!({"apiVersion": "pivot-host.io/v1alpha1", "kind": "Manifest", "moveId": "m-1", "handover": false,
        "count": 0, "kinds": [*machines()], "files": {}});
    assert!(DirectoryPlace::to_read(directory(&[("manifest.json", &good.to_string())]).path()).is_ok());
    type IsRight = fn(&Value) -> bool;
    let fields: [(&str, IsRight); 11] = [
        ("/apiVersion", |_| false),
        ("/kind", |_| false),
        ("/moveId", |_| false),
        ("/handover", Value::is_boolean),
        ("/count", |_| false),
        ("/kinds", |value| *value == json!([])),
        ("/kinds/0", |_| false),
        ("/kinds/0/groupKind", |_| false),
        ("/kinds/0/served", |value| *value == json!([])),
        ("/kinds/0/labels", |_| false),
        ("/files", |value| *value == json!({})),
    ];
    for (path, right) in fields {
        for value in odd_values().iter().filter(|value| !right(value)) {
            let dir = directory(&[("manifest.json", &with(good.clone(), path, value).to_string())]);
            assert!(DirectoryPlace::to_read(dir.path()).is_err(), "{path}: {value}");
        }
    }
}
