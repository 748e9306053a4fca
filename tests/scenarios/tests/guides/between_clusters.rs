//! docs/guides/cluster-to-cluster.md: with a saved plan and without one; each of them also stopped.

use std::fs;

use pivot_lab::{Observer, Rules};
use pivot_scenarios::shape;
use pivot_scenarios::state::until_gone;

use super::page::Guide;
use super::{cluster_without_hosts, stop_while_copying, without_controllers};
use crate::stage::{Stage, all, clean, same};

const PAGE: &str = "cluster-to-cluster.md";
/// The namespace on the page.
const NAMESPACE: &str = "team-a";
/// Namespaces whose moves are other ways of the page: without a plan, stopped without a plan, and stopped with a plan.
const UNPLANNED: &str = "team-b";
const STOPPED: &str = "team-c";
const STOPPED_WITH_PLAN: &str = "team-d";
const NAMESPACES: [&str; 4] = [NAMESPACE, UNPLANNED, STOPPED, STOPPED_WITH_PLAN];

const PLAN: &str = "Plan, and have it approved";
const STOP: &str = "If it stops";

fn has_plan(line: &str) -> bool {
    line.contains(" --plan ")
}

/// Removes the files of a move, so that the next move can write them.
fn remove_results(guide: &Guide) {
    for name in ["plan.json", "plan.html", "report.html"].map(|name| guide.file(name)) {
        if name.exists() {
            fs::remove_file(name).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn guide_between_clusters_works_as_written() {
    let stage = Stage::start().await;
    let mut guide = Guide::open(PAGE, without_controllers).await;
    let (source, target) = (&stage.pair.source, &stage.pair.target);
    for (server, name) in [(source, "old.kubeconfig"), (target, "new.kubeconfig")] {
        fs::copy(server.kubeconfig(), guide.file(name)).unwrap();
        for file in ["namespaces.yaml", "providers.yaml"] {
            server.apply(&shape::example_file(file).unwrap()).await.unwrap();
        }
    }
    source
        .apply_values(NAMESPACES.iter().flat_map(|namespace| cluster_without_hosts(namespace, "c")).collect())
        .await
        .unwrap();
    let before = all(source, &NAMESPACES).await;
    let observer = Observer::start(source, target, &NAMESPACES).await.unwrap();
    let plan = guide.file("plan.json").display().to_string();

    // With a plan, after an attempt that is rolled back.
    guide.type_section("Before you begin");
    guide.type_section(PLAN);
    stop_while_copying(&stage, &["move", "--plan", &plan]).await;
    guide.type_chosen(STOP, |line| line.contains(" rollback "));
    same(before.clone(), all(source, &NAMESPACES).await);
    until_gone(target, NAMESPACE).await.unwrap();
    guide.type_chosen("Move", has_plan);
    let result = guide.type_section("How to tell that it worked");
    assert!(result.contains("The last moves"), "{result}");
    assert!(fs::read_to_string(guide.file("plan.html")).unwrap().contains("<html"));
    assert!(all(source, &[NAMESPACE]).await.is_empty());

    guide.replace(NAMESPACE, UNPLANNED);
    remove_results(&guide);
    guide.type_chosen("Move", |line| !has_plan(line));

    stop_while_copying(&stage, &["move", "-n", STOPPED]).await;
    guide.type_chosen(STOP, |line| line.contains(" resume ") && !has_plan(line));

    guide.replace(NAMESPACE, STOPPED_WITH_PLAN);
    remove_results(&guide);
    guide.type_chosen(PLAN, |line| line.contains(" --out ") && !line.contains(" > "));
    stop_while_copying(&stage, &["move", "--plan", &plan]).await;
    guide.type_chosen(STOP, has_plan);

    guide.ensure_all_typed();
    same(before, all(target, &NAMESPACES).await);
    assert!(all(source, &NAMESPACES).await.is_empty());
    stage.tidy(&NAMESPACES).await;
    clean(observer, &Rules::new()).await;
}
