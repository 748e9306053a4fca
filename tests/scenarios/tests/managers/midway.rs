//! A move that begins while controllers are at work: in the middle of a rollout, of scaling up and down, of a remediation.
//!
//! It is refused for Machines that come or go, and the source goes on; or it succeeds, and the target goes on. Either way the end is
//! the same as without a move, and no machine is torn down that would otherwise have stayed. One direction is into the workload
//! cluster by its kubeconfig in the source, as when a bootstrap cluster is pivoted.
//!
//! A landing tests one group of changes, the nightly run tests each change of all groups many times, with other delays.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use pivot_lab::assets::CLUSTER_API;
use pivot_lab::observer::{Broken, Log, Side, Violation, check};
use pivot_lab::{Dump, Observer, Rules, say};
use pivot_scenarios::host::Host;
use pivot_scenarios::sampling::{choose_one, is_nightly, sample};
use pivot_scenarios::state::{belongings, dangling};
use serde_json::{Value, json};

use super::handover::{OBJECTS, truths};
use super::world::{NAMESPACE, World};

const MACHINE: &str = "Machine.cluster.x-k8s.io";
const WORKERS: u32 = 2;
/// How often the nightly run moves in the middle of each change.
const NIGHTLY_TRIES: usize = 20;
/// Milliseconds, later than any change is carried out on an idle machine.
const LATEST: u64 = 4000;
/// Longer than it takes on a busy machine.
const LIMIT: Duration = Duration::from_mins(5);

/// What controllers are doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Rollout,
    RollBack,
    ScaleUp,
    ScaleDown,
    Remediation,
}

/// Each group ends where it begins.
const GROUPS: [&[Change]; 3] =
    [&[Change::Rollout, Change::RollBack], &[Change::ScaleUp, Change::ScaleDown], &[Change::Remediation]];

impl Change {
    /// Makes controllers work.
    pub(crate) async fn begin(self, world: &World, side: Side) {
        match self {
            Self::Rollout => roll_out(world, side, "v1.36.2").await,
            Self::RollBack => roll_out(world, side, "v1.36.3").await,
            Self::ScaleUp => world.scale(side, WORKERS + 2).await.unwrap(),
            Self::ScaleDown => world.scale(side, WORKERS).await.unwrap(),
            Self::Remediation => {
                let dump = world.server(side).dump(&[NAMESPACE]).await.unwrap();
                let mut workers = dump.iter().filter(|(key, object)| {
                    key.kind.starts_with("LabMachine.") && object["metadata"]["labels"]["pool"] == "workers"
                });
                let (worker, _) = workers.next().unwrap();
                world.fail_node(&worker.name).await.unwrap();
            }
        }
    }

    /// How many Machines there are in the end.
    fn machines(self) -> usize {
        if matches!(self, Self::ScaleUp) { 7 } else { 5 }
    }

    /// Codes with which a move is refused in the middle: while new Machines have no nodes, and while old ones are being deleted.
    fn accepted_refusals(self) -> &'static [&'static str] {
        match self {
            Self::ScaleUp => &["not-provisioned"],
            Self::ScaleDown => &["being-deleted"],
            Self::Rollout | Self::RollBack | Self::Remediation => &["not-provisioned", "being-deleted"],
        }
    }

    /// How many are torn down on the way.
    fn machines_torn_down(self) -> usize {
        match self {
            Self::Rollout | Self::RollBack | Self::ScaleDown => 2,
            Self::ScaleUp => 0,
            Self::Remediation => 1,
        }
    }
}

/// Another version of the workers: a new Machine for each.
async fn roll_out(world: &World, side: Side, version: &str) {
    let workers = json!({"spec": {"template": {"spec": {"version": version}}}});
    world.patch(side, "MachineDeployment.cluster.x-k8s.io", "plain-workers", workers).await.unwrap();
}

// proves: I1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_in_the_middle_of_a_change_is_refused_or_ends_as_if_there_was_none() {
    let tries = if is_nightly() { NIGHTLY_TRIES } else { 1 };
    let mut world = World::start(CLUSTER_API).await.unwrap();
    world.fill(OBJECTS, 5).await.unwrap();
    let mut side = Side::Source;
    for group in sample("groups of changes", GROUPS, 1).unwrap() {
        if group.contains(&Change::Remediation) {
            world.add_health_check(side).await.unwrap();
        }
        let mut undisturbed = Vec::new();
        for change in group {
            change.begin(&world, side).await;
            undisturbed.push(carried_out(&mut world, side, *change).await);
        }
        let mut disturbed = 0;
        for attempt in 0..tries {
            for (index, (change, end)) in group.iter().zip(&undisturbed).enumerate() {
                // The first move meets its change for certain: it is refused at first, or the target goes on.
                let delay = match (attempt, index) {
                    (0, 0) => 0,
                    _ => choose_one(&format!("delays of {change:?} {attempt}"), 0..LATEST).unwrap(),
                };
                let before = world.torn_down().unwrap().len();
                change.begin(&world, side).await;
                tokio::time::sleep(Duration::from_millis(delay)).await;
                let (refused, copied) = move_until_it_succeeds(&mut world, side, *change).await;
                side = side.other();
                until(&mut world, side, end).await;
                let continues = copied != machines(&world.server(side).dump(&[NAMESPACE]).await.unwrap());
                say(format_args!(
                    "{change:?} from the {}, after {delay} ms: refused {refused} times, then moved, {}",
                    side.other(),
                    if continues { "and the target went on" } else { "when it was over" }
                ));
                disturbed += usize::from(refused > 0 || continues);
                let torn_down = world.torn_down().unwrap().len() - before;
                assert_eq!(torn_down, change.machines_torn_down(), "{change:?}");
            }
        }
        assert!(disturbed > 0, "no move met one of {group:?}");
    }
}

/// Moves everything to the other side, again while that is refused. Returns how often it was, and the Machines that were copied.
async fn move_until_it_succeeds(world: &mut World, from: Side, change: Change) -> (usize, BTreeSet<String>) {
    let start = Instant::now();
    let mut refused = 0;
    loop {
        match go(world, from).await {
            Outcome::Moved { machines } => return (refused, machines),
            Outcome::Refused(codes) => {
                let is_accepted = |code: &String| change.accepted_refusals().contains(&code.as_str());
                assert!(codes.iter().all(is_accepted), "{change:?} from the {from}: refused: {codes:?}");
            }
        }
        refused += 1;
        assert!(start.elapsed() < LIMIT, "{change:?} from the {from}: refused {refused} times");
    }
}

/// How a move ended.
#[derive(Debug)]
enum Outcome {
    /// These Machines were copied.
    Moved { machines: BTreeSet<String> },
    /// With these codes.
    Refused(BTreeSet<String>),
}

/// Moves everything to the other side.
async fn go(world: &mut World, from: Side) -> Outcome {
    let (source, target) = (world.server(from), world.server(from.other()));
    let observer = Observer::start(source, target, &[NAMESPACE]).await.unwrap();
    let host = match from {
        Side::Source => Host::out_of(source.kubeconfig()).with(&["--to-workload", "shop/plain"]),
        Side::Target => Host::between(source.kubeconfig(), target.kubeconfig()).with_controllers(),
    };
    let flags = ["move", "-n", NAMESPACE, "--takeover-timeout", "5m", "--pause-timeout", "3m"];
    let ended = host.run(&flags).await.unwrap();
    let refused: BTreeSet<String> = match ended.code {
        Some(0) => BTreeSet::new(),
        Some(3) => {
            let document = ended.document().unwrap();
            let refusals = document["refusals"].as_array().unwrap();
            assert!(!refusals.is_empty(), "{document:#}");
            refusals.iter().map(|refusal| refusal["code"].as_str().unwrap().to_owned()).collect()
        }
        _ => panic!("{}\n{}", ended.stderr, ended.stdout),
    };
    let log = observer.finish_log().await.unwrap();
    let rules = Rules::new().target_at_work().moved(|key| key.namespace == NAMESPACE);
    // What controllers replace meanwhile is not lost: how many machines they tear down is counted.
    let is_replaced = |violation: &Violation| violation.key.name.starts_with("plain-workers-");
    let is_loss = |what: &Broken| matches!(what, Broken::Lost { .. } | Broken::NeverCopied { .. });
    let violations = check(&log, &rules).into_iter().filter(|one| !(is_replaced(one) && is_loss(&one.what)));
    let violations: Vec<_> = violations.map(|violation| violation.to_string()).collect();
    assert_eq!(violations, Vec::<String>::new(), "{refused:?}");
    let empty = if refused.is_empty() { from } else { from.other() };
    let left = world.server(empty).dump(&[NAMESPACE]).await.unwrap();
    assert_eq!(left.keys().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new(), "{refused:?}");
    for side in [from, from.other()] {
        assert_eq!(belongings(world.server(side)).await.unwrap(), Vec::<String>::new(), "{refused:?}");
    }
    if refused.is_empty() {
        Outcome::Moved { machines: copied_machines(&log) }
    } else {
        Outcome::Refused(refused)
    }
}

/// The Machines that were seen on both sides.
fn copied_machines(log: &Log) -> BTreeSet<String> {
    let on = |side| {
        let events = log.events.iter().filter(move |event| event.side == side && event.key.kind == MACHINE);
        events.map(|event| event.key.name.clone()).collect::<BTreeSet<_>>()
    };
    on(Side::Source).intersection(&on(Side::Target)).cloned().collect()
}

fn machines(dump: &Dump) -> BTreeSet<String> {
    dump.keys().filter(|key| key.kind == MACHINE).map(|key| key.name.clone()).collect()
}

/// What there is once controllers have carried out a change.
pub(crate) async fn carried_out(world: &mut World, side: Side, change: Change) -> Shape {
    let before = world.torn_down().unwrap().len();
    let start = Instant::now();
    while world.torn_down().unwrap().len() < before + change.machines_torn_down() {
        if start.elapsed() > LIMIT {
            let torn_down = world.torn_down().unwrap().split_off(before);
            let dump = world.server(side).dump(&[NAMESPACE]).await.unwrap();
            let says = says(&dump);
            panic!("{change:?}: only {torn_down:?} are torn down\n{says}\n{}", world.complaints());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    world.until_machines(side, change.machines()).await.unwrap();
    at_rest(world, side).await
}

/// What controllers wait for.
fn says(dump: &Dump) -> String {
    let mut lines = Vec::new();
    for (key, object) in dump {
        let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
        let messages =
            conditions.filter(|condition| condition["message"].as_str().is_some_and(|text| !text.is_empty()));
        lines.extend(
            messages.map(|condition| format!("{key} {} {}", condition["type"], condition["message"])),
        );
    }
    lines.join("\n")
}

/// What there is once controllers are idle.
async fn at_rest(world: &mut World, side: Side) -> Shape {
    let dump = world.until_quiet(side).await.unwrap();
    assert_eq!(dangling(&dump), Vec::<String>::new());
    shape(&dump, world.version(side))
}

/// Waits until there is what there should be, and controllers are idle.
async fn until(world: &mut World, side: Side, wanted: &Shape) {
    let start = Instant::now();
    loop {
        let found = at_rest(world, side).await;
        let nodes = world.nodes().await.unwrap().len();
        let machines = found.iter().filter(|(line, _)| line.starts_with("Machine.")).map(|(_, count)| count);
        if found == *wanted && nodes == machines.sum::<usize>() {
            return;
        }
        let missing: Vec<_> = wanted.iter().filter(|(line, count)| found.get(*line) != Some(count)).collect();
        let extra: Vec<_> = found.iter().filter(|(line, count)| wanted.get(*line) != Some(count)).collect();
        assert!(
            start.elapsed() < LIMIT,
            "{nodes} Nodes in the {side}; missing {missing:#?}, too many {extra:#?}"
        );
    }
}

/// The objects, how many of each there are: without what is random in their names.
pub(crate) type Shape = BTreeMap<String, usize>;

fn shape(dump: &Dump, version: &str) -> Shape {
    let truths = truths(dump, version);
    let mut shape = Shape::new();
    for (key, object) in dump {
        let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        let owners: Vec<String> = owners
            .map(|owner| format!("{} {}", owner["kind"], without_chance(owner["name"].as_str().unwrap())))
            .collect();
        let spec = |path: &str| object.pointer(path).map(Value::to_string).unwrap_or_default();
        let line = format!(
            "{} {} of {}: {} {} {}",
            key.kind,
            without_chance(&key.name),
            owners.join(", "),
            spec("/spec/replicas"),
            [spec("/spec/version"), spec("/spec/template/spec/version")].concat(),
            truths[&key.to_string()]
                .iter()
                .filter(|truth| !late(truth))
                .cloned()
                .collect::<Vec<_>>()
                .join(" ")
        );
        *shape.entry(line).or_default() += 1;
    }
    shape
}

/// A MachineHealthCheck reports that a Machine is healthy long after the Machine itself does.
fn late(truth: &str) -> bool {
    truth == "HealthCheckSucceeded=True"
}

/// A name without the parts that controllers make up: five letters and digits, none of them a vowel.
fn without_chance(name: &str) -> String {
    let is_random = |part: &str| {
        part.len() == 5 && part.bytes().all(|byte| b"bcdfghjklmnpqrstvwxz2456789".contains(&byte))
    };
    let parts = name.split('-').map(|part| if is_random(part) { "?" } else { part });
    parts.collect::<Vec<_>>().join("-")
}
