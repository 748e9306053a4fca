//! What an operator writes beside plugins, if somebody else wrote it: `plugins.toml` and `plugins.lock`.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use serde_json::json;

use crate::case::Case;
use crate::judge::WORDS;

const VERIFY: &str = "plugin verify .";
const REFUSED: [i32; 1] = [6];

pub(crate) fn cases() -> Vec<Case> {
    [no_toml(), values(), sizes(), on_disk()].concat()
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
    let levels = 400_000;
    let key = format!("a{}", ".a".repeat(74));
    let texts = [
        ("lists in lists", format!("a = {}{}\n", "[".repeat(levels), "]".repeat(levels))),
        ("tables in tables", format!("a = {}\n", "{a=".repeat(levels / 2))),
        ("a key of many parts", format!("a{} = 1\n", ".a".repeat(levels))),
        ("a heading of many parts", format!("[a{}]\n", ".a".repeat(levels))),
        // As deep as both bounds of a parser together let it be.
        (
            "tables of long keys in tables of long keys",
            format!("{}{key} = 1{}\n", format!("{key} = {{ ").repeat(78), " }".repeat(78)),
        ),
        ("lines that look like ours", "a\nerror: FORGED\nnext: FORGED\n".to_owned()),
    ];
    let mut cases: Vec<Case> = texts.into_iter().map(|(name, text)| grants(name, text)).collect();
    cases.extend(both("lists in lists in both", format!("a = {}\n", "[".repeat(levels))));
    cases.extend(both("not UTF-8", &b"a = \"\xff\xfe\"\n"[..]));
    cases
}

/// One of each sort; `runtime: values_of_another_type_are_refused` and its neighbours have the others.
fn values() -> Vec<Case> {
    let words = toml(WORDS);
    let missing = Case::new("plugins.toml: a plugin that is not there and forges", VERIFY, &REFUSED);
    vec![
        grants("a value of another type", "plugins.p.hooks = 1\n")
            .says("line 1, column ")
            .says(": plugins.p.hooks"),
        grants("a key that nothing reads", format!("[plugins.p]\n{words} = 1\n")),
        grants(
            "a probe that is none",
            format!("[plugins.p]\nprobes = [{}]\n", toml(&format!("{}:80", "a.".repeat(100_000)))),
        ),
        grants("a limit that is none", "[limits]\ntime = '1e9s'\n"),
        lock("a format of the future", "format = 4294967295\n"),
        missing.file("plugins.toml", format!("[plugins.{words}]\n")).says("is named in plugins.toml"),
    ]
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

/// What the names of the two files may be instead of files.
fn on_disk() -> Vec<Case> {
    type Make = fn(&Path);
    let sorts: [(&str, Make); 4] = [
        ("a link out of its directory", |file| symlink("/etc/passwd", file).unwrap()),
        ("a link to zeros without end", |file| symlink("/dev/zero", file).unwrap()),
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
