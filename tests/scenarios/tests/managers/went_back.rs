//! A side is restored from a backup of before its move had ended, and Cluster API's managers act on what is restored at once.
//!
//! A landing tests one of the recoveries, the nightly run all of them, one after the other.

use pivot_lab::assets::CLUSTER_API;
use pivot_lab::observer::Side;
use pivot_lab::proxy::Moment;
use pivot_lab::{Backup, Dump, FaultProxy, say};
use pivot_scenarios::host::{Ended, Host};
use pivot_scenarios::point::Point;
use pivot_scenarios::sampling::sample;
use pivot_scenarios::state::dangling;

use super::handover::{OBJECTS, truths};
use super::world::{NAMESPACE, World};

const MOVE: [&str; 7] = ["move", "-n", NAMESPACE, "--takeover-timeout", "5m", "--pause-timeout", "3m"];
const ACCEPT: [&str; 2] = ["--accept", "world-changed"];
const EACH: [&str; 4] = ["--unpause", "shop/plain", "--unpause", "shop/classy"];

const LAST_IN_SOURCE: &str = "the source may be the last copy: keep it, paused as it is";
const OUT_OF_DATE: &str = "the target has taken over, the source is out of date";
/// Of a move that has ended, only the target has anything.
const CLAIMED: &str =
    "only the target says that it has taken over; if it has, the source is out of date, and runs";
const PAUSE_EACH: [&str; 4] = ["--pause", "shop/plain", "--pause", "shop/classy"];

/// A way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recovery {
    /// The target lost the move, which copies again.
    CopyAgain,
    /// The source is back before the commit, and its objects are deleted by the target's list.
    DeleteFromSource,
    /// The target lost the move, and the source keeps its objects.
    KeepSource,
    /// The source is back after the commit of a move that has ended. Nothing is done to it: it is out of date, and paused.
    LeaveSource,
    /// The source is back before a move that has ended. Its Clusters run on both sides, and are paused there.
    PauseSource,
}

const RECOVERIES: [Recovery; 5] = [
    Recovery::CopyAgain,
    Recovery::DeleteFromSource,
    Recovery::KeepSource,
    Recovery::LeaveSource,
    Recovery::PauseSource,
];

// proves: I14, T160, T162, T166
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn controllers_continue_after_a_side_went_back() {
    let mut world = World::start(CLUSTER_API).await.unwrap();
    world.fill(OBJECTS, 5).await.unwrap();
    let mut at = Side::Source;
    for recovery in sample("recoveries with managers", RECOVERIES, 1).unwrap() {
        let before = world.until_quiet(at).await.unwrap();
        let nodes = world.nodes().await.unwrap();
        let end = recovery.play(&mut world, at).await;
        let (version, wanted) = (world.version(at), truths(&before, world.version(at)));
        let after = world.until(end, |dump| truths(dump, version) == wanted).await.unwrap();
        assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>(), "{recovery:?}");
        assert_eq!(dangling(&after), Vec::<String>::new(), "{recovery:?}");
        assert_eq!(truths(&after, version), wanted, "{recovery:?}");
        assert_eq!(world.nodes().await.unwrap(), nodes, "{recovery:?}");
        assert_eq!(world.torn_down().unwrap(), Vec::<String>::new(), "{recovery:?}");
        let left = world.server(end.other()).dump(&[NAMESPACE]).await.unwrap();
        let is_left = recovery == Recovery::PauseSource;
        assert_eq!(!left.is_empty(), is_left, "{recovery:?}: {:?}", left.keys());
        assert!(!is_left || is_paused(&left), "{recovery:?}");
        at = end;
    }
}

impl Recovery {
    /// Moves from a side, has one side go back, and recovers. Returns the side that has everything then.
    async fn play(self, world: &mut World, from: Side) -> Side {
        let to = from.other();
        let host = host_from(world, from);
        match self {
            Self::CopyAgain => {
                let id = lose_in_target(world, from, &host).await;
                show(host.run(&[&["resume", &id], &ACCEPT[..]].concat()).await.unwrap(), 5);
                assert!(is_paused(&world.server(to).dump(&[NAMESPACE]).await.unwrap()));
                show(
                    host.run(&[&["resume", &id, "--takeover-timeout", "5m"], &EACH[..]].concat())
                        .await
                        .unwrap(),
                    0,
                );
                to
            }
            Self::KeepSource => {
                let id = lose_in_target(world, from, &host).await;
                show(host.run(&[&["rollback", &id], &ACCEPT[..]].concat()).await.unwrap(), 4);
                assert!(is_paused(&world.server(from).dump(&[NAMESPACE]).await.unwrap()));
                show(host.run(&[&["rollback", &id], &EACH[..]].concat()).await.unwrap(), 0);
                from
            }
            Self::DeleteFromSource => {
                let backup = back_up_before_commit(world, from).await;
                let id = find_move(&host).await;
                let words =
                    ["resume", &id, "--break-lease", "--stop-before", "release", "--takeover-timeout", "5m"];
                show(host.run(&words).await.unwrap(), 5);
                world.restore(from, &backup).await.unwrap();
                ensure_state(&host, OUT_OF_DATE).await;
                show(host.run(&["rollback", &id, "--break-lease"]).await.unwrap(), 3);
                let words = ["resume", &id, "--break-lease", "--takeover-timeout", "5m"];
                show(host.run(&[&words[..], &ACCEPT].concat()).await.unwrap(), 0);
                to
            }
            Self::LeaveSource => {
                let words = [&MOVE[..], &["--stop-before", "release"]].concat();
                show(host.run(&words).await.unwrap(), 5);
                let backup = world.server(from).back_up().await.unwrap();
                let id = find_move(&host).await;
                show(host.run(&["resume", &id, "--takeover-timeout", "5m"]).await.unwrap(), 0);
                let ended = world.server(from).back_up().await.unwrap();
                world.restore(from, &backup).await.unwrap();
                ensure_state(&host, OUT_OF_DATE).await;
                for command in ["resume", "rollback"] {
                    show(host.run(&[&[command, &id], &ACCEPT[..]].concat()).await.unwrap(), 3);
                }
                assert!(is_paused(&world.server(from).dump(&[NAMESPACE]).await.unwrap()));
                world.restore(from, &ended).await.unwrap();
                to
            }
            Self::PauseSource => {
                let backup = world.server(from).back_up().await.unwrap();
                show(host.run(&MOVE).await.unwrap(), 0);
                world.restore(from, &backup).await.unwrap();
                ensure_state(&host, CLAIMED).await;
                let id = find_move(&host).await;
                show(host.run(&["resume", &id]).await.unwrap(), 3);
                let words = [&["resume", &id], &ACCEPT[..], &PAUSE_EACH].concat();
                show(host.run(&words).await.unwrap(), 5);
                to
            }
        }
    }
}

fn host_from(world: &World, from: Side) -> Host {
    let (source, target) = (world.server(from), world.server(from.other()));
    Host::between(source.kubeconfig(), target.kubeconfig()).with_controllers()
}

/// Has the target take over and lose that, and returns the move.
async fn lose_in_target(world: &mut World, from: Side, host: &Host) -> String {
    let backup = world.server(from.other()).back_up().await.unwrap();
    show(host.run(&[&MOVE[..], &["--stop-before", "release"]].concat()).await.unwrap(), 5);
    world.restore(from.other(), &backup).await.unwrap();
    ensure_state(host, LAST_IN_SOURCE).await;
    let id = find_move(host).await;
    for command in ["resume", "rollback"] {
        show(host.run(&[command, &id]).await.unwrap(), 3);
    }
    id
}

/// Backs the source up when all is copied and nothing committed. The run that copied is dead then.
async fn back_up_before_commit(world: &World, from: Side) -> Backup {
    let point = Point::of_target("POST", "/configmaps?", 1, Moment::Instead);
    let target = FaultProxy::start(world.server(from.other())).await.unwrap();
    let host = Host::between(world.server(from).kubeconfig(), target.kubeconfig()).with_controllers();
    point.kill(&host, &MOVE, target.faults()).await.unwrap();
    world.server(from).back_up().await.unwrap()
}

async fn find_move(host: &Host) -> String {
    let status = host.run(&["status"]).await.unwrap().done().unwrap();
    let record = &status["moves"][0]["record"];
    record["moveId"].as_str().unwrap_or_else(|| panic!("{status}")).to_owned()
}

async fn ensure_state(host: &Host, state: &str) {
    let status = show(host.run_as_text(&["status"]).await.unwrap(), 0);
    say(format_args!("{status}"));
    let is_shown =
        status.lines().any(|line| line.trim_start().strip_prefix("state ").map(str::trim) == Some(state));
    assert!(is_shown, "{status}");
}

/// Shows what a command told people, once it has ended with this code.
fn show(ended: Ended, code: i32) -> String {
    let Ended { words, stdout, stderr, .. } = ended.ends_with(code).unwrap();
    say(format_args!("{words}: {stderr}"));
    stdout
}

fn is_paused(dump: &Dump) -> bool {
    dump.values()
        .filter(|object| object["kind"] == "Cluster")
        .all(|cluster| cluster["spec"]["paused"] == true)
}
