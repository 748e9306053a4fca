//! Reads the objects of a management cluster from one file, as from a directory with that file.

use std::path::Path;
use std::sync::Arc;

use pivot_core::{Kind, Object};

use super::{DirectoryError, complete, documents};
use crate::expansion::Expansion;
use crate::regular::{STDIN, read_file_or_stdin};

/// The objects of a file, by key, with UIDs and resolved owners.
#[derive(Debug)]
pub struct ClusterInFile {
    /// Kinds that are built in, that the file defines, or that its objects show.
    pub kinds: Vec<Arc<Kind>>,
    /// Objects.
    pub objects: Vec<Object>,
}

/// Returns the objects of a file with YAML or JSON documents. `-` is standard input.
pub fn cluster_of_file(path: &Path) -> Result<ClusterInFile, DirectoryError> {
    let is_stdin = path == Path::new(STDIN);
    let name = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
    let content =
        read_file_or_stdin(path).map_err(|source| DirectoryError::Io { path: name.clone(), source })?;
    let mut found = Vec::new();
    documents::parse_content(&name, &content, &mut Expansion::default(), &mut found)?;
    if found.is_empty() {
        let reason = "it has no objects: write the objects of the source as YAML or JSON documents";
        return Err(DirectoryError::Unusable { path: name, reason: reason.to_owned() });
    }
    let contents = complete::complete_documents(found, None)?;
    Ok(ClusterInFile {
        kinds: contents.kinds.into_values().collect(),
        objects: contents.entries.into_values().map(|entry| entry.object).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_has_kinds_objects_and_owners() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("all.yaml");
        let text = "apiVersion: a.io/v1\nkind: Host\nmetadata: {name: h, namespace: lab, ownerReferences: \
                    [{apiVersion: a.io/v1, kind: Rack, name: r}]}\nstatus: {}\n---\n\
                    apiVersion: a.io/v1\nkind: Rack\nmetadata: {name: r, namespace: lab, uid: u}\n";
        std::fs::write(&file, text).unwrap();
        let ClusterInFile { kinds, objects } = cluster_of_file(&file).unwrap();
        let host = kinds.iter().find(|kind| kind.group_kind.is("a.io", "Host")).unwrap();
        assert!(host.namespaced && host.status_subresource && host.labels.discover);
        assert_eq!(objects.len(), 2);
        assert_eq!(objects[0].meta.owner_references[0].uid.0, "u");
        std::fs::write(&file, "").unwrap();
        assert!(cluster_of_file(&file).unwrap_err().to_string().contains("it has no objects"));
    }
}
