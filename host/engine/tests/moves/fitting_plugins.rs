//! Plans propose the bundled plugins that are made for their objects.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::plugins::hooks::Description;
use pivot_core::{GroupKind, KindLabels};
use pivot_engine::{Event, Hooks, Setup, Watcher};
use pivot_places::DirectoryPlace;

use crate::stage::{CLUSTERS, INFRA, Stage, body, kind};
use crate::{dangling, run};

/// Takes part, and does nothing.
struct Idle(Description);

#[async_trait]
impl Hooks for Idle {
    fn describe(&self) -> &Description {
        &self.0
    }
}

#[derive(Default)]
struct Proposals(Mutex<Vec<String>>);

impl Watcher for Proposals {
    fn event(&self, event: Event) {
        let Event::Note { code, text, remedies, .. } = event else { return };
        if code != "plugin-fits" {
            return;
        }
        let [Remedy::EnablePlugin { plugin, directory: Some(directory) }] = remedies.as_slice() else {
            panic!("{remedies:?}")
        };
        assert_eq!(directory, "site");
        assert!(text.starts_with(&format!("bundled plugin {plugin} takes no part")), "{text}");
        self.0.lock().unwrap().push(plugin.clone());
    }
}

/// Makes a plan, and returns the plugins that its notes propose.
async fn proposed(mut setup: Setup) -> Vec<String> {
    let proposals = Arc::new(Proposals::default());
    setup.watcher = proposals.clone();
    setup.options.plugin_directory = Some("site".into());
    let _ = run::plan(setup).await;
    let proposed = proposals.0.lock().unwrap();
    proposed.clone()
}

/// A cluster of AWS, which needs nothing that stays.
fn stage() -> Stage {
    let stage = Stage::new();
    let discover = KindLabels { discover: true, ..KindLabels::default() };
    for place in [&stage.source, &stage.target] {
        place.add_kind(kind(INFRA, "AWSCluster", "awsclusters", discover));
    }
    stage.source.insert(body(INFRA, "AWSCluster", "c", Some((CLUSTERS, "Cluster", "c")))).unwrap();
    stage
}

#[tokio::test(start_paused = true)]
async fn plans_propose_plugins_although_nothing_stays() {
    let mut stage = stage();
    assert_eq!(proposed(stage.setup()).await, ["aws"]);
    let named = |name: &str| Arc::new(Idle(Description { name: name.into(), ..Description::default() }));
    stage.plugins = vec![named("gcp")];
    assert_eq!(proposed(stage.setup()).await, ["aws"], "another plugin takes part");
    stage.plugins = vec![named("aws")];
    assert_eq!(proposed(stage.setup()).await, [""; 0], "it takes part");
    assert_eq!(proposed(Stage::new().setup()).await, [""; 0], "no provider");
}

#[tokio::test(start_paused = true)]
async fn plans_into_directories_propose_plugins() {
    for (stage, expected) in [(stage(), "aws"), (dangling::stage(), "vsphere")] {
        let directory = tempfile::tempdir().unwrap();
        let mut setup = stage.setup();
        setup.sides.target = Arc::new(DirectoryPlace::to_write(directory.path()).unwrap());
        assert_eq!(proposed(setup).await, [expected]);
    }
}

/// The refusals have the remedy.
#[tokio::test(start_paused = true)]
async fn refused_plans_propose_no_plugin_twice() {
    let mut stage = dangling::stage();
    assert_eq!(proposed(stage.setup()).await, [""; 0]);
    for (group, kind) in [("", "Secret"), (INFRA, "VSphereClusterIdentity")] {
        stage.options.accept.insert_kind(Risk::Dangling, GroupKind::new(group, kind));
    }
    assert_eq!(proposed(stage.setup()).await, ["vsphere"], "accepted, and so not refused");
}
