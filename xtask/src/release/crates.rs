//! The crates that are linked into something, by cargo's account: without those that only build or test it, run in the compiler, or
//! are for other systems.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::part::{Part, Parts};
use crate::shell::{cargo, said};

/// The crates in some packages of a workspace, for a target.
pub(super) fn linked(workspace: &Path, packages: &[&str], triple: &str) -> Result<Parts> {
    let tree = said(
        cargo(&["tree", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "depth"])?
            .args(["--format", "|{p}|{l}", "--target", triple])
            .args(packages)
            .current_dir(workspace),
    )?;
    let (digests, sources) = (digests(workspace)?, sources(workspace)?);
    let mut parts = Parts::new();
    // From the root to the line before.
    let mut above: Vec<String> = Vec::new();
    for line in tree.lines().filter(|line| !line.is_empty()) {
        let found = read(line).with_context(|| format!("cargo tree printed {line:?}"))?;
        let key = (found.name.clone(), found.version.clone());
        let url = match found.own {
            // No registry has it.
            true => format!("pkg:generic/{}@{}", found.name, found.version),
            false => format!("pkg:cargo/{}@{}", found.name, found.version),
        };
        above.truncate(found.depth);
        if let Some(user) = above.last().and_then(|user| parts.get_mut(user)) {
            user.uses.insert(url.clone());
        }
        above.push(url.clone());
        if parts.contains_key(&url) {
            continue;
        }
        let digest = digests.get(&key).map(|digest| ("SHA-256", digest.clone()));
        if digest.is_none() && !found.own {
            bail!("{} {} has no checksum in Cargo.lock", found.name, found.version);
        }
        if found.licence.is_empty() {
            bail!("{} {} has no licence in its manifest", found.name, found.version);
        }
        let source =
            sources.get(&key).context("cargo metadata doesn't know a crate that cargo tree printed")?;
        let (source, uses) = (source.clone(), BTreeSet::new());
        let Line { name, version, licence, own, .. } = found;
        parts.insert(url, Part { name, version, licence, digest, own, source, uses });
    }
    Ok(parts)
}

/// A line of the tree.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    depth: usize,
    name: String,
    version: String,
    licence: String,
    own: bool,
}

/// `2|serde v1.0.0|MIT OR Apache-2.0 (*)`; a path follows the version of our own.
fn read(line: &str) -> Option<Line> {
    let (depth, rest) = line.split_once('|')?;
    let (package, licence) = rest.split_once('|')?;
    let licence = licence.trim_end_matches(" (*)");
    let mut words = package.splitn(3, ' ');
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    Some(Line {
        depth: depth.parse().ok()?,
        name: name.to_owned(),
        version: version.to_owned(),
        // The form before there were expressions.
        licence: licence.split('/').map(str::trim).collect::<Vec<_>>().join(" OR "),
        own: words.next().is_some(),
    })
}

/// A name and a version.
type Key = (String, String);

/// What the lock file says that crates are.
fn digests(workspace: &Path) -> Result<BTreeMap<Key, String>> {
    let lock = workspace.join("Cargo.lock");
    let text = fs::read_to_string(&lock).with_context(|| format!("read {}", lock.display()))?;
    let lock: toml::Table = text.parse().with_context(|| format!("read {}", lock.display()))?;
    let packages =
        lock.get("package").and_then(toml::Value::as_array).context("Cargo.lock has no packages")?;
    let word = |package: &toml::Value, key| Some(package.get(key)?.as_str()?.to_owned());
    let digest = |one| Some(((word(one, "name")?, word(one, "version")?), word(one, "checksum")?));
    Ok(packages.iter().filter_map(digest).collect())
}

/// Where crates lie on this machine.
fn sources(workspace: &Path) -> Result<BTreeMap<Key, PathBuf>> {
    let text = said(cargo(&["metadata", "--locked", "--format-version", "1"])?.current_dir(workspace))?;
    let metadata: serde_json::Value = serde_json::from_str(&text).context("read cargo's metadata")?;
    let packages = metadata
        .get("packages")
        .and_then(serde_json::Value::as_array)
        .context("cargo's metadata has no packages")?;
    let word = |package: &serde_json::Value, key: &str| Some(package.get(key)?.as_str()?.to_owned());
    let source = |one| {
        let manifest = PathBuf::from(word(one, "manifest_path")?);
        Some(((word(one, "name")?, word(one, "version")?), manifest.parent()?.to_owned()))
    };
    Ok(packages.iter().filter_map(source).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::root;

    #[test]
    fn a_line_of_the_tree_is_a_crate() {
        let line = |depth, name: &str, version: &str, licence: &str, own| Line {
            depth,
            name: name.into(),
            version: version.into(),
            licence: licence.into(),
            own,
        };
        assert_eq!(read("0|a v0.1.0 (/some where/a)|MIT"), Some(line(0, "a", "0.1.0", "MIT", true)));
        assert_eq!(
            read("12|b-c v1.2.3+4|MIT/Apache-2.0 (*)"),
            Some(line(12, "b-c", "1.2.3+4", "MIT OR Apache-2.0", false))
        );
        assert_eq!(read("1|b v1|Apache-2.0 / MIT"), Some(line(1, "b", "1", "Apache-2.0 OR MIT", false)));
        assert_eq!(read("1|b v1|"), Some(line(1, "b", "1", "", false)));
        assert_eq!(read("warning: nothing"), None);
    }

    #[test]
    fn the_crates_of_the_program_are_those_that_are_linked_in() {
        let parts =
            linked(&root().unwrap(), &["--package", "pivot-host"], "x86_64-unknown-linux-musl").unwrap();
        let named = |name: &str| parts.values().find(|part| part.name == name);
        for (name, own) in
            [("pivot-host", true), ("pivot-bounds", true), ("wasmtime", false), ("ring", false)]
        {
            let part = named(name).unwrap_or_else(|| panic!("{name} is missing"));
            assert_eq!(part.digest.is_none(), own, "{name}: {part:?}");
            assert!(!part.licence.is_empty() && part.source.is_dir(), "{name}: {part:?}");
        }
        // For tests, for building, run by the compiler, for other systems.
        for name in ["expect-test", "pivot-lab", "cc", "serde_derive", "windows-sys", "core-foundation"] {
            assert_eq!(named(name), None, "{name}");
        }
        let url = |name: &str| parts.iter().find(|(_, part)| part.name == name).map(|(url, _)| url).unwrap();
        assert!(url("wasmtime").starts_with("pkg:cargo/wasmtime@48."), "{}", url("wasmtime"));
        let program = &parts[url("pivot-host")];
        assert!(
            program.uses.contains(url("pivot-runtime")) && program.uses.contains(url("clap")),
            "{program:?}"
        );
        assert!(!program.uses.contains(url("wasmtime")), "{program:?}");
        let all = |part: &Part| part.uses.iter().all(|url| parts.contains_key(url));
        assert!(parts.values().all(all), "something uses what is not listed");
    }
}
