//! MachineDrainRules of namespaces from which Machines move.

use std::sync::Arc;

use pivot_core::objects::selector::Part;
use pivot_core::{Key, KindLabels};
use pivot_memory::Fault;
use pivot_places::PlaceError;
use serde_json::json;

use crate::clusters::Notes;
use crate::run;
use crate::stage::{CLUSTERS, Stage, body, key, kind};

const RULE: &str = "MachineDrainRule";

fn rules() -> [Key; 2] {
    ["a", "b"].map(|name| key(CLUSTERS, RULE, name))
}

/// The stage with two rules, one of which the target has.
fn stage() -> Stage {
    let stage = Stage::new();
    let discover = KindLabels { discover: true, ..KindLabels::default() };
    for place in [&stage.source, &stage.target] {
        place.add_kind(kind(CLUSTERS, RULE, "machinedrainrules", discover));
    }
    for rule in rules() {
        let mut rule = body(CLUSTERS, RULE, &rule.name, None);
        rule["spec"] = json!({"drain": {"behavior": "Skip"}});
        stage.source.insert(rule).unwrap();
    }
    stage
}

/// Returns what a move says about the rules.
async fn notes(stage: &Stage) -> Vec<(String, String)> {
    let notes = Arc::new(Notes::default());
    let mut setup = stage.setup();
    setup.watcher = notes.clone();
    run::start(setup).await.unwrap();
    let notes = notes.0.lock().unwrap();
    notes.iter().filter(|(code, _)| code.starts_with("drain-rules-")).cloned().collect()
}

#[tokio::test(start_paused = true)]
async fn rules_that_stay_are_reported_once() {
    let stage = stage();
    stage.target.add_namespace("ns");
    stage.target.insert(body(CLUSTERS, RULE, "b", None)).unwrap();
    let text =
        "MachineDrainRules that stay (1: ns/a) aren't in the target, which drains Machines without them";
    assert_eq!(notes(&stage).await, [("drain-rules-stay".to_owned(), text.to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn the_offered_option_copies_all_rules() {
    let mut stage = stage();
    let [a, b] = rules();
    stage.options.scope.also_copy.insert(Part::of_kind(a.group_kind.clone()));
    assert!(notes(&stage).await.is_empty());
    for rule in [a, b] {
        assert!(stage.target.body(&rule).is_some() && stage.source.body(&rule).is_some(), "{rule}");
    }
}

#[tokio::test(start_paused = true)]
async fn unlisted_rules_are_not_judged() {
    let stage = stage();
    stage.target.on_call(|verb, key| {
        let denied = verb.starts_with("list") && key.group_kind.kind == RULE;
        denied.then(|| Fault::Before(PlaceError::Forbidden("no".into())))
    });
    let text = "pivot-host can't list MachineDrainRules of the target, so it doesn't know whether those that stay are there";
    assert_eq!(notes(&stage).await, [("drain-rules-unreadable".to_owned(), text.to_owned())]);
}
