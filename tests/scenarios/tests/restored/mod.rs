//! A management cluster that is restored from a backup of before its move had ended, with its records.
//!
//! Many moves share a pair of servers. Each is somewhere when the backup is made, goes on, and is judged after the restore: by what
//! `status` says, by commands that must refuse and write nothing, and by the command that makes sense then. What people read of that
//! is in `source.txt` and `target.txt`.

mod advice;
mod source;
mod target;

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use pivot_lab::observer::Side;
use pivot_lab::proxy::Moment;
use pivot_lab::{Dump, Revision, Server, say};
use pivot_scenarios::host::{AGENT, Ended, Host};
use pivot_scenarios::point::Point;
use pivot_scenarios::secrets::mark_secret;
use pivot_scenarios::{sampling, shape, state};
use serde_json::{Value, json};

use crate::stage::{Stage, all, same};
use advice::Advice;

/// Moves that run at the same time. They wait most of the time: for leases of the dead.
const AT_ONCE: usize = 10;

/// The source's record says Paused, and all objects are paused.
const PAUSED: Point = Point::of_source("PATCH", "/configmaps/", 1, Moment::Instead);
/// Some of the copies exist.
const PART_COPIED: Point = Point::of_target("POST", "/secrets?", 2, Moment::After);
/// All copies exist, and the target has no record.
const COPIED: Point = Point::of_target("POST", "/configmaps?", 1, Moment::Instead);
/// The target's record says Live, and the source's Copied.
const HALF_COMMITTED: Point = Point::of_source("PATCH", "/configmaps/", 2, Moment::Instead);
/// The source's record says Committed.
const COMMITTED: Point = Point::of_source("PATCH", "/configmaps/", 2, Moment::After);
/// The move is committed, and nothing runs in the target.
const BEFORE_UNPAUSE: Point = Point::of_target("PATCH", "/clusters/c", 1, Moment::Instead);
/// Some objects are deleted from the source.
const PART_DELETED: Point = Point::of_source("DELETE", "/machinesets/", 1, Moment::After);

const ACCEPT: &[&str] = &["--accept", "world-changed"];

const PART_TAKEN_OVER: &str = "the target runs part of what moved, and the source may be the last copy of the rest: keep both as they are";
const HALF_COPIED: &str =
    "the source is authoritative: complete, paused; the target holds a partial copy, paused";
const NOTHING_DELETED: &str = "the target has everything and is taking over; by its record nothing is deleted from the source, which this move paused";

/// A command, and its effect on a move.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Begins or continues it, and dies at this point.
    Die(Point),
    /// Begins or continues it, until the target has taken over and the source is whole.
    StopBeforeRelease,
    /// Begins or continues it to its end.
    End,
    /// Rolls it back.
    RollBack,
    /// Continues it to its end without the source.
    EndWithoutSource,
    /// Deletes from a source that went back.
    DeleteFromSource,
    /// Copies again after the target lost the move, and unpauses each Cluster by its name.
    CopyAgain,
    /// Keeps the source after the target lost the move, and unpauses each Cluster by its name.
    KeepSource,
    /// Pauses the Clusters of a source that went back, and nothing else.
    PauseSource,
    /// Accepts that the world changed, and is refused.
    AcceptInVain,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Die(point) => write!(f, "a run that dies at {point}"),
            Self::StopBeforeRelease => f.write_str("a run that stops before it deletes from the source"),
            Self::End => f.write_str("a run to the end"),
            Self::RollBack => f.write_str("a rollback"),
            Self::EndWithoutSource => f.write_str("a run to the end without the source"),
            Self::DeleteFromSource
            | Self::CopyAgain
            | Self::KeepSource
            | Self::PauseSource
            | Self::AcceptInVain => f.write_str("a recovery"),
        }
    }
}

/// A move, and how it is judged after the restore.
struct Scene {
    /// The namespace that moves.
    namespace: &'static str,
    /// The last step before the backup.
    before: Option<Step>,
    /// The step that the restored side loses.
    lost: Option<Step>,
    /// State of both sides in `status`; empty if it knows of no move.
    state: &'static str,
    /// Words of the commands that refuse, if they refuse.
    refusal: Option<&'static str>,
    /// The command that makes sense then.
    then: Option<Step>,
}

fn moving(namespace: &str) -> Vec<&str> {
    [&["move", "-n", namespace][..], &shape::WITHOUT_PLUGIN].concat()
}

/// A cluster whose identity both sides can show.
fn cluster(namespace: &str) -> Vec<Value> {
    let mut objects = shape::cluster(namespace, 0);
    for object in objects.iter_mut().filter(|object| object["metadata"]["name"] == "c-ca") {
        object["data"] = json!({ "tls.crt": "Y2E=", "tls.key": "a2V5" });
        mark_secret(object);
    }
    objects
}

/// Moves between two servers, by their namespaces.
struct Moves<'a> {
    scenes: &'a [Scene],
    stage: Stage,
    ids: BTreeMap<String, String>,
    before: BTreeMap<&'static str, Dump>,
    advice: Advice,
}

impl<'a> Moves<'a> {
    async fn start(scenes: &'a [Scene]) -> Self {
        let stage = Stage::start().await;
        let objects = scenes.iter().flat_map(|scene| cluster(scene.namespace)).collect();
        stage.pair.source.apply_values(objects).await.unwrap();
        let mut before = BTreeMap::new();
        for Scene { namespace, .. } in scenes {
            before.insert(*namespace, all(&stage.pair.source, &[namespace]).await);
        }
        Self { scenes, stage, ids: BTreeMap::new(), before, advice: Advice::default() }
    }

    /// Takes a step of each scene that has one.
    async fn take(&mut self, step: impl Fn(&Scene) -> Option<Step>) {
        let steps = self.scenes.iter().filter_map(|scene| Some((scene.namespace, step(scene)?)));
        let work = steps.map(|(namespace, step)| self.take_one(namespace, step));
        stream::iter(work).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
        self.ids.extend(find_moves(&self.stage.host).await);
    }

    async fn take_one(&self, namespace: &str, step: Step) {
        let resume = |id| vec!["resume", id, "--break-lease"];
        let go_on = self.ids.get(namespace).map_or_else(|| moving(namespace), |id| resume(id));
        match step {
            Step::Die(point) => {
                let wired = self.stage.wired().await;
                let faults = match point.side {
                    Side::Source => wired.source.faults(),
                    Side::Target => wired.target.faults(),
                };
                point.kill(&wired.host, &go_on, faults).await.unwrap();
            }
            Step::StopBeforeRelease => {
                let words = [&go_on[..], &["--stop-before", "release"]].concat();
                self.stage.host.run(&words).await.unwrap().ends_with(5).unwrap();
            }
            Step::End => drop(self.stage.host.run(&go_on).await.unwrap().done().unwrap()),
            Step::RollBack => {
                let words = ["rollback", &self.ids[namespace], "--break-lease"];
                self.stage.host.run(&words).await.unwrap().ends_with(0).unwrap();
            }
            Step::DeleteFromSource => self.recover(namespace, "resume", &[ACCEPT], 0).await,
            Step::CopyAgain => {
                self.recover(namespace, "resume", &[ACCEPT], 5).await;
                self.ensure_paused(namespace, Side::Target).await;
                self.recover(namespace, "resume", &[&["--unpause", &format!("{namespace}/c")]], 0).await;
            }
            Step::KeepSource => {
                self.recover(namespace, "rollback", &[ACCEPT], 4).await;
                self.ensure_paused(namespace, Side::Source).await;
                self.recover(namespace, "rollback", &[&["--unpause", &format!("{namespace}/c")]], 0).await;
            }
            Step::PauseSource => {
                let [_, target] = self.contents(namespace).await;
                let named = format!("{namespace}/c");
                self.recover(namespace, "resume", &[&[ACCEPT, &["--pause", &named]].concat()], 5).await;
                self.ensure_paused(namespace, Side::Source).await;
                assert!(target == self.contents(namespace).await[1], "{namespace}");
            }
            Step::AcceptInVain => {
                let before = self.contents(namespace).await;
                self.recover(namespace, "resume", &[ACCEPT], 3).await;
                self.recover(namespace, "rollback", &[ACCEPT], 3).await;
                assert!(before == self.contents(namespace).await, "{namespace}");
            }
            Step::EndWithoutSource => {
                let words = ["resume", "--without-source", &self.ids[namespace], "--break-lease"];
                let host = Host::into_server(self.stage.pair.target.kubeconfig());
                host.run(&words).await.unwrap().ends_with(0).unwrap();
            }
        }
    }

    /// Runs a command with these flags, which ends with this code.
    async fn recover(&self, namespace: &str, command: &str, flags: &[&[&str]], code: i32) {
        let words = [&[command, &self.ids[namespace]], &flags.concat()[..], &["--break-lease"]].concat();
        let ended = self.stage.host.run(&words).await.unwrap().ends_with(code).unwrap();
        self.advice.add(namespace, &ended);
    }

    async fn ensure_paused(&self, namespace: &str, side: Side) {
        let [source, target] = self.contents(namespace).await;
        let dump = if side == Side::Source { source } else { target };
        let mut clusters = dump.values().filter(|object| object["kind"] == "Cluster");
        assert!(clusters.all(|cluster| cluster["spec"]["paused"] == true), "{namespace} in the {side}");
    }

    /// Returns the output of `status` once the leases of the dead have expired. Until then, it offers no command for their moves.
    async fn read_status(&self) -> String {
        for _ in 0..60 {
            let status = self.stage.host.run_as_text(&["status"]).await.unwrap().ends_with(0).unwrap().stdout;
            if !status.contains("a run that is at work") {
                return status;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        panic!("a dead run still seems to be at work");
    }

    /// Compares what each scene expects with what `status` and the commands say, then takes its last step.
    async fn judge(&mut self) {
        let status = self.read_status().await;
        say(format_args!("{status}"));
        self.ids.extend(find_moves(&self.stage.host).await);
        for Scene { namespace, state, .. } in self.scenes {
            let shown = self.ids.get(*namespace).and_then(|id| find_state(&status, id));
            assert_eq!(shown.unwrap_or_default(), *state, "{namespace}: {status}");
            if let Some(id) = self.ids.get(*namespace) {
                self.advice.add_status(namespace, id, &status);
            }
        }
        self.ensure_refusals(&self.stage.host).await;
        self.take(|scene| scene.then).await;
        for Scene { namespace, then, .. } in self.scenes {
            let before = self.before[namespace].clone();
            let [source, target] = self.contents(namespace).await;
            match then {
                Some(Step::RollBack | Step::KeepSource) => {
                    same(before, source);
                    assert!(target.is_empty(), "{namespace}: {:?}", target.keys());
                }
                Some(Step::End | Step::EndWithoutSource | Step::DeleteFromSource | Step::CopyAgain) => {
                    same(before, target);
                    assert!(source.is_empty(), "{namespace}: {:?}", source.keys());
                }
                _ => {}
            }
        }
    }

    async fn contents(&self, namespace: &str) -> [Dump; 2] {
        let (source, target, namespaces) = (&self.stage.pair.source, &self.stage.pair.target, [namespace]);
        <[Dump; 2]>::from(tokio::join!(all(source, &namespaces), all(target, &namespaces)))
    }

    /// Nothing is written by commands that refuse, and none says what only a move may do.
    async fn ensure_refusals(&self, host: &Host) {
        let servers = [&self.stage.pair.source, &self.stage.pair.target];
        let mut marks = Vec::new();
        for server in servers {
            marks.push(server.audit_mark().await.unwrap());
        }
        let refusing = self.scenes.iter().filter_map(|scene| Some((scene.namespace, scene.refusal?)));
        let work = refusing.map(async |(namespace, expected)| {
            let mut commands = vec![[&moving(namespace)[..], &["--break-lease"]].concat()];
            if let Some(id) = self.ids.get(namespace) {
                commands.extend(["resume", "rollback"].map(|command| vec![command, id, "--break-lease"]));
            }
            for words in commands {
                let ended = host.run(&words).await.unwrap();
                ensure_refusal(namespace, &ended, expected);
                self.advice.add(namespace, &ended);
            }
        });
        stream::iter(work).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
        for (server, mark) in servers.into_iter().zip(marks) {
            ensure_no_writes(server, mark).await;
        }
    }
}

async fn ensure_no_writes(server: &Server, mark: pivot_lab::audit::Mark) {
    let requests = server.audit_since(mark).await.unwrap().of(AGENT);
    let asks = |resource: &str| resource.ends_with(".authorization.k8s.io");
    let writes =
        requests.only(|request| request.is_mutating() && !request.is_lease() && !asks(&request.resource));
    assert_eq!(writes.requests, [], "on the {}", server.name());
}

fn ensure_refusal(namespace: &str, ended: &Ended, expected: &str) {
    let Ended { words, code, stderr, .. } = ended;
    say(format_args!("{namespace}: {words}: {stderr}"));
    assert_eq!(*code, Some(3), "{namespace}: {words}: {stderr}");
    let document = ended.document().unwrap();
    let said = format!("{} {} {}", document["message"], document["refusals"], document["state"]);
    assert!(said.contains(expected), "{namespace}: {words}: {said}");
    for word in ["delete them", "finalizers", "unpause", "unpause"] {
        assert!(!said.contains(word), "{namespace}: {words}: {said}");
    }
}

/// The moves that `status` shows, by namespace.
async fn find_moves(host: &Host) -> BTreeMap<String, String> {
    let status = host.run(&["status"]).await.unwrap().done().unwrap();
    let records = status["moves"].as_array().unwrap().iter().map(|one| &one["record"]);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    records.map(|record| (text(&record["scope"]["namespaces"]["one"]), text(&record["moveId"]))).collect()
}

/// The state that `status` shows of a move.
fn find_state<'a>(status: &'a str, id: &str) -> Option<&'a str> {
    let mut lines = status.lines().skip_while(|line| !line.starts_with(&format!("Move: {id},")));
    lines.find_map(|line| line.trim_start().strip_prefix("state ")).map(str::trim)
}

/// Both revisions in the nightly run, one of them in a landing.
fn revisions(landing: Revision) -> Vec<Revision> {
    match sampling::is_nightly() {
        true => vec![Revision::Behind, Revision::Ahead],
        false => vec![landing],
    }
}

/// Plays scenes of which one side goes back.
async fn play(scenes: &[Scene], side: Side, revision: Revision) -> Moves<'_> {
    let start = Instant::now();
    let mut moves = Moves::start(scenes).await;
    moves.take(|scene| scene.before).await;
    let backup = side_of(&mut moves.stage, side).back_up().await.unwrap();
    moves.take(|scene| scene.lost).await;
    say(format_args!("{} moves were made after {:.1} s", scenes.len(), start.elapsed().as_secs_f64()));
    side_of(&mut moves.stage, side).restore(&backup, revision).await.unwrap();
    say(format_args!("restored after {:.1} s", start.elapsed().as_secs_f64()));
    moves.judge().await;
    for server in [&moves.stage.pair.source, &moves.stage.pair.target] {
        state::ensure_no_secret_in_records(server).await.unwrap();
    }
    say(format_args!("judged after {:.1} s", start.elapsed().as_secs_f64()));
    moves
}

fn side_of(stage: &mut Stage, side: Side) -> &mut Server {
    match side {
        Side::Source => &mut stage.pair.source,
        Side::Target => &mut stage.pair.target,
    }
}
