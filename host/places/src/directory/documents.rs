//! From files to JSON values, integers exact.
//!
//! YAML is read like Kubernetes' own tools read it, which is mostly YAML 1.1: `yes`, `no`, `on`, `off` are booleans and `0644` is
//! octal. serde-saphyr's errors may quote the file, so only their position is passed on.

use pivot_core::objects::object::DEPTH;
use serde_json::Value;

use super::files::{self, DirectoryHandle};
use super::manifest;
use super::{DirectoryError, Manifest};
use crate::expansion::{Expansion, ExpansionError};

/// Most bytes of all files together: their trees are in memory at once.
const MAX_TOTAL_BYTES: usize = 1 << 30;

/// One object as found in a file.
pub(super) struct FileDocument {
    pub(super) file: String,
    /// Counted from 1; empty documents don't count.
    pub(super) number: usize,
    pub(super) body: Value,
}

impl FileDocument {
    /// Returns an error about this document.
    pub(super) fn error(&self, reason: impl Into<String>) -> DirectoryError {
        DirectoryError::Document { file: self.file.clone(), document: self.number, reason: reason.into() }
    }
}

/// Returns every object below a directory, in the order of files and documents. Lists are expanded.
pub(super) fn read_all(
    files: &DirectoryHandle,
    manifest: Option<&Manifest>,
) -> Result<Vec<FileDocument>, DirectoryError> {
    let (mut found, mut expansion) = (Vec::new(), Expansion::default());
    let names = files.list_files()?;
    if manifest::is_encrypted(files, &names, manifest)? && !files.has_identities() {
        return Err(DirectoryError::Encrypted { path: files.path().to_owned() });
    }
    let mut left = MAX_TOTAL_BYTES;
    // The manifest names objects, and has none: another content of the file than was read before must not count as objects.
    for file in names.iter().filter(|name| manifest.is_none() || *name != manifest::MANIFEST_FILE) {
        let Some(content) = files.read_decrypted(file)? else { continue };
        let Some(less) = left.checked_sub(content.len()) else {
            let reason = format!("more than {} MiB in all its files", MAX_TOTAL_BYTES >> 20);
            return Err(DirectoryError::Unusable { path: files.path().to_owned(), reason });
        };
        left = less;
        parse_content(file, &content, &mut expansion, &mut found)?;
    }
    Ok(found)
}

/// Reads the objects of one file; returns false if there is no such file.
pub(super) fn read_file(
    files: &DirectoryHandle,
    file: &str,
    expansion: &mut Expansion,
    found: &mut Vec<FileDocument>,
) -> Result<bool, DirectoryError> {
    let Some(content) = files.read_decrypted(file)? else { return Ok(false) };
    parse_content(file, &content, expansion, found)?;
    Ok(true)
}

/// Parses the objects in the content of a file.
pub(super) fn parse_content(
    file: &str,
    content: &[u8],
    expansion: &mut Expansion,
    found: &mut Vec<FileDocument>,
) -> Result<(), DirectoryError> {
    let text = str::from_utf8(content)
        .map_err(|_| DirectoryError::Unusable { path: file.to_owned(), reason: "not UTF-8".to_owned() })?;
    for (index, body) in parse_documents(file, text, expansion)?.into_iter().enumerate() {
        let document = FileDocument { file: file.to_owned(), number: index + 1, body };
        // Otherwise the move would fail later, when it parses the object again to copy it.
        if is_deeper_than(&document.body, DEPTH) {
            return Err(document.error(format!("nested deeper than {DEPTH} levels")));
        }
        expand_list(document, found)?;
    }
    Ok(())
}

fn parse_documents(file: &str, text: &str, expansion: &mut Expansion) -> Result<Vec<Value>, DirectoryError> {
    // JSON is YAML, but this reader is faster and knows surrogate pairs.
    if text.trim_start().starts_with('{') {
        let values: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(text).into_iter().collect();
        match values {
            Ok(values) => return Ok(values),
            Err(error) if files::plain_name(file).ends_with(".json") => {
                let at = format!("line {}, column {}", error.line(), error.column());
                return Err(unreadable_document(file, 1, "JSON", Some(at)));
            }
            // The text may be a YAML flow mapping.
            Err(_) => {}
        }
    }
    expansion.charge(text).map_err(|refused| match refused {
        ExpansionError::TooMuch => {
            DirectoryError::Unusable { path: file.to_owned(), reason: Expansion::exceeded_message() }
        }
        ExpansionError::Malformed(line, column) => {
            unreadable_document(file, 1, "YAML", Some(format!("line {line}, column {column}")))
        }
    })?;
    let options = serde_saphyr::options! {
        // File sizes limit the size, and the shared budget limits aliases.
        budget: None,
        legacy_octal_numbers: true,
        with_snippet: false,
    };
    let mut bytes = text.as_bytes();
    let mut values = Vec::new();
    for value in serde_saphyr::read_with_options::<_, Value>(&mut bytes, options) {
        let value = value.map_err(|error| {
            let at = error.location().map(|at| format!("line {}, column {}", at.line(), at.column()));
            unreadable_document(file, values.len() + 1, "YAML", at)
        })?;
        if !value.is_null() {
            values.push(value);
        }
    }
    Ok(values)
}

fn unreadable_document(file: &str, document: usize, format: &str, at: Option<String>) -> DirectoryError {
    let at = at.map(|at| format!(" ({at})")).unwrap_or_default();
    DirectoryError::Document {
        file: file.to_owned(),
        document,
        reason: format!("not readable as {format}{at}"),
    }
}

/// Returns true if a value has more levels. The parsers reject anything too deep for this recursion.
fn is_deeper_than(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return value.is_object() || value.is_array() };
    match value {
        Value::Object(map) => map.values().any(|value| is_deeper_than(value, below)),
        Value::Array(items) => items.iter().any(|value| is_deeper_than(value, below)),
        _ => false,
    }
}

/// Adds a document, or the items of a list. Like kubectl, treats everything with a kind ending in List and with items as a list.
fn expand_list(mut document: FileDocument, found: &mut Vec<FileDocument>) -> Result<(), DirectoryError> {
    let listed = document.body.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
    if !document.body.is_object() {
        return Err(document.error("not an object"));
    }
    match document.body.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) if listed => {
            for body in items {
                expand_list(
                    FileDocument { file: document.file.clone(), number: document.number, body },
                    found,
                )?;
            }
        }
        Some(Value::Null) if listed => {}
        Some(items) => {
            if let Some(map) = document.body.as_object_mut() {
                map.insert("items".to_owned(), items);
            }
            found.push(document);
        }
        None => found.push(document),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(file: &str, text: &str) -> Result<Vec<Value>, DirectoryError> {
        parse_documents(file, text, &mut Expansion::default())
    }

    #[test]
    fn yaml_is_read_as_kubernetes_reads_it() {
        let text = "big: 9007199254740993\nmost: 18446744073709551615\nleast: -9223372036854775808\n\
                    yes: no\nmode: 0644\nversion: \"1.30\"\ntext: |\n  a\n  b\n---\n---\nb: ~\nc: 2026-01-01\n";
        let found = read("a.yaml", text).unwrap();
        assert_eq!(
            found,
            [
                json!({"big": 9007199254740993_u64, "most": u64::MAX, "least": i64::MIN, "yes": false,
                    "mode": 420, "version": "1.30", "text": "a\nb\n"}),
                json!({"b": null, "c": "2026-01-01"}),
            ]
        );
    }

    #[test]
    fn anchors_and_merge_keys_work() {
        let found = read("a.yaml", "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\n").unwrap();
        assert_eq!(found, [json!({"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3}})]);
    }

    // proves: W14
    #[test]
    fn w14_files_of_clusterctl_are_read_exactly() {
        let text = "{\"a\":9007199254740993,\"b\":\"\\u003c\\ud83d\\ude00\",\"c\":\"no\"}\n";
        assert_eq!(
            read("Machine_a_b.yaml", text).unwrap(),
            [json!({"a": 9007199254740993_u64, "b": "<😀", "c": "no"})]
        );
    }

    #[test]
    fn errors_have_positions_without_content() {
        for (file, text) in [
            ("a.yaml", "ok: 1\n---\npassword: hunter2\n bad: [hunter2"),
            ("a.json", "{\"ok\":1}\n{\"password\":hunter2}"),
            ("a.yaml", "hunter2: 1\nhunter2: 2"),
        ] {
            let error = read(file, text).unwrap_err().to_string();
            assert!(error.contains("line ") && !error.contains("hunter2"), "{error}");
        }
    }
}
