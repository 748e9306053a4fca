//! Backups of a server that is written to all the time.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures::future::join_all;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use kube::discovery::pinned_kind;
use pivot_lab::{Dump, Server};
use pivot_scenarios::host::Host;
use serde_json::{Value, json};

use crate::directories::restore_unreadable;
use crate::stage::{Stage, all, same};

/// Machines, each with one writer.
const MACHINES: usize = 8;
/// Backups during the writes.
const BACKUPS: usize = 3;
/// Most plain readings, one of which must be of several instants.
const READINGS: usize = 30;
/// The annotation with a counter.
const COUNTER: &str = "lab/counter";

/// The two kinds with counters: each writer raises its counter in the first kind, and then in the second.
fn kinds_of_counters(server: &Server) -> [Api<DynamicObject>; 2] {
    let machine = GroupVersionKind::gvk("cluster.x-k8s.io", "v1beta2", "Machine");
    [machine, GroupVersionKind::gvk("", "v1", "Secret")]
        .map(|kind| Api::namespaced_with(server.client(), "shop", &ApiResource::from_gvk(&kind)))
}

/// Raises the counter of a Machine, and then of the Secret with its bootstrap data, until `stop` is set.
async fn raise(kinds: [Api<DynamicObject>; 2], name: String, written: Arc<AtomicU64>, stop: Arc<AtomicBool>) {
    let mut counter = 0_u64;
    while !stop.load(Ordering::Relaxed) {
        counter += 1;
        let patch = json!({"metadata": {"annotations": {COUNTER: counter.to_string()}}});
        for api in &kinds {
            api.patch_metadata(&name, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
            written.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn counter(object: &Value) -> u64 {
    object["metadata"]["annotations"][COUNTER].as_str().map_or(0, |text| text.parse().unwrap())
}

/// Returns true if both counters are of one instant: the first is equal to the second, or one ahead.
fn is_consistent((machine, secret): (u64, u64)) -> bool {
    machine == secret || machine == secret + 1
}

/// The counters in the files of a backup.
fn counters_in_files(path: &Path, names: &[String]) -> Vec<(u64, u64)> {
    let mut found = vec![(0, 0); names.len()];
    for entry in std::fs::read_dir(path).unwrap() {
        let object: Value = serde_json::from_slice(&std::fs::read(entry.unwrap().path()).unwrap()).unwrap();
        let Some(index) = names.iter().position(|name| object["metadata"]["name"] == **name) else {
            continue;
        };
        match object["kind"].as_str().unwrap() {
            "Machine" => found[index].0 = counter(&object),
            "Secret" => found[index].1 = counter(&object),
            _ => {}
        }
    }
    found
}

/// The counters that plain lists show: one kind after the other, as a move lists them without a pause.
async fn counters_in_lists(kinds: &[Api<DynamicObject>; 2], names: &[String]) -> Vec<(u64, u64)> {
    let mut lists = Vec::new();
    for api in kinds {
        let list = api.list(&ListParams::default()).await.unwrap().items;
        lists.push(
            names
                .iter()
                .map(|name| {
                    let object =
                        list.iter().find(|object| object.metadata.name.as_ref() == Some(name)).unwrap();
                    counter(&serde_json::to_value(object).unwrap())
                })
                .collect::<Vec<_>>(),
        );
    }
    lists[0].iter().copied().zip(lists[1].iter().copied()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn backups_under_writes_are_of_one_instant() {
    let stage = Stage::start().await;
    stage.fill("shop", MACHINES).await;
    let source = &stage.pair.source;
    let kinds = kinds_of_counters(source);
    let machines = kinds[0].list(&ListParams::default()).await.unwrap();
    let names: Vec<String> = machines.items.into_iter().filter_map(|machine| machine.metadata.name).collect();
    assert_eq!(names.len(), MACHINES);
    let (written, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let writers = names.iter().map(|name| raise(kinds.clone(), name.clone(), written.clone(), stop.clone()));
    let writers: Vec<_> = writers.map(tokio::spawn).collect();

    let host = Host::out_of(source.kubeconfig());
    let dir = tempfile::tempdir().unwrap();
    let mut backups = Vec::new();
    for night in 0..BACKUPS {
        let path = dir.path().join(format!("backup-{night}"));
        let words = ["backup", &path.display().to_string(), "-n", "shop"];
        let before = written.load(Ordering::Relaxed);
        assert_eq!(host.run(&words).await.unwrap().done().unwrap()["outcome"], "Copied");
        let writes = written.load(Ordering::Relaxed) - before;
        println!("{writes} writes during backup {night}");
        assert!(writes >= MACHINES as u64, "{writes} writes during backup {night}");
        Host::alone().run(&["verify", words[1]]).await.unwrap().done().unwrap();
        backups.push(path);
    }
    let mut is_torn = false;
    for _ in 0..READINGS {
        is_torn |= !counters_in_lists(&kinds, &names).await.into_iter().all(is_consistent);
        if is_torn {
            break;
        }
    }
    stop.store(true, Ordering::Relaxed);
    join_all(writers).await.into_iter().for_each(Result::unwrap);

    assert!(is_torn, "plain lists pass, so the check shows nothing");
    for path in &backups {
        let counters = counters_in_files(path, &names);
        assert!(
            counters.iter().all(|both| both.1 > 0 && is_consistent(*both)),
            "{}: {counters:?}",
            path.display()
        );
    }
}

/// Removes from each host what the Metal3 provider writes when it pauses one, and removes once its Cluster runs. No provider runs here.
fn without_provider_pauses(mut dump: Dump) -> Dump {
    for host in dump.values_mut().filter(|object| object["kind"] == "BareMetalHost") {
        let annotations = host.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut).unwrap();
        assert_eq!(annotations.remove("baremetalhost.metal3.io/paused"), Some(json!("metal3.io/capm3")));
        assert!(annotations.remove("baremetalhost.metal3.io/status").is_some());
    }
    dump
}

/// Nothing in the source changes, and the second night works as the first.
#[tokio::test(flavor = "multi_thread")]
async fn restored_nightly_backup_is_the_source() {
    let stage = Stage::start().await;
    let before = stage.fill("shop", 3).await;
    let (source, dir) = (&stage.pair.source, tempfile::tempdir().unwrap());
    let nights = ["2026-11-26", "2026-11-27"].map(|night| dir.path().join(night).display().to_string());
    for night in &nights {
        let host = Host::out_of(source.kubeconfig());
        host.run(&["backup", night, "-n", "shop"]).await.unwrap().done().unwrap();
        assert!(all(source, &["shop"]).await == before, "the source changed");
    }
    let into = Host::into_server(stage.pair.target.kubeconfig()).with(&["--from-directory", &nights[1]]);
    let restore =
        [&["move", "--accept", "source-may-run"][..], &pivot_scenarios::shape::WITHOUT_PLUGIN].concat();
    restore_unreadable(&into, &restore, &stage.pair.target).await;
    same(before, without_provider_pauses(all(&stage.pair.target, &["shop"]).await));
    stage.tidy(&["shop"]).await;
}

/// A pair of age keys that everyone knows.
const IDENTITY: &str = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";
const RECIPIENT: &str = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj";
/// Tries until the server has noticed new roles.
const TRIES: u32 = 100;

/// Applies objects with strict validation. Returns them as the server has them.
async fn apply_strictly(server: &Server, objects: &[Value]) -> Vec<Value> {
    let params = PatchParams::apply("site").force().validation_strict();
    let mut applied = Vec::new();
    for object in objects {
        let (api_version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let kind = GroupVersionKind::gvk(group, version, kind);
        let (resource, _) = pinned_kind(&server.client(), &kind).await.unwrap();
        let api: Api<DynamicObject> = match object["metadata"]["namespace"].as_str() {
            None => Api::all_with(server.client(), &resource),
            Some(namespace) => Api::namespaced_with(server.client(), namespace, &resource),
        };
        let name = object["metadata"]["name"].as_str().unwrap();
        let answer = api.patch(name, &params, &Patch::Apply(object)).await;
        let stored = answer.unwrap_or_else(|error| panic!("{name}: {error}\n{object:#}"));
        applied.push(serde_json::to_value(stored).unwrap());
    }
    applied
}

/// The printed CronJob is accepted, and its own arguments work as its own account, also on the second night.
#[tokio::test(flavor = "multi_thread")]
async fn printed_cron_job_works_on_second_night() {
    let stage = Stage::start().await;
    stage.fill("shop", 1).await;
    let (source, dir) = (&stage.pair.source, tempfile::tempdir().unwrap());
    let file = |name: &str, text: &str| {
        std::fs::write(dir.path().join(name), text).unwrap();
        dir.path().join(name).display().to_string()
    };
    let (keys, identity) = (file("keys.txt", RECIPIENT), file("key.txt", IDENTITY));
    let generate = ["generate", "backup", "-n", "shop", "--image", "example.com/pivot-host:v1"];
    let generate = [&generate[..], &["--encrypt-to", &keys]].concat();
    let list = Host::out_of(source.kubeconfig()).run(&generate).await.unwrap().done().unwrap();
    let objects = apply_strictly(source, list["items"].as_array().unwrap()).await;
    let find = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();
    for role in objects.iter().filter(|object| object["kind"] == "Role" || object["kind"] == "ClusterRole") {
        let verbs =
            role["rules"].as_array().unwrap().iter().flat_map(|rule| rule["verbs"].as_array().unwrap());
        assert!(verbs.into_iter().all(|verb| *verb == "get" || *verb == "list"), "{role:#}");
    }
    let mounted = file("recipients.txt", find("ConfigMap")["data"]["recipients.txt"].as_str().unwrap());
    let pod = &find("CronJob")["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0].get("command"), None, "the image has the command");
    let account = format!(
        "system:serviceaccount:{}:{}",
        find("CronJob")["metadata"]["namespace"].as_str().unwrap(),
        pod["serviceAccountName"].as_str().unwrap()
    );
    let host = Host::out_of(&source.kubeconfig_as(&account, &[]).unwrap());
    for night in ["pivot-host-backup-29741400", "pivot-host-backup-29742840"] {
        let args = pod["containers"][0]["args"].as_array().unwrap().iter().map(|arg| {
            let arg = arg.as_str().unwrap().replace("$(JOB_NAME)", night);
            let arg = arg.replace("/backups/", &format!("{}/", dir.path().display()));
            arg.replace("/recipients/recipients.txt", &mounted)
        });
        let args: Vec<String> = args.collect();
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut ended = host.run(&words).await.unwrap();
        for _ in 0..TRIES {
            if ended.code == Some(0) {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            ended = host.run(&words).await.unwrap();
        }
        assert_eq!(ended.done().unwrap()["outcome"], "Copied");
        let backup = dir.path().join(night).display().to_string();
        let verify = ["verify", &backup, "--identity", &identity];
        let verified = Host::alone().run(&verify).await.unwrap().done().unwrap();
        assert_eq!((&verified["asWritten"], &verified["encrypted"]), (&json!(true), &json!(true)));
    }
}
