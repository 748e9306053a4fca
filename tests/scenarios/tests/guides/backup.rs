//! docs/guides/backup-and-restore.md: plain and encrypted backups, restores of current and of old ones, and runs that stop.

use std::fs;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams, ListParams};
use pivot_lab::Dump;
use pivot_lab::managers::workload_kubeconfig;
use pivot_lab::proxy::Moment;
use pivot_scenarios::age::Age;
use pivot_scenarios::host::Host;
use pivot_scenarios::point::Point;
use pivot_scenarios::shape;
use pivot_scenarios::state::until_gone;
use serde_json::{Value, json};

use super::page::Guide;
use super::{cluster_without_hosts, refuse_machines, text, without_controllers};
use crate::stage::{Stage, all, same};
use crate::typed::is_command;

const PAGE: &str = "backup-and-restore.md";
const BACK_UP: &str = "Back up";
const CONTENTS: &str = "Contents of a backup";
const RESULT: &str = "How to tell that it worked";
const RESTORE: &str = "Restore";
const OLDER: &str = "A backup that is older than its machines";
const STOP: &str = "If it stops";
/// The directory that the page restores.
const BACKUP: &str = "backup";
/// The directory into which the page copies with a pause.
const PAUSED: &str = "backup-paused";
/// The MachineSet of the page. All Machines belong to it.
const MACHINE_SET: &str = "web-md-6f9d4";
/// The Machine of the page whose node is gone.
const LOST: &str = "web-md-x7kq2";
/// Other tests build plugins, and restore with them.
const PLUGINS: &str = " --plugins site-plugins";

/// Namespaces of the Clusters: of the backup that is restored at once, encrypted, after its machines changed, and after it stopped.
const CURRENT: &str = "store";
const ENCRYPTED: &str = "vault";
const OLD: &str = "shop";
const STOPPED: &str = "depot";
const STOPPED_ENCRYPTED: &str = "safe";

fn has_keys(line: &str) -> bool {
    line.contains(" --identity ") || line.contains(" --encrypt-to ")
}

/// Returns a cluster with the names of the page, whose API server is the target.
fn cluster(stage: &Stage, namespace: &str) -> Vec<Value> {
    let objects = Value::from(cluster_without_hosts(namespace, "web")).to_string();
    let objects =
        objects.replace("\"web-workers\"", "\"web-md\"").replace("\"web-0\"", &format!("\"{LOST}\""));
    let mut objects: Vec<Value> = serde_json::from_str(&objects).unwrap();
    for object in &mut objects {
        if object["kind"] == "Machine" {
            object["spec"]["providerID"] = provider_id(namespace, text(object, "/metadata/name")).into();
            object["metadata"]["ownerReferences"][0]["name"] = MACHINE_SET.into();
        } else if object["kind"] == "MachineSet" {
            object["metadata"]["name"] = MACHINE_SET.into();
        } else if object["metadata"]["name"] == "web-kubeconfig" {
            let kubeconfig = workload_kubeconfig(&stage.pair.target).unwrap();
            object["data"] = json!({ "value": ByteString(kubeconfig) });
        }
    }
    objects
}

fn provider_id(namespace: &str, machine: &str) -> String {
    format!("lab://{namespace}/{machine}")
}

/// Two servers, the page, and keys of backups.
struct Site {
    stage: Stage,
    guide: Guide,
}

impl Site {
    async fn start() -> Self {
        let (stage, guide) = (Stage::start().await, Guide::open(PAGE, without_controllers).await);
        for (server, name) in
            [(&stage.pair.source, "prod.kubeconfig"), (&stage.pair.target, "new.kubeconfig")]
        {
            fs::copy(server.kubeconfig(), guide.file(name)).unwrap();
            for file in ["namespaces.yaml", "providers.yaml"] {
                server.apply(&shape::example_file(file).unwrap()).await.unwrap();
            }
        }
        let age = Age::with_keys().await.unwrap();
        fs::copy(age.identity(), guide.file("key.txt")).unwrap();
        fs::copy(age.recipients(), guide.file("recipients.txt")).unwrap();
        Self { stage, guide }
    }

    /// Creates a cluster in the source, with its nodes. Returns its state.
    async fn fill(&self, namespace: &str) -> Dump {
        let source = &self.stage.pair.source;
        source.apply_values(cluster(&self.stage, namespace)).await.unwrap();
        self.set_nodes(&[LOST, "web-1", "web-2"].map(|name| provider_id(namespace, name))).await;
        all(source, &[namespace]).await
    }

    /// Puts nodes with these provider IDs in place of all nodes.
    async fn set_nodes(&self, ids: &[String]) {
        let target = &self.stage.pair.target;
        let nodes: Api<Node> = Api::all(target.client());
        nodes.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
        let node = |id: &String| {
            let (_, name) = id.rsplit_once('/').unwrap();
            json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name }, "spec": { "providerID": id } })
        };
        target.apply_values(ids.iter().map(node).collect()).await.unwrap();
    }

    /// Writes the backup that the next commands restore.
    async fn back_up(&self, namespace: &str, flags: &[&str]) {
        self.remove_backup(BACKUP);
        let path = self.path(BACKUP);
        let words = [&["backup", &path, "-n", namespace][..], flags].concat();
        Host::out_of(self.stage.pair.source.kubeconfig()).run(&words).await.unwrap().done().unwrap();
    }

    fn remove_backup(&self, name: &str) {
        if self.guide.file(name).exists() {
            fs::remove_dir_all(self.guide.file(name)).unwrap();
        }
    }

    fn path(&self, name: &str) -> String {
        self.guide.file(name).display().to_string()
    }

    /// Begins to copy the source's Clusters into the directory, and dies when one of them is paused.
    async fn kill_copy(&self, flags: &[&str]) {
        self.remove_backup(PAUSED);
        let wired = self.stage.wired().await;
        let path = self.path(PAUSED);
        let words = [&["move", "-n", CURRENT, "--to-directory", &path][..], flags].concat();
        let pause = Point::of_source("PATCH", "/clusters/web", 1, Moment::After);
        let host = Host::out_of(wired.source.kubeconfig());
        pause.kill(&host, &words, wired.source.faults()).await.unwrap();
    }

    /// Begins to restore the backup, and stops while it creates copies.
    async fn stop_restore(&self, flags: &[&str]) {
        let wired = self.stage.wired().await;
        wired.target.faults().add(refuse_machines());
        let path = self.path(BACKUP);
        let host =
            Host::into_server(wired.target.kubeconfig()).with(&["--from-directory", &path]).with(flags);
        host.run(&["move", "--accept", "source-may-run"]).await.unwrap().ends_with(4).unwrap();
    }

    async fn restored(&self, before: Dump, namespace: &str) {
        same(before, all(&self.stage.pair.target, &[namespace]).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn guide_to_backups_works_as_written() {
    let mut site = Site::start().await;
    let before = site.fill(CURRENT).await;
    site.guide.replace(PLUGINS, "");

    site.guide.type_chosen(BACK_UP, |line| !has_keys(line));
    site.guide.type_chosen(RESULT, |line| !has_keys(line));
    site.remove_backup("backup-2026-11-26");
    site.guide.type_chosen(BACK_UP, has_keys);
    site.guide.type_chosen(RESULT, has_keys);
    site.guide.type_section("Back up each night");
    site.back_up(CURRENT, &[]).await;
    site.guide.type_chosen(RESTORE, |line| !has_keys(line));
    site.restored(before.clone(), CURRENT).await;

    let vault = site.fill(ENCRYPTED).await;
    let recipients = site.path("recipients.txt");
    site.back_up(ENCRYPTED, &["--encrypt-to", &recipients]).await;
    site.guide.type_chosen(RESTORE, has_keys);
    site.restored(vault, ENCRYPTED).await;

    restore_old_backup(&mut site).await;
    stop(&mut site).await;
    same(before, all(&site.stage.pair.source, &[CURRENT]).await);
    site.guide.ensure_all_typed();
}

/// A node is gone, and another one is new. After the new one is deleted, too, the lost worker is dropped.
async fn restore_old_backup(site: &mut Site) {
    site.fill(OLD).await;
    site.guide.type_section(CONTENTS);
    site.back_up(OLD, &[]).await;
    let is_described =
        |line: &&str| line.starts_with("error: ") || line.starts_with("  - Cluster shop/web: ");
    let described: Vec<&str> = site.guide.fenced(OLDER).into_iter().filter(is_described).collect();
    let &[first_head, first, second_head, second] = described.as_slice() else { panic!("{described:?}") };

    site.set_nodes(&["web-1", "web-2", "web-md-b92fd"].map(|name| provider_id(OLD, name))).await;
    let path = site.path(BACKUP);
    let host = Host::into_server(site.stage.pair.target.kubeconfig()).with(&["--from-directory", &path]);
    let stopped = host.run_as_text(&["move", "--accept", "source-may-run"]).await.unwrap();
    ensure_printed(&[first_head, first], &stopped.ends_with(5).unwrap().stderr);
    site.set_nodes(&["web-1", "web-2"].map(|name| provider_id(OLD, name))).await;
    let stopped = host.run_as_text(&["resume"]).await.unwrap();
    ensure_printed(&[second_head, second], &stopped.ends_with(5).unwrap().stderr);
    let copies = all(&site.stage.pair.target, &[OLD]).await;
    assert_eq!(find(&copies, "Machine", LOST).unwrap()["spec"]["providerID"], provider_id(OLD, LOST));
    assert_eq!(find(&copies, "Cluster", "web").unwrap()["spec"]["paused"], true);

    site.guide.type_chosen(OLDER, is_command);
    let copies = all(&site.stage.pair.target, &[OLD]).await;
    for (kind, name) in [("MachineDeployment", "web-md"), ("MachineSet", MACHINE_SET)] {
        assert_eq!(find(&copies, kind, name).unwrap()["spec"]["replicas"], 2, "{kind}");
    }
    for kind in ["Machine", "Metal3Machine", "KubeadmConfig", "Secret", "Metal3DataClaim", "Metal3Data"] {
        assert_eq!(find(&copies, kind, LOST), None);
        assert!(find(&copies, kind, "web-1").is_some(), "{kind}");
    }
    assert_eq!(find(&copies, "Cluster", "web").unwrap()["spec"].get("paused"), None);
}

fn find<'a>(copies: &'a Dump, kind: &str, name: &str) -> Option<&'a Value> {
    copies.values().find(|object| object["kind"] == kind && object["metadata"]["name"] == name)
}

/// Fails unless each line of the page was printed as a whole line.
#[track_caller]
fn ensure_printed(lines: &[&str], printed: &str) {
    for line in lines {
        assert!(printed.lines().any(|other| other == *line), "{line:?} is missing in:\n{printed}");
    }
}

/// Each way of the page to go on, or back.
async fn stop(site: &mut Site) {
    let (recipients, identity) = (site.path("recipients.txt"), site.path("key.txt"));
    let copies = |line: &str| line.contains(" --to-directory ");
    let goes_on = |line: &str| line.contains(" resume ");
    let goes_back = |line: &str| line.contains(" rollback ") && line.contains(" --from-directory ");
    site.kill_copy(&[]).await;
    site.guide.type_chosen(STOP, |line| copies(line) && !has_keys(line));
    site.kill_copy(&["--encrypt-to", &recipients]).await;
    site.guide.type_chosen(STOP, |line| copies(line) && has_keys(line));

    let depot = site.fill(STOPPED).await;
    site.back_up(STOPPED, &[]).await;
    site.stop_restore(&[]).await;
    site.guide.type_chosen(STOP, |line| line.contains(" --without-source "));
    until_gone(&site.stage.pair.target, STOPPED).await.unwrap();
    site.stop_restore(&[]).await;
    site.guide.type_chosen(STOP, |line| goes_back(line) && !has_keys(line));
    until_gone(&site.stage.pair.target, STOPPED).await.unwrap();
    site.stop_restore(&[]).await;
    site.guide.type_chosen(STOP, |line| goes_on(line) && !has_keys(line));
    site.restored(depot, STOPPED).await;

    let safe = site.fill(STOPPED_ENCRYPTED).await;
    site.back_up(STOPPED_ENCRYPTED, &["--encrypt-to", &recipients]).await;
    site.stop_restore(&["--identity", &identity]).await;
    site.guide.type_chosen(STOP, |line| goes_back(line) && has_keys(line));
    until_gone(&site.stage.pair.target, STOPPED_ENCRYPTED).await.unwrap();
    site.stop_restore(&["--identity", &identity]).await;
    site.guide.type_chosen(STOP, |line| goes_on(line) && has_keys(line));
    site.restored(safe, STOPPED_ENCRYPTED).await;
}
