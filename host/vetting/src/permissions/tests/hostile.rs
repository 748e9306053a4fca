//! Grants and locks that somebody else wrote: each is refused in few words that say where.

use crate::permissions::{LockFile, OperatorFile};

fn grants(text: &str) -> String {
    refused("plugins.toml", text, OperatorFile::parse(text).map(drop).map_err(|why| why.to_string()))
}

fn lock(text: &str) -> String {
    refused("plugins.lock", text, LockFile::parse(text).map(drop).map_err(|why| why.to_string()))
}

/// The reason why it is refused.
fn refused(file: &str, text: &str, read: Result<(), String>) -> String {
    let begin: String = text.chars().take(200).collect();
    let why = read.expect_err(&begin);
    assert!(why.starts_with(&format!("{file}: can't be understood: ")), "{begin}: {why}");
    assert!(why.len() < 1_500, "{begin}: {why}");
    why
}

#[test]
fn text_that_is_no_toml_is_refused() {
    let nested = |levels: usize| format!("a = {}{}", "[".repeat(levels), "]".repeat(levels));
    let (lists, keys) = (nested(10_000), format!("a{} = 1", ".a".repeat(10_000)));
    let key = format!("a{}", ".a".repeat(74));
    let both = format!("{}{key} = 1{}", format!("{key} = {{ ").repeat(78), " }".repeat(78));
    for text in [
        "words",
        "{\"plugins\": {}}",
        "plugins:\n  p: {}",
        "a = 'words",
        "a = '''words",
        "[plugins.p",
        "a = [1, [2, [3",
        "a = \"\\q\"",
        "a = \"\\ud800\"",
        "a = \"\\U00110000\"",
        "a = \"\0\"",
        "a = \"\x1b[2J\"",
        "a = 1\rerror: x\r",
        "a = 1\na = 2",
        "[plugins.p]\n[plugins.p]",
        "plugins.p = 1\n[plugins.p]",
        "a = 99999999999999999999",
        "a = 2026-02-31",
        " = 1",
        "a\nerror: x\nnext: x",
        &lists,
        &keys,
        &both,
        &format!("plugins.p.config.{both}"),
    ] {
        grants(text);
        lock(text);
    }
}

#[test]
fn values_of_another_type_are_refused() {
    let values = [
        ("number", "1"),
        ("fraction", "1.5"),
        ("none", "nan"),
        ("bool", "true"),
        ("word", "'words'"),
        ("list", "[]"),
        ("words", "['words']"),
        ("lists", "[[]]"),
        ("table", "{}"),
        ("day", "2026-01-01"),
    ];
    let keys: [(&str, &[&str]); 17] = [
        ("order", &["list", "words"]),
        ("limits", &["table"]),
        ("plugins", &["table"]),
        ("plugins.p", &["table"]),
        ("plugins.p.enabled", &["bool"]),
        ("plugins.p.hooks", &["list"]),
        ("plugins.p.kinds", &["list", "words"]),
        ("plugins.p.reach", &["list"]),
        ("plugins.p.changes", &["list"]),
        ("plugins.p.reads", &["list"]),
        ("plugins.p.probes", &["list", "words"]),
        ("plugins.p.secret-data", &["bool"]),
        ("plugins.p.on-failure", &["table"]),
        ("plugins.p.limits", &["table"]),
        ("plugins.p.config", &["table"]),
        ("limits.time", &[]),
        ("limits.host-calls", &["number"]),
    ];
    for (key, right) in keys {
        for (_, value) in values.iter().filter(|(sort, _)| !right.contains(sort)) {
            let why = grants(&format!("{key} = {value}"));
            assert!(
                why.contains("line 1, column ") && why.contains(&format!(": {key}")),
                "{key} = {value}: {why}"
            );
        }
    }
}

#[test]
fn values_that_serde_would_convert_are_refused() {
    for (key, below, value) in [
        ("plugins.p.changes", "[0]", "[['hold', 'A.b', 'source']]"),
        ("plugins.p.reads", "[0]", "[['A.b', 'source', 'n']]"),
        ("plugins.p.reach", "[0]", "[['A.b', 'source', 'n', true]]"),
        ("plugins.p.limits", "", "['1s', '1MiB', 1, '1MiB', '1MiB', '1MiB', 1, '1s']"),
        ("plugins.p.on-failure", "", "['warn']"),
        ("plugins.p.hooks", "[0]", "[{ hold = {} }]"),
        ("plugins.p.hooks", "[0]", "[{ hold = [] }]"),
        ("plugins.p.on-failure", ".check", "{ check = { warn = {} } }"),
        ("plugins.p.reads", "[0].side", "[{ kind = 'A.b', side = { source = {} } }]"),
        ("plugins.p.config", ".a", "{ a = 2026-01-01 }"),
        ("plugins.p.config", ".a[1].b", "{ a = [1, { b = 1979-05-27T07:32:00Z }] }"),
        ("plugins.p.config", ".a", "{ a = 07:32:00 }"),
        ("plugins.p.config", ".a", "{ a = nan }"),
        ("plugins.p.config", ".a[0]", "{ a = [-inf] }"),
    ] {
        let why = grants(&format!("{key} = {value}"));
        assert!(why.contains(&format!(": {key}{below}: ")), "{value}: {why}");
    }
    let listed = format!("format = 1\nplugin = [['p', '1.0.0', '{}', 1, '']]", "ab".repeat(32));
    assert!(lock(&listed).contains(": plugin[0]: "));
}

#[test]
fn keys_that_nothing_reads_are_refused() {
    for table in ["", "[plugins.p]\n", "[plugins.p.limits]\n", "[limits]\n"] {
        for key in ["x", "'x y'", "\"x\\nerror: y\"", "\"\\u202e\"", "\"\\u0000\""] {
            grants(&format!("{table}{key} = 1"));
        }
    }
}

#[test]
fn limits_that_are_none_are_refused() {
    let spans = [
        "''",
        "'-1s'",
        "'1'",
        "'s'",
        "'1e9s'",
        "'inf'",
        "'nan s'",
        "'99999999999999999999s'",
        "'1s1s'",
        "'1 year'",
        "-1",
    ];
    let sizes = [
        "''",
        "'-1MiB'",
        "'MiB'",
        "'1e9'",
        "'99999999999999999999'",
        "'18446744073709551615GiB'",
        "'1XiB'",
        "-1",
    ];
    let counts = ["-1", "4294967296", "9223372036854775807", "'1'", "1e3"];
    for (key, values) in [
        ("time", &spans[..]),
        ("total", &spans),
        ("memory", &sizes),
        ("stack", &sizes),
        ("output", &sizes),
        ("host-calls", &counts),
    ] {
        for value in values {
            grants(&format!("[limits]\n{key} = {value}"));
            grants(&format!("[plugins.p.limits]\n{key} = {value}"));
        }
    }
}

#[test]
fn probes_that_are_no_patterns_are_refused() {
    for probe in [
        "",
        "*",
        ":",
        "*:",
        ":80",
        "*:0",
        "*:65536",
        "*:-1",
        "*:+80",
        "*: 80",
        "*:8e1",
        "*:0x50",
        "*:80:80",
        "*:*:*",
        "a..b:80",
        ".a:80",
        "**:80",
        "*.*:80",
        "*.:80",
        "a*:80",
        "a.*:80",
        "http://a:80",
        "a:80/x",
        "a/b/c:80",
        "/:80",
        "a/:80",
        "/b:80",
        "../b:80",
        "a/..:80",
        "u@a:80",
        "a b:80",
        "a\n:80",
        "10.0.0.0/33:80",
        "10.0.0.0/-1:80",
        "10.0.0.0/8/8:80",
        "10.0.0.0/x:80",
        "10.0.0/8:80",
        "::1:80",
        "[::1:80",
        "[::1]80",
        "[::/129]:80",
        "[fe80::1%eth0]:80",
        "a\u{202e}b:80",
        "a\u{ad}b:80",
        "\u{ff41}:80",
        "a_b:80:",
    ] {
        grants(&format!("[plugins.p]\nprobes = [{}]", toml::Value::from(probe)));
    }
}

#[test]
fn locks_with_odd_fields_are_refused() {
    let digest = format!("sha256 = '{}'", "ab".repeat(32));
    let good = format!("format = 1\n[[plugin]]\nname = 'p'\nversion = '1.0.0'\n{digest}\nsize = 1\n");
    assert!(LockFile::parse(&good).is_ok());
    for value in ["0", "2", "-1", "4294967295", "4294967296", "'1'", "1.0", "[]", "{}", "true", "nan"] {
        lock(&good.replace("format = 1", &format!("format = {value}")));
    }
    for (line, own) in
        [("name = 'p'", &["'words'"][..]), ("version = '1.0.0'", &[]), (&digest, &[]), ("size = 1", &["1"])]
    {
        let key = line.split(' ').next().unwrap();
        lock(&good.replace(line, ""));
        lock(&good.replace(line, &format!("{line}\n{line}")));
        for value in
            ["-1", "1.5", "[]", "{}", "true", "'words'", "1"].iter().filter(|value| !own.contains(value))
        {
            lock(&good.replace(line, &format!("{key} = {value}")));
        }
    }
    for value in ["1", "true", "[]", "{}"] {
        lock(&format!("{good}passed = {value}\n"));
    }
    lock(&format!("{good}more = 1\n"));
    lock(&good.replace("format = 1\n", ""));
    lock("format = 1\n[plugin]\nname = 'p'\n");
}
