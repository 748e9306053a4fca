//! The rack moves from one side to the other, with different latencies, and no machine notices.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use pivot_lab::observer::{Side, check};
use pivot_lab::{Observer, say};
use pivot_scenarios::sampling::sample;
use pivot_scenarios::state::{belongings, carried, dangling, difference, touched};

use super::companions::compare_updates;
use super::hosts;
use super::plugins::Plugins;
use super::world::{NAMESPACE, World};

/// Milliseconds that each request takes longer.
pub(crate) const LATENCIES: [u64; 4] = [0, 5, 25, 100];

/// A landing moves with one latency, because the guide moves the rack two more times; the nightly run with all. The first move is
/// recorded. Returns the side that has the rack in the end.
pub(crate) async fn hosts_keep_their_state_at_any_latency(
    world: &mut World,
    plugins: &Plugins,
    mut from: Side,
    recording: &Path,
) -> Side {
    let directory = plugins.path();
    let mut record = vec!["--record", recording.to_str().unwrap()];
    for delay in sample("latencies", LATENCIES, 1).unwrap() {
        let flags = [
            "move",
            "-n",
            NAMESPACE,
            "--plugins",
            &directory,
            "--check-timeout",
            "5m",
            "--takeover-timeout",
            "6m",
        ];
        let flags = [&flags[..], &record].concat();
        let host = world.host(from, Duration::from_millis(delay));
        let report = observe_move(world, from, async |_| host.run(&flags).await?.done()).await;
        say(format_args!("from the {from}, {delay} ms: {}", report["phases"]));
        from = from.other();
        record.clear();
    }
    from
}

/// Moves the namespace away from a side, and checks everything that was observed meanwhile. Returns the result of the move.
pub(crate) async fn observe_move<T>(
    world: &mut World,
    from: Side,
    moving: impl AsyncFnOnce(&World) -> Result<T>,
) -> T {
    let before = world.until_quiet(from).await.unwrap();
    let logs = [from, from.other()].map(|side| world.log(side).unwrap().len());
    let (source, target) = (world.server(from), world.server(from.other()));
    let observer = Observer::start(source, target, &[NAMESPACE]).await.unwrap();
    let result = world.until_moved(from.other(), moving(world)).await.unwrap();
    compare_updates(world, from.other()).await.unwrap();
    // The operators get time for mistakes.
    let after = world.until_quiet(from.other()).await.unwrap();
    let log = observer.finish_log().await.unwrap();

    let at_first = hosts::journeys(&log, Side::Source);
    assert_eq!(hosts::astray(&log, Side::Source, &at_first), Vec::<String>::new());
    assert_eq!(hosts::astray(&log, Side::Target, &at_first), Vec::<String>::new());
    assert_eq!(hosts::exposed(&log), Vec::<String>::new());
    for (side, seen) in [from, from.other()].into_iter().zip(logs) {
        let written = world.log(side).unwrap();
        assert_eq!(hosts::harm(&written[seen..]), Vec::<&str>::new(), "on the {side}");
    }
    let broken = check(&log, &hosts::rules());
    assert_eq!(broken.iter().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());

    assert_eq!(difference(&hosts::kept(&before), &hosts::kept(&after)), "");
    let left = world.server(from).dump(&[NAMESPACE]).await.unwrap();
    assert_eq!(left.keys().collect::<Vec<_>>(), Vec::<&pivot_lab::ObjectKey>::new());
    assert_eq!(dangling(&after), Vec::<String>::new());
    let (before, after) = (carried(hosts::without_schemas(before)), carried(hosts::without_schemas(after)));
    assert_eq!(touched(&after), Vec::<String>::new());
    assert_eq!(difference(&before, &after), "");
    for side in [from, from.other()] {
        assert_eq!(belongings(world.server(side)).await.unwrap(), Vec::<String>::new());
    }
    result
}
