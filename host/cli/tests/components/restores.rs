//! `verify --restore`: directories that are restored into memory, whole, damaged, incomplete and refused by a plugin.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::host::{err, host};
use crate::schemas;
use crate::site::Site;

/// Two hosts, one of which owns the other, and a Secret that no rule copies.
const HOSTS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: hosts.test.io, labels: {clusterctl.cluster.x-k8s.io: '', clusterctl.cluster.x-k8s.io/move: ''}}
spec:
  group: test.io
  names: {kind: Host, plural: hosts}
  scope: Namespaced
  versions: [{name: v2, served: true, storage: true, subresources: {status: {}}}]
---
{apiVersion: test.io/v2, kind: Host, metadata: {name: a, namespace: lab, uid: a}, status: {state: ready}}
---
apiVersion: test.io/v2
kind: Host
metadata:
  {name: b, namespace: lab, uid: b, ownerReferences: [{apiVersion: test.io/v2, kind: Host, name: a, uid: a}]}
spec: {size: 3}
---
{apiVersion: v1, kind: Secret, metadata: {name: credentials, namespace: lab}, data: {password: aHVudGVyMg==}}
";
/// A pair of age keys that everyone knows.
const IDENTITY: &str = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";
const RECIPIENT: &str = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj";

/// Files that a move wrote, and a directory of plugins.
struct Written(Site);

impl Written {
    fn new(components: &[&str], grants: &str, flags: &[&str]) -> Self {
        let components: Vec<_> =
            components.iter().map(|component| pivot_guests::guest(component).unwrap()).collect();
        let written = Self(Site::new(&components, grants, "world/objects.yaml", HOSTS));
        fs::write(written.0.path("key.txt"), IDENTITY).unwrap();
        fs::write(written.0.path("to.txt"), RECIPIENT).unwrap();
        let ends = ["move", "--from-directory", "world", "--to-directory", "backup"];
        let moved = written.run(&[&ends[..], flags].concat());
        assert!(moved.status.success(), "{}", err(&moved));
        written
    }

    fn run(&self, words: &[&str]) -> Output {
        host(words).current_dir(self.0.root()).output().unwrap()
    }

    /// Verifies and restores the files. Returns the document and the messages.
    fn verify(&self, code: i32, flags: &[&str]) -> (Value, String) {
        let output = self.run(&[&["verify", "backup", "--restore", "-o", "json"], flags].concat());
        assert_eq!(output.status.code(), Some(code), "{}", err(&output));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        schemas::check(&document);
        (document, err(&output))
    }

    fn manifest(&self) -> Value {
        serde_json::from_slice(&fs::read(self.0.path("backup/manifest.json")).unwrap()).unwrap()
    }
}

/// The file of a host.
fn file_of_host(manifest: &Value, name: &str) -> String {
    let mut files = manifest["files"].as_object().unwrap().keys();
    files.find(|file| file.starts_with("Host.") && file.ends_with(&format!("_{name}.json"))).unwrap().clone()
}

#[test]
fn good_backup_is_restored_into_memory() {
    let written = Written::new(&[], "", &[]);
    let (document, _) = written.verify(0, &[]);
    let expected = json!({"objects": 2, "changedByPlugins": 0, "differences": [], "stopped": null});
    assert_eq!(document["restore"], expected);
    let shown = written.run(&["verify", "backup", "--restore"]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("Restored: 2 objects into memory, and compared with the files"), "{shown}");
    let plain = written.run(&["verify", "backup", "-o", "json"]);
    let plain: Value = serde_json::from_slice(&plain.stdout).unwrap();
    assert_eq!(plain["restore"], Value::Null);
}

#[test]
fn encrypted_backup_is_restored_with_key() {
    let written = Written::new(&[], "", &["--encrypt-to", "to.txt"]);
    let (document, _) = written.verify(0, &["--identity", "key.txt"]);
    assert_eq!(document["restore"]["objects"], 2);
    let (document, told) = written.verify(3, &[]);
    assert!(told.contains("is encrypted") && told.contains("pass --identity FILE"), "{told}");
    assert!(document["restore"]["stopped"].as_str().unwrap().contains("is encrypted"), "{document}");
}

#[test]
fn damaged_backup_is_not_restored() {
    let written = Written::new(&[], "", &[]);
    let file = written.0.path("backup").join(file_of_host(&written.manifest(), "b"));
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text} ")).unwrap();
    let (document, told) = written.verify(3, &[]);
    assert_eq!(document["restore"], Value::Null);
    assert!(told.contains("is not as it was written"), "{told}");
}

/// Checksums can't find an owner that was never written.
#[test]
fn backup_without_an_owner_is_found() {
    let written = Written::new(&[], "", &[]);
    let mut manifest = written.manifest();
    let owner = file_of_host(&manifest, "a");
    fs::remove_file(written.0.path("backup").join(&owner)).unwrap();
    manifest["files"].as_object_mut().unwrap().remove(&owner).unwrap();
    manifest["count"] = json!(1);
    fs::write(written.0.path("backup/manifest.json"), manifest.to_string()).unwrap();
    assert!(written.run(&["verify", "backup"]).status.success());
    let (document, told) = written.verify(3, &[]);
    println!("{document:#}");
    assert!(told.contains("Host lab/b"), "{told}");
}

#[test]
fn objects_that_a_restore_leaves_are_listed() {
    let written = Written::new(&[], "", &["--also-copy", "Secret/lab/credentials"]);
    let (document, told) = written.verify(3, &[]);
    println!("{document:#}");
    assert!(
        told.contains("a restore differs from the files: Secret lab/credentials is not restored"),
        "{told}"
    );
    assert!(!told.contains("aHVudGVyMg"), "{told}");
}

#[test]
fn backup_that_a_plugin_refuses_is_found() {
    let inspected = host(&["plugin", "inspect", pivot_guests::guest("faulty").unwrap().to_str().unwrap()]);
    let grants = String::from_utf8({ inspected }.output().unwrap().stdout).unwrap();
    let grants = grants.split_once("review it:\n\n").unwrap().1;
    let grants = format!("{grants}\nconfig = {{ defect = 'no-status' }}\n");
    let written = Written::new(&["faulty"], &grants, &[]);
    let (document, told) = written.verify(3, &["--plugins", "plugins"]);
    println!("{document:#}");
    assert!(told.contains("a restore stops: ") && told.contains("faulty"), "{told}");
    // Only the restore asks plugins.
    assert!(Path::new(&written.0.path("backup")).exists());
    written.verify(0, &[]);
}
