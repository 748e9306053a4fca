//! Directories whose files are no YAML and no JSON, or count and nest without end.

use std::ffi::OsString;

use serde_json::{Value, json};

use crate::case::{Case, write};
use crate::directories::{EITHER, MOVE, PLAN, REFUSED, cluster, served, with};

pub(crate) fn cases() -> Vec<Case> {
    [encodings(), numbers(), json_texts(), yaml_texts(), yaml_sizes(), lists()].concat()
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

fn encodings() -> Vec<Case> {
    let object = cluster().to_string();
    let wide = |bytes: fn(u16) -> [u8; 2]| object.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
    let mut cases = Vec::new();
    for (file, ending) in [("object.json", "JSON"), ("object.yaml", "YAML")] {
        let texts: [(&str, Vec<u8>, &[i32]); 11] = [
            ("a byte order mark", format!("\u{feff}{object}").into(), &EITHER),
            ("two byte order marks", format!("\u{feff}\u{feff}{object}").into(), &EITHER),
            ("UTF-16, little end first", [b"\xff\xfe".to_vec(), wide(u16::to_le_bytes)].concat(), &REFUSED),
            ("UTF-16, big end first", [b"\xfe\xff".to_vec(), wide(u16::to_be_bytes)].concat(), &REFUSED),
            ("UTF-16 without a mark", wide(u16::to_le_bytes), &REFUSED),
            (
                "Latin-1",
                object
                    .replace("ns", "QQ")
                    .into_bytes()
                    .iter()
                    .map(|b| if *b == b'Q' { 0xe4 } else { *b })
                    .collect(),
                &REFUSED,
            ),
            (
                "a slash in two bytes",
                object
                    .replace("ns", "QQ")
                    .into_bytes()
                    .iter()
                    .map(|b| if *b == b'Q' { 0xc0 } else { *b })
                    .collect(),
                &REFUSED,
            ),
            ("a NUL in it", object.replace("ns", "n\0s").into(), &REFUSED),
            ("a NUL behind it", format!("{object}\0").into(), &REFUSED),
            ("half of a pair of surrogates", object.replace("\"ns\"", "\"\\ud800\"").into(), &REFUSED),
            ("escaped controls", object.replace("\"ns\"", "\"\\u001b[2J\\u202e\"").into(), &REFUSED),
        ];
        for (name, content, codes) in texts {
            cases.push(text(format!("{ending}: {name}"), file, codes, content));
        }
    }
    cases
}

fn numbers() -> Vec<Case> {
    let long = "9".repeat(100_000);
    let numbers = [
        "1e400",
        "-1e400",
        "1e-400",
        "-0",
        "0.1",
        "18446744073709551616",
        "-9223372036854775809",
        "1E+2",
        "99999999999999999999.5",
        &long,
    ];
    let mut cases = Vec::new();
    for (n, number) in numbers.into_iter().enumerate() {
        let content = cluster().to_string().replacen(
            "\"status\"",
            &format!("\"spec\":{{\"n\":{number}}},\"status\""),
            1,
        );
        let case = text(format!("the number {n}, {number:.24}"), "object.json", &EITHER, content.clone());
        cases.push(Case { line: MOVE.split(' ').map(OsString::from).collect(), ..case });
        let yaml = format!(
            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {{name: a, namespace: ns}}\nspec: {{n: {number}}}\n"
        );
        let case = text(format!("the number {n} in YAML, {number:.24}"), "object.yaml", &EITHER, yaml);
        cases.push(Case { line: MOVE.split(' ').map(OsString::from).collect(), ..case });
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
    ] {
        let yaml = format!(
            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {{name: a, namespace: ns}}\nspec: {{n: {number}}}\n"
        );
        let case = text(format!("in YAML {number}"), "object.yaml", &EITHER, yaml);
        cases.push(Case { line: MOVE.split(' ').map(OsString::from).collect(), ..case });
    }
    cases
}

fn json_texts() -> Vec<Case> {
    let object = cluster().to_string();
    let mut cases = vec![
        text("JSON: nothing", "object.json", &EITHER, ""),
        text("JSON: half of it", "object.json", &REFUSED, &object[..object.len() / 2]),
        text("JSON: a bracket too many", "object.json", &REFUSED, format!("{object}}}")),
        text("JSON: a comma too many", "object.json", &REFUSED, object.replacen('{', "{,", 1)),
        text("JSON: text behind it", "object.json", &REFUSED, format!("{object}\nerror: FORGED\n")),
        text("JSON: single quotes", "object.json", &REFUSED, object.replace('"', "'")),
        text("JSON: remarks", "object.json", &REFUSED, format!("{{/* hunter2 */{}", &object[1..])),
        text("JSON: a name twice", "object.json", &EITHER, object.replacen('{', "{\"kind\":\"Machine\",", 1)),
        text("JSON: a word that is not quoted", "object.json", &REFUSED, "{\"kind\": hunter2}"),
        text("JSON: not a number", "object.json", &REFUSED, "{\"kind\": NaN}"),
        text("JSON: a list", "object.json", &REFUSED, format!("[{object}]")),
        text("JSON: a word", "object.json", &REFUSED, "\"hunter2\""),
        text("JSON: a number", "object.json", &REFUSED, "12"),
        text(
            "JSON: a name of a megabyte",
            "object.json",
            &EITHER,
            object.replacen('{', &format!("{{\"{}\":1,", "n".repeat(1 << 20)), 1),
        ),
        text(
            "JSON: a line of 30 megabytes",
            "object.json",
            &EITHER,
            object.replacen('{', &format!("{{\"n\":\"{}\",", "n".repeat(30 << 20)), 1),
        )
        .within(20, 400),
    ];
    for levels in [120, 126, 127, 128, 129, 1_000, 1_000_000] {
        let nested = |open: &str, close: &str| {
            object.replacen(
                "\"status\"",
                &format!("\"spec\":{}1{},\"status\"", open.repeat(levels), close.repeat(levels)),
                1,
            )
        };
        for (sort, content) in [("lists", nested("[", "]")), ("maps", nested("{\"a\":", "}"))] {
            let codes = if levels < 150 { EITHER.to_vec() } else { REFUSED.to_vec() };
            let case =
                text(format!("JSON: {sort} in each other, {levels} levels"), "object.json", &codes, content);
            cases.push(Case { line: MOVE.split(' ').map(OsString::from).collect(), ..case });
        }
    }
    cases
}

fn yaml_texts() -> Vec<Case> {
    let head = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: a, namespace: ns}\n";
    let texts: [(&str, String, &[i32]); 31] = [
        ("nothing", String::new(), &EITHER),
        ("a remark", "# hunter2\n".into(), &EITHER),
        ("a word", "hunter2\n".into(), &REFUSED),
        ("a list", "- hunter2\n".into(), &REFUSED),
        ("a tab", format!("{head}spec:\n\ta: 1\n"), &REFUSED),
        ("an anchor that is not there", format!("{head}spec: *hunter2\n"), &REFUSED),
        ("an anchor in itself", format!("{head}spec: &a [*a]\n"), &REFUSED),
        ("a map merged with itself", format!("{head}spec: &a {{<<: *a}}\n"), &REFUSED),
        ("a merge of what is no map", format!("{head}spec: {{<<: [1, 2]}}\n"), &EITHER),
        ("a key twice", format!("{head}kind: Machine\n"), &REFUSED),
        ("a key that is a map", format!("{head}? {{a: hunter2}}\n: 1\n"), &REFUSED),
        ("a key that is a list", format!("{head}? [hunter2]\n: 1\n"), &REFUSED),
        ("a key that is nothing", format!("{head}~: 1\n"), &EITHER),
        ("a key that is a number", format!("{head}1: 1\n"), &EITHER),
        (
            "a tag of Python",
            format!("{head}spec: !!python/object/apply:os.system ['touch FORGED']\n"),
            &EITHER,
        ),
        ("a tag of Ruby", format!("{head}spec: !ruby/object:Gem::Installer {{}}\n"), &EITHER),
        ("a tag of Java", format!("{head}spec: !!javax.script.ScriptEngineManager [x]\n"), &EITHER),
        ("a tag with an address", format!("{head}spec: !<tag:FORGED> x\n"), &EITHER),
        ("a tag that is wrong", format!("{head}spec: !!int hunter2\n"), &EITHER),
        ("binary that is none", format!("{head}spec: {{a: !!binary 'hunter2 *'}}\n"), &EITHER),
        ("binary", format!("{head}spec: {{a: !!binary 'AAEC'}}\n"), &EITHER),
        ("a set", format!("{head}spec: !!set {{a, b}}\n"), &EITHER),
        ("a version of YAML that there is none of", format!("%YAML 9.9\n---\n{head}"), &EITHER),
        ("a directive that there is none of", format!("%FORGED x\n---\n{head}"), &EITHER),
        ("a text without an end", format!("{head}spec: \"hunter2\n"), &REFUSED),
        ("a list without an end", format!("{head}spec: [1, 2\n"), &REFUSED),
        ("an escape that is none", format!("{head}spec: \"\\q\"\n"), &REFUSED),
        ("lines that look like ours", format!("{head}error: FORGED\nnext: FORGED\n"), &EITHER),
        ("words of a template", format!("{head}spec: {{{{ .Values.x }}}}\n"), &REFUSED),
        ("text of a merge that failed", format!("<<<<<<< HEAD\n{head}=======\n>>>>>>> x\n"), &REFUSED),
        ("carriage returns alone", head.replace('\n', "\r"), &EITHER),
    ];
    texts
        .into_iter()
        .map(|(name, content, codes)| text(format!("YAML: {name}"), "object.yaml", codes, content))
        .collect()
}

fn yaml_sizes() -> Vec<Case> {
    let head = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: a, namespace: ns}\n";
    let mut cases = Vec::new();
    for levels in [100, 130, 1_000, 100_000] {
        let flow = format!("{head}spec: {}1{}\n", "[".repeat(levels), "]".repeat(levels));
        let maps = format!("{head}spec: {}1{}\n", "{a: ".repeat(levels), "}".repeat(levels));
        let dashes = format!("{head}spec:\n  {}1\n", "- ".repeat(levels));
        let open = format!("{head}spec: {}", "[".repeat(levels));
        for (sort, content) in
            [("lists", flow), ("maps", maps), ("dashes", dashes), ("lists without an end", open)]
        {
            let codes = REFUSED;
            cases.push(text(
                format!("YAML: {sort} in each other, {levels} levels"),
                "object.yaml",
                &codes,
                content,
            ));
        }
    }
    let indented: String = (0..1_500).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
    cases.push(text("YAML: 1500 indentations", "object.yaml", &REFUSED, format!("{head}spec:\n{indented}")));
    for count in [2, 10_000] {
        cases.push(text(
            format!("YAML: {count} documents of nothing"),
            "object.yaml",
            &EITHER,
            format!("{}{head}", "---\n".repeat(count)),
        ));
        cases.push(text(
            format!("YAML: {count} ends"),
            "object.yaml",
            &EITHER,
            format!("{head}{}", "...\n".repeat(count)),
        ));
        let anchors: String = (0..count).map(|n| format!("  a{n}: &a{n} {n}\n")).collect();
        cases.push(text(
            format!("YAML: {count} anchors"),
            "object.yaml",
            &EITHER,
            format!("{head}spec:\n{anchors}"),
        ));
        let keys: String = (0..count).map(|n| format!("  k{n}: {n}\n")).collect();
        cases.push(text(
            format!("YAML: {count} keys"),
            "object.yaml",
            &EITHER,
            format!("{head}spec:\n{keys}"),
        ));
        let merged: String = (0..count).map(|n| format!("  m{n}: {{<<: *a}}\n")).collect();
        cases.push(text(
            format!("YAML: {count} merges"),
            "object.yaml",
            &EITHER,
            format!("{head}spec:\n  a: &a {{x: 1}}\n{merged}"),
        ));
        let objects: String = (0..count / 4)
            .map(|n| format!("---\n{}", head.replace("name: a", &format!("name: a{n}"))))
            .collect();
        cases.push(
            text(format!("YAML: {} objects", count / 4), "object.yaml", &EITHER, objects)
                .within(30, 192)
                .words(25_000),
        );
    }
    for (name, content) in [
        ("a word of a megabyte", format!("{head}spec: {}\n", "x".repeat(1 << 20))),
        ("a key of a megabyte", format!("{head}{}: 1\n", "x".repeat(1 << 20))),
        ("a remark of a megabyte", format!("{head}# {}\n", "x".repeat(1 << 20))),
        ("a tag of a megabyte", format!("{head}spec: !{} x\n", "x".repeat(1 << 20))),
        ("an anchor of a megabyte", format!("{head}spec: &{} x\n", "x".repeat(1 << 20))),
        ("a megabyte of spaces", format!("{head}spec:{}x\n", " ".repeat(1 << 20))),
        ("a megabyte of empty lines", format!("{head}spec: |\n{}  x\n", "\n".repeat(1 << 20))),
        ("a megabyte of question marks", format!("{head}spec: {}\n", "? ".repeat(1 << 19))),
        ("a megabyte of colons", format!("{head}spec: {}\n", ": ".repeat(1 << 19))),
        ("a megabyte of ampersands", format!("{head}spec: {}\n", "&a ".repeat(300_000))),
        ("a megabyte of bars", format!("{head}spec: {}\n", "|\n".repeat(1 << 19))),
        ("a megabyte of quotes", format!("{head}spec: {}\n", "'".repeat(1 << 20))),
        ("a megabyte of backslashes", format!("{head}spec: \"{}\"\n", "\\\\".repeat(1 << 19))),
    ] {
        cases.push(text(format!("YAML: {name}"), "object.yaml", &EITHER, content).within(20, 256));
    }
    cases
}

fn lists() -> Vec<Case> {
    let list = |items: Value| json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let mut cases = vec![
        text("a list of nothing", "object.json", &EITHER, list(json!([]))),
        text("a list whose items are nothing", "object.json", &EITHER, list(json!(null))),
        text("a list whose items are a word", "object.json", &REFUSED, list(json!("hunter2"))),
        text("a list whose items are a map", "object.json", &REFUSED, list(json!({"a": cluster()}))),
        text("a list of words", "object.json", &REFUSED, list(json!(["hunter2"]))),
        text("a list of null", "object.json", &REFUSED, list(json!([null]))),
        text("a list of lists", "object.json", &REFUSED, list(json!([[cluster()]]))),
        text(
            "a list without items",
            "object.json",
            &REFUSED,
            json!({"apiVersion": "v1", "kind": "List"}).to_string(),
        ),
        text(
            "a list of another kind",
            "object.json",
            &EITHER,
            json!({"apiVersion": "x.y/v1", "kind": "FORGEDList", "items": [cluster()]}).to_string(),
        ),
        text(
            "a Cluster with items",
            "object.json",
            &EITHER,
            with(cluster(), "/items", json!([cluster()])).to_string(),
        ),
        text(
            "a list of one object, 5000 times",
            "object.json",
            &REFUSED,
            list(vec![cluster(); 5_000].into()),
        )
        .within(20, 256),
    ];
    for levels in [20, 40, 60, 200] {
        let nested = (0..levels)
            .fold(cluster(), |inner, _| json!({"apiVersion": "v1", "kind": "List", "items": [inner]}));
        cases.push(text(
            format!("lists of lists, {levels} levels"),
            "object.json",
            &EITHER,
            nested.to_string(),
        ));
    }
    cases
}
