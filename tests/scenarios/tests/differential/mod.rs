//! The same clusters, moved by clusterctl between one pair of servers and by pivot-host between another.
//!
//! Both must leave the same in the source and in the target, but for what two servers never have in common (UIDs, times), the mark
//! of a move, and the differences in one table (`differences`), each of which has to occur.

mod differences;
mod kinds;
mod objects;
mod peer;
mod shapes;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use futures::future::try_join_all;
use futures::{StreamExt, stream};
use kube::api::{Api, Patch, PatchParams};
use pivot_lab::{Crds, Dump, Pair, Server, say};
use pivot_scenarios::host::Host;
use pivot_scenarios::sampling;
use pivot_scenarios::state::ensure_no_secret_in_records;
use serde_json::Value;

use differences::{DIFFERENCES, Difference, Side, found};
use peer::Peer;
use shapes::{End, Shape, everywhere, global, one_by_one, random};

/// Moves at the same time, of each program.
const CONCURRENT: usize = 3;

async fn pair() -> Pair {
    Pair::start_with(&Crds::parse(&kinds::crds()).unwrap()).await.unwrap()
}

/// Fills both servers with what the shapes have there.
async fn fill(pair: &Pair, shapes: impl IntoIterator<Item = &Shape> + Clone) {
    let all =
        |of: fn(&Shape) -> &Vec<Value>| shapes.clone().into_iter().flat_map(of).cloned().collect::<Vec<_>>();
    pair.source.apply_values(all(|shape| &shape.source)).await.unwrap();
    pair.target.apply_values(all(|shape| &shape.target)).await.unwrap();
    let kinds = pair.source.kinds().await.unwrap();
    for object in all(|shape| &shape.applied) {
        let kind = kinds.iter().find(|kind| kind.resource.kind == object["kind"]).unwrap();
        let api = kind.api(pair.source.client());
        let api: Api<_> = api.constrain(object["metadata"]["namespace"].as_str().unwrap());
        let name = object["metadata"]["name"].as_str().unwrap();
        let params = PatchParams::apply("capi-topology").force();
        api.patch(name, &params, &Patch::Apply(&object)).await.unwrap();
    }
}

/// Waits until what the moves left to the garbage collector is collected; `before` has objects of each kind that was moved.
async fn collect_garbage(pair: &Pair, before: Dump) {
    let models: Dump = before.into_iter().chain(pair.target.dump(&[]).await.unwrap()).collect();
    let servers = [&pair.source, &pair.target];
    try_join_all(servers.map(|server| server.collect_garbage(&models))).await.unwrap();
}

/// Moves each namespace with pivot-host; the codes with which it refuses.
async fn by_pivot_host(pair: &Pair, shapes: &[Shape]) -> BTreeMap<String, BTreeSet<String>> {
    let host = Host::between(pair.source.kubeconfig(), pair.target.kubeconfig());
    let one = async |shape: &Shape| {
        let words = [&["move", "-n", &shape.name][..], &shape.flags].concat();
        (shape.name.clone(), codes(&host, &words).await)
    };
    stream::iter(shapes).map(one).buffer_unordered(CONCURRENT).collect().await
}

/// The codes with which a move is refused; none if it moves.
async fn codes(host: &Host, words: &[&str]) -> BTreeSet<String> {
    let ended = host.run(words).await.unwrap();
    match ended.code {
        Some(0) => BTreeSet::new(),
        Some(7) => BTreeSet::from(["nothing-to-move".to_owned()]),
        Some(3) => {
            let document = ended.document().unwrap();
            let refusals = document["refusals"].as_array().unwrap();
            refusals.iter().map(|refusal| refusal["code"].as_str().unwrap().to_owned()).collect()
        }
        _ => panic!("{:?}", ended.done()),
    }
}

fn names<'a>(shapes: impl IntoIterator<Item = &'a Shape>) -> BTreeSet<&'a String> {
    shapes.into_iter().map(|shape| &shape.name).collect()
}

/// The whole state of a server, as far as two servers can be compared.
async fn state(server: &Server) -> Dump {
    differences::comparable(server.dump(&[]).await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn clusterctl_and_pivot_host_leave_the_same_but_for_the_differences_that_have_a_name() {
    let start = Instant::now();
    let first_seed = sampling::first_seed("random clusters").unwrap();
    let random = random(first_seed..);
    say(format_args!("random: {}", random.iter().map(|shape| &*shape.name).collect::<Vec<_>>().join(" ")));
    // What is in no namespace comes along with every move: with the first one alone, to begin with.
    let rest: Vec<Shape> = [global()].into_iter().chain(one_by_one()).chain(random).collect();
    let all = everywhere();
    let (first, others) = rest.split_at(1);

    let move_by_us = async {
        let ours = pair().await;
        fill(&ours, &all).await;
        let host = Host::between(ours.source.kubeconfig(), ours.target.kubeconfig());
        assert_eq!(codes(&host, &["move", "-A"]).await, BTreeSet::new());
        fill(&ours, &rest).await;
        let before = ours.source.dump(&[]).await.unwrap();
        let mut refused = BTreeMap::new();
        for shapes in [first, others] {
            refused.extend(by_pivot_host(&ours, shapes).await);
        }
        for server in [&ours.source, &ours.target] {
            ensure_no_secret_in_records(server).await.unwrap();
        }
        collect_garbage(&ours, before.clone()).await;
        (ours, differences::comparable(before), refused)
    };
    let (answer, (ours, before, refused)) = tokio::join!(Peer::move_shapes(&all, first, others), move_by_us);
    let theirs = &answer.value;
    let moved = &theirs.moved;
    for shape in &all {
        assert_eq!(moved[&shape.name], Ok(()));
    }
    say(format_args!("moved after {:?}", start.elapsed()));
    // The page says that the newest release has the same weaknesses but W8.
    if sampling::is_nightly() {
        let newest = Peer::of_the_newest(&all, first, others).await;
        let differs = newest.differs_from(theirs);
        let (fixed, others): (Vec<_>, Vec<_>) =
            differs.into_iter().partition(|what| what.contains("-apiserver-etcd-client"));
        assert_eq!((fixed.len(), others), (2, Vec::new()));
    }
    assert_eq!(refused.keys().collect::<BTreeSet<_>>(), names(&rest));
    assert_eq!(moved.keys().collect::<BTreeSet<_>>(), names(all.iter().chain(&rest)));
    let shapes: Vec<Shape> = all.into_iter().chain(rest).collect();

    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for shape in &shapes {
        let (Some(moved), Some(refused)) = (moved.get(&shape.name), refused.get(&shape.name)) else {
            continue;
        };
        let refused: Vec<&str> = refused.iter().map(String::as_str).collect();
        let (theirs, ours) = match shape.end {
            End::Moved => (true, None),
            End::Refused(code) => (false, Some(code)),
            End::OnlyOursRefuses(code) => (true, Some(code)),
        };
        if moved.is_ok() != theirs || refused != Vec::from_iter(ours) {
            wrong.push(format!("{}: clusterctl {moved:?}, pivot-host refuses with {refused:?}", shape.name));
        }
        if let End::OnlyOursRefuses(code) = shape.end {
            let difference =
                DIFFERENCES.iter().find(|difference| difference.explains.refusal() == Some(code));
            seen.insert(difference.unwrap().name);
        }
    }

    let states = [
        (Side::Source, theirs.source(), state(&ours.source).await),
        (Side::Target, theirs.target(), state(&ours.target).await),
    ];
    for (side, theirs, ours) in &states {
        for found in found(*side, theirs, ours) {
            let shape = shapes.iter().filter(|shape| found.key.namespace.starts_with(&shape.name));
            let shape = shape.max_by_key(|shape| shape.name.len());
            if shape.is_some_and(|shape| matches!(shape.end, End::OnlyOursRefuses(_))) {
                continue;
            }
            match DIFFERENCES.iter().find(|difference| difference.explains.object(&found)) {
                Some(difference) => drop(seen.insert(difference.name)),
                None => wrong.push(found.to_string()),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for Difference { name, why, .. } in &DIFFERENCES {
        say(format_args!("{name}: {why}"));
    }
    let unseen: Vec<_> = DIFFERENCES.iter().filter(|difference| !seen.contains(difference.name)).collect();
    assert!(unseen.is_empty(), "no shape shows {unseen:?}");

    for shape in shapes.iter().filter(|shape| shape.end == End::Moved) {
        assert!(states[1].2.keys().any(|key| key.namespace == shape.name), "{}", shape.name);
    }
    // What pivot-host refuses, it leaves as it was.
    for shape in shapes.iter().filter(|shape| shape.end != End::Moved) {
        let of = |dump: &Dump| -> Dump {
            dump.iter()
                .filter(|(key, _)| key.namespace == shape.name)
                .map(|(key, object)| (key.clone(), object.clone()))
                .collect()
        };
        assert_eq!(of(&before), of(&states[0].2), "{}", shape.name);
    }
    // No later run asks about the clusters of a day.
    if first_seed == 0 {
        answer.keep().unwrap();
    }
    say(format_args!(
        "{} shapes, {} objects compared after {:?}",
        shapes.len(),
        states[1].2.len(),
        start.elapsed()
    ));
}

/// The page lists the same differences as the code, with the same weaknesses.
#[test]
fn the_page_lists_each_difference() {
    let page =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/differences-from-clusterctl.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("\n## What a move leaves\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows: BTreeSet<(String, String)> = section
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .map(|row| {
            let cells: Vec<&str> = row.trim_end_matches('|').split(" | ").map(str::trim).collect();
            (cells[0].trim_end_matches('`').to_owned(), cells[cells.len() - 1].to_owned())
        })
        .collect();
    let listed = |Difference { name, weakness, .. }: &Difference| {
        ((*name).to_owned(), weakness.map_or_else(|| "–".to_owned(), |number| format!("W{number}")))
    };
    assert_eq!(rows, DIFFERENCES.iter().map(listed).collect());
}
