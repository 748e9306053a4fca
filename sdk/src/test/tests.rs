//! Each rule of the harness, broken once.

mod bounded;
mod journeys;
mod options;
mod seen;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::prelude::*;
use crate::{Hook, info};

const HOST: Kind = Kind::new("example.io", "Host");
const CONFIG_MAP: Kind = Kind::core("ConfigMap");
const PAUSED: &str = "example.io/paused";

/// A plugin that does what its configuration says, right or wrong.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Odd {
    way: String,
    port: u16,
    nested: Nested,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Nested {
    hosts: Vec<u8>,
}

thread_local! {
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

impl Plugin for Odd {
    fn about() -> About {
        About::new("odd", "0.1.0", "Breaks rules.")
            .holds(HOST)
            .settles(HOST)
            .restores(HOST)
            .understands(HOST, ["v1"])
            .reads(Side::Source, HOST)
            .probes("10.0.0.1:80")
            .sees(Kind::core("Secret"))
    }

    fn configure() -> Result<Self> {
        config::get()
    }

    fn relate(&self, object: &Object) -> Result<Vec<Relation>> {
        info!("{}", object.get("/data/password").is_some());
        if self.way == "reads" {
            objects::list(Side::Source, &HOST)?;
        }
        if self.way == "needs" {
            return Ok(vec![Relation::need(Kind::core("Secret").key_in("other", "s"))]);
        }
        if self.way == "shares" {
            return Ok(vec![Relation::share(Kind::core("Secret").key_in("other", "s"))]);
        }
        let namespace = context::target_namespace(object.namespace().unwrap_or_default());
        Ok(vec![Relation::leave(format!("it stays, and would be in {namespace}"))])
    }

    fn check(&self, _: Point, moving: &Move) -> Result<Vec<Finding>> {
        match &*self.way {
            "lists" => return objects::list(Side::Target, &CONFIG_MAP).map(|_| vec![]),
            "elsewhere" => return objects::list_in(Side::Source, &HOST, "other").map(|_| vec![]),
            "probes" => return endpoints::probe(Probe::get("http://10.0.0.2/")).map(|_| vec![]),
            "silent" => return Ok(vec![Finding::stop("no-remedy", "something is wrong")]),
            "shouts" => return Err(Error::new("Not A Code", "x")),
            _ => {}
        }
        let answers = endpoints::probe_all(&[Probe::get("http://10.0.0.1/"), Probe::tcp("10.0.0.1:80")]);
        let up = answers.iter().flatten().count();
        let hosts = objects::get_all(Side::Source, moving.of_kind(&HOST))?;
        let message = format!("{} hosts, {up} endpoints", hosts.iter().flatten().count());
        Ok(vec![Finding::note("seen", message)])
    }

    fn hold(&self, object: &Object) -> Result<Patch> {
        let calls = CALLS.get();
        CALLS.set(calls + 1);
        let user = object.annotation(PAUSED).unwrap_or_default().to_owned();
        Ok(match &*self.way {
            "random" => object.patch().set_annotation(PAUSED, calls.to_string()),
            "grows" => object.patch().set_annotation(PAUSED, format!("{user}x")),
            "spec" => object.patch().set("/spec/online", false),
            "undeclared" => object.patch().set_annotation(PAUSED, ""),
            _ if object.stored_value::<Self>("user").is_some() => Patch::empty(),
            _ => object.patch().set_annotation(PAUSED, "odd").store_value::<Self>("user", user),
        })
    }

    fn restore(&self, _: &Object, created: &Object) -> Result<Restoration> {
        Ok(match &*self.way {
            "copies-spec" => Restoration::copy_field("/spec"),
            "patches" => created.patch().set("/status/state", "patched").into(),
            "overrides" => Restoration::copy_field("/status").set("/status/state", "overridden"),
            _ => Restoration::copy_field("/status"),
        })
    }

    fn settle(&self, object: &Object) -> Result<Settlement> {
        Ok(match &*self.way {
            "waits" => {
                Settlement::wait(Problem::new("busy", "it is busy").on_object(object).with_remedy("wait"))
            }
            "watches" if !context::was_written_since_commit() => {
                Settlement::wait(Problem::new("silent", "no controller has seen it").with_remedy("wait"))
            }
            "again" => Settlement::Patch(
                object.patch().set_label("a", "b").edit_value(|o| o["metadata"]["labels"]["a"] = json!("c")),
            ),
            "empty" => Settlement::Patch(Patch::empty()),
            "litters" => object.patch().set_label("left", "over").into(),
            _ => object.patch().remove_annotation("example.io/once").into(),
        })
    }
}

crate::export!(Odd, hooks = [relate, check, hold, restore, settle]);

fn host() -> serde_json::Value {
    json!({
        "apiVersion": "example.io/v1", "kind": "Host",
        "metadata": {"name": "a", "namespace": "n", "uid": "1", "annotations": {"mine": "kept"}},
        "status": {"state": "ready", "ended": null},
    })
}

fn odd(way: &str) -> Harness<Odd> {
    let mut harness = Harness::new();
    harness.set_config(json!({"way": way})).add_to_source(host());
    harness
}

/// The message of the failed test.
fn broken<T>(way: &str, call: impl FnOnce(&mut Harness<Odd>) -> T) -> String {
    let mut harness = odd(way);
    let panic = catch_unwind(AssertUnwindSafe(|| drop(call(&mut harness)))).expect_err("a rule was broken");
    *panic.downcast::<String>().expect("a message")
}

fn assert_broken<T>(way: &str, call: impl FnOnce(&mut Harness<Odd>) -> T, expected: &str) {
    let message = broken(way, call);
    assert!(message.contains(expected), "{message}");
}

#[test]
fn answers_must_not_change_between_calls() {
    assert_broken("random", |h| h.hold(host()), "odd: hold: asked twice it answers differently");
}

#[test]
fn hooks_must_accept_their_applied_patch() {
    assert_broken("grows", |h| h.hold(host()), "asked again it is not content: {\"metadata\"");
    assert_broken("empty", |h| h.settle(host()), "answer Done");
}

#[test]
fn patches_must_stay_within_bounds() {
    assert_broken(
        "spec",
        |h| h.hold(host()),
        "touches /spec/online, which is out of bounds for hold: it may change only labels",
    );
}

#[test]
fn undeclared_kinds_are_neither_seen_nor_changed() {
    let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    assert_broken("", |h| h.relate(other), "about() does not say .sees(ConfigMap)");
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}});
    assert_broken("needs", |h| h.relate(host()), "about() needs .reaches(kind, \"other\")");
    assert_broken("shares", |h| h.relate(host()), "about() needs .reaches(kind, \"other\")");
    assert_broken("", |h| h.adapt(host()), "export! does not name it");
    assert_broken("undeclared", |h| h.hold(secret), "about() needs .holds(kind)");
}

#[test]
fn undeclared_versions_are_not_passed() {
    let mut newer = host();
    newer["apiVersion"] = json!("example.io/v2");
    assert_broken("", |h| h.hold(newer), ".understands(Host.example.io, …) without its version");
}

#[test]
fn restored_fields_are_copied_and_patched() {
    let mut created = host();
    created["status"] = json!({});
    let restored = |way: &str| odd(way).restore(host(), &created).unwrap().to_value();
    assert_eq!(restored(""), Some(json!({"status": {"state": "ready"}})));
    assert_eq!(restored("overrides"), Some(json!({"status": {"state": "overridden"}})));
    assert_eq!(restored("patches"), Some(json!({"status": {"state": "patched"}})));
    assert_broken("copies-spec", |h| h.restore(host(), host()), "`/spec`, which is no field of the status");
}

#[test]
fn tests_set_facts_about_the_run() {
    let mut harness = odd("watches");
    harness.map_namespace("n", "there");
    assert_eq!(harness.relate(host()).unwrap(), [Relation::leave("it stays, and would be in there")]);
    assert_eq!(harness.settle(host()).unwrap(), Settlement::Done);
    let silent = harness.set_written_since_commit(false).settle(host()).unwrap();
    assert!(matches!(silent, Settlement::Wait(problem) if problem.code == "silent"));
}

#[test]
fn undeclared_reads_and_probes_fail() {
    assert_broken("lists", |h| h.check(Point::AfterPause), "needs .reads(Side::Target, kind)");
    let elsewhere = "needs .reads_in(Side::Source, kind, \"other\")";
    assert_broken("elsewhere", |h| h.check(Point::AfterPause), elsewhere);
    assert_broken("probes", |h| h.check(Point::AfterPause), "it probes http://10.0.0.2/ without saying so");
    assert_broken("reads", |h| h.relate(host()), "relate must not read objects");
}

#[test]
fn remedies_and_codes_must_be_well_formed() {
    assert_broken("silent", |h| h.check(Point::AfterPause), "`no-remedy`: a remedy is empty");
    assert_broken("shouts", |h| h.check(Point::AfterPause), "`Not A Code` is no code");
}

#[test]
fn invalid_descriptions_fail() {
    let wrong = |about: About, hooks: &[Hook]| {
        let panic = catch_unwind(AssertUnwindSafe(|| declaration::assert_valid(&about, hooks)))
            .expect_err("it makes no sense");
        *panic.downcast::<String>().expect("a message")
    };
    let about = || About::new("a-b", "0.1.0", "x").sees(HOST);
    for (message, expected) in [
        (wrong(About::new("A", "0.1.0", "x"), &[]), "is not lower-case words"),
        (wrong(About::new("a", "1", "x"), &[]), "no semantic version"),
        (wrong(About::new("a", "1.0.0", ""), &[]), "no summary"),
        (wrong(about(), &[Hook::Hold]), "add .holds(kind)"),
        (wrong(about().reaches(HOST, "x"), &[Hook::Check]), "export! does not name relate"),
        (wrong(about().holds(HOST), &[Hook::Check]), "export! does not name hold"),
        (wrong(About::new("a", "1.0.0", "x"), &[Hook::Relate]), "it sees no kind"),
        (wrong(about().reads_secret_data().probes("*:1"), &[]), "no plugin gets both"),
        (wrong(about().probes("http://x"), &[]), "is no `host:port`"),
    ] {
        assert!(message.contains(expected), "{message}");
    }
}
