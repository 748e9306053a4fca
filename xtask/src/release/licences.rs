//! The licences of what is linked in: each text once, with all that come under it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::part::Parts;

/// How files with licences begin, in capitals.
const NAMES: [&str; 9] =
    ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE", "MIT", "APACHE", "LLVM-EXCEPTION"];
const LINE: &str = "================================================================================";

/// The file for people: a list of the parts, then the texts.
pub(super) fn text(parts: &Parts) -> Result<String> {
    let mut by_text: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut list = String::new();
    for part in parts.values().filter(|part| !part.own) {
        let name = format!("{} {}", part.name, part.version);
        let texts = texts(&part.source)?;
        let note = if texts.is_empty() { ", published without a text" } else { "" };
        list.push_str(&format!("  {name} ({}{note})\n", part.licence));
        for text in texts {
            by_text.entry(text).or_default().insert(name.clone());
        }
    }
    let mut all = format!(
        "pivot-host is under the Apache License 2.0, in the file LICENSE. Linked into it and into its plugins are:\n\n{list}"
    );
    for (text, names) in by_text {
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        all.push_str(&format!("\n{LINE}\nOf {names}:\n\n{text}\n"));
    }
    Ok(all)
}

/// The texts in a folder, or in a file that has some.
fn texts(source: &Path) -> Result<Vec<String>> {
    let mut files: Vec<PathBuf> = Vec::new();
    if source.is_file() {
        files.push(source.to_owned());
    } else {
        for entry in fs::read_dir(source).with_context(|| format!("read {}", source.display()))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
            // A folder may hold further licences, a program of that name is none.
            if path.is_file() && !name.ends_with(".RS") && NAMES.iter().any(|begin| name.starts_with(begin)) {
                files.push(path);
            }
        }
    }
    files.sort();
    let read = |path: &PathBuf| -> Result<String> {
        let bytes = fs::read(path).with_context(|| format!("read {}", path.display()))?;
        let text = String::from_utf8_lossy(&bytes);
        // The same text is published with other ends of lines.
        Ok(text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_matches('\n').to_owned())
    };
    files.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::super::part::Part;
    use super::*;

    #[test]
    fn a_text_is_there_once_with_all_that_come_under_it() {
        let dir = tempfile::TempDir::new().unwrap();
        let source = |name: &str, file: &str, text: &str| {
            let source = dir.path().join(name);
            fs::create_dir(&source).unwrap();
            fs::write(source.join(file), text).unwrap();
            source
        };
        let part = |name: &str, licence: &str, source, own| {
            let (name, licence) = (name.to_owned(), licence.to_owned());
            let version = "1.0.0".to_owned();
            (
                format!("pkg:cargo/{name}@1.0.0"),
                Part { name, version, licence, own, source, ..Part::default() },
            )
        };
        let parts = Parts::from([
            part("a", "MIT", source("a", "LICENSE-MIT", "free\r\nfor all  \n"), false),
            part("b", "MIT", source("b", "license.md", "free\nfor all"), false),
            part("c", "ISC", source("c", "lib.rs", "code"), false),
            part("ours", "Apache-2.0", source("ours", "LICENSE", "ours"), true),
        ]);
        let text = text(&parts).unwrap();
        assert!(
            text.contains("\n  a 1.0.0 (MIT)\n  b 1.0.0 (MIT)\n  c 1.0.0 (ISC, published without a text)\n"),
            "{text}"
        );
        assert_eq!(text.matches("free\nfor all").count(), 1, "{text}");
        assert!(text.contains("\nOf a 1.0.0, b 1.0.0:\n\nfree\nfor all\n"), "{text}");
        assert!(!text.contains("ours"), "{text}");
    }
}
