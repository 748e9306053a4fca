//! A directory as target, cut dead at every write: the same command again ends with the same directory, and nobody takes
//! a part for the whole in between.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures::stream::BoxStream;
use pivot_core::objects::names;
use pivot_core::records::route::EndKind;
use pivot_core::{Key, Kind, Object};
use pivot_engine::{Exit, Setup};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::{
    Access, Capabilities, Change, Closing, DirectoryPlace, Event, Identities, Identity, Listing, MetaListing,
    Opening, Patch, Place, PlaceError, Preconditions, Recipients, Result,
};
use serde_json::{Value, json};

use crate::committed::Warnings;
use crate::run;
use crate::seeds::distance_of_deaths;
use crate::stage::{CLUSTERS, Stage, is_record, key, picture};

/// Counts the writes of a run, and lets none through after the last.
#[derive(Clone)]
pub(crate) struct Life {
    writes: Arc<AtomicUsize>,
    last: usize,
    /// Whether the last write still acts.
    acts: bool,
}

impl Life {
    pub(crate) fn of(last: usize, acts: bool) -> Self {
        Self { writes: Arc::default(), last, acts }
    }

    pub(crate) fn died(&self) -> bool {
        self.writes.load(Ordering::SeqCst) >= self.last
    }

    /// What becomes of the next write.
    fn fault(&self) -> Option<Fault> {
        let dead = || PlaceError::Forbidden("dead".into());
        match (self.writes.fetch_add(1, Ordering::SeqCst) + 1).cmp(&self.last) {
            std::cmp::Ordering::Less => None,
            std::cmp::Ordering::Equal if self.acts => Some(Fault::After(dead())),
            _ => Some(Fault::Before(dead())),
        }
    }

    pub(crate) fn ends(&self, place: &MemoryPlace) {
        let life = self.clone();
        place.on_call(
            move |verb, _| {
                if ["create", "patch", "delete"].contains(&verb) { life.fault() } else { None }
            },
        );
    }
}

/// A directory that is written by a run that dies.
pub(crate) struct Mortal {
    pub(crate) directory: DirectoryPlace,
    pub(crate) life: Life,
}

impl Mortal {
    async fn write<T>(&self, act: impl Future<Output = Result<T>>) -> Result<T> {
        match self.life.fault() {
            None => act.await,
            Some(Fault::Before(error)) => Err(error),
            Some(Fault::After(error)) => act.await.and(Err(error)),
        }
    }
}

#[async_trait]
impl Place for Mortal {
    fn label(&self) -> &str {
        self.directory.label()
    }

    fn end_kind(&self) -> EndKind {
        self.directory.end_kind()
    }

    fn capabilities(&self) -> Capabilities {
        self.directory.capabilities()
    }

    async fn identify(&self) -> Result<Identity> {
        self.directory.identify().await
    }

    async fn kinds(&self) -> Result<Vec<Arc<Kind>>> {
        self.directory.kinds().await
    }

    async fn list(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<Listing> {
        self.directory.list(kind, namespace).await
    }

    async fn list_labelled(&self, kind: &Arc<Kind>, namespace: &str, label: &str) -> Result<Listing> {
        self.directory.list_labelled(kind, namespace, label).await
    }

    async fn list_meta(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing> {
        self.directory.list_meta(kind, namespace).await
    }

    async fn get(&self, kind: &Arc<Kind>, key: &Key) -> Result<Option<Object>> {
        self.directory.get(kind, key).await
    }

    async fn create(&self, kind: &Arc<Kind>, body: &Value, change: Change) -> Result<Object> {
        self.write(self.directory.create(kind, body, change)).await
    }

    async fn patch(&self, kind: &Arc<Kind>, key: &Key, patch: &Patch) -> Result<Object> {
        self.write(self.directory.patch(kind, key, patch)).await
    }

    async fn delete(&self, kind: &Arc<Kind>, key: &Key, preconditions: &Preconditions) -> Result<()> {
        self.write(self.directory.delete(kind, key, preconditions)).await
    }

    async fn watch(
        &self,
        kind: &Arc<Kind>,
        namespace: Option<&str>,
        resource_version: &str,
    ) -> Result<BoxStream<'static, Result<Event>>> {
        self.directory.watch(kind, namespace, resource_version).await
    }

    async fn learn(&self, kinds: &[Arc<Kind>]) -> Result<()> {
        self.directory.learn(kinds).await
    }

    async fn open(&self, opening: &Opening) -> Result<()> {
        self.write(self.directory.open(opening)).await
    }

    async fn close(&self, closing: &Closing) -> Result<()> {
        self.write(self.directory.close(closing)).await
    }

    async fn find_denied(&self, asked: &[Access]) -> Result<Vec<Access>> {
        self.directory.find_denied(asked).await
    }
}

/// The objects in a directory, without what differs from one move to the next.
fn objects(path: &Path) -> BTreeMap<String, Value> {
    let mut objects = BTreeMap::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.starts_with('.') || name == "manifest.json" {
            continue;
        }
        let text = std::fs::read_to_string(path.join(&name)).unwrap();
        let body: Value = serde_json::from_str(&text).unwrap();
        // The notes on how to take a pause back name the move, too.
        let move_id = body["metadata"]["annotations"][names::MARK].as_str().unwrap();
        let mut body: Value = serde_json::from_str(&text.replace(move_id, "a move's")).unwrap();
        let metadata = body["metadata"].as_object_mut().unwrap();
        metadata["annotations"].as_object_mut().unwrap().remove(names::COPY_OF);
        for field in ["uid", "resourceVersion", "creationTimestamp", "generation"] {
            metadata.remove(field);
        }
        for owner in metadata.get_mut("ownerReferences").and_then(Value::as_array_mut).into_iter().flatten() {
            owner["uid"] = json!("its owner's");
        }
        objects.insert(name, body);
    }
    objects
}

/// Whether a reader takes the directory for complete; then it must be, and it must say so.
fn is_whole(path: &Path, whole: &BTreeMap<String, Value>, at: &str) -> bool {
    let Ok(read) = DirectoryPlace::to_read(path) else { return false };
    if std::fs::read_dir(path).unwrap().next().is_none() {
        return false;
    }
    let manifest = read.manifest().unwrap_or_else(|| panic!("{at}: read without a manifest"));
    assert_eq!((manifest.count, manifest.handover), (whole.len(), false), "{at}");
    assert_eq!(objects(path), *whole, "{at}");
    true
}

/// What a kill in the middle of a file leaves: a part of it under a name of its own, at its first byte, in between, or
/// complete. And what one leaves between the manifest and the end of the move's own mark.
fn half_a_write(path: &Path, n: usize) {
    if std::fs::read_dir(path).unwrap().next().is_none() {
        return;
    }
    let parts: [&[u8]; 3] =
        [b"", b"{\"apiVersion\": \"v1\", \"ki", b"{\"apiVersion\": \"v1\", \"kind\": \"Secret\"}\n"];
    std::fs::write(path.join(format!(".tmp-{n}")), parts[n % 3]).unwrap();
    if let Ok(manifest) = std::fs::read(path.join("manifest.json")) {
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        let mark = json!({"moveId": manifest["moveId"]}).to_string();
        std::fs::write(path.join(".pivot-host.json"), mark).unwrap();
    }
}

fn into(setup: Setup, path: &Path, life: &Life) -> Setup {
    let mut setup = setup;
    let directory = DirectoryPlace::to_write(path).unwrap();
    setup.sides.target = Arc::new(Mortal { directory, life: life.clone() });
    setup
}

fn finished(place: &MemoryPlace) -> bool {
    let left =
        |key: &Key| place.body(key).unwrap()["metadata"]["labels"].get("pivot-host.io/finished").is_some();
    place.keys().iter().any(left)
}

const FOREVER: usize = usize::MAX;

/// The source of a copy stays in service, so that the user has to learn about Clusters that stay paused.
#[tokio::test(start_paused = true)]
async fn directory_copies_report_clusters_left_paused() {
    let (stage, dir) = (Stage::new(), tempfile::tempdir().unwrap());
    let (source, cluster) = (stage.source.clone(), key(CLUSTERS, "Cluster", "c"));
    // The source is at rest when the record says Copied.
    stage.source.on_call({
        let cluster = cluster.clone();
        move |verb, key| {
            if verb == "patch" && is_record(key, "source") {
                let forget = |body: &mut Value| {
                    let annotations = body["metadata"]["annotations"].as_object_mut();
                    drop(annotations.and_then(|annotations| annotations.remove(names::UNDO)));
                };
                source.edit(&cluster, forget).unwrap();
            }
            None
        }
    });
    let warnings = Arc::new(Warnings::default());
    let setup = into(stage.setup(), dir.path(), &Life::of(FOREVER, true));
    run::start(Setup { watcher: warnings.clone(), ..setup }).await.unwrap();
    assert_eq!(stage.source.body(&cluster).unwrap()["spec"]["paused"], json!(true));
    let told = warnings.0.lock().unwrap().join("\n");
    assert!(told.contains("Cluster ns/c in the source is still paused, without the annotation"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_copy_from_a_server_that_dies_at_any_write_ends_with_the_same_directory() {
    let stage = Stage::new();
    let before = picture(&stage.source);
    let dir = tempfile::tempdir().unwrap();
    run::start(into(stage.setup(), dir.path(), &Life::of(FOREVER, true))).await.unwrap();
    let whole = objects(dir.path());
    assert!(is_whole(dir.path(), &whole, "undisturbed"));
    assert_eq!(picture(&stage.source), before);
    let (mut partial, mut complete) = (0, 0);
    for (acts, half) in [(false, false), (true, false), (true, true)] {
        for n in (1..).step_by(distance_of_deaths()) {
            let at = format!("write {n}, acted {acts}, half a file {half}");
            let (stage, dir) = (Stage::new(), tempfile::tempdir().unwrap());
            let life = Life::of(n, acts);
            life.ends(&stage.source);
            let _ = run::start(into(stage.setup(), dir.path(), &life)).await;
            if !life.died() {
                break;
            }
            if half {
                half_a_write(dir.path(), n);
            }
            if is_whole(dir.path(), &whole, &at) {
                complete += distance_of_deaths()
            } else {
                partial += distance_of_deaths()
            }

            stage.source.on_call(|_, _| None);
            let over = finished(&stage.source);
            let again = run::start(into(stage.setup(), dir.path(), &Life::of(FOREVER, true))).await;
            if let Err(stop) = again {
                assert_eq!(stop.exit, Exit::Refused, "{at}: {stop}");
                assert!(stop.to_string().contains("belongs to move"), "{at}: {stop}");
                // The first run had ended but for its lease: this is another move, and the directory is the first one's.
                assert!(over, "{at}: {stop}");
            }
            assert!(is_whole(dir.path(), &whole, &at), "{at}");
            assert_eq!(picture(&stage.source), before, "{at}");
        }
    }
    assert!(partial > 40 && complete > 10, "{partial} {complete}");
}

#[tokio::test(start_paused = true)]
async fn a_copy_from_a_directory_that_dies_at_any_write_ends_with_the_same_directory() {
    let first = tempfile::tempdir().unwrap();
    let stage = Stage::new();
    run::start(into(stage.setup(), first.path(), &Life::of(FOREVER, true))).await.unwrap();
    let before = bytes(first.path());
    let setup = |path: &Path, life: &Life| {
        let mut setup = into(stage.setup(), path, life);
        setup.sides.source = Arc::new(DirectoryPlace::to_read(first.path()).unwrap());
        setup
    };
    let second = tempfile::tempdir().unwrap();
    run::start(setup(second.path(), &Life::of(FOREVER, true))).await.unwrap();
    let whole = objects(second.path());
    assert!(is_whole(second.path(), &whole, "undisturbed"));
    let mut deaths = 0;
    for (acts, half) in [(false, false), (true, false), (true, true)] {
        for n in (1..).step_by(distance_of_deaths()) {
            let at = format!("write {n}, acted {acts}, half a file {half}");
            let dir = tempfile::tempdir().unwrap();
            let life = Life::of(n, acts);
            let _ = run::start(setup(dir.path(), &life)).await;
            if !life.died() {
                break;
            }
            deaths += distance_of_deaths();
            if half {
                half_a_write(dir.path(), n);
            }
            let complete = is_whole(dir.path(), &whole, &at);
            match run::start(setup(dir.path(), &Life::of(FOREVER, true))).await {
                Ok(_) => assert!(!complete, "{at}"),
                // What is complete is not touched again.
                Err(stop) => {
                    assert_eq!((stop.exit, complete), (Exit::Refused, true), "{at}: {stop}");
                    assert!(stop.to_string().contains("belongs to move"), "{at}: {stop}");
                }
            }
            assert!(is_whole(dir.path(), &whole, &at), "{at}");
            assert_eq!(bytes(first.path()), before, "{at}");
        }
    }
    assert!(deaths > 40, "{deaths}");
}

/// The key that everybody knows, and who has it.
const IDENTITY: &str = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";
const RECIPIENT: &str = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj";

/// Both keys, as they are read from files.
pub(crate) fn keys() -> (Identities, Recipients) {
    let dir = tempfile::tempdir().unwrap();
    let (identity, recipient) = (dir.path().join("identity"), dir.path().join("recipient"));
    std::fs::write(&identity, IDENTITY).unwrap();
    std::fs::write(&recipient, RECIPIENT).unwrap();
    (Identities::read(&identity).unwrap(), Recipients::read(&recipient).unwrap())
}

fn encrypted(setup: Setup, path: &Path, life: &Life) -> Setup {
    let mut setup = setup;
    let directory = DirectoryPlace::to_encrypt(path, keys().1).unwrap();
    setup.sides.target = Arc::new(Mortal { directory, life: life.clone() });
    setup
}

/// What it holds, in a directory that needs no key.
async fn opened(path: &Path) -> tempfile::TempDir {
    let plain = tempfile::tempdir().unwrap();
    let mut setup = into(Stage::new().setup(), plain.path(), &Life::of(FOREVER, true));
    setup.sides.source = Arc::new(DirectoryPlace::to_decrypt(path, keys().0).unwrap());
    run::start(setup).await.unwrap();
    plain
}

/// Whoever makes the copy needs no key that opens it, not even in order to go on with it.
#[tokio::test(start_paused = true)]
async fn an_encrypted_copy_that_dies_at_any_write_is_made_again_or_taken_back_without_a_key() {
    let whole = tempfile::tempdir().unwrap();
    let before = picture(&Stage::new().source);
    run::start(encrypted(Stage::new().setup(), whole.path(), &Life::of(FOREVER, true))).await.unwrap();
    let files = bytes(whole.path()).into_keys().collect::<Vec<_>>();
    let content = objects(opened(whole.path()).await.path());
    let (mut resumed, mut taken_back) = (0, 0);
    for acts in [false, true] {
        for n in (1..).step_by(distance_of_deaths()) {
            let at = format!("write {n}, acted {acts}");
            let (stage, dir) = (Stage::new(), tempfile::tempdir().unwrap());
            let life = Life::of(n, acts);
            life.ends(&stage.source);
            let _ = run::start(encrypted(stage.setup(), dir.path(), &life)).await;
            if !life.died() {
                break;
            }
            stage.source.on_call(|_, _| None);
            let goes_on = || encrypted(stage.setup(), dir.path(), &Life::of(FOREVER, true));
            if n % 3 == 0 && run::rollback(goes_on()).await.is_ok() {
                // The mark alone keeps nobody out.
                let left = bytes(dir.path()).into_keys().find(|name| name != ".pivot-host.json");
                assert_eq!(left, None, "{at}");
                taken_back += distance_of_deaths();
            } else {
                let over = finished(&stage.source);
                let again = run::start(goes_on()).await;
                assert!(again.is_ok() || over, "{at}: {}", again.unwrap_err());
                assert_eq!(bytes(dir.path()).into_keys().collect::<Vec<_>>(), files, "{at}");
                assert_eq!(objects(opened(dir.path()).await.path()), content, "{at}");
                resumed += distance_of_deaths();
            }
            assert_eq!(picture(&stage.source), before, "{at}");
        }
    }
    assert!(resumed > 20 && taken_back > 5, "{resumed} {taken_back}");
}

fn bytes(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .collect()
}
