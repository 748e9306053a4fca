//! Reads objects from one file only to show them: without definitions, UIDs and resolved owners.

use std::path::Path;
use std::sync::Arc;

use pivot_core::{Kind, KindLabels, Object};
use serde_json::Value;

use super::documents::FileDocument;
use super::files::DirectoryHandle;
use super::{DirectoryError, definitions, documents};
use crate::body::metadata_text;
use crate::expansion::Expansion;
use crate::regular::{STDIN, read_file_or_stdin};

/// Returns the documents in the content of a file, in order. Lists are expanded.
pub fn documents_of_content(name: &str, content: &[u8]) -> Result<Vec<Value>, DirectoryError> {
    let mut found = Vec::new();
    documents::parse_content(name, content, &mut Expansion::default(), &mut found)?;
    Ok(found.into_iter().map(|document| document.body).collect())
}

/// Returns the objects of a manifest file, in order; `-` is standard input. Their kinds are guessed: an object with a namespace is
/// of a namespaced kind.
pub fn objects_of_file(path: &Path) -> Result<Vec<Object>, DirectoryError> {
    let io = |reason: &str| DirectoryError::Unusable {
        path: path.display().to_string(),
        reason: reason.to_owned(),
    };
    let mut found = Vec::new();
    if path == Path::new(STDIN) {
        let content = read_file_or_stdin(path).map_err(|error| io(&error.to_string()))?;
        documents::parse_content("standard input", &content, &mut Expansion::default(), &mut found)?;
        return found.into_iter().map(build_object).collect();
    }
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(|| io("it has no name"))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !documents::read_file(&DirectoryHandle::open(folder)?, name, &mut Expansion::default(), &mut found)? {
        return Err(io("no such file"));
    }
    found.into_iter().map(build_object).collect()
}

fn build_object(document: FileDocument) -> Result<Object, DirectoryError> {
    let (group_kind, version) = definitions::kind_of(&document)?;
    let kind = Kind {
        group_kind,
        served: vec![version.clone()],
        version,
        plural: String::new(),
        namespaced: metadata_text(&document.body, "namespace").is_some(),
        status_subresource: true,
        labels: KindLabels::default(),
    };
    Object::from_value(Arc::new(kind), &document.body).map_err(|error| document.error(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_keep_their_order_and_lists_expand() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.yaml");
        let text = "apiVersion: v1\nkind: Node\nmetadata: {name: b}\n---\napiVersion: v1\nkind: List\nitems:\n\
                    - {apiVersion: test.io/v2, kind: Host, metadata: {name: a, namespace: metal3}}\n";
        std::fs::write(&file, text).unwrap();
        let keys: Vec<_> = objects_of_file(&file).unwrap().iter().map(|o| o.key().to_string()).collect();
        assert_eq!(keys, ["Node b", "Host metal3/a"]);
        std::fs::write(&file, "kind: Node\nmetadata: {name: b}\n").unwrap();
        assert!(objects_of_file(&file).unwrap_err().to_string().starts_with("a.yaml, document 1: "));
        let gone = objects_of_file(&dir.path().join("gone.yaml")).err().unwrap().to_string();
        assert!(gone.ends_with("gone.yaml: no such file"), "{gone}");
    }
}
