//! A run that is suspended while another run breaks its lease and finishes its move.

use pivot_lab::proxy::Moment;
use pivot_lab::{Observer, Rules, process};
use pivot_scenarios::host::AGENT;
use pivot_scenarios::point::Point;
use pivot_scenarios::shape;
use tokio::sync::oneshot;

use crate::stage::{Stage, all, clean, same};

/// The target's record exists, and the source's says Copied.
const COPIED: Point = Point::of_target("POST", "/configmaps?", 1, Moment::After);

// proves: T115
#[tokio::test(flavor = "multi_thread")]
async fn suspended_run_writes_nothing_after_takeover() {
    let stage = Stage::start().await;
    let before = stage.fill("shop", 1).await;
    let observer = Observer::of(&stage.pair, &["shop"]).await.unwrap();
    let wired = stage.wired().await;
    let (tell, pid) = oneshot::channel();
    let (frozen, suspended) = oneshot::channel();
    let freeze = async move {
        process::freeze(pid.await.unwrap()).unwrap();
        frozen.send(()).unwrap();
    };
    wired.target.faults().add(COPIED.rule(freeze));
    let words = [&["move", "-n", "shop"][..], &shape::WITHOUT_PLUGIN].concat();
    let first = wired.host.start(&words).await.unwrap();
    tell.send(first.id()).unwrap();
    suspended.await.unwrap();

    let status = stage.host.run(&["status"]).await.unwrap().done().unwrap();
    assert_eq!(status["moves"][0]["record"]["phase"], "Copied");
    let report = stage.host.run(&["resume", "--break-lease"]).await.unwrap().done().unwrap();
    assert_eq!(report["outcome"], "Moved");
    let after = all(&stage.pair.target, &["shop"]).await;
    same(before, after.clone());

    let servers = [&stage.pair.source, &stage.pair.target];
    let mut marks = Vec::new();
    for server in servers {
        marks.push(server.audit_mark().await.unwrap());
    }
    process::thaw(first.id()).unwrap();
    let ended = first.end().await.unwrap().ends_with(4).unwrap().document().unwrap();
    assert!(ended["message"].as_str().unwrap().contains("the lease is lost"), "{ended}");
    assert!(ended["next"][0].as_str().unwrap().contains("pivot-host status "), "{ended}");
    for (server, mark) in servers.into_iter().zip(marks) {
        let requests = server.audit_since(mark).await.unwrap().of(AGENT);
        // At most it asks for the lease that it had, and doesn't get it.
        let others =
            requests.only(|request| request.is_mutating() && !(request.is_lease() && request.code >= 400));
        assert_eq!(others.requests, [], "on the {}", server.name());
    }
    assert_eq!(all(&stage.pair.target, &["shop"]).await, after);
    assert!(all(&stage.pair.source, &["shop"]).await.is_empty());
    stage.tidy(&["shop"]).await;
    clean(observer, &Rules::new()).await;
}
