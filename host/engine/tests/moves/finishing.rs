//! Moves that an agent may finish alone, and what the agent says about its plugins.

use std::sync::Arc;

use pivot_core::messages::remedy::Remedy;
use pivot_core::plugins::hooks::Description;
use pivot_core::records::plugin_set::PluginSet;
use pivot_engine::hooks::Hooks;
use pivot_engine::{Exit, Failure, Setup, Sides};
use pivot_memory::MemoryPlace;
use pivot_places::AgentDescription;

use crate::committed::{Warnings, commit};
use crate::run;
use crate::simulated::holds::add_host;
use crate::stage::{Stage, is_record, picture};
use crate::trouble::code;

/// A plugin that takes no part in anything.
struct Idle(Description);

impl Hooks for Idle {
    fn describe(&self) -> &Description {
        &self.0
    }
}

fn idle(version: &str) -> Arc<dyn Hooks> {
    let (name, version, digest) = ("idle".to_owned(), version.to_owned(), format!("digest of {version}"));
    Arc::new(Idle(Description { name, version, digest, ..Description::default() }))
}

/// A move with two plugins into the cluster of an agent that may finish it alone.
fn stage() -> Stage {
    let mut stage = Stage::new();
    add_host(&mut stage, "ns");
    stage.plugins.push(idle("1.0.0"));
    stage.options.finish_alone = true;
    stage
}

/// Has an agent answer for the target that finishes moves with these plugins, if with any.
fn answer_with(stage: &Stage, plugins: Option<&[Arc<dyn Hooks>]>) {
    let set =
        |plugins: &[Arc<dyn Hooks>]| plugins.iter().map(|plugin| plugin.describe()).collect::<PluginSet>();
    stage.target.set_agent(AgentDescription { finishes_with: plugins.map(set) });
}

/// Reaches the agent directly.
fn setup(stage: &Stage) -> Setup {
    Setup { sides: Sides { target: Arc::new(stage.target.clone()), ..stage.setup().sides }, ..stage.setup() }
}

#[tokio::test(start_paused = true)]
async fn agent_with_other_plugins_begins_no_move() {
    let stage = stage();
    let own = stage.plugins.clone();
    let with = |other: &[Arc<dyn Hooks>]| own.iter().take(1).chain(other).cloned().collect::<Vec<_>>();
    let before = (picture(&stage.source), picture(&stage.target));
    for (plugins, expected, words) in [
        (None, "agent-cannot-finish", "doesn't finish moves alone"),
        (Some(Vec::new()), "agent-plugins-differ", "holds  is missing and idle 1.0.0 is missing"),
        (Some(with(&[])), "agent-plugins-differ", "idle 1.0.0 is missing"),
        (Some(with(&[idle("1.0.1")])), "agent-plugins-differ", "idle is 1.0.1 instead of 1.0.0"),
    ] {
        answer_with(&stage, plugins.as_deref());
        let stop = run::start(setup(&stage)).await.unwrap_err();
        assert_eq!((stop.exit, code(&stop)), (Exit::Refused, expected), "{stop}");
        assert!(stop.to_string().contains(words), "{stop}");
        let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
        assert_eq!(refusals[0].remedies, [Remedy::StartFinishingAgent, Remedy::WaitForLink]);
        assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    }
    // The next call of the agent counts.
    answer_with(&stage, Some(&own));
    run::start(setup(&stage)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn other_plugins_stop_no_waiting_agents_move() {
    let mut stage = stage();
    stage.options.finish_alone = false;
    answer_with(&stage, Some(&[]));
    run::start(setup(&stage)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn agent_that_loses_its_plugins_is_reported() {
    let stage = stage();
    answer_with(&stage, Some(&stage.plugins));
    let target = stage.target.clone();
    stage.source.on_call(move |verb, key| {
        if verb == "patch" && is_record(key, "source") {
            target.set_agent(AgentDescription { finishes_with: None });
        }
        None
    });
    let warnings = Arc::new(Warnings::default());
    run::start(Setup { watcher: warnings.clone(), ..setup(&stage) }).await.unwrap();
    let told = warnings.0.lock().unwrap().join("\n");
    assert!(told.contains("the agent doesn't finish moves alone"), "{told}");
}

/// Nothing but the beginning of its own move follows from what the agent says.
// proves: T174
#[tokio::test(start_paused = true)]
async fn agent_that_lies_about_plugins_finishes_nothing() {
    let honest = stage();
    answer_with(&honest, Some(&honest.plugins));
    run::start(setup(&honest)).await.unwrap();
    let lying = stage();
    answer_with(&lying, Some(&lying.plugins));
    let mut lying = commit(lying).await;
    let own = std::mem::replace(&mut lying.plugins, vec![idle("6.6.6")]);
    let before = (picture(&lying.source), picture(&lying.target));
    let source = MemoryPlace::new("away");
    source.on_call(|verb, key| panic!("the source that is away was asked to {verb} {key}"));
    let setup = setup(&lying);
    let sides = Sides { source: Arc::new(source), ..setup.sides.clone() };
    let stop = run::finish_alone(Setup { sides, ..setup }, None).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::Plugins { .. }), "{stop}");
    assert_eq!((picture(&lying.source), picture(&lying.target)), before);
    lying.plugins = own;
    run::resume(lying.setup()).await.unwrap();
    assert_eq!(picture(&lying.target), picture(&honest.target));
    assert_eq!(picture(&lying.source), picture(&honest.source));
}
