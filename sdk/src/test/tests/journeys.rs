//! Whole journeys of a paused object, with a controller in the target.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{HOST, PAUSED};
use crate::prelude::*;
use crate::test::{Harness, Journey};

/// A plugin that pauses hosts, restores their status, and waits for the controller.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Pausing {
    removes_any_pause: bool,
}

impl Plugin for Pausing {
    fn about() -> About {
        About::new("pausing", "0.1.0", "Pauses hosts.").holds(HOST).restores(HOST).settles(HOST)
    }

    fn configure() -> Result<Self> {
        config::get()
    }

    fn hold(&self, host: &Object) -> Result<Patch> {
        Ok(host.patch().set_own_pause::<Self>(PAUSED, "true"))
    }

    fn restore(&self, _: &Object, _: &Object) -> Result<Restoration> {
        Ok(Restoration::copy_field("/status"))
    }

    fn settle(&self, host: &Object) -> Result<Settlement> {
        let patch = match self.removes_any_pause {
            true => host.patch().remove_annotation(PAUSED),
            false => host.patch().remove_own_pause::<Self>(PAUSED),
        };
        if !patch.is_empty() {
            return Ok(patch.into());
        }
        if !context::was_written_since_commit() || host.text("/status/state") != Some("ready") {
            let busy = Problem::new("busy", "its controller has not taken it up");
            return Ok(Settlement::wait(busy.with_remedy("look at its log")));
        }
        Ok(Settlement::Done)
    }
}

crate::export!(Pausing, hooks = [hold, restore, settle]);

fn host(annotations: Value) -> Value {
    let meta = json!({"name": "a", "namespace": "n", "generation": 7, "annotations": annotations});
    let status = json!({"state": "ready", "observedGeneration": 7});
    json!({"apiVersion": "example.io/v1", "kind": "Host", "metadata": meta, "status": status})
}

/// A controller that is first busy, then ready.
fn take_up(host: &Object) -> Patch {
    match host.text("/status/seen") {
        _ if host.annotation(PAUSED).is_some() => Patch::empty(),
        None => host.patch().set("/status", json!({"seen": "once", "state": "busy"})),
        Some(_) => host.patch().set("/status/state", "ready"),
    }
}

fn journey(annotations: Value, controller: fn(&Object) -> Patch) -> Journey {
    Harness::<Pausing>::new().journey_with(host(annotations), controller).unwrap()
}

#[test]
fn controller_has_a_turn_in_journeys() {
    let done = journey(json!({}), take_up);
    assert_eq!(done.held.annotation(PAUSED), Some("true"));
    assert_eq!(done.restored.get("/status/observedGeneration"), Some(&json!(1)));
    assert_eq!((done.open, done.settled.annotation(PAUSED)), (None, None));
    assert_eq!(done.settled.text("/status/seen"), Some("once"));
    // A restored status is no sign of the controller.
    assert_eq!(journey(json!({}), |_| Patch::empty()).open.unwrap().code, "busy");
}

#[test]
fn own_pause_leaves_a_users_pause() {
    for value in ["true", "maintenance"] {
        let paused = journey(json!({PAUSED: value}), take_up);
        assert_eq!(paused.held, Object::from(host(json!({PAUSED: value}))));
        assert_eq!(paused.settled.annotation(PAUSED), Some(value));
    }
    let replaced = json!({PAUSED: "maintenance", "pausing.pivot-host.io/own-paused": "true"});
    assert!(Object::from(host(replaced)).patch().remove_own_pause::<Pausing>(PAUSED).is_empty());
}

#[test]
fn waiting_journeys_keep_a_users_pause() {
    let journey = || {
        Harness::<Pausing>::new()
            .set_config(json!({"removes_any_pause": true}))
            .journey_with(host(json!({PAUSED: "maintenance"})), |_| Patch::empty())
    };
    let panic = catch_unwind(AssertUnwindSafe(journey)).expect_err("a user's pause was removed");
    let message = panic.downcast::<String>().expect("a message");
    assert!(message.contains("annotations is not what it was: {\"example.io/paused\":null}"), "{message}");
}
