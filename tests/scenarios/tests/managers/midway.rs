//! A move that begins while controllers are at work: in the middle of a rollout, of scaling up and down, of a remediation.
//!
//! It is refused with a reason, and the source goes on; or it succeeds, and the target goes on. Either way the end is the same as
//! without a move, and no machine is torn down that would otherwise have stayed. One direction is into the workload cluster by
//! its kubeconfig in the source, as when a bootstrap cluster is pivoted.
//!
//! Without more it tries one group of changes. `PIVOT_TRIES=20` tries each change of all groups twenty times, with other delays;
//! `PIVOT_SEED` repeats the choice and the delays of an earlier run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pivot_lab::assets::CLUSTER_API;
use pivot_lab::observer::{Broken, Side, Violation, check};
use pivot_lab::{Dump, Observer, Rules, say};
use pivot_scenarios::host::Host;
use pivot_scenarios::state::{belongings, dangling};
use pivot_worlds::Dice;
use serde_json::{Value, json};

use super::handover::{OBJECTS, truths};
use super::world::{NAMESPACE, World};

const WORKERS: u32 = 2;
/// Longer than it takes on a busy machine.
const LIMIT: Duration = Duration::from_mins(5);
/// Later than any change is carried out on an idle machine.
const LATEST: u64 = 4000;

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
    let whole: Option<u64> = variable("PIVOT_TRIES");
    let tries = whole.unwrap_or(1);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = variable("PIVOT_SEED").unwrap_or(now.as_secs());
    say(format_args!("PIVOT_SEED={seed} PIVOT_TRIES={tries}"));

    let mut world = World::start(CLUSTER_API).await.unwrap();
    world.fill(OBJECTS, 5).await.unwrap();
    let mut side = Side::Source;
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    let chosen = Dice::new(seed).about("group").below(GROUPS.len() as u64);
    let groups = (0..).zip(GROUPS).filter(|(number, _)| whole.is_some() || *number == chosen);
    for (_, group) in groups {
        if group.contains(&Change::Remediation) {
            world.add_health_check(side).await.unwrap();
        }
        let mut undisturbed = Vec::new();
        for change in group {
            change.begin(&world, side).await;
            undisturbed.push(carried_out(&mut world, side, *change).await);
        }
        for attempt in 0..tries {
            for (change, end) in group.iter().zip(&undisturbed) {
                let delay = Dice::new(seed).about(&format!("{change:?} {attempt}")).below(LATEST);
                let before = world.torn_down().unwrap().len();
                change.begin(&world, side).await;
                tokio::time::sleep(Duration::from_millis(delay)).await;
                let outcome = go(&mut world, side).await;
                say(format_args!("{change:?} from the {side}, after {delay} ms: {outcome}"));
                if outcome == "moved" {
                    side = side.other();
                }
                *ends.entry(format!("{change:?}: {outcome}")).or_default() += 1;
                until(&mut world, side, end).await;
                let torn_down = world.torn_down().unwrap().len() - before;
                assert_eq!(torn_down, change.machines_torn_down(), "{change:?}: {outcome}");
            }
        }
    }
    say(format_args!("{ends:#?}"));
}

/// Moves everything to the other side; `moved`, or the codes with which that was refused.
async fn go(world: &mut World, from: Side) -> String {
    let (source, target) = (world.server(from), world.server(from.other()));
    let observer = Observer::start(source, target, &[NAMESPACE]).await.unwrap();
    let host = match from {
        Side::Source => Host::out_of(source.kubeconfig()).with(&["--to-workload", "shop/plain"]),
        Side::Target => Host::between(source.kubeconfig(), target.kubeconfig()).with_controllers(),
    };
    let flags = ["move", "-n", NAMESPACE, "--timeout", "5m", "--pause-timeout", "3m"];
    let ended = host.run(&flags).await.unwrap();
    let outcome = match ended.code {
        Some(0) => "moved".to_owned(),
        Some(3) => {
            let document = ended.document().unwrap();
            let refusals = document["refusals"].as_array().unwrap();
            let codes: Vec<&str> = refusals.iter().map(|refusal| refusal["code"].as_str().unwrap()).collect();
            assert!(!codes.is_empty(), "{document:#}");
            format!("refused: {}", BTreeSet::from_iter(codes).into_iter().collect::<Vec<_>>().join(", "))
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
    assert_eq!(violations, Vec::<String>::new(), "{outcome}");
    let (gone, kept) = match outcome.as_str() {
        "moved" => (from, from.other()),
        _ => (from.other(), from),
    };
    let left = world.server(gone).dump(&[NAMESPACE]).await.unwrap();
    assert_eq!(left.keys().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new(), "{outcome}");
    for side in [gone, kept] {
        assert_eq!(belongings(world.server(side)).await.unwrap(), Vec::<String>::new(), "{outcome}");
    }
    outcome
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
    shape(&dump, world.version)
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

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap())
}
