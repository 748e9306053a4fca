//! How many round trips of a move follow one another: what it costs where both API servers are far away.
//!
//! Each request takes the same time of a clock that stands still otherwise, so the time of a whole move is a number of round
//! trips, the same in each run. `docs/round-trips.md` says what each of them is for.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use pivot_core::objects::names;
use pivot_core::plugins::hooks::{Description, Hook, Settlement};
use pivot_core::records::route::EndKind;
use pivot_core::{GroupKind, Key, Kind, Object};
use pivot_engine::hooks::{HookError, Hooks, Services};
use pivot_engine::{Report, Setup, Sides, run};
use pivot_memory::MemoryPlace;
use pivot_places::{
    Access, Capabilities, Change, Event, Identity, Listing, MetaListing, Patch, Place, Preconditions, Result,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::stage::{CLUSTERS, INFRA, Stage, body};

/// Half a round trip.
const ONE_WAY: Duration = Duration::from_millis(10);
const ROUND_TRIP: Duration = Duration::from_millis(20);

/// A server at the end of a long line.
struct Distant(MemoryPlace);

impl Distant {
    async fn ask<T>(&self, answer: impl Future<Output = T>) -> T {
        sleep(ONE_WAY).await;
        let answer = answer.await;
        sleep(ONE_WAY).await;
        answer
    }
}

#[async_trait]
impl Place for Distant {
    fn label(&self) -> &str {
        self.0.label()
    }

    fn end_kind(&self) -> EndKind {
        self.0.end_kind()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn identify(&self) -> Result<Identity> {
        self.ask(self.0.identify()).await
    }

    async fn kinds(&self) -> Result<Vec<Arc<Kind>>> {
        self.ask(self.0.kinds()).await
    }

    async fn list(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<Listing> {
        self.ask(self.0.list(kind, namespace)).await
    }

    async fn list_labelled(&self, kind: &Arc<Kind>, namespace: &str, label: &str) -> Result<Listing> {
        self.ask(self.0.list_labelled(kind, namespace, label)).await
    }

    async fn list_meta(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing> {
        self.ask(self.0.list_meta(kind, namespace)).await
    }

    async fn get(&self, kind: &Arc<Kind>, key: &Key) -> Result<Option<Object>> {
        self.ask(self.0.get(kind, key)).await
    }

    async fn create(&self, kind: &Arc<Kind>, body: &Value, change: Change) -> Result<Object> {
        self.ask(self.0.create(kind, body, change)).await
    }

    async fn patch(&self, kind: &Arc<Kind>, key: &Key, patch: &Patch) -> Result<Object> {
        self.ask(self.0.patch(kind, key, patch)).await
    }

    async fn delete(&self, kind: &Arc<Kind>, key: &Key, preconditions: &Preconditions) -> Result<()> {
        self.ask(self.0.delete(kind, key, preconditions)).await
    }

    async fn watch(
        &self,
        kind: &Arc<Kind>,
        namespace: Option<&str>,
        resource_version: &str,
    ) -> Result<BoxStream<'static, Result<Event>>> {
        self.ask(self.0.watch(kind, namespace, resource_version)).await
    }

    async fn find_denied(&self, asked: &[Access]) -> Result<Vec<Access>> {
        self.ask(self.0.find_denied(asked)).await
    }
}

fn trips(time: Duration) -> u128 {
    time.as_millis() / ROUND_TRIP.as_millis()
}

/// Round trips of a whole move, and of its phases in words.
async fn moved(stage: &Stage) -> (u128, String) {
    let sides = Sides {
        source: Arc::new(Distant(stage.source.clone())),
        target: Arc::new(Distant(stage.target.clone())),
    };
    let begun = Instant::now();
    let report: Report = run::start(Setup { sides, ..stage.setup() }).await.unwrap();
    let all = trips(begun.elapsed());
    let phases: u128 = report.times.iter().map(|(_, time)| trips(*time)).sum();
    let mut told: Vec<String> =
        report.times.iter().map(|(phase, time)| format!("{phase} {}", trips(*time))).collect();
    told.push(format!("opening and closing {}", all - phases));
    (all, told.join(", "))
}

/// The stage's owners are four deep: class, Cluster, Machine, and what belongs to a Machine. Each level costs a round trip to
/// create and one to delete.
#[tokio::test(start_paused = true)]
async fn a_move_needs_few_consecutive_round_trips() {
    let (all, told) = moved(&Stage::new()).await;
    assert!(all <= 26, "{all}: {told}");
}

/// A Cluster and two pools, which nothing owns; no class.
fn flat() -> Stage {
    let stage = Stage::empty();
    let mut cluster = body(CLUSTERS, "Cluster", "c", None);
    cluster["status"] = json!({"initialization": {"infrastructureProvisioned": true},
        "conditions": [{"type": "ControlPlaneInitialized", "status": "True"}]});
    stage.source.insert(cluster).unwrap();
    for name in ["p", "q"] {
        stage.source.insert(body(INFRA, "Pool", name, None)).unwrap();
    }
    stage
}

#[tokio::test(start_paused = true)]
async fn a_move_without_owners_needs_fewer_round_trips() {
    let (all, told) = moved(&flat()).await;
    assert!(all <= 19, "{all}: {told}");
}

/// Holds hosts, and releases them at once.
struct Holds(Description);

#[async_trait]
impl Hooks for Holds {
    fn describe(&self) -> &Description {
        &self.0
    }

    async fn hold(&self, _object: &Object) -> std::result::Result<Option<Value>, HookError> {
        Ok(Some(json!({"metadata": {"annotations": {"hosts.example.org/paused": ""}}})))
    }

    async fn settle(
        &self,
        _object: &Object,
        _: bool,
        _services: Arc<dyn Services>,
    ) -> std::result::Result<Settlement, HookError> {
        Ok(Settlement::Done)
    }
}

/// Eleven hosts are unpaused in waves of one, two, four and four: each is read for its plugin, then patched. Where there are
/// several, they are listed first.
#[tokio::test(start_paused = true)]
async fn two_for_each_wave_of_hosts_that_are_unpaused_and_one_to_list_them() {
    let mut counts = Vec::new();
    for hosts in [1, 11] {
        let mut stage = flat();
        for n in 0..hosts {
            stage.source.insert(body(INFRA, "Host", &format!("h{n}"), None)).unwrap();
        }
        let description = Description {
            name: "holds".into(),
            kinds: vec![GroupKind::new(INFRA, "Host")],
            hooks: vec![Hook::Hold, Hook::Settle],
            ..Description::default()
        };
        stage.plugins = vec![Arc::new(Holds(description))];
        counts.push(moved(&stage).await.0);
    }
    assert_eq!(counts[1] - counts[0], 2 * 3 + 1, "{counts:?}");
}

/// Objects that need no release patch are no answers of the server, and must not look like fast ones.
#[tokio::test(start_paused = true)]
async fn a_thousand_objects_take_few_round_trips() {
    let stage = Stage::new();
    for n in 0..250 {
        let name = &format!("x{n}");
        let mut machine = body(CLUSTERS, "Machine", name, Some((CLUSTERS, "Cluster", "c")));
        machine["status"] = json!({"nodeRef": {"name": name}});
        let owner = Some((CLUSTERS, "Machine", name.as_str()));
        let secrets = ["a", "b"].map(|part| body("", "Secret", &format!("{name}-{part}"), owner));
        for object in [machine, body(INFRA, "InfraMachine", name, owner)].into_iter().chain(secrets) {
            stage.source.insert(object).unwrap();
        }
    }
    let (all, told) = moved(&stage).await;
    assert!(all <= 40, "{all}: {told}");
}

/// Where a run dies, few objects have lost their finalizers for a delete that was not sent.
#[tokio::test(start_paused = true)]
async fn few_objects_are_patched_ahead_of_their_deletes() {
    let stage = flat();
    for n in 0..400 {
        stage.source.insert(body(INFRA, "Pool", &format!("p{n}"), None)).unwrap();
    }
    let (all, told) = moved(&stage).await;
    // 403 objects are paused, created, resumed, patched and deleted, 64 side by side or, as the servers keep up, more.
    assert!(all <= 38, "{all}: {told}");
    let (mut open, mut most) = (0_usize, 0);
    for call in stage.source.journal() {
        let annotations = &call.body["metadata"]["annotations"];
        match call.verb.as_str() {
            _ if call.key.group_kind.group != INFRA => {}
            "patch" if annotations.get(names::DELETE_FOR_MOVE).is_some() => open += 1,
            "delete" => open -= 1,
            _ => {}
        }
        most = most.max(open);
    }
    // 64, and as many deletes that are on their way to the server, or wait for the record.
    assert!((1..=128).contains(&most), "{most}");
}
