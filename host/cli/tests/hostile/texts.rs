//! Directories whose files are no YAML and no JSON, or count and nest without end.

use std::ffi::OsString;

use serde_json::{Value, json};

use crate::case::{Case, write};
use crate::directories::{EITHER, MOVE, PLAN, REFUSED, cluster, served};

pub(crate) fn cases() -> Vec<Case> {
    [json_texts(), yaml_texts(), yaml_sizes(), lists()].concat()
}

/// A file of text beside a Cluster.
fn text(
    name: impl std::fmt::Display,
    file: &'static str,
    codes: &[i32],
    content: impl Into<Vec<u8>>,
) -> Case {
    let content = content.into();
    Case::new(name.to_string(), PLAN, codes)
        .fed(served)
        .fed(move |folder| write(folder, &format!("from/{file}"), &content))
}

fn json_texts() -> Vec<Case> {
    let object = cluster().to_string();
    let nested = |open: &str, close: &str| {
        let deep = format!("\"spec\":{}1{},\"status\"", open.repeat(1_000_000), close.repeat(1_000_000));
        object.replacen("\"status\"", &deep, 1)
    };
    let number =
        object.replacen("\"status\"", &format!("\"spec\":{{\"n\":{}}},\"status\"", "9".repeat(100_000)), 1);
    let line = object.replacen('{', &format!("{{\"n\":\"{}\",", "n".repeat(30 << 20)), 1);
    vec![
        text("JSON: text behind it", "object.json", &REFUSED, format!("{object}\nerror: FORGED\n")),
        text("JSON: lists in each other", "object.json", &REFUSED, nested("[", "]")),
        text("JSON: a line of 30 megabytes", "object.json", &EITHER, line).within(20, 400),
        Case {
            line: MOVE.split(' ').map(OsString::from).collect(),
            ..text("JSON: a number of 100000 digits", "object.json", &EITHER, number)
        },
    ]
}

/// One of each sort; `places: invalid_yaml_is_refused` has the others.
fn yaml_texts() -> Vec<Case> {
    let head = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: a, namespace: ns}\n";
    let python = format!("{head}spec: !!python/object/apply:os.system ['touch FORGED']\n");
    vec![
        text("YAML: a list without an end", "object.yaml", &REFUSED, format!("{head}spec: [hunter2\n")),
        text("YAML: an anchor in itself", "object.yaml", &REFUSED, format!("{head}spec: &a [*a]\n")),
        text("YAML: a tag of Python", "object.yaml", &EITHER, python),
        text("YAML: lines that look like ours", "object.yaml", &EITHER, format!("{head}error: FORGED\n")),
    ]
}

fn yaml_sizes() -> Vec<Case> {
    let head = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: a, namespace: ns}\n";
    let (levels, count, megabyte) = (100_000, 10_000, 1 << 20);
    let each = |line: fn(usize) -> String| (0..count).map(line).collect::<String>();
    let object = |n: usize| format!("---\n{}", head.replace("name: a", &format!("name: a{n}")));
    let objects: String = (0..count / 4).map(object).collect();
    let refused = [
        ("lists in each other", format!("spec: {}1{}\n", "[".repeat(levels), "]".repeat(levels))),
        ("maps in each other", format!("spec: {}1{}\n", "{a: ".repeat(levels), "}".repeat(levels))),
        ("dashes in each other", format!("spec:\n  {}1\n", "- ".repeat(levels))),
        (
            "1500 indentations",
            format!("spec:\n{}", (0..1_500).map(|n| format!("{}a:\n", " ".repeat(n))).collect::<String>()),
        ),
    ];
    let either = [
        ("10000 documents of nothing", "---\n".repeat(count)),
        ("10000 anchors", format!("spec:\n{}", each(|n| format!("  a{n}: &a{n} {n}\n")))),
        ("10000 merges", format!("spec:\n  a: &a {{x: 1}}\n{}", each(|n| format!("  m{n}: {{<<: *a}}\n")))),
        ("a tag of a megabyte", format!("spec: !{} x\n", "x".repeat(megabyte))),
        ("an anchor of a megabyte", format!("spec: &{} x\n", "x".repeat(megabyte))),
        ("a megabyte of empty lines", format!("spec: |\n{}  x\n", "\n".repeat(megabyte))),
        ("a megabyte of question marks", format!("spec: {}\n", "? ".repeat(megabyte / 2))),
        ("a megabyte of ampersands", format!("spec: {}\n", "&a ".repeat(300_000))),
        ("a megabyte of quotes", format!("spec: {}\n", "'".repeat(megabyte))),
    ];
    let of = |codes: &[i32], (name, rest): (&str, String)| {
        text(format!("YAML: {name}"), "object.yaml", codes, format!("{head}{rest}")).within(20, 256)
    };
    let refused = refused.into_iter().map(|case| of(&REFUSED, case));
    let either = either.into_iter().map(|case| of(&EITHER, case));
    let many = text("YAML: 2500 objects", "object.yaml", &EITHER, objects).within(30, 192).words(25_000);
    refused.chain(either).chain([many]).collect()
}

fn lists() -> Vec<Case> {
    let list = |items: Value| json!({"apiVersion": "v1", "kind": "List", "items": items});
    let nested = (0..200).fold(cluster(), |inner, _| list(json!([inner])));
    let many = list(vec![cluster(); 5_000].into());
    vec![
        text("a list of one object, 5000 times", "object.json", &REFUSED, many.to_string()).within(20, 256),
        text("lists of lists, 200 levels", "object.json", &EITHER, nested.to_string()),
    ]
}
