//! Several plugins together, and plugins with many objects.

use std::time::{Duration, Instant};

use pivot_lab::say;

use crate::stage::{HOSTILE, Stage, as_before, cluster, decent, host, says};

/// Two plugins patch one path: neither value can win.
// proves: T9
#[tokio::test(flavor = "multi_thread")]
async fn two_plugins_with_one_path_are_refused_before_the_pause() {
    let stage = Stage::start().await;
    let plugins = stage.plugins("clash", &["hostile", "rival"], HOSTILE).await;
    let mut objects = cluster("clash", "", "");
    objects.push(host("clash", "h", "adapt/note"));
    stage.fill(objects).await;
    let before = stage.picture("clash").await;
    let ended = stage.between(&plugins).run(&["move", "-n", "clash"]).await.unwrap().ends_with(3).unwrap();
    decent(&ended).unwrap();
    let words = ["plugin rival failed in adapt for Host clash/h", "plugin hostile both change /spec/note"];
    says(&ended, &words).and_then(|()| says(&ended, &["state: nothing is changed"])).unwrap();
    as_before(&before, &stage.picture("clash").await, true).unwrap();
    stage.no_traces("clash").await.unwrap();
}

/// A hundred hosts, each linked to all others: there is no such order, and nothing waits for one.
#[tokio::test(flavor = "multi_thread")]
async fn objects_that_all_link_to_each_other_still_move() {
    let stage = Stage::start().await;
    let plugins = stage.hostile("linked", "never/").await;
    let mut objects = cluster("linked", "", "");
    objects.extend((0..100).map(|n| host("linked", &format!("h{n}"), "relate/link-all")));
    stage.fill(objects).await;
    let [before, _] = stage.picture("linked").await;
    let begun = Instant::now();
    let ended = stage.between(&plugins).run(&["move", "-n", "linked"]).await.unwrap();
    say(format_args!("relate/link-all: exit {:?} in {:.1}s", ended.code, begun.elapsed().as_secs_f64()));
    decent(&ended).and_then(|()| says(&ended, &["note: may be created before Host linked/h"])).unwrap();
    ended.done().unwrap();
    assert!(begun.elapsed() < Duration::from_mins(3), "{:?}", begun.elapsed());
    let [source, target] = stage.picture("linked").await;
    assert!(source.is_empty());
    assert_eq!(target.len(), before.len());
}
