use std::borrow::Cow;
use std::fs;
use std::path::PathBuf;

use pivot_core::Uid;
use pivot_core::objects::merge;
use pivot_core::records::route::EndKind;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::mutants;
use crate::place::{
    Access, Begun, Change, Closing, Identity, Opening, Patch, Place, Preconditions, Subresource,
};
use crate::testing::kind;

mod odd_files;
mod reading;

fn directory(files: &[(&str, &str)]) -> TempDir {
    let dir = TempDir::new().unwrap();
    for (name, content) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    dir
}

fn refused(files: &[(&str, &str)]) -> String {
    DirectoryPlace::to_read(directory(files).path()).err().unwrap().to_string()
}

async fn find(place: &DirectoryPlace, name: &str) -> Arc<Kind> {
    let kinds = place.kinds().await.unwrap();
    kinds.into_iter().find(|kind| kind.group_kind.to_string() == name).unwrap()
}

/// A directory that a move has opened.
async fn written(path: &Path, move_id: &str) -> Result<DirectoryPlace> {
    let place = DirectoryPlace::to_write(path).unwrap();
    place.open(&Opening { move_id: move_id.to_owned(), begun: Begun::UnderWay }).await?;
    Ok(place)
}

async fn complete(place: &DirectoryPlace, handover: bool) -> Manifest {
    place.close(&Closing::Complete { handover, backup: None }).await.unwrap();
    manifest::read_manifest(&place.shared.files).unwrap().unwrap()
}

/// The error of a move that can't open a directory.
async fn kept_out(path: &Path, move_id: &str) -> String {
    written(path, move_id).await.err().unwrap().to_string()
}

fn machines() -> Arc<Kind> {
    kind("cluster.x-k8s.io", "v1beta2", "Machine", "machines", true)
}

fn machine(name: &str) -> Value {
    json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": {"name": name, "namespace": "a"}, "spec": {"big": 9007199254740993_u64}, "status": {"x": 1}})
}

#[tokio::test]
async fn read_directory_is_not_written() {
    let dir = directory(&[]);
    let place = DirectoryPlace::to_read(dir.path()).unwrap();
    let error = place.create(&machines(), &machine("m"), Change::Real).await.unwrap_err();
    assert_eq!(error.to_string(), "a directory that is read can't be written to");
    let access = |verb| Access {
        verb: Cow::Borrowed(verb),
        group: String::new(),
        resource: "secrets".to_owned(),
        subresource: Cow::Borrowed(""),
        namespace: None,
    };
    assert_eq!(place.find_denied(&[access("list"), access("create")]).await.unwrap(), [access("create")]);
}

// proves: D28
#[tokio::test]
async fn written_objects_are_read_back_exactly() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("new/backup");
    let place = written(&path, "move-1").await.unwrap();
    place.learn(&[machines()]).await.unwrap();
    let written = place.create(&machines(), &machine("m"), Change::Real).await.unwrap();
    assert!(matches!(
        place.create(&machines(), &machine("m"), Change::Real).await,
        Err(PlaceError::AlreadyExists(_))
    ));
    assert!(place.create(&machines(), &machine("dry"), Change::DryRun).await.is_ok());
    assert!(matches!(DirectoryPlace::to_read(&path), Err(DirectoryError::Incomplete { .. })));
    let manifest = complete(&place, false).await;
    assert_eq!((manifest.count, manifest.handover, manifest.move_id.as_str()), (1, false, "move-1"));
    assert_eq!(manifest.files.keys().collect::<Vec<_>>(), ["Machine.cluster.x-k8s.io_a_m.json"]);

    let read = DirectoryPlace::to_read(&path).unwrap();
    assert_eq!(read.manifest(), Some(&manifest));
    let kind = find(&read, "Machine.cluster.x-k8s.io").await;
    assert_eq!(kind, machines());
    let object = read.list(&kind, None).await.unwrap().objects.remove(0);
    assert_eq!(object.value().unwrap(), written.value().unwrap());
    assert_eq!(object.value().unwrap()["status"], json!({"x": 1}));
    assert_eq!(object.value().unwrap()["spec"]["big"], 9007199254740993_u64);
}

/// With a manifest or without one.
#[tokio::test]
async fn any_files_are_a_directory_or_refused() {
    let dir = TempDir::new().unwrap();
    let place = written(dir.path(), "move-1").await.unwrap();
    place.learn(&[machines()]).await.unwrap();
    place.create(&machines(), &machine("m"), Change::Real).await.unwrap();
    complete(&place, false).await;
    let path = dir.path().join(manifest::MANIFEST_FILE);
    let good = fs::read(&path).unwrap();
    let (mut same, mut refused) = (0, 0);
    mutants::each(&[&good], 400, |bytes| {
        fs::write(&path, bytes).unwrap();
        match DirectoryPlace::to_read(dir.path()) {
            Ok(read) => {
                same += 1;
                let read = read.manifest().unwrap();
                assert_eq!(read.count, read.files.len());
            }
            Err(error) => {
                refused += 1;
                let told = error.to_string();
                assert!(told.len() < 2_000 && !told.contains(['\0', '\u{202e}']), "{told}");
            }
        }
    });
    assert!(same > 5 && refused > 100, "{same} read, {refused} refused");

    let document = "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: b, uid: u}\ndata: &d {x: czNjcjN0}\n---\n\
        apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\ndata: *d\n";
    let loose = TempDir::new().unwrap();
    let (mut read, mut refused) = (0, 0);
    mutants::each(&[document.as_bytes()], 400, |bytes| {
        fs::write(loose.path().join("a.yaml"), bytes).unwrap();
        match DirectoryPlace::to_read(loose.path()) {
            Ok(_) => read += 1,
            Err(error) => {
                refused += 1;
                let told = error.to_string();
                assert!(told.len() < 2_000 && !told.contains("czNjcjN0"), "{told}");
            }
        }
    });
    assert!(read > 3 && refused > 100, "{read} read, {refused} refused");
}

/// A record of the writer names what a reader of the same files, wherever they were carried, finds them to be.
#[tokio::test]
async fn writer_and_reader_identify_the_same_contents() {
    let contents = async |place: &DirectoryPlace| match place.identify().await.unwrap() {
        Identity::Directory { contents, .. } => contents,
        other => panic!("{other:?}"),
    };
    let dir = TempDir::new().unwrap();
    let place = written(dir.path(), "move-1").await.unwrap();
    let cluster = kind("cluster.x-k8s.io", "v1beta2", "Cluster", "clusters", true);
    let running = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": "c", "namespace": "a"}, "spec": {"paused": false, "big": 9007199254740993_u64}});
    let paused = pivot_core::objects::pause::with_undo(&running, json!({"spec": {"paused": true}}), "move-1");
    let mut body = running;
    merge::apply_patch(&mut body, &paused);
    place.create(&cluster, &body, Change::Real).await.unwrap();
    place.create(&machines(), &machine("m"), Change::Real).await.unwrap();
    // The record is written before the directory is closed.
    let written = contents(&place).await;
    assert!(written.is_some());
    complete(&place, true).await;
    assert_eq!(contents(&place).await, written);
    assert_eq!(contents(&DirectoryPlace::to_read(dir.path()).unwrap()).await, written);
}

/// Closed files may have been carried elsewhere.
#[tokio::test]
async fn closed_files_are_not_written_again() {
    let dir = TempDir::new().unwrap();
    let again = async |path: &Path, move_id: &str| {
        let place = DirectoryPlace::to_write(path).unwrap();
        place.open(&Opening { move_id: move_id.to_owned(), begun: Begun::Written }).await
    };
    let nothing_left = "has nothing that the move left unfinished";
    assert!(again(dir.path(), "move-1").await.unwrap_err().to_string().contains(nothing_left), "it is empty");
    let place = written(dir.path(), "move-1").await.unwrap();
    place.create(&machines(), &machine("m"), Change::Real).await.unwrap();
    assert!(again(dir.path(), "move-2").await.unwrap_err().to_string().contains(nothing_left), "of another");
    again(dir.path(), "move-1").await.unwrap();
    complete(&place, true).await;
    assert!(again(dir.path(), "move-1").await.unwrap_err().to_string().contains(nothing_left), "complete");
    assert!(DirectoryPlace::to_read(dir.path()).unwrap().manifest().is_some());
}

#[tokio::test]
async fn only_unchanged_handovers_have_a_waiting_source() {
    let end = |path: &Path| DirectoryPlace::to_read(path).unwrap().end_kind();
    for handover in [false, true] {
        let dir = TempDir::new().unwrap();
        let place = written(dir.path(), "move-1").await.unwrap();
        place.create(&machines(), &machine("m"), Change::Real).await.unwrap();
        assert_eq!(place.end_kind(), EndKind::Files, "it is being written");
        complete(&place, handover).await;
        assert_eq!(end(dir.path()), if handover { EndKind::HandoverFiles } else { EndKind::Files });
        let more = dir.path().join("more.yaml");
        fs::write(&more, "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: a}}").unwrap();
        assert_eq!(end(dir.path()), EndKind::Files);
        fs::remove_file(&more).unwrap();
        let file = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
        let file = file
            .into_iter()
            .find(|path| {
                path.to_string_lossy().contains("machines") || path.to_string_lossy().contains("Machine")
            })
            .unwrap();
        fs::write(&file, fs::read_to_string(&file).unwrap() + "\n").unwrap();
        assert_eq!(end(dir.path()), EndKind::Files);
    }
}

/// As a release wrote it that spelled the fields of kinds with underscores.
const OLD_MANIFEST: &str = r#"{
  "apiVersion": "pivot-host.io/v1alpha1",
  "kind": "Manifest",
  "moveId": "move-1",
  "handover": false,
  "count": 1,
  "kinds": [
    {
      "group_kind": {
        "group": "cluster.x-k8s.io",
        "kind": "Machine"
      },
      "version": "v1beta2",
      "plural": "machines",
      "namespaced": true,
      "status_subresource": true,
      "served": [
        "v1beta2"
      ],
      "labels": {
        "discover": false,
        "moves": false,
        "hierarchy": false,
        "unread": false
      }
    }
  ],
  "files": {
    "cluster.x-k8s.io_a_m.json": "a769755760c48007c7ec3ce87de4c5b1c398dbb56c83c3b2d6663ddbe5386e5a"
  }
}"#;

#[tokio::test]
async fn manifest_of_the_previous_release_is_read() {
    let object = r#"{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{"name":"m","namespace":"a"}}"#;
    let dir =
        directory(&[("manifest.json", OLD_MANIFEST), ("cluster.x-k8s.io_a_m.json", &format!("{object}\n"))]);
    let read = DirectoryPlace::to_read(dir.path()).unwrap();
    let manifest = read.manifest().unwrap();
    assert_eq!((&*manifest.move_id, &manifest.kinds[..]), ("move-1", &[Kind::clone(&machines())][..]));
    assert_eq!(find(&read, "Machine.cluster.x-k8s.io").await, machines());
    let changed = manifest.compare_files(&read.shared.files).unwrap();
    assert_eq!((changed.missing.len(), changed.changed.len(), changed.added.len()), (0, 0, 0), "{changed:?}");
}

#[cfg(unix)]
// proves: D30, T84
#[tokio::test]
async fn files_are_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("backup");
    let place = written(&path, "move-1").await.unwrap();
    place.create(&machines(), &machine("m"), Change::Real).await.unwrap();
    complete(&place, true).await;
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.clone()), 0o700);
    for entry in fs::read_dir(&path).unwrap() {
        assert_eq!(mode(entry.unwrap().path()), 0o600);
    }
}

#[tokio::test]
async fn only_the_same_move_resumes_a_directory() {
    let dir = TempDir::new().unwrap();
    let place = written(dir.path(), "move-1").await.unwrap();
    place.create(&machines(), &machine("m"), Change::Real).await.unwrap();
    drop(place);
    fs::write(dir.path().join(".tmp-left-behind"), "x").unwrap();
    assert!(kept_out(dir.path(), "move-2").await.contains("belongs to move move-1"));
    let place = written(dir.path(), "move-1").await.unwrap();
    assert_eq!(place.list(&machines(), None).await.unwrap().objects.len(), 1);
    assert!(!dir.path().join(".tmp-left-behind").exists());
    complete(&place, false).await;
    // Also after it is closed: the run may have died before it recorded that.
    let place = written(dir.path(), "move-1").await.unwrap();
    assert!(matches!(DirectoryPlace::to_read(dir.path()), Err(DirectoryError::Incomplete { .. })));
    complete(&place, false).await;
    assert!(kept_out(dir.path(), "move-2").await.contains("belongs to move move-1"));
    let other = directory(&[("mine.txt", "x")]);
    assert!(kept_out(other.path(), "move-1").await.contains("is not empty"));
}

#[tokio::test]
async fn abandoned_move_leaves_the_directory_free() {
    let dir = TempDir::new().unwrap();
    let first = written(dir.path(), "move-1").await.unwrap();
    first.close(&Closing::Abandoned).await.unwrap();
    let second = written(dir.path(), "move-2").await.unwrap();
    second.create(&machines(), &machine("m"), Change::Real).await.unwrap();
    second.close(&Closing::Abandoned).await.unwrap();
    assert!(kept_out(dir.path(), "move-3").await.contains("belongs to move move-2"));
}

/// A run that dies between marking the directory and writing its record in the source leaves no trace elsewhere: the same
/// command, which then is another move, must not be locked out.
#[tokio::test]
async fn marked_directory_without_files_is_free() {
    let dir = TempDir::new().unwrap();
    let first = written(dir.path(), "move-1").await.unwrap();
    fs::write(dir.path().join(".tmp-half"), "{").unwrap();
    let second = written(dir.path(), "move-2").await.unwrap();
    let late = first.create(&machines(), &machine("late"), Change::Real).await.unwrap_err();
    assert!(late.to_string().contains("opened by another move meanwhile"), "{late}");
    // Nor does the first remove the second's mark.
    first.close(&Closing::Abandoned).await.unwrap();
    second.create(&machines(), &machine("m"), Change::Real).await.unwrap();
    assert_eq!(complete(&second, false).await.count, 1);
}

#[tokio::test]
async fn patches_and_deletes_work_on_files() {
    let dir = TempDir::new().unwrap();
    let place = written(dir.path(), "move-1").await.unwrap();
    let created = place.create(&machines(), &machine("m"), Change::Real).await.unwrap();
    let key = created.key();
    let patch = |body: Value, subresource| {
        let (place, key) = (&place, &key);
        async move {
            let patch = Patch { body, subresource, change: Change::Real };
            place.patch(&machines(), key, &patch).await
        }
    };
    let stale = json!({"metadata": {"resourceVersion": "99"}});
    assert!(matches!(patch(stale, Subresource::None).await, Err(PlaceError::Conflict(_))));
    let both = json!({"spec": {"y": 2}, "status": {"x": 2}});
    let patched = patch(both.clone(), Subresource::None).await.unwrap().value().unwrap();
    assert_eq!((&patched["spec"]["y"], &patched["status"]["x"]), (&json!(2), &json!(1)));
    let patched = patch(both, Subresource::Status).await.unwrap();
    assert_eq!(patched.value().unwrap()["status"]["x"], 2);

    let must = |uid: &Uid, version: &str| Preconditions {
        uid: Some(uid.clone()),
        resource_version: Some(version.to_owned()),
    };
    let stale = must(&patched.meta.uid, &created.meta.resource_version);
    assert!(matches!(place.delete(&machines(), &key, &stale).await, Err(PlaceError::Conflict(_))));
    let now = must(&patched.meta.uid, &patched.meta.resource_version);
    place.delete(&machines(), &key, &now).await.unwrap();
    assert!(place.get(&machines(), &key).await.unwrap().is_none());
    assert_eq!(complete(&place, false).await.count, 0);
}

// proves: T79
#[tokio::test]
async fn manifest_notices_lost_files() {
    let dir = TempDir::new().unwrap();
    let place = written(dir.path(), "move-1").await.unwrap();
    place.create(&machines(), &machine("m"), Change::Real).await.unwrap();
    complete(&place, false).await;
    fs::remove_file(dir.path().join("Machine.cluster.x-k8s.io_a_m.json")).unwrap();
    assert!(matches!(DirectoryPlace::to_read(dir.path()), Err(DirectoryError::Missing { .. })));
}

#[tokio::test]
async fn contradictory_manifest_is_refused() {
    let good = json!({"apiVersion": "pivot-host.io/v1alpha1", "kind": "Manifest", "moveId": "m-1", "handover": false,
        "count": 0, "kinds": [*machines()], "files": {}});
    assert!(DirectoryPlace::to_read(directory(&[("manifest.json", &good.to_string())]).path()).is_ok());
    let many: serde_json::Map<String, Value> =
        (0..100_000).map(|n| (format!("{n}.json"), json!(""))).collect();
    for (path, value) in [
        ("/moveId", json!("m\nerror: x")),
        ("/moveId", json!("x".repeat(100_000))),
        ("/apiVersion", json!("x".repeat(100_000))),
        ("/count", json!(-1)),
        ("/count", json!(1e300)),
        ("/count", json!(1)),
        ("/kind", json!("Else")),
        ("/ofTheFuture", json!(true)),
        ("/kinds/0/groupKind/kind", json!("../x")),
        ("/kinds/0/plural", json!("../x")),
        ("/kinds/0/served", json!(["v1/../x"])),
        ("/files", json!({"../outside.json": ""})),
        ("/files", json!({"/etc/passwd": ""})),
        ("/files", Value::Object(many)),
    ] {
        let mut bad = good.clone();
        if let Some(files) = value.as_object() {
            bad["count"] = files.len().into();
        }
        match bad.pointer_mut(path) {
            Some(field) => *field = value,
            None => bad[path.trim_start_matches('/')] = value,
        }
        let told = refused(&[("manifest.json", &bad.to_string())]);
        assert!(told.len() < 1_500 && !told.contains('\n'), "{path}: {told}");
    }
    let mark = json!({"moveId": "m\n".repeat(10_000)}).to_string();
    assert!(refused(&[(".pivot-host.json", &mark)]).len() < 1_500);
    for mark in
        ["", "hunter2", "[]", "[\"m\"]", "{}", "{\"moveId\": 1}", "{\"moveId\": \"m\", \"more\": \"x\"}"]
    {
        assert!(!refused(&[(".pivot-host.json", mark)]).contains("hunter2"), "{mark}");
    }
}

/// The next version would repeat an earlier one.
#[tokio::test]
async fn highest_version_prevents_writes() {
    let dir = TempDir::new().unwrap();
    let first =
        written(dir.path(), "m").await.unwrap().create(&machines(), &machine("a"), Change::Real).await;
    let file = dir.path().join(files::object_file_name(&first.unwrap().key()));
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("\"1\"", &format!("\"{}\"", u64::MAX), 1)).unwrap();
    let place = written(dir.path(), "m").await.unwrap();
    let error = place.create(&machines(), &machine("b"), Change::Real).await.err().unwrap();
    assert!(error.to_string().contains("highest version"), "{error}");
    assert_eq!(place.shared.lock_contents().entries.len(), 1);
}

#[tokio::test]
async fn metal3_example_is_complete() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/metal3");
    let place = DirectoryPlace::to_read(Path::new(path)).unwrap();
    let contents = place.shared.lock_contents();
    let ids: Vec<&Uid> = contents.entries.values().map(|entry| &entry.object.meta.uid).collect();
    for (key, entry) in &contents.entries {
        for owner in &entry.object.meta.owner_references {
            assert!(ids.contains(&&owner.uid), "{key}: {owner:?}");
        }
    }
    assert!(contents.entries.keys().any(|key| key.group_kind.is("metal3.io", "BareMetalHost")));
}

/// Someone who can write the directory may exchange files while it is read.
// proves: T175
#[tokio::test]
async fn digests_are_of_the_read_bytes() {
    let dir = TempDir::new().unwrap();
    let place = written(dir.path(), "move-1").await.unwrap();
    place.learn(&[machines()]).await.unwrap();
    for name in ["a", "b"] {
        place.create(&machines(), &machine(name), Change::Real).await.unwrap();
    }
    complete(&place, false).await;
    assert!(DirectoryPlace::to_read(dir.path()).unwrap().digest().is_some());

    let files = DirectoryHandle::open(dir.path()).unwrap();
    let manifest = manifest::read_manifest(&files).unwrap().unwrap();
    // Objects of this file are not read while it is away. It is back before it is compared.
    let hidden = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
    let hidden = hidden.min_by_key(|path| path.ends_with("manifest.json")).unwrap();
    let content = fs::read(&hidden).unwrap();
    fs::remove_file(&hidden).unwrap();
    // Meanwhile the manifest has its object.
    let listed = fs::read(dir.path().join(manifest::MANIFEST_FILE)).unwrap();
    fs::write(dir.path().join(manifest::MANIFEST_FILE), &content).unwrap();
    let documents = documents::read_all(&files, Some(&manifest)).unwrap();
    assert_eq!(documents.len(), 1);
    fs::write(&hidden, content).unwrap();
    fs::write(dir.path().join(manifest::MANIFEST_FILE), listed).unwrap();
    assert!(manifest.compare_files(&files).unwrap().missing.is_empty());
    assert_eq!(manifest.compare_read(&files).unwrap().missing.len(), 1);
}

/// A file may be away again once its objects were read.
// proves: T175
#[tokio::test]
async fn read_files_count_as_added_though_gone() {
    let dir = TempDir::new().unwrap();
    let place = written(dir.path(), "move-1").await.unwrap();
    place.learn(&[machines()]).await.unwrap();
    place.create(&machines(), &machine("a"), Change::Real).await.unwrap();
    complete(&place, false).await;
    let files = DirectoryHandle::open(dir.path()).unwrap();
    let manifest = manifest::read_manifest(&files).unwrap().unwrap();
    let added = dir.path().join("added.json");
    fs::write(&added, machine("b").to_string()).unwrap();
    assert_eq!(documents::read_all(&files, Some(&manifest)).unwrap().len(), 2);
    fs::remove_file(&added).unwrap();
    assert!(manifest.compare_files(&files).unwrap().added.is_empty());
    assert_eq!(manifest.compare_read(&files).unwrap().added, ["added.json"]);
}
