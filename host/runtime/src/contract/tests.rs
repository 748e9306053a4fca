//! Checks that the contract is still the released one: `wit/released.toml` has a digest of each part of each release.
//!
//! Plugins are built against a released contract by people who never see this repository, and run on every later host of the
//! line. A change that the Rust compiler would accept silently (a field added to a record) makes hosts refuse all of them.

use std::collections::BTreeMap;

use pivot_vetting::digest::sha256;
use semver::Version;
use serde::Deserialize;

const WIT: &str = include_str!("../../../../wit/provider.wit");
const RELEASED: &str = include_str!("../../../../wit/released.toml");

/// The parts that only the host implements. They may gain functions within a line; everything else is frozen.
const IMPORTED: [&str; 5] =
    ["interface context", "interface objects", "interface endpoints", "interface config", "interface log"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Release {
    version: Version,
    parts: BTreeMap<String, String>,
}

fn released() -> Vec<Release> {
    #[derive(Deserialize)]
    struct File {
        #[serde(default)]
        release: Vec<Release>,
    }
    toml::from_str::<File>(RELEASED).unwrap().release
}

/// The contract as if it had been released in its current form.
fn itself() -> Vec<Release> {
    let (version, parts) = parts(WIT);
    vec![Release { version, parts }]
}

/// The words of the text, without comments and layout.
fn words(text: &str) -> String {
    assert!(!text.contains("/*"), "comments of the contract start with //");
    let lines = text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// The version and the parts: `interface check` → its digest.
fn parts(text: &str) -> (Version, BTreeMap<String, String>) {
    let words = words(text);
    let (package, mut rest) = words.split_once(';').unwrap();
    let version = package.split_once('@').unwrap().1.parse().unwrap();
    let mut parts = BTreeMap::new();
    while let Some((name, body)) = rest.split_once('{') {
        let mut depth = 1;
        let end = body.find(|c| {
            depth += match c {
                '{' => 1,
                '}' => -1,
                _ => 0,
            };
            depth == 0
        });
        let (body, after) = body.split_at(end.unwrap());
        parts.insert(name.trim().to_owned(), sha256(body.as_bytes()));
        rest = &after[1..];
    }
    assert_eq!(rest.trim(), "", "the contract is a package line, interfaces and worlds");
    (version, parts)
}

/// Returns the faults of a contract, given the releases.
fn wrong(text: &str, released: &[Release]) -> Vec<String> {
    let (version, parts) = parts(text);
    let line = |v: &Version| (v.major, v.minor) == (version.major, version.minor);
    let Some(last) = released.iter().filter(|r| line(&r.version)).max_by_key(|r| r.version.clone()) else {
        return Vec::new();
    };
    let mut wrong = Vec::new();
    if version < last.version {
        wrong.push(format!("the contract says {version}, but {} is released", last.version));
    }
    let frozen =
        |name: &str| version == last.version || (!IMPORTED.contains(&name) && !name.starts_with("world "));
    for (name, digest) in last.parts.iter().filter(|(name, _)| frozen(name)) {
        match parts.get(name) {
            Some(now) if now == digest => {}
            Some(_) => wrong.push(format!("`{name}` is not what {} released", last.version)),
            None => wrong.push(format!("`{name}` of {} is gone", last.version)),
        }
    }
    if version == last.version {
        let new = parts.keys().filter(|name| !last.parts.contains_key(*name));
        wrong.extend(new.map(|name| format!("`{name}` is not in {}, which is released", last.version)));
    }
    wrong
}

#[test]
fn a_released_contract_does_not_change() {
    let wrong = wrong(WIT, &released());
    let (version, parts) = parts(WIT);
    let parts: String = parts.iter().map(|(name, digest)| format!("\"{name}\" = \"{digest}\"\n")).collect();
    assert!(
        wrong.is_empty(),
        "wit/provider.wit: {}.\n\
         Plugins out there were built against it. Take the change back, or\n\
         - put a new hook into an interface of its own, a new question into an interface that the host implements, and \
         raise the patch version;\n\
         - for anything else raise the minor version: a new line, which older plugins do not fit.\n\
         When the new version is released, add it to wit/released.toml:\n\n\
         [[release]]\nversion = \"{version}\"\n[release.parts]\n{parts}",
        wrong.join("; ")
    );
}

#[test]
fn only_comments_and_layout_may_change() {
    let found = |from: &str, to: &str| {
        let text = WIT.replacen(from, to, 1);
        assert_ne!(text, WIT, "{from}");
        wrong(&text, &itself())
    };
    let nothing: [&str; 0] = [];
    assert_eq!(found("/// Name.", "/// What it is called."), nothing);
    assert_eq!(found("    name: string,\n", "  name:   string,\n"), nothing);
    let field = "    command: option<kubectl>,\n";
    assert_eq!(
        found(field, &format!("{field}    link: string,\n")),
        ["`interface types` is not what 0.1.0 released"]
    );
    let log = "  write: func(level: level, message: string);\n";
    assert_eq!(
        found(log, &format!("{log}  flush: func();\n")),
        ["`interface log` is not what 0.1.0 released"]
    );
    assert_eq!(found("interface settle {", "interface unsettle {").len(), 2);
    assert_eq!(found("@0.1.0", "@0.0.9"), nothing, "another line");
}

#[test]
fn only_host_interfaces_may_grow() {
    let next = WIT.replace("@0.1.0", "@0.1.1");
    let log = "  write: func(level: level, message: string);\n";
    assert!(wrong(&next.replace(log, &format!("{log}  flush: func();\n")), &itself()).is_empty());
    assert!(
        wrong(&format!("{next}\ninterface veto {{\n  veto: func() -> bool;\n}}\n"), &itself()).is_empty()
    );
    let changed = next.replace("-> result<settlement, error>", "-> settlement");
    assert_eq!(wrong(&changed, &itself()), ["`interface settle` is not what 0.1.0 released"]);
}
