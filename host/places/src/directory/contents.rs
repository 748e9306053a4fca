//! The contents of a directory as a move sees them: objects, their kinds, and the version of the whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use pivot_core::discovery::implicit_links::is_cluster;
use pivot_core::objects::{merge, names, pause};
use pivot_core::{GroupKind, Key, Kind, Object, Uid};
use sha2::{Digest, Sha256};

use super::DirectoryError;
use super::files::plain_name;

/// An object and the file that holds it.
#[derive(Clone)]
pub(super) struct ObjectInFile {
    pub(super) file: String,
    /// Digest of the content that this run wrote into the file, if it did.
    pub(super) written: Option<String>,
    pub(super) object: Object,
}

#[derive(Clone, Default)]
pub(super) struct DirectoryContents {
    pub(super) kinds: BTreeMap<GroupKind, Arc<Kind>>,
    pub(super) entries: BTreeMap<Key, ObjectInFile>,
    pub(super) version: u64,
}

impl DirectoryContents {
    /// Returns an id of these objects, wherever their files are and however they are formatted or encrypted: files that are
    /// encrypted again, for another key, still continue the move that began with them.
    pub(super) fn content_id(&self) -> Uid {
        let mut hash = Sha256::new();
        for (key, entry) in &self.entries {
            // Each part is preceded by its length, so that adjacent parts can't be confused. A digest of a Secret's data would let
            // readers of the record check guesses.
            let state = format!("{} {}", entry.object.meta.uid, entry.object.meta.resource_version);
            let content = if key.group_kind.is_secret() { state.as_bytes() } else { entry.object.raw() };
            for part in [key.to_string().as_bytes(), content] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
        }
        let digest: String = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Uid(format!("{}{digest}", names::FILES))
    }

    /// Returns the id that readers get once this move has closed the directory: they read objects as they were before the pause.
    pub(super) fn content_id_as_read(&self, move_id: &str) -> Result<Uid, DirectoryError> {
        let mut read = self.clone();
        read.unpause_all(Some(move_id))?;
        Ok(read.content_id())
    }

    /// Restores the state that objects had before they were paused in order to be copied: by a move, which left an undo
    /// annotation, or by clusterctl, which leaves none.
    pub(super) fn unpause_all(&mut self, written_by: Option<&str>) -> Result<(), DirectoryError> {
        let by_clusterctl = written_by.is_none() && self.is_from_clusterctl();
        for ObjectInFile { file, object, .. } in self.entries.values_mut() {
            let change = match written_by {
                Some(move_id) => pause::undo_patch(&object.meta, move_id),
                None if by_clusterctl => pause::unpause_patch(object),
                None => None,
            };
            let Some(change) = change else { continue };
            let unpaused = object.value().and_then(|mut body| {
                merge::apply_patch(&mut body, &change);
                Object::from_value(object.kind.clone(), &body)
            });
            *object = unpaused.map_err(|error| DirectoryError::Unusable {
                path: file.clone(),
                reason: error.to_string(),
            })?;
        }
        Ok(())
    }

    /// Returns true if `clusterctl move --to-directory` wrote the Clusters. clusterctl names their files in its own way, and
    /// pauses all of them.
    fn is_from_clusterctl(&self) -> bool {
        let name = |Key { group_kind, namespace, name }: &Key| {
            format!("{}_{}_{name}.yaml", group_kind.kind, namespace.as_deref().unwrap_or_default())
        };
        let mut clusters = self.entries.iter().filter(|(key, _)| is_cluster(&key.group_kind)).peekable();
        let paused = |object: &Object| pause::is_paused(object).unwrap_or_default();
        clusters.peek().is_some()
            && clusters.all(|(key, entry)| plain_name(&entry.file) == name(key) && paused(&entry.object))
    }

    pub(super) fn list_objects(&self, kind: &Kind, namespace: Option<&str>) -> impl Iterator<Item = &Object> {
        let namespace = namespace.filter(|_| kind.namespaced).map(str::to_owned);
        let group_kind = kind.group_kind.clone();
        self.entries
            .iter()
            .filter(move |(key, _)| {
                key.group_kind == group_kind && (namespace.is_none() || key.namespace == namespace)
            })
            .map(|(_, entry)| &entry.object)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::DirectoryPlace;

    const CLUSTER: &str = "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c, namespace: ns}, spec: {paused: true}}";
    const SECRET: &str =
        "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: ns}, data: {a: eA==}}";

    fn read(files: &[(&str, &str)]) -> DirectoryPlace {
        let dir = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, text)| fs::write(dir.path().join(name), text).unwrap());
        DirectoryPlace::to_read(dir.path()).unwrap()
    }

    // proves: T130
    #[test]
    fn content_id_ignores_the_data_of_secrets() {
        let digest = |files: &[(&str, &str)]| read(files).shared.lock_contents().content_id().0;
        let all = digest(&[("a.yaml", CLUSTER), ("b.yaml", SECRET)]);
        assert_eq!(digest(&[("all.yaml", &format!("{SECRET}\n---\n{CLUSTER}"))]), all);
        assert_eq!(digest(&[("a.yaml", CLUSTER), ("b.yaml", &SECRET.replace("eA==", "eQ=="))]), all);
        assert_ne!(digest(&[("a.yaml", &CLUSTER.replace("true", "false")), ("b.yaml", SECRET)]), all);
        assert_ne!(digest(&[("a.yaml", CLUSTER)]), all);
    }

    /// clusterctl pauses every Cluster and leaves no note. Files that a site adds change nothing about that.
    #[test]
    fn only_pauses_by_clusterctl_are_undone() {
        let paused = |files: &[(&str, &str)]| {
            let place = read(files);
            let contents = place.shared.lock_contents();
            let text: String = contents
                .entries
                .values()
                .map(|entry| String::from_utf8_lossy(entry.object.raw()).into_owned())
                .collect();
            text.contains("\"paused\":true")
        };
        assert!(!paused(&[("Cluster_ns_c.yaml", CLUSTER), ("note.yaml", SECRET)]));
        assert!(paused(&[("my-cluster.yaml", CLUSTER)]));
        let running = CLUSTER.replace("name: c", "name: d").replace("true", "false");
        assert!(paused(&[("Cluster_ns_c.yaml", CLUSTER), ("Cluster_ns_d.yaml", &running)]));
    }
}
