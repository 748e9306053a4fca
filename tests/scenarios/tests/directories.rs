//! Into a directory, and from there into another cluster; by this program and by the peer, in both orders.

use std::path::Path;

use pivot_lab::{Dump, Server};
use pivot_scenarios::age::Age;
use pivot_scenarios::clusterctl;
use pivot_scenarios::host::{Ended, Host};
use pivot_scenarios::secrets::{ENCODED, ensure_no_secret};
use pivot_scenarios::shape::{self, WITHOUT_PLUGIN};
use serde_json::Value;
use tempfile::TempDir;

use crate::stage::{Stage, all, same};

const NOTE: &str = "pivot-host.io/undo";

/// Copies a namespace of the source into a directory; the source stays unchanged.
async fn backup(stage: &Stage, namespace: &str) -> TempDir {
    let (source, dir) = (&stage.pair.source, tempfile::tempdir().unwrap());
    let before = all(source, &[namespace]).await;
    let host = Host::out_of(source.kubeconfig());
    let path = dir.path().display().to_string();
    let report = host.run(&["move", "-n", namespace, "--to-directory", &path]).await.unwrap().done().unwrap();
    assert_eq!(report["outcome"], "Copied");
    same(before, all(source, &[namespace]).await);
    dir
}

/// Restores a directory into a server.
async fn restore(server: &Server, dir: &Path, flags: &[&str]) {
    let path = dir.display().to_string();
    let host = Host::into_server(server.kubeconfig()).with(&["--from-directory", &path]).with(flags);
    let refused = host.run(&[&["move"][..], &WITHOUT_PLUGIN].concat()).await.unwrap().ends_with(3).unwrap();
    assert_eq!(refused.document().unwrap()["refusals"][0]["code"], "source-may-live-on");
    let words = [&["move", "--accept", "source-may-run"][..], &WITHOUT_PLUGIN].concat();
    restore_unreadable(&host, &words, server).await;
    let status = host.run(&["status"]).await.unwrap().done().unwrap();
    assert_eq!(
        (status["moves"].as_array().map(Vec::len), status["leases"].as_array().map(Vec::len)),
        (Some(0), Some(0))
    );
}

/// Restores Clusters whose API servers don't exist. They stay paused until the user names them.
pub(crate) async fn restore_unreadable(host: &Host, words: &[&str], server: &Server) {
    let stop = host.run(words).await.unwrap().ends_with(5).unwrap().document().unwrap();
    let error = stop["message"].as_str().unwrap();
    assert!(error.contains("its nodes can't be read"), "{error}");
    let clusters: Vec<String> = error
        .lines()
        .filter_map(|line| Some(line.split_once("Cluster ")?.1.split_once(": ")?.0.to_owned()))
        .collect();
    let all_paused = server.dump(&["shop", "classy"]).await.unwrap().into_values().all(|object| {
        let name = format!("{}/{}", text(&object, "/metadata/namespace"), text(&object, "/metadata/name"));
        object["kind"] != "Cluster" || !clusters.contains(&name) || object["spec"]["paused"] == true
    });
    assert!(all_paused && !clusters.is_empty(), "{error}");
    let named = clusters.iter().flat_map(|cluster| ["--unpause", cluster]);
    let words: Vec<&str> = ["resume"].into_iter().chain(named).collect();
    let report = host.run(&words).await.unwrap().done().unwrap();
    assert_eq!(report["outcome"], "Copied");
}

fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_backup_is_in_the_state_a_move_would_have_left() {
    let stage = Stage::start().await;
    assert_eq!(stage.fill("shop", 3).await.len(), 43);
    stage.pair.source.apply(&shape::example_file("classy.yaml").unwrap()).await.unwrap();
    for namespace in ["shop", "classy"] {
        let before = all(&stage.pair.source, &[namespace]).await;
        let dir = backup(&stage, namespace).await;
        restore(&stage.pair.target, dir.path(), &[]).await;
        same(before, all(&stage.pair.target, &[namespace]).await);
    }
    stage.tidy(&["shop", "classy"]).await;
}

/// The next commands that a document offers.
fn offered(document: &Value) -> Vec<String> {
    let next = document["next"].as_array().unwrap();
    next.iter().map(|line| line.as_str().unwrap().to_owned()).collect()
}

/// Types a command that was offered.
async fn type_in(line: &str) -> Ended {
    let words: Vec<&str> = line.split(' ').skip(1).collect();
    Host::alone().without_controllers().run(&words).await.unwrap()
}

/// No network leads from one to the other while the files are carried.
#[tokio::test(flavor = "multi_thread")]
async fn a_source_handed_over_in_a_directory_is_released_once_that_is_imported() {
    let stage = Stage::start().await;
    let before = stage.fill("shop", 3).await;
    let (source, target) = (&stage.pair.source, &stage.pair.target);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().display().to_string();
    let out = Host::out_of(source.kubeconfig());
    let hand_over = [&["handover", "start", &path, "-n", "shop"][..], &WITHOUT_PLUGIN].concat();
    let report = out.run(&hand_over).await.unwrap().done().unwrap();
    assert_eq!(report["outcome"], "HandedOver");
    let status = out.run(&["status"]).await.unwrap().done().unwrap();
    let record = &status["moves"][0]["record"];
    assert_eq!(record["handover"]["directory"], format!("directory {path}"));
    let [undo] = &offered(&status["moves"][0])[..] else { panic!("{status}") };
    // The source waits; nothing else is done with it, and nobody has imported the files yet.
    let waits = all(source, &["shop"]).await;
    out.run(&hand_over).await.unwrap().ends_with(3).unwrap();
    let [resume, rollback] =
        &offered(&stage.host.run(&["status"]).await.unwrap().done().unwrap()["moves"][0])[..]
    else {
        panic!("two ways")
    };
    // A code that takes kinds needs one, and the record has the kinds of the move.
    for command in [&["handover", "finish"][..], &["resume"]] {
        let bare = [command, &["--accept", "copy-changed"]].concat();
        let refused = stage.host.run_as_text(&bare).await.unwrap().ends_with(2).unwrap().stderr;
        let (_, kinds) = refused.split_once("the kinds of the move are ").expect(&refused);
        assert!(kinds.contains("Secret") && kinds.contains("Cluster.cluster.x-k8s.io"), "{refused}");
    }
    let refused = type_in(resume).await.ends_with(4).unwrap().document().unwrap();
    assert_eq!(refused["refusals"][0]["code"], "import-not-found");
    let again = offered(&refused);
    assert!(
        again.iter().zip([resume, rollback]).all(|(again, before)| again.starts_with(before)),
        "{again:?}"
    );
    let refused = out.run(&["rollback", "--without-target"]).await.unwrap().ends_with(3).unwrap();
    let again = offered(&refused.document().unwrap());
    assert!(again.iter().any(|again| again.starts_with(undo)), "{again:?}");
    same(waits.clone(), all(source, &["shop"]).await);
    // It is rolled back, and handed over once more.
    type_in(undo).await.done().unwrap();
    same(before.clone(), all(source, &["shop"]).await);
    std::fs::remove_dir_all(dir.path()).unwrap();
    out.run(&hand_over).await.unwrap().done().unwrap();

    let waits = all(source, &["shop"]).await;
    let into = Host::into_server(target.kubeconfig()).with(&["--from-directory", &path]);
    let imported = into.run(&[&["move"][..], &WITHOUT_PLUGIN].concat()).await.unwrap().done().unwrap();
    assert_eq!(imported["outcome"], "Copied");
    same(before.clone(), all(target, &["shop"]).await);
    same(waits, all(source, &["shop"]).await);
    let refused = type_in(rollback).await.ends_with(3).unwrap().document().unwrap();
    let [resume] = &offered(&refused)[..] else { panic!("{refused}") };
    let report = type_in(resume).await.done().unwrap();
    assert_eq!(report["outcome"], "Moved");
    same(before, all(target, &["shop"]).await);
    assert!(all(source, &["shop"]).await.is_empty());
    stage.tidy(&["shop"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_clusterctl_wrote_is_restored() {
    let stage = Stage::start().await;
    let before = stage.fill("shop", 3).await;
    let dir = tempfile::tempdir().unwrap();
    clusterctl::to_directory(stage.pair.source.kubeconfig(), "shop", dir.path()).await.unwrap();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), before.len());
    restore(&stage.pair.target, dir.path(), &[]).await;
    same(before, all(&stage.pair.target, &["shop"]).await);
    stage.tidy(&["shop"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clusterctl_restores_what_we_wrote() {
    let stage = Stage::start().await;
    let before = stage.fill("shop", 3).await;
    let dir = backup(&stage, "shop").await;
    clusterctl::from_directory(stage.pair.target.kubeconfig(), dir.path()).await.unwrap();
    let after = all(&stage.pair.target, &["shop"]).await;
    same(as_clusterctl_does(before), as_clusterctl_does(after));
}

// proves: D31, T85
#[tokio::test(flavor = "multi_thread")]
async fn an_encrypted_backup_is_one_of_the_age_tool_and_is_restored() {
    let stage = Stage::start().await;
    let before = stage.fill("shop", 3).await;
    let (age, dir) = (Age::with_keys().await.unwrap(), tempfile::tempdir().unwrap());
    let path = dir.path().display().to_string();
    let (recipients, identity) =
        (age.recipients().display().to_string(), age.identity().display().to_string());
    let host = Host::out_of(stage.pair.source.kubeconfig());
    let flags = ["move", "-n", "shop", "--to-directory", &path, "--encrypt-to", &recipients];
    assert_eq!(host.run(&flags).await.unwrap().done().unwrap()["outcome"], "Copied");
    same(before.clone(), all(&stage.pair.source, &["shop"]).await);

    // Nothing in it tells a Secret, and all of it is what the tool reads and writes.
    let files: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), before.len() + 1);
    let mut secrets = 0;
    for file in &files {
        let content = std::fs::read(file).unwrap();
        ensure_no_secret(file.display(), &String::from_utf8_lossy(&content)).unwrap();
        if file.ends_with("manifest.json") {
            continue;
        }
        let plain = age.decrypt(file).unwrap();
        let object: serde_json::Value = serde_json::from_slice(&plain).unwrap();
        if object["kind"] == "Secret" {
            assert_eq!(object["data"]["value"], ENCODED);
            secrets += 1;
        }
        let text = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(text.path(), &plain).unwrap();
        age.encrypt(text.path(), file).unwrap();
        assert_ne!(std::fs::read(file).unwrap(), content);
    }
    assert!(secrets > 3, "{secrets}");
    let verified = Host::alone().run(&["verify", &path]).await.unwrap().ends_with(3).unwrap();
    assert!(verified.stderr.contains("is not as it was written"), "{}", verified.stderr);

    let closed = Host::into_server(stage.pair.target.kubeconfig()).with(&["--from-directory", &path]);
    let words = [&["move", "--accept", "source-may-run"][..], &WITHOUT_PLUGIN].concat();
    let refused = closed.run(&words).await.unwrap().ends_with(3).unwrap();
    assert!(refused.stderr.contains("--identity"), "{}", refused.stderr);
    restore(&stage.pair.target, dir.path(), &["--identity", &identity]).await;
    same(before, all(&stage.pair.target, &["shop"]).await);
    stage.tidy(&["shop"]).await;
}

/// Our notes on how to take a pause back mean nothing to clusterctl, which takes every pause back; and it writes owners in any
/// order.
fn as_clusterctl_does(mut dump: Dump) -> Dump {
    for object in dump.values_mut() {
        let annotations = object.pointer_mut("/metadata/annotations").and_then(|notes| notes.as_object_mut());
        annotations.into_iter().for_each(|annotations| drop(annotations.remove(NOTE)));
        let owners = object.pointer_mut("/metadata/ownerReferences").and_then(|owners| owners.as_array_mut());
        owners.into_iter().for_each(|owners| {
            owners.sort_by_key(|owner| (owner["kind"].to_string(), owner["name"].to_string()))
        });
    }
    dump
}
