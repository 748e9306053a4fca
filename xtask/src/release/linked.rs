//! What is in the archive as machine code: crates, libraries of the page that the program writes, the standard library.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::crates;
use super::part::{Part, Parts};
use crate::shell::{root, said};

/// Where the page's libraries are named, and their licences.
const PAGE: &str = "host/cli/src/output/page";
const PROGRAM: &str = "pivot-host";
const PLUGINS: &str = "plugins";
const WASM: &str = "wasm32-unknown-unknown";

/// What is in the program, built for a target, and in the bundled plugins.
pub(super) fn parts(triple: &str) -> Result<Parts> {
    let root = root()?;
    let mut parts = crates::linked(&root, &["--package", PROGRAM], triple)?;
    for (url, part) in crates::linked(&root.join(PLUGINS), &["--workspace"], WASM)? {
        parts.entry(url).or_insert(part);
    }
    let mut others = of_page(&root.join(PAGE))?;
    others.extend(of_rust(triple)?);
    let program = parts.values_mut().find(|part| part.name == PROGRAM).context("the program is not there")?;
    program.uses.extend(others.keys().cloned());
    parts.extend(others);
    Ok(parts)
}

/// What is in one of the bundled plugins.
pub(super) fn parts_of_plugin(name: &str) -> Result<Parts> {
    let mut parts = crates::linked(&root()?.join(PLUGINS), &["--package", name], WASM)?;
    let rust = of_rust(WASM)?;
    let plugin = parts.values_mut().find(|part| part.name == name);
    plugin.with_context(|| format!("there is no plugin {name}"))?.uses.extend(rust.keys().cloned());
    parts.extend(rust);
    Ok(parts)
}

/// The libraries of the page: the command that built it wrote their names.
fn of_page(page: &Path) -> Result<Parts> {
    let licences = page.join("LICENSES.txt");
    let text = fs::read_to_string(&licences).with_context(|| format!("read {}", licences.display()))?;
    let lock = fs::read_to_string(page.join("package-lock.json")).context("read package-lock.json")?;
    let lock: serde_json::Value = serde_json::from_str(&lock).context("read package-lock.json")?;
    let mut parts = Parts::new();
    for (name, version, licence) in text.lines().filter_map(heading) {
        let package = lock.get("packages").and_then(|all| all.get(format!("node_modules/{name}")));
        let word = |field| package?.get(field)?.as_str();
        let (locked, digest) = (word("version"), word("integrity"));
        let digest = digest.and_then(|digest| digest.strip_prefix("sha512-"));
        let (Some(digest), true) = (digest, locked == Some(version)) else {
            bail!("{name} {version} of {} is not what package-lock.json has", licences.display())
        };
        let part = Part {
            name: name.to_owned(),
            version: version.to_owned(),
            licence: licence.to_owned(),
            digest: Some(("SHA-512", hexadecimal(digest)?)),
            source: licences.clone(),
            ..Part::default()
        };
        parts.insert(format!("pkg:npm/{name}@{version}"), part);
    }
    if parts.is_empty() { bail!("{} names no library", licences.display()) } else { Ok(parts) }
}

/// `d3-color 3.1.1 (ISC)`.
fn heading(line: &str) -> Option<(&str, &str, &str)> {
    let (package, licence) = line.strip_suffix(')')?.split_once(" (")?;
    let (name, version) = package.split_once(' ')?;
    let plain = |word: &str| !word.is_empty() && !word.contains(char::is_whitespace);
    let is =
        plain(name) && plain(version) && plain(licence) && version.starts_with(|c: char| c.is_ascii_digit());
    is.then_some((name, version, licence))
}

/// From base 64, as npm writes digests, to base 16, as the list of parts has them.
fn hexadecimal(digest: &str) -> Result<String> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut held, mut bytes) = (0_u32, 0, String::new());
    for digit in digest.trim_end_matches('=').bytes() {
        let value = DIGITS.iter().position(|known| *known == digit).context("a digest is not in base 64")?;
        bits = (bits << 6 | u32::try_from(value)?) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push_str(&format!("{:02x}", bits >> held & 0xff));
        }
    }
    Ok(bytes)
}

/// The standard library, and the C library if it is linked in.
fn of_rust(triple: &str) -> Result<Parts> {
    let version = said(Command::new("rustc").arg("--version"))?;
    let version = version.split_whitespace().nth(1).context("rustc has no version")?.to_owned();
    let sysroot = PathBuf::from(said(Command::new("rustc").args(["--print", "sysroot"]))?.trim());
    let part = |name: &str, version: String, licence: &str, source: PathBuf| {
        let (name, licence) = (name.to_owned(), licence.to_owned());
        let url = format!("pkg:generic/{name}@{version}");
        (url, Part { name, version, licence, source, ..Part::default() })
    };
    let std = "(MIT OR Apache-2.0) AND Apache-2.0 WITH LLVM-exception";
    let mut parts = Parts::from([part("rust-std", version, std, sysroot.join("share/doc/rust/licenses"))]);
    if triple.ends_with("-musl") {
        let libc = sysroot.join("lib/rustlib").join(triple).join("lib/self-contained/libc.a");
        let library = fs::read(&libc).with_context(|| format!("read {}", libc.display()))?;
        let version = version_inside(&library).context("musl's libc.a has no version")?;
        parts.extend([part("musl", version, "MIT", PathBuf::from("/usr/share/doc/musl"))]);
    }
    Ok(parts)
}

/// musl's version as a string of C: three numbers between two zeros.
fn version_inside(library: &[u8]) -> Option<String> {
    let is = |text: &str| {
        let numbers: Vec<&str> = text.split('.').collect();
        let number = |one: &&str| !one.is_empty() && one.len() < 4 && one.bytes().all(|c| c.is_ascii_digit());
        numbers.len() == 3 && numbers.iter().all(number)
    };
    let mut texts = library.split(|byte| *byte == 0).filter_map(|text| std::str::from_utf8(text).ok());
    texts.find(|text| is(text)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_of_the_page_is_named_by_its_heading() {
        assert_eq!(heading("d3-color 3.1.1 (ISC)"), Some(("d3-color", "3.1.1", "ISC")));
        for other in ["(INCLUDING BUT NOT (ISC)", "page.html contains these", "a b c (ISC)"] {
            assert_eq!(heading(other), None, "{other}");
        }
    }

    #[test]
    fn digests_of_npm_are_written_like_the_others() {
        assert_eq!(hexadecimal("AAECA/8=").unwrap(), "00010203ff");
        assert_eq!(hexadecimal("+/+/").unwrap(), "fbffbf");
        assert!(hexadecimal("A*").is_err());
    }

    #[test]
    fn a_version_is_found_in_a_library() {
        assert_eq!(version_inside(b"x\x001.2\x001.2.5\x00y"), Some("1.2.5".to_owned()));
        assert_eq!(version_inside(b"1.2.x\x00256.4096.1"), None);
    }
}
