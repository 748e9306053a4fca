//! How long a plan takes once the lists are in, and how much memory: for random management clusters of growing size, with bodies
//! of 5 KB. `cargo xtask bench planning` writes `docs/benchmarks-planning.md`.

#![expect(
    clippy::indexing_slicing,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench that ends at the first thing that is not as it should be"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use pivot_core::discovery::inventory::Inventory;
use pivot_core::objects::names;
use pivot_core::plan::Plan;
use pivot_core::planner::make_plan;
use pivot_core::plugins::relations::Relations;
use pivot_core::request::scope::{ClusterName, Namespaces, Scope};
use pivot_core::{GroupKind, Kind, KindLabels, Object};
use pivot_worlds::KINDS;
use serde_json::{Value, json};

const SIZES: [usize; 4] = [2_500, 5_000, 10_000, 20_000];
/// A body's size. Real ones are padded by `managedFields`, too.
const BODY: usize = 5_000;
const ROUNDS: usize = 5;

fn kinds() -> BTreeMap<String, Arc<Kind>> {
    let made =
        |group: &str, kind: &str, version: &str, plural: String, namespaced: bool, labels: KindLabels| Kind {
            group_kind: GroupKind::new(group, kind),
            version: version.into(),
            plural,
            namespaced,
            status_subresource: true,
            served: vec![version.into()],
            labels,
        };
    let own = KINDS.iter().map(|spec| {
        let labels = KindLabels {
            discover: true,
            moves: spec.moves == Some("move"),
            hierarchy: spec.moves == Some("move-hierarchy"),
            ..KindLabels::default()
        };
        made(spec.group, spec.kind, spec.version, spec.plural(), spec.namespaced, labels)
    });
    let core = ["Secret", "ConfigMap"]
        .map(|kind| made("", kind, "v1", format!("{}s", kind.to_lowercase()), true, KindLabels::default()));
    own.chain(core).map(|kind| (kind.group_kind.kind.clone(), Arc::new(kind))).collect()
}

fn objects(count: usize) -> Vec<Object> {
    let kinds = kinds();
    let padded = |mut body: Value| {
        let missing = BODY.saturating_sub(body.to_string().len() + 20);
        body["metadata"]["managedFields"] = json!([{ "fieldsV1": { "x".repeat(missing): {} } }]);
        body["metadata"]["resourceVersion"] = json!("1");
        let kind = &kinds[body["kind"].as_str().unwrap_or_default()];
        // As a server's answer has it: no larger than the text.
        let raw = Bytes::copy_from_slice(body.to_string().as_bytes());
        Object::parse(kind.clone(), raw).expect("a world has objects that can be read")
    };
    pivot_worlds::many(count).into_iter().map(padded).collect()
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let made = work();
    (start.elapsed(), made)
}

/// The largest resident set of this process so far, in MiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1_000.0
}

struct Row {
    objects: usize,
    sorted: f64,
    all: f64,
    named: f64,
    peak: u64,
}

fn measure(count: usize) -> Row {
    let mut inventory = Inventory::new(objects(count));
    let clusters: Vec<_> = inventory
        .objects()
        .iter()
        .filter(|object| object.kind.group_kind.is(names::GROUP_CLUSTER, "Cluster"))
        .collect();
    let scope = Scope::new(Namespaces::All);
    let relations = Relations::default();
    let mut named = scope.clone();
    named.clusters = clusters
        .iter()
        .step_by(2)
        .map(|cluster| {
            ClusterName::new(cluster.meta.namespace.clone().unwrap_or_default(), &cluster.meta.name)
        })
        .collect();
    let (mut sorting, mut planning, mut naming) = (Vec::new(), Vec::new(), Vec::new());
    drop(make_plan(&inventory, &scope, &relations, &[]));
    // The rounds hold objects twice, which a move doesn't.
    let peak = peak();
    for _ in 0..ROUNDS {
        let copy = inventory.objects().to_vec();
        let (took, made) = timed(|| Inventory::new(copy));
        inventory = made;
        sorting.push(took);
        let (took, made): (_, Plan) = timed(|| make_plan(&inventory, &scope, &relations, &[]));
        assert!(made.refusals.is_empty() && made.steps.len() > count / 2, "{:?}", made.refusals.first());
        planning.push(took);
        let (took, made) = timed(|| make_plan(&inventory, &named, &relations, &[]));
        assert!(made.steps.len() < count && made.steps.len() > count / 4);
        naming.push(took);
    }
    Row {
        objects: inventory.objects().len(),
        sorted: median(sorting),
        all: median(planning),
        named: median(naming),
        peak,
    }
}

fn main() {
    let mut page = String::from(
        "# Planning\n\nThis page is generated by `cargo xtask bench planning`: random management clusters (`tests/worlds`) with bodies of 5 KB, in one\nprocess; medians of five. The clock starts when the lists are in.\n\n| objects | sorted by name, ms | planned, all, ms | planned, every other Cluster by name, ms | peak RSS so far, MiB |\n|--:|--:|--:|--:|--:|\n",
    );
    for count in SIZES {
        let Row { objects, sorted, all, named, peak } = measure(count);
        let _ = writeln!(page, "| {objects} | {sorted:.0} | {all:.0} | {named:.0} | {peak} |");
    }
    page.push_str(
        "\nThe memory is that of the bodies, of what is parsed of them, and of the plans. To plan Clusters by name each body is\nparsed, to find what it refers to; a plan of everything parses only those of Clusters, classes and bindings.\n",
    );
    println!("{page}");
    let mut words = std::env::args().skip_while(|word| word != "--write").skip(1);
    if let Some(file) = words.next() {
        std::fs::write(file, page).expect("the page can be written");
    }
}
