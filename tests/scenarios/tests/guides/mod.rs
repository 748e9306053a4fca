//! The guides, typed as they stand, between real API servers. Each command of a page is typed at least once.

mod backup;
mod between_clusters;
mod from_bootstrap;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use pivot_lab::assets::assets;
use pivot_lab::proxy::{Fault, Rule, Times};
use pivot_scenarios::host::binary;
use pivot_scenarios::secrets::ensure_no_secret;
use pivot_scenarios::shape;
use serde_json::Value;
use tempfile::TempDir;

use crate::stage::Stage;
use crate::typed::{fenced_lines, is_command, type_commands};

/// Commands that wait for controllers of the target, if there are any.
const WAITING: [&str; 3] = ["plan", "move", "resume"];
/// Begins lines that a run prints only if it waits for these controllers.
const AWAITED: &str = "Ready: ";
/// Accepts that no controllers run in the target.
const UNCHECKED: &str = "--accept takeover-unchecked";

/// A guide whose commands are typed section by section, in a folder with kubeconfigs.
struct Guide {
    page: String,
    folder: TempDir,
    /// The folder with the programs.
    programs: TempDir,
    /// A word of the page, and the word that is typed in its place.
    replaced: (String, String),
    /// Lines of the page that were typed.
    typed: BTreeSet<String>,
}

impl Guide {
    async fn open(name: &str) -> Self {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides").join(name);
        let programs = tempfile::tempdir().unwrap();
        let assets = assets().await.unwrap();
        let (kubectl, clusterctl) = (assets.kubectl().await.unwrap(), assets.clusterctl().await.unwrap());
        for (name, path) in
            [("pivot-host", binary().unwrap()), ("kubectl", kubectl), ("clusterctl", clusterctl)]
        {
            symlink(path, programs.path().join(name)).unwrap();
        }
        Self {
            page: fs::read_to_string(page).unwrap(),
            folder: tempfile::tempdir().unwrap(),
            programs,
            replaced: Default::default(),
            typed: BTreeSet::new(),
        }
    }

    /// Returns the path of a file that the commands name.
    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Puts another word in place of one of the page.
    fn replace(&mut self, word: &str, other: &str) {
        self.replaced = (word.to_owned(), other.to_owned());
    }

    /// Types all commands of a section, and compares what they print with the page.
    fn type_section(&mut self, heading: &str) -> String {
        self.type_chosen(heading, |_| true)
    }

    /// Returns the lines in the fenced blocks of a section.
    fn fenced(&self, heading: &str) -> Vec<&str> {
        let begin = format!("\n## {heading}\n");
        let (_, section) = self.page.split_once(&begin).unwrap_or_else(|| panic!("no section {heading}"));
        fenced_lines(section.split_once("\n## ").map_or(section, |(section, _)| section))
    }

    /// Types the chosen commands of a section, and compares what they print with the other chosen lines.
    fn type_chosen(&mut self, heading: &str, is_chosen: impl Fn(&str) -> bool) -> String {
        let is_typed = |line: &&str| !line.starts_with(AWAITED) && is_chosen(line);
        let lines: Vec<String> =
            self.fenced(heading).into_iter().filter(is_typed).map(str::to_owned).collect();
        assert!(lines.iter().any(|line| is_command(line)), "no commands are chosen in {heading}");
        self.typed.extend(lines.iter().filter(|line| is_command(line)).cloned());
        let lines: Vec<String> = lines
            .iter()
            .map(|line| accept_missing_controllers(line).replace(&self.replaced.0, &self.replaced.1))
            .collect();
        let typed = format!("```\n{}\n```\n", lines.join("\n"));
        let path = format!("{}:/usr/bin:/bin", self.programs.path().display());
        let shell = ["env", "CLUSTERCTL_DISABLE_VERSIONCHECK=true", "sh"];
        let folder = self.folder.path();
        let printed = tokio::task::block_in_place(|| type_commands(&typed, &shell, folder, &path));
        ensure_no_secret(heading, &printed).unwrap();
        printed
    }

    /// Fails if the page has a command that was not typed.
    fn ensure_all_typed(&self) {
        let on_page = fenced_lines(&self.page).into_iter().filter(|line| is_command(line));
        let untyped: Vec<&str> = on_page.filter(|line| !self.typed.contains(*line)).collect();
        assert_eq!(untyped, Vec::<&str>::new());
    }
}

/// Adds the risk to a command into a cluster, if it is not in a saved plan already.
fn accept_missing_controllers(line: &str) -> String {
    let verb = line.split(' ').nth(1).unwrap_or_default();
    let has_target = line.contains(" --to-kubeconfig ") || line.contains(" --to-workload ");
    let is_planned = verb == "move" && line.contains(" --plan ");
    if line.starts_with("pivot-host ") && WAITING.contains(&verb) && has_target && !is_planned {
        line.replacen(verb, &format!("{verb} {UNCHECKED}"), 1)
    } else {
        line.to_owned()
    }
}

#[test]
fn only_waiting_commands_accept_missing_controllers() {
    for (line, typed) in [
        ("plan --to-workload a > b", "plan --accept takeover-unchecked --to-workload a > b"),
        ("plan show a", "plan show a"),
        ("plan --from-directory a", "plan --from-directory a"),
        ("move --to-kubeconfig a", "move --accept takeover-unchecked --to-kubeconfig a"),
        ("move --to-kubeconfig a --plan b", "move --to-kubeconfig a --plan b"),
        ("move --to-directory a", "move --to-directory a"),
        (
            "resume --to-kubeconfig a --plan b",
            "resume --accept takeover-unchecked --to-kubeconfig a --plan b",
        ),
        ("status --to-kubeconfig a", "status --to-kubeconfig a"),
    ] {
        assert_eq!(accept_missing_controllers(&format!("pivot-host {line}")), format!("pivot-host {typed}"));
    }
}

/// Returns a cluster with this name and three machines, and without hosts, which need a plugin.
fn cluster_without_hosts(namespace: &str, name: &str) -> Vec<Value> {
    let mut objects = shape::cluster(namespace, 3);
    objects.retain(|object| !text(object, "/metadata/name").starts_with("host-"));
    objects.iter_mut().for_each(|object| rename_cluster(object, name));
    objects
}

fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Puts a name in place of the cluster's name, also where other names begin with it.
fn rename_cluster(value: &mut Value, name: &str) {
    match value {
        Value::String(text) if text == "c" || text.starts_with("c-") => text.replace_range(..1, name),
        Value::Array(values) => values.iter_mut().for_each(|value| rename_cluster(value, name)),
        Value::Object(fields) => fields.values_mut().for_each(|value| rename_cluster(value, name)),
        _ => {}
    }
}

/// Refuses to create Machines, which stops a run.
fn refuse_machines() -> Rule {
    Rule::new(Times::Always, Fault::Answer { status: 403, retry_after: None }, |seen| {
        seen.is_mutating() && seen.method.as_str() == "POST" && seen.path.contains("/machines?")
    })
}

/// Runs a move that is stopped while it creates copies.
async fn stop_while_copying(stage: &Stage, words: &[&str]) {
    let wired = stage.wired().await;
    wired.target.faults().add(refuse_machines());
    wired.host.run(words).await.unwrap().ends_with(4).unwrap();
}
