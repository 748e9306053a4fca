//! How held objects are released: slowly at first, and no further than all goes well.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use pivot_core::objects::names;
use pivot_core::plugins::hooks::{Description, Finding, Hook, Settlement, Severity};
use pivot_core::records::record::Phase;
use pivot_core::{GroupKind, Object};
use pivot_engine::hooks::{HookError, Hooks, Services};
use pivot_engine::{Event, Exit, Failure, Halt, Halter, HeldObject, Setup, Stop, Watcher};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::run;
use crate::stage::{INFRA, Stage, body, halter, key};

const HELD: &str = "hosts.example.org/paused";
const NAME: &str = "hosts";
/// What the target's controllers take for one host.
const TAKES: Duration = Duration::from_millis(1200);

/// How a host behaves once it is to be settled.
#[derive(Clone, Copy)]
enum Way {
    /// It comes up.
    Well,
    /// The same, after three times as long.
    Slowly,
    /// The plugin says stop: it left its state.
    Stop,
    /// The plugin traps.
    Trap,
    /// The plugin takes too long.
    Timeout,
    /// It never comes up.
    Never,
}

/// A host that was asked about: when that began, and when it ended.
type Asked = (Instant, String, Instant);

pub(crate) struct Keeper {
    description: Description,
    way: fn(&str) -> Way,
    group: fn(&str) -> Option<&'static str>,
    /// Asks for a stop while this host is settled.
    halt_at: Option<(&'static str, Halter)>,
    asked: Mutex<Vec<Asked>>,
}

impl Keeper {
    /// Holds hosts, and settles each at once.
    pub(crate) fn at_once() -> Self {
        Self::new(|_| Way::Well)
    }

    fn new(way: fn(&str) -> Way) -> Self {
        let description = Description {
            name: NAME.into(),
            kinds: vec![GroupKind::new(INFRA, "Host")],
            hooks: vec![Hook::Hold, Hook::Settle],
            ..Description::default()
        };
        Self { description, way, group: |_| None, halt_at: None, asked: Mutex::default() }
    }

    /// The names of what was settled at the same time, wave after wave.
    fn waves(&self) -> Vec<String> {
        let mut asked = self.asked.lock().unwrap().clone();
        asked.sort();
        let waves: Vec<&[Asked]> = asked.chunk_by(|a, b| a.0 == b.0).collect();
        for pair in waves.windows(2) {
            let ended = pair[0].iter().map(|asked| asked.2).max().unwrap();
            assert!(ended <= pair[1][0].0, "a wave begins before the one before it is done");
        }
        let names = |wave: &[Asked]| wave.iter().map(|asked| asked.1.clone()).collect::<Vec<_>>().join(" ");
        waves.into_iter().map(names).collect()
    }

    fn sizes(&self) -> Vec<usize> {
        self.waves().iter().map(|wave| wave.split(' ').count()).collect()
    }
}

fn error(code: &str) -> HookError {
    HookError { code: code.into(), message: "it broke".into() }
}

fn finding(severity: Severity) -> Finding {
    Finding { severity, code: "odd".into(), message: "it is odd".into(), object: None, remedy: String::new() }
}

#[async_trait]
impl Hooks for Keeper {
    fn describe(&self) -> &Description {
        &self.description
    }

    async fn hold(&self, object: &Object) -> Result<Option<Value>, HookError> {
        let group = (self.group)(&object.meta.name);
        let memory = format!("{NAME}.pivot-host.io/{}", names::SETTLE_GROUP);
        let mut annotations = json!({HELD: ""});
        if let Some(group) = group {
            annotations[memory] = json!(group);
        }
        Ok(Some(json!({"metadata": {"annotations": annotations}})))
    }

    async fn settle(&self, object: &Object, _: bool, _: Arc<dyn Services>) -> Result<Settlement, HookError> {
        let name = object.meta.name.clone();
        if !object.meta.has_annotation(HELD) {
            // An earlier run has settled it.
            return Ok(Settlement::Done);
        }
        if let Some((at, halter)) = &self.halt_at
            && *at == name
        {
            halter.halt(Halt::Signal(2));
        }
        let begun = Instant::now();
        let way = (self.way)(&name);
        sleep(if matches!(way, Way::Slowly) { 3 * TAKES } else { TAKES }).await;
        if !matches!(way, Way::Never) {
            self.asked.lock().unwrap().push((begun, name, Instant::now()));
        }
        match way {
            Way::Well | Way::Slowly => Ok(Settlement::Done),
            Way::Stop => Ok(Settlement::Stop(finding(Severity::Stop))),
            Way::Trap => Err(error("trap")),
            Way::Timeout => Err(error("timeout")),
            Way::Never => Ok(Settlement::Wait(finding(Severity::Wait))),
        }
    }
}

/// A Cluster, and so many hosts beside it.
fn stage(hosts: usize) -> Stage {
    let stage = Stage::new();
    for n in 0..hosts {
        stage.source.insert(body(INFRA, "Host", &name(n), None)).unwrap();
    }
    stage
}

fn name(n: usize) -> String {
    format!("h{n:03}")
}

fn names(range: std::ops::Range<usize>) -> String {
    range.map(name).collect::<Vec<_>>().join(" ")
}

fn with(stage: &mut Stage, keeper: Keeper) -> Arc<Keeper> {
    let keeper = Arc::new(keeper);
    stage.plugins = vec![keeper.clone()];
    keeper
}

/// The hosts in the target that are still held.
fn held(stage: &Stage) -> String {
    let keys = stage.target.keys().into_iter().filter(|key| key.group_kind.kind == "Host");
    let held =
        keys.filter(|key| stage.target.body(key).unwrap()["metadata"]["annotations"].get(HELD).is_some());
    held.map(|key| key.name).collect::<Vec<_>>().join(" ")
}

/// What could not be released, and why.
pub(crate) fn left(stop: &Stop) -> Vec<HeldObject> {
    let Failure::Unsettled(left) = &stop.failure else { panic!("{stop}") };
    left.clone()
}

/// The hosts that the stop names.
fn named(stop: &Stop) -> String {
    left(stop).into_iter().map(|held| held.object.name).collect::<Vec<_>>().join(" ")
}

#[tokio::test(start_paused = true)]
async fn waves_double_up_to_the_limit_and_begin_when_the_one_before_is_done() {
    for (limit, sizes) in [(8, vec![1, 2, 4, 8, 5]), (3, vec![1, 2, 3, 3, 3, 3, 3, 2]), (1, vec![1; 20])] {
        let mut stage = stage(20);
        stage.options.unpause_batch = limit;
        let slow = |name: &str| if name.ends_with('4') { Way::Slowly } else { Way::Well };
        let keeper = with(&mut stage, Keeper::new(slow));
        run::start(stage.setup()).await.unwrap();
        assert_eq!(keeper.sizes(), sizes, "{limit}");
        assert_eq!(keeper.waves().join(" "), names(0..20), "in the order of creation");
        assert_eq!(held(&stage), "");
    }
}

/// What the Settled phase of 200 hosts takes.
async fn time_of_200(limit: usize) -> Duration {
    let mut stage = stage(200);
    stage.options.unpause_batch = limit;
    with(&mut stage, Keeper::new(|_| Way::Well));
    let report = run::start(stage.setup()).await.unwrap();
    report.times.iter().find(|(phase, _)| *phase == Phase::Settled).unwrap().1
}

#[tokio::test(start_paused = true)]
async fn two_hundred_hosts_take_a_sixth_of_the_time_of_one_at_a_time() {
    let default = stage(0).options.unpause_batch;
    let (one_by_one, in_waves) = (time_of_200(1).await, time_of_200(default).await);
    assert!(one_by_one >= 200 * TAKES, "{one_by_one:?}");
    assert!(in_waves * 6 <= one_by_one, "{in_waves:?} and {one_by_one:?}");
}

#[tokio::test(start_paused = true)]
async fn the_first_wave_has_one_host_of_each_group() {
    let driver = |name: &str| Some(if name < "h005" { "redfish" } else { "ipmi" }).filter(|_| name != "h007");
    let mut stage = stage(9);
    let keeper = with(&mut stage, Keeper { group: driver, ..Keeper::new(|_| Way::Well) });
    run::start(stage.setup()).await.unwrap();
    assert_eq!(keeper.waves(), ["h000 h005 h007", "h001 h002", "h003 h004 h006 h008"]);
    let host = stage.target.body(&key(INFRA, "Host", "h000")).unwrap();
    let left: Vec<&String> = host["metadata"]["annotations"].as_object().unwrap().keys().collect();
    assert_eq!(left, ["pivot-host.io/copy-of", "pivot-host.io/move"], "the group is forgotten");
}

/// A plugin that calls each object a group of its own must not get them all released at once.
#[tokio::test(start_paused = true)]
async fn no_number_of_groups_makes_the_first_wave_larger_than_the_limit() {
    let mut stage = stage(6);
    stage.options.unpause_batch = 2;
    let own = |name: &str| ["0", "1", "2", "3", "4", "5"].into_iter().find(|n| name.ends_with(n));
    let keeper = with(&mut stage, Keeper { group: own, ..Keeper::new(|_| Way::Well) });
    run::start(stage.setup()).await.unwrap();
    assert_eq!(keeper.sizes(), [2, 2, 2]);
}

#[tokio::test(start_paused = true)]
async fn owners_are_settled_before_their_dependents() {
    let mut stage = stage(0);
    for name in ["z0", "z1", "z2", "z3"] {
        stage.source.insert(body(INFRA, "Host", name, None)).unwrap();
    }
    for (name, owner) in [("a0", "z3"), ("a1", "z0")] {
        stage.source.insert(body(INFRA, "Host", name, Some((INFRA, "Host", owner)))).unwrap();
    }
    let keeper = with(&mut stage, Keeper::new(|_| Way::Well));
    run::start(stage.setup()).await.unwrap();
    assert_eq!(keeper.waves(), ["z0", "z1 z2", "z3", "a0", "a1"]);
}

/// Keeps findings.
#[derive(Default)]
struct Findings(Mutex<Vec<String>>);

impl Watcher for Findings {
    fn event(&self, event: Event) {
        if let Event::Finding { plugin, code, severity, .. } = event {
            self.0.lock().unwrap().push(format!("{plugin}: {severity:?} {code}"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_settling_and_names_what_stays_held() {
    let mut stage = stage(200);
    let keeper = with(&mut stage, Keeper::new(|name| if name == "h004" { Way::Stop } else { Way::Well }));
    let findings = Arc::new(Findings::default());
    let stop = run::start(Setup { watcher: findings.clone(), ..stage.setup() }).await.unwrap_err();
    assert_eq!(stop.exit, Exit::PastCommit, "{stop}");
    assert_eq!(keeper.waves(), [names(0..1), names(1..3), names(3..7)], "its wave is the last");
    let left = format!("h004 {}", names(7..200));
    assert_eq!(held(&stage), left, "the others of its wave are finished");
    assert_eq!(named(&stop), left);
    assert!(stop.to_string().contains("Host ns/h004: a check says stop:"), "{stop}");
    let ended = "- still held: nothing more was released after a plugin said stop for Host ns/h004 \
                 (193 Hosts: ns/h007, ns/h008, ns/h009, … and 190 more)";
    assert!(stop.to_string().contains(ended), "{stop}");
    assert_eq!(*findings.0.lock().unwrap(), ["hosts: Stop odd"], "reported before its wave is done");
}

#[tokio::test(start_paused = true)]
async fn a_trap_a_timeout_or_a_wait_without_end_holds_one_host_and_goes_back_to_one_at_a_time() {
    for way in [
        |name: &str| if name == "h004" { Way::Trap } else { Way::Well },
        |name: &str| {
            if name == "h004" { Way::Timeout } else { Way::Well }
        },
    ] {
        let mut stage = stage(14);
        let keeper = with(&mut stage, Keeper::new(way));
        let stop = run::start(stage.setup()).await.unwrap_err();
        assert_eq!(stop.exit, Exit::PastCommit, "{stop}");
        assert_eq!(keeper.sizes(), [1, 2, 4, 1, 2, 4]);
        assert_eq!((held(&stage), named(&stop)), ("h004".into(), "h004".into()));
    }
    let mut stage = stage(14);
    let keeper = with(&mut stage, Keeper::new(|name| if name == "h004" { Way::Never } else { Way::Well }));
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(keeper.sizes(), [1, 2, 3, 1, 2, 4], "but for the one that is waited for");
    assert_eq!((held(&stage), named(&stop)), ("h004".into(), "h004".into()));
}

#[tokio::test(start_paused = true)]
async fn three_failures_in_a_row_end_it() {
    for way in [
        |name: &str| if name < "h003" { Way::Well } else { Way::Trap },
        |name: &str| {
            if name < "h003" { Way::Well } else { Way::Timeout }
        },
    ] {
        let mut stage = stage(50);
        stage.options.unpause_batch = 2;
        let keeper = with(&mut stage, Keeper::new(way));
        let stop = run::start(stage.setup()).await.unwrap_err();
        assert_eq!(keeper.sizes(), [1, 2, 2, 1]);
        assert_eq!((held(&stage), named(&stop)), (names(3..50), names(3..50)));
        let unasked = left(&stop).into_iter().filter(|held| held.why.contains("is no longer asked"));
        assert_eq!(unasked.count(), 44, "{stop}");
    }
    let mut stage = stage(10);
    let every_third = |name: &str| if name.ends_with(['2', '5', '8']) { Way::Well } else { Way::Trap };
    let keeper = with(&mut stage, Keeper::new(every_third));
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert!(!stop.to_string().contains("is no longer asked"), "{stop}");
    assert_eq!(keeper.waves().join(" "), names(0..10));
}

#[tokio::test(start_paused = true)]
async fn a_resumed_run_begins_again_with_one_host_that_is_still_held() {
    let mut stage = stage(30);
    with(&mut stage, Keeper::new(|name| if name == "h010" { Way::Stop } else { Way::Well }));
    run::start(stage.setup()).await.unwrap_err();
    assert_eq!(held(&stage), format!("h010 {}", names(15..30)));
    let keeper = with(&mut stage, Keeper::new(|_| Way::Well));
    run::resume(stage.setup()).await.unwrap();
    assert_eq!(
        keeper.waves(),
        ["h010".to_owned(), names(15..17), names(17..21), names(21..29), names(29..30)]
    );
    assert_eq!(held(&stage), "");
}

/// What an earlier run has settled isn't held, whatever stops this one.
#[tokio::test(start_paused = true)]
async fn a_resumed_run_that_stops_names_only_what_is_held() {
    let mut stage = stage(12);
    with(&mut stage, Keeper::new(|name| if name == "h004" { Way::Stop } else { Way::Well }));
    run::start(stage.setup()).await.unwrap_err();
    let keeper = with(&mut stage, Keeper::new(|_| Way::Stop));
    let stop = run::resume(stage.setup()).await.unwrap_err();
    assert_eq!(keeper.waves(), ["h004"]);
    assert_eq!(named(&stop), format!("h004 {}", names(7..12)));
}

#[tokio::test(start_paused = true)]
async fn a_signal_lets_the_wave_finish_and_no_other_begin() {
    let mut stage = stage(12);
    let halter = halter();
    let halt_at = Some(("h001", halter.clone()));
    let keeper = with(&mut stage, Keeper { halt_at, ..Keeper::new(|_| Way::Well) });
    let stop = run::start(Setup { halter, ..stage.setup() }).await.unwrap_err();
    assert_eq!(stop.exit, Exit::Interrupted, "{stop}");
    assert_eq!(keeper.waves(), [names(0..1), names(1..3)]);
    assert_eq!(held(&stage), names(3..12));
    let keeper = with(&mut stage, Keeper::new(|_| Way::Well));
    run::resume(stage.setup()).await.unwrap();
    assert_eq!(keeper.waves(), [names(3..4), names(4..6), names(6..10), names(10..12)]);
}
