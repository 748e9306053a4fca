//! Reads objects from one file only to show them: without definitions, UIDs and resolved owners.

use std::path::Path;
use std::sync::Arc;

use pivot_core::{Kind, KindLabels, Object};

use super::files::DirectoryHandle;
use super::{DirectoryError, definitions, documents};
use crate::body::metadata_text;
use crate::expansion::Expansion;

/// Returns the objects of a manifest file, in order. Their kinds are guessed: an object with a namespace is of a namespaced kind.
pub fn objects_of_file(path: &Path) -> Result<Vec<Object>, DirectoryError> {
    let io = |reason: &str| DirectoryError::Unusable {
        path: path.display().to_string(),
        reason: reason.to_owned(),
    };
    if path == Path::new("-") {
        return Err(io("standard input is not supported: name a file"));
    }
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(|| io("it has no name"))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut found = Vec::new();
    if !documents::read_file(&DirectoryHandle::open(folder)?, name, &mut Expansion::default(), &mut found)? {
        return Err(io("no such file"));
    }
    let objects = found.into_iter().map(|document| {
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
    });
    objects.collect()
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
