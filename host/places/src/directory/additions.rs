//! Reads objects that the user adds to a move, from files, as they were typed or pasted.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pivot_core::Key;
use pivot_core::request::manifest_object::{Addition, MAX_ADDED_OBJECTS};
use serde_json::Value;

use super::documents::{self, FileDocument};
use super::{DirectoryError, definitions};
use crate::expansion::Expansion;
use crate::regular;

/// Most bytes of a file: a server accepts less than two million for an object.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Returns the objects of these files, in their order.
pub fn additions_of_files<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<Addition>, DirectoryError> {
    let mut expansion = Expansion::default();
    let (mut found, mut origins) = (Vec::new(), BTreeMap::<Key, String>::new());
    for path in paths {
        let path = path.as_ref();
        let file = path.display().to_string();
        let content = regular::read_at_most(path, MAX_FILE_BYTES)
            .map_err(|source| DirectoryError::Io { path: file.clone(), source })?;
        let mut documents = Vec::new();
        documents::parse_content(&file, &content, &mut expansion, &mut documents)?;
        let unusable = |reason: String| DirectoryError::Unusable { path: file.clone(), reason };
        if documents.is_empty() {
            return Err(unusable("it has no objects".to_owned()));
        }
        for document in documents {
            if found.len() == MAX_ADDED_OBJECTS {
                return Err(unusable(format!("there are more than {MAX_ADDED_OBJECTS} objects to add")));
            }
            let addition = parse_addition(document)?;
            let (key, second) = (&addition.record_entry().object, addition.origin());
            if let Some(first) = origins.insert(key.clone(), second.clone()) {
                return Err(DirectoryError::Twice { key: Box::new(key.clone()), first, second });
            }
            found.push(addition);
        }
    }
    Ok(found)
}

fn parse_addition(mut document: FileDocument) -> Result<Addition, DirectoryError> {
    let (kind, version) = definitions::kind_of(&document)?;
    if kind.is_secret() {
        encode_strings(&mut document)?;
    }
    let (file, number, body) = (document.file.clone(), document.number, document.body.take());
    Addition::new((&file, number), kind, version, body).map_err(|reason| document.error(reason))
}

/// Moves `stringData` into `data`, encoded, as servers do. It replaces entries of the same name.
fn encode_strings(document: &mut FileDocument) -> Result<(), DirectoryError> {
    let Some(map) = document.body.as_object_mut() else { return Ok(()) };
    let strings = match map.remove("stringData") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Object(strings)) => strings,
        Some(_) => return Err(document.error("stringData is not a map")),
    };
    let data = map.entry("data").or_insert(Value::Null);
    if data.is_null() {
        *data = Value::Object(serde_json::Map::new());
    }
    let Some(data) = data.as_object_mut() else { return Err(document.error("data is not a map")) };
    for (name, value) in strings {
        let Value::String(text) = value else {
            return Err(document.error("stringData has a value that is no string"));
        };
        data.insert(name, STANDARD.encode(text).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::expansion::bomb;

    const BOM: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bom, namespace: ns}\n";

    fn write(files: &[(&str, &str)]) -> (tempfile::TempDir, Vec<PathBuf>) {
        let dir = tempfile::tempdir().unwrap();
        let paths = files.iter().map(|(name, text)| {
            let path = dir.path().join(name);
            fs::write(&path, text).unwrap();
            path
        });
        let paths = paths.collect();
        (dir, paths)
    }

    fn read(files: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let (dir, paths) = write(files);
        let read = additions_of_files(&paths);
        let place = format!("{}/", dir.path().display());
        let line =
            |one: &Addition| format!("{} in {}", one.record_entry().object, one.origin()).replace(&place, "");
        read.map(|all| all.iter().map(line).collect()).map_err(|error| error.to_string().replace(&place, ""))
    }

    fn refused(text: &str) -> String {
        read(&[("a.yaml", text)]).unwrap_err()
    }

    #[test]
    fn documents_of_all_files_keep_their_order() {
        let two = format!(
            "---\n# nothing but a comment\n---\n{BOM}---\napiVersion: v1\nkind: List\nitems:\n\
                           - {{apiVersion: run.example.org/v1, kind: Bootstrap, metadata: {{name: c, namespace: ns}}}}\n"
        );
        let one = r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}"#;
        let all = read(&[("two.yaml", &two), ("one.json", one)]).unwrap();
        let expected = [
            "ConfigMap ns/bom in two.yaml, document 1",
            "Bootstrap ns/c in two.yaml, document 2",
            "Node n in one.json, document 1",
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn errors_have_file_and_document_without_content() {
        assert_eq!(refused(""), "a.yaml: it has no objects");
        assert_eq!(refused("---\n"), "a.yaml: it has no objects");
        assert_eq!(refused("apiVersion: v1\nkind: List\nitems: []\n"), "a.yaml: it has no objects");
        assert_eq!(refused("hunter2"), "a.yaml, document 1: not an object");
        assert_eq!(
            refused("kind: ConfigMap\nmetadata: {name: a}"),
            "a.yaml, document 1: no apiVersion and kind"
        );
        assert_eq!(
            refused(&format!("{BOM}---\napiVersion: v1\nkind: ConfigMap\ndata: {{}}\n")),
            "a.yaml, document 2: no name"
        );
        let twice = "ConfigMap ns/bom is both in a.yaml, document 1 and in b.yaml, document 1";
        assert_eq!(read(&[("a.yaml", BOM), ("b.yaml", BOM)]).unwrap_err(), twice);
        let broken = refused("apiVersion: v1\nkind: Secret\ndata: {password: hunter2\n bad: [hunter2");
        assert!(
            broken.starts_with("a.yaml, document 1: not readable as YAML (line")
                && !broken.contains("hunter2")
        );
        assert!(additions_of_files(&["/dev/null"]).unwrap_err().to_string().contains("not a regular file"));
        assert!(
            additions_of_files(&["/nowhere/a.yaml"])
                .unwrap_err()
                .to_string()
                .starts_with("/nowhere/a.yaml: ")
        );
        let (_dir, paths) = write(&[("a.yaml", "")]);
        fs::write(&paths[0], [0xff]).unwrap();
        assert!(additions_of_files(&paths).unwrap_err().to_string().ends_with("not UTF-8"));
    }

    #[test]
    fn hostile_file_is_refused_within_limits() {
        assert!(refused(&bomb(20)).contains("expand to more than"));
        let levels = 200;
        let deep = format!("{BOM}data: {}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(refused(&deep).starts_with("a.yaml, document 1: "));
        let large = format!("{BOM}#{}", "x".repeat(MAX_FILE_BYTES as usize));
        assert_eq!(refused(&large), "a.yaml: larger than 16777216 bytes");
        let odd = "apiVersion: v1\nkind: \"Config\\e[2KMap\"\nmetadata: {name: a}\n";
        assert!(!refused(odd).contains('\u{1b}'));
        let many: String = (0..=MAX_ADDED_OBJECTS)
            .map(|n| format!("---\n{}", BOM.replace("bom", &format!("bom-{n}"))))
            .collect();
        assert_eq!(refused(&many), "a.yaml: there are more than 500 objects to add");
    }

    #[test]
    fn strings_of_secrets_are_encoded() {
        let secret = |text: &str| {
            format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: s, namespace: ns}}\n{text}")
        };
        let body = |text: &str| {
            let document = |text: &str| {
                let mut found = Vec::new();
                documents::parse_content("a.yaml", text.as_bytes(), &mut Expansion::default(), &mut found)
                    .unwrap();
                found.remove(0)
            };
            let mut document = document(&secret(text));
            encode_strings(&mut document).map(|()| document.body)
        };
        let encoded = body("data: {a: eA==, b: eQ==}\nstringData: {b: hush}\n").unwrap();
        assert_eq!(encoded["data"], serde_json::json!({"a": "eA==", "b": "aHVzaA=="}));
        assert!(encoded.get("stringData").is_none());
        assert_eq!(body("stringData: {b: hush}").unwrap()["data"], serde_json::json!({"b": "aHVzaA=="}));
        for odd in ["stringData: hush", "stringData: {a: 1}", "data: hush\nstringData: {a: hush}"] {
            let told = body(odd).unwrap_err().to_string();
            assert!(told.starts_with("a.yaml, document 1: ") && !told.contains("hush"), "{told}");
        }
    }
}
