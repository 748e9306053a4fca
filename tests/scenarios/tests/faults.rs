//! A network and servers that fail now and then: the move takes longer, but has the same result.

use pivot_lab::proxy::{Fault, Rule, Seen, Times};
use pivot_lab::{Observer, Rules};
use pivot_scenarios::host::AGENT;
use pivot_scenarios::shape;

use crate::stage::{Stage, Wired, all, clean, same};

/// What goes wrong at the same time.
type Troubles<'a> = &'a [&'a dyn Fn() -> Rule];

fn on_both(wired: &Wired, rule: impl Fn() -> Rule) {
    for proxy in [&wired.source, &wired.target] {
        proxy.faults().add(rule());
    }
}

fn ours(seen: &Seen) -> bool {
    seen.user_agent.starts_with(AGENT)
}

fn our_writes(seen: &Seen) -> bool {
    ours(seen) && seen.is_mutating()
}

// proves: D26, T114
#[tokio::test(flavor = "multi_thread")]
async fn failing_servers_and_lost_answers_do_not_change_the_outcome() {
    let stage = Stage::start().await;
    let busy = || Rule::new(Times::Every(40), Fault::too_many_requests(1), ours);
    let storm = || Rule::new(Times::First(5), Fault::too_many_requests(1), our_writes);
    let broken =
        |status| move || Rule::new(Times::Every(5), Fault::Answer { status, retry_after: None }, ours);
    let before = || Rule::new(Times::Every(4), Fault::ResetBefore, our_writes);
    let after = || Rule::new(Times::Every(4), Fault::ResetAfter, our_writes);
    let cases: [(&str, Troubles<'_>); 6] = [
        ("busy", &[&busy]),
        ("storm", &[&storm]),
        ("unavailable", &[&broken(503), &broken(500), &broken(504)]),
        ("reset-before", &[&before]),
        ("reset-after", &[&after]),
        ("all-at-once", &[&busy, &after, &broken(503)]),
    ];
    let namespaces = cases.map(|(namespace, _)| namespace);
    let objects = namespaces.iter().flat_map(|namespace| shape::cluster(namespace, 1)).collect();
    stage.pair.source.apply_values(objects).await.unwrap();
    let wired = stage.wired().await;
    let observer = Observer::of(&stage.pair, &namespaces).await.unwrap();
    for (namespace, rules) in cases {
        let before = all(&stage.pair.source, &[namespace]).await;
        rules.iter().for_each(|rule| on_both(&wired, rule));
        let words = [&["move", "-n", namespace][..], &shape::WITHOUT_PLUGIN].concat();
        let start = std::time::Instant::now();
        wired.host.run(&words).await.unwrap().done().unwrap();
        pivot_lab::say(format_args!("{namespace}: {:.1} s", start.elapsed().as_secs_f64()));
        wired.source.faults().clear();
        wired.target.faults().clear();
        same(before, all(&stage.pair.target, &[namespace]).await);
        assert!(all(&stage.pair.source, &[namespace]).await.is_empty());
    }
    stage.tidy(&namespaces).await;
    clean(observer, &Rules::new()).await;
}
