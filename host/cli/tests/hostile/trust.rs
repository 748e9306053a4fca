//! What an operator writes beside plugins, if somebody else wrote it: `plugins.toml` and `plugins.lock`.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use serde_json::json;

use crate::case::Case;
use crate::words::WORDS;

const VERIFY: &str = "plugin verify .";
const REFUSED: [i32; 1] = [6];

pub(crate) fn cases() -> Vec<Case> {
    let families = [
        no_toml(),
        types(),
        unknown(),
        kinds(),
        probes(),
        limits(),
        sides_and_hooks(),
        sizes(),
        locks(),
        on_disk(),
    ];
    families.concat()
}

/// A `plugins.toml` that makes no sense, and is refused as such: not for a plugin that isn't there.
fn grants(name: impl std::fmt::Display, text: impl Into<Vec<u8>>) -> Case {
    let case = Case::new(format!("plugins.toml: {name}"), VERIFY, &REFUSED);
    case.file("plugins.toml", text).says("error: plugins.toml: can't be understood: ")
}

fn lock(name: impl std::fmt::Display, text: impl Into<Vec<u8>>) -> Case {
    let case = Case::new(format!("plugins.lock: {name}"), VERIFY, &REFUSED);
    case.file("plugins.lock", text).says("error: plugins.lock: can't be understood: ")
}

/// A string of TOML is one of JSON, but for characters that TOML wants escaped and JSON doesn't.
fn toml(words: &str) -> String {
    json!(words).to_string().replace('\u{7f}', "\\u007f")
}

/// Of both files.
fn both(name: &str, text: impl Into<Vec<u8>>) -> [Case; 2] {
    let text = text.into();
    [grants(name, text.clone()), lock(name, text)]
}

fn no_toml() -> Vec<Case> {
    let texts: [(&str, Vec<u8>); 24] = [
        ("a word", b"words".to_vec()),
        ("JSON", b"{\"plugins\": {}}".to_vec()),
        ("YAML", b"plugins:\n  p: {}\n".to_vec()),
        ("a string without an end", b"a = 'words\n".to_vec()),
        ("a text without an end", b"a = '''words\n".to_vec()),
        ("a table without an end", b"[plugins.p\n".to_vec()),
        ("a list without an end", b"a = [1, [2, [3\n".to_vec()),
        ("an escape that is none", b"a = \"\\q\"\n".to_vec()),
        ("half of a pair of surrogates", b"a = \"\\ud800\"\n".to_vec()),
        ("a character beyond the last", b"a = \"\\U00110000\"\n".to_vec()),
        ("a NUL", b"a = \"\0\"\n".to_vec()),
        ("a control", b"a = \"\x1b[2J\"\n".to_vec()),
        ("not UTF-8", b"a = \"\xff\xfe\"\n".to_vec()),
        ("UTF-16", b"\xff\xfea\0=\0\x31\0".to_vec()),
        ("carriage returns alone", b"a = 1\rerror: FORGED\r".to_vec()),
        ("a key twice", b"a = 1\na = 2\n".to_vec()),
        ("a table twice", b"[plugins.p]\n[plugins.p]\n".to_vec()),
        ("a table that is a value", b"plugins.p = 1\n[plugins.p]\n".to_vec()),
        ("a number too large", b"a = 99999999999999999999\n".to_vec()),
        ("a day that there is not", b"a = 2026-02-31\n".to_vec()),
        ("a key of nothing", b" = 1\n".to_vec()),
        ("lines that look like ours", b"a\nerror: FORGED\nnext: FORGED\n".to_vec()),
        ("binary", b"\0asm\x0d\0\x01\0".to_vec()),
        ("a page of the web", b"<!DOCTYPE html><html>words</html>".to_vec()),
    ];
    let mut cases: Vec<Case> = texts.into_iter().flat_map(|(name, text)| both(name, text)).collect();
    for levels in [100, 10_000, 400_000] {
        let deep = |open: &str, close: &str| format!("a = {}{}\n", open.repeat(levels), close.repeat(levels));
        cases.extend(both(&format!("lists in lists, {levels} levels"), deep("[", "]")));
        cases.extend(both(
            &format!("tables in tables, {levels} levels"),
            format!("a = {}\n", "{a=".repeat(levels / 2)),
        ));
        cases.extend(both(&format!("a key of {levels} parts"), format!("a{} = 1\n", ".a".repeat(levels))));
        cases.extend(both(&format!("a heading of {levels} parts"), format!("[a{}]\n", ".a".repeat(levels))));
    }
    // As deep as both bounds of a parser together let it be.
    let key = format!("a{}", ".a".repeat(74));
    let deep = format!("{}{key} = 1{}\n", format!("{key} = {{ ").repeat(78), " }".repeat(78));
    cases.extend(both("tables of long keys in tables of long keys", deep.clone()));
    cases.push(grants("a configuration of long keys in long keys", format!("plugins.p.config.{deep}")));
    cases
}

/// Each key with values of all types but its own.
fn types() -> Vec<Case> {
    let values = [
        ("a number", "1"),
        ("a fraction", "1.5"),
        ("no number", "nan"),
        ("yes or no", "true"),
        ("words", "'words'"),
        ("a list", "[]"),
        ("a list of words", "['words']"),
        ("a list of lists", "[[]]"),
        ("a table", "{}"),
        ("a day", "2026-01-01"),
    ];
    let (number, yes, list, words, table) = ("a number", "yes or no", "a list", "a list of words", "a table");
    let keys: [(&str, &[&str]); 17] = [
        ("order", &[list, words]),
        ("limits", &[table]),
        ("plugins", &[table]),
        ("plugins.p", &[table]),
        ("plugins.p.enabled", &[yes]),
        ("plugins.p.hooks", &[list]),
        ("plugins.p.kinds", &[list, words]),
        ("plugins.p.reach", &[list]),
        ("plugins.p.changes", &[list]),
        ("plugins.p.reads", &[list]),
        ("plugins.p.probes", &[list, words]),
        ("plugins.p.secret-data", &[yes]),
        ("plugins.p.on-failure", &[table]),
        ("plugins.p.limits", &[table]),
        ("plugins.p.config", &[table]),
        ("limits.time", &[]),
        ("limits.host-calls", &[number]),
    ];
    let mut cases = Vec::new();
    for (key, right) in keys {
        for (name, value) in values.iter().filter(|(name, _)| !right.contains(name)) {
            let case = grants(format!("{key} is {name}"), format!("{key} = {value}\n"));
            cases.push(case.says("line 1, column ").says(format!(": {key}")));
        }
    }
    cases.extend(taken_for_another());
    cases
}

/// What serde and toml would take for what was meant.
fn taken_for_another() -> Vec<Case> {
    let digest = "ab".repeat(32);
    let keys = [
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
    ];
    let keyed = keys.map(|(key, below, value)| {
        grants(format!("{key} is {value}"), format!("{key} = {value}\n")).says(format!(": {key}{below}: "))
    });
    let listed = format!("format = 1\nplugin = [['p', '1.0.0', '{digest}', 1, '']]\n");
    keyed.into_iter().chain([lock("a plugin that is a list", listed).says(": plugin[0]: ")]).collect()
}

fn unknown() -> Vec<Case> {
    let mut cases = Vec::new();
    let places = [("", ""), ("[plugins.p]\n", ""), ("[plugins.p.limits]\n", ""), ("[limits]\n", "")];
    for (before, after) in places {
        for (sort, words) in WORDS {
            let key = toml(words);
            let name = format!("a key under {before:?} called {sort}");
            cases.push(grants(name, format!("{before}{key} = 1\n{after}")));
        }
    }
    cases
}

fn kinds() -> Vec<Case> {
    let odd = [
        "",
        "*.",
        "A.",
        ".metal3.io",
        "A..io",
        "A.-a.io",
        "A.a_b",
        "A b.metal3.io",
        "A/b.c",
        "../a",
        "*.*",
        "**",
        "a",
        "A.metal3.io/v1",
        "A.b.",
        "\u{202e}A",
        "A\u{ad}.b",
        "Ä.b",
    ];
    let mut cases = Vec::new();
    for kind in odd.into_iter().chain(WORDS.map(|(_, words)| words)) {
        let value = toml(kind);
        let read = format!("[plugins.p]\nreads = [{{ kind = {value}, side = 'source' }}]\n");
        cases.push(grants(format!("a read of {kind:?}"), read));
        let change =
            format!("[plugins.p]\nchanges = [{{ hook = 'hold', kind = {value}, side = 'source' }}]\n");
        cases.push(grants(format!("a change of {kind:?}"), change));
    }
    for namespace in ["", ".", "..", "a.b", "a/b", "A", "**", "-a", "a-", "a b", "ä"] {
        let read = "kind = 'Secret', side = 'source'";
        let text = format!("[plugins.p]\nreads = [{{ {read}, namespace = {} }}]\n", toml(namespace));
        cases.push(grants(format!("a read in the namespace {namespace:?}"), text));
    }
    cases
}

fn probes() -> Vec<Case> {
    let long = format!("{}:80", "a.".repeat(100_000));
    let odd = [
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
        &long,
    ];
    odd.iter()
        .enumerate()
        .map(|(n, probe)| {
            let text = format!("[plugins.p]\nprobes = [{}]\n", toml(probe));
            grants(format!("probe {n}, {:.40}", probe.escape_debug().to_string()), text)
        })
        .collect()
}

fn limits() -> Vec<Case> {
    let (spans, sizes) = (
        [
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
        ],
        [
            "''",
            "'-1MiB'",
            "'MiB'",
            "'1e9'",
            "'99999999999999999999'",
            "'18446744073709551615GiB'",
            "'1XiB'",
            "-1",
        ],
    );
    let counts = ["-1", "4294967296", "9223372036854775807", "'1'", "1e3"];
    let keys = [
        ("time", &spans[..]),
        ("total", &spans),
        ("memory", &sizes),
        ("stack", &sizes),
        ("output", &sizes),
        ("host-calls", &counts),
    ];
    let mut cases = Vec::new();
    for (key, values) in keys {
        for value in values {
            cases.push(grants(format!("{key} of {value}"), format!("[limits]\n{key} = {value}\n")));
            cases.push(grants(
                format!("{key} of {value} for one"),
                format!("[plugins.p.limits]\n{key} = {value}\n"),
            ));
        }
    }
    cases
}

fn sides_and_hooks() -> Vec<Case> {
    let mut cases = Vec::new();
    for (sort, words) in WORDS {
        let words = toml(words);
        for (place, text) in [
            ("a hook", format!("[plugins.p]\nhooks = [{words}]\n")),
            ("a side", format!("[plugins.p]\nreads = [{{ kind = 'A.b', side = {words} }}]\n")),
            ("what follows a failure", format!("[plugins.p]\non-failure = {{ check = {words} }}\n")),
            ("the order", format!("order = [{words}]\n")),
        ] {
            cases.push(grants(format!("{place} is {sort}"), text));
        }
        // Names of plugins may be anything; none is there.
        let missing = Case::new(format!("plugins.toml: a plugin called {sort}"), VERIFY, &REFUSED);
        cases.push(
            missing.file("plugins.toml", format!("[plugins.{words}]\n")).says("is named in plugins.toml"),
        );
        let (name, digest) = (format!("a plugin called {sort}"), "ab".repeat(32));
        let entry = |name: &str, version: &str, sha256: &str| {
            format!(
                "format = 1\n[[plugin]]\nname = {name}\nversion = {version}\nsha256 = {sha256}\nsize = 1\n"
            )
        };
        let (version, sha256) = ("'1.0.0'", format!("'{digest}'"));
        cases.push(lock(name, entry(&words, version, &sha256)).says("line 3, column 8: plugin[0].name: "));
        let of = |key| format!("a {key} that is {sort}");
        cases.push(lock(of("version"), entry("'p'", &words, &sha256)).says("column 11: plugin[0].version: "));
        cases.push(lock(of("digest"), entry("'p'", version, &words)).says("column 10: plugin[0].sha256: "));
    }
    cases
}

/// As much as there can be.
fn sizes() -> Vec<Case> {
    let mut cases: Vec<Case> = both("a megabyte of remarks and a byte", "#".repeat((1 << 20) + 1))
        .into_iter()
        .map(|case| Case { says: vec!["1048576".into()], ..case })
        .collect();
    let many = |name: &str, line: fn(usize) -> String, count: usize| {
        let text: String = (0..count).map(line).collect();
        Case::new(format!("plugins.toml: {count} {name}"), VERIFY, &REFUSED).file("plugins.toml", text)
    };
    cases.push(
        many("plugins that are not there", |n| format!("[plugins.p{n}]\n"), 60_000).says("1000 is the most"),
    );
    cases.push(many(
        "plugins with a grant that is none",
        |n| format!("[plugins.p{n}]\nprobes=[\"x\"]\n"),
        30_000,
    ));
    let hooks = format!("[plugins.p]\nhooks = [{}]\n", "'hold',".repeat(120_000));
    cases.push(Case::new("plugins.toml: 120000 hooks", VERIFY, &REFUSED).file("plugins.toml", hooks));
    let order = format!("order = [{}]\n[plugins.p]\n", "'p',".repeat(200_000));
    cases.push(
        Case::new("plugins.toml: one plugin 200000 times in order", VERIFY, &REFUSED)
            .file("plugins.toml", order),
    );
    let probes = format!("[plugins.p]\nprobes = [{}]\n", "'*:80',".repeat(120_000));
    cases.push(Case::new("plugins.toml: 120000 probes", VERIFY, &REFUSED).file("plugins.toml", probes));
    let config =
        format!("[plugins.p.config]\n{}", (0..100_000).map(|n| format!("k{n}=1\n")).collect::<String>());
    cases.push(
        Case::new("plugins.toml: 100000 keys of a configuration", VERIFY, &REFUSED)
            .file("plugins.toml", config),
    );
    let entries: String = (0..7_000)
        .map(|n| format!("[[plugin]]\nname='plugin-{n}'\nversion='1.0.0'\nsha256='{n:064}'\nsize=1\n"))
        .collect();
    let case = Case::new("plugins.lock: 7000 plugins that are not there", VERIFY, &REFUSED);
    cases.push(case.file("plugins.lock", format!("format = 1\n{entries}")).says("1000 is the most"));
    cases
}

fn locks() -> Vec<Case> {
    let digest = format!("sha256 = '{}'", "ab".repeat(32));
    let good = format!("format = 1\n[[plugin]]\nname = 'p'\nversion = '1.0.0'\n{digest}\nsize = 1\n");
    let mut cases = Vec::new();
    for value in ["0", "2", "-1", "4294967295", "4294967296", "'1'", "1.0", "[]", "{}", "true", "nan"] {
        cases.push(lock(format!("format {value}"), good.replace("format = 1", &format!("format = {value}"))));
    }
    for (key, right) in
        [("name = 'p'", "words"), ("version = '1.0.0'", "words"), (&digest, "words"), ("size = 1", "number")]
    {
        let name = key.split_once(' ').unwrap().0;
        cases.push(lock(format!("without {name}"), good.replace(key, "")));
        cases.push(lock(format!("{name} twice"), good.replace(key, &format!("{key}\n{key}"))));
        for value in ["-1", "1.5", "[]", "{}", "true", "'words'", "1"] {
            let is = if value.starts_with('\'') { "words" } else { "number" };
            if (is == right && value != "-1" && value != "1.5" && !value.starts_with(['[', '{', 't']))
                || value == "1" && right == "number"
            {
                continue;
            }
            cases.push(lock(format!("{name} is {value}"), good.replace(key, &format!("{name} = {value}"))));
        }
    }
    for value in ["1", "true", "[]", "{}"] {
        cases.push(lock(format!("passed is {value}"), format!("{good}passed = {value}\n")));
    }
    cases.push(lock("one plugin twice", format!("{good}{}", good.replace("format = 1\n", ""))));
    cases.push(lock("no format", good.replace("format = 1\n", "")));
    cases.push(lock("a plugin that is no list", "format = 1\n[plugin]\nname = 'p'\n"));
    for (sort, words) in WORDS {
        cases.push(lock(format!("a key called {sort}"), format!("{good}{} = 1\n", toml(words))));
    }
    cases
}

/// What the names of the two files may be instead of files.
fn on_disk() -> Vec<Case> {
    type Make = fn(&Path);
    let sorts: [(&str, Make); 8] = [
        ("a directory", |file| fs::create_dir(file).unwrap()),
        ("a link to itself", |file| symlink(file.file_name().unwrap(), file).unwrap()),
        ("a link out of its directory", |file| symlink("/etc/passwd", file).unwrap()),
        ("a link up", |file| symlink("../../../../../../etc/passwd", file).unwrap()),
        ("a link to zeros without end", |file| symlink("/dev/zero", file).unwrap()),
        ("a link to its directory", |file| symlink(".", file).unwrap()),
        ("a terabyte", |file| fs::File::create(file).unwrap().set_len(1 << 40).unwrap()),
        ("a socket", |file| drop(UnixListener::bind(file).unwrap())),
    ];
    let mut cases = Vec::new();
    for (sort, make) in sorts {
        for name in ["plugins.toml", "plugins.lock"] {
            let case = Case::new(format!("{name}: {sort}"), VERIFY, &REFUSED);
            cases.push(case.fed(move |dir| make(&dir.join(name))).says(format!("error: {name}")));
        }
    }
    cases
}
