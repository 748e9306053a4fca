//! Each promise broken by hand, and a run that keeps them all.

use serde_json::json;

use super::*;

const HOST: &str = "Host.example.com";
const HELD: &str = "example.com/held";

fn cluster() -> ObjectKey {
    ObjectKey::new("Cluster.cluster.x-k8s.io", "n", "c")
}

fn seen(side: Side, object: Value) -> Event {
    Event { side, key: cluster(), object, gone: false }
}

fn gone(side: Side, object: Value) -> Event {
    Event { side, key: cluster(), object, gone: true }
}

fn object(paused: bool, annotations: Value) -> Value {
    json!({
        "metadata": { "uid": "u", "resourceVersion": "1", "annotations": annotations, "finalizers": ["f"] },
        "spec": { "paused": paused, "size": 3 },
        "status": { "seen": true },
    })
}

fn dying(mut object: Value) -> Value {
    object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    object
}

fn broken(started: usize, events: Vec<Event>) -> Vec<Broken> {
    broken_by(&Rules::new().held(HOST, HELD), started, events)
}

fn broken_by(rules: &Rules, started: usize, events: Vec<Event>) -> Vec<Broken> {
    check(&Log { events, started }, rules).into_iter().map(|violation| violation.what).collect()
}

/// Pause, copy, resume in the target, release in the source.
fn good_run() -> Vec<Event> {
    let released = json!({ "a": "1", DELETE_FOR_MOVE: "" });
    vec![
        seen(Side::Source, object(false, json!({ "a": "1" }))),
        seen(Side::Source, object(true, json!({ "a": "1" }))),
        seen(Side::Target, object(true, json!({ "a": "1", "pivot-host.io/move": "m" }))),
        seen(Side::Target, object(false, json!({ "a": "1", "pivot-host.io/move": "m" }))),
        seen(Side::Source, object(true, released.clone())),
        gone(Side::Source, dying(object(true, released))),
    ]
}

#[test]
fn a_good_run_breaks_nothing() {
    assert_eq!(broken(1, good_run()), []);
}

#[test]
fn a_rollback_breaks_nothing() {
    let mut events = good_run();
    events.truncate(3);
    events.push(gone(Side::Target, dying(object(true, json!({ "a": "1", "pivot-host.io/move": "m" })))));
    events.push(seen(Side::Source, object(false, json!({ "a": "1" }))));
    assert_eq!(broken(1, events), []);
}

#[test]
fn one_an_object_on_neither_side() {
    let mut events = good_run();
    events.remove(2);
    events.remove(2);
    let found = broken(1, events);
    assert_eq!(found, [Broken::Lost { side: Side::Source }, Broken::NeverCopied { differs: vec![] }]);

    let mut events = good_run();
    events.push(gone(Side::Target, object(false, json!({}))));
    assert_eq!(broken(1, events), [Broken::Lost { side: Side::Target }]);
}

#[test]
fn two_a_cluster_active_on_both_sides_is_said_once() {
    let mut events = good_run();
    events[1] = seen(Side::Source, object(false, json!({ "a": "1" })));
    events.insert(4, seen(Side::Target, object(false, json!({ "a": "1", "x": "y" }))));
    events.truncate(5);
    assert_eq!(broken(1, events), [Broken::ActiveTwice]);
}

#[test]
fn two_the_paused_annotation_is_a_pause_and_a_held_kind_has_its_own() {
    let annotated = object(false, json!({ "cluster.x-k8s.io/paused": "" }));
    let active = object(false, json!({}));
    let both = |left: &Value, right: &Value| {
        vec![seen(Side::Source, left.clone()), seen(Side::Target, right.clone())]
    };
    assert_eq!(broken(1, both(&annotated, &active)), []);

    let host = |mut events: Vec<Event>| {
        events.iter_mut().for_each(|event| event.key = ObjectKey::new(HOST, "n", "h"));
        events
    };
    assert_eq!(broken(1, host(both(&annotated, &active))), [Broken::ActiveTwice]);
    let held = object(false, json!({ HELD: "" }));
    assert_eq!(broken(1, host(both(&held, &active))), []);
}

#[test]
fn three_a_state_that_was_never_copied() {
    let mut events = good_run();
    let mut last = object(true, json!({ "a": "2", DELETE_FOR_MOVE: "" }));
    last["spec"]["size"] = json!(4);
    events[5] = gone(Side::Source, last);
    let differs = vec!["/metadata/annotations/a".to_owned(), "/spec/size".to_owned()];
    assert_eq!(broken(1, events.clone()), [Broken::NeverCopied { differs }]);

    let adapted = Rules::new().strip(|_, state| state["spec"]["size"] = json!(0)).bookkeeping("a");
    assert_eq!(broken_by(&adapted, 1, events), []);
}

#[test]
fn four_annotations_replaced_instead_of_merged() {
    let mut events = good_run();
    events[4] = seen(Side::Source, object(true, json!({ DELETE_FOR_MOVE: "" })));
    assert_eq!(broken(1, events)[0], Broken::AnnotationsLost { lost: vec!["a".to_owned()] });

    // Removed together with the finalizers, without any other sign of a deletion.
    let mut events = good_run();
    let mut stripped = object(true, json!({}));
    stripped["metadata"]["finalizers"] = json!([]);
    events[4] = seen(Side::Source, stripped);
    assert_eq!(broken(1, events)[0], Broken::AnnotationsLost { lost: vec!["a".to_owned()] });

    // Somebody edits an object that stays.
    let mut events = good_run();
    events[1] = seen(Side::Source, object(true, json!({})));
    events.truncate(2);
    assert_eq!(broken(1, events), []);
}

#[test]
fn four_deletion_while_the_pause_is_gone() {
    let mut events = good_run();
    events[5] = seen(Side::Source, dying(object(false, json!({ "a": "1", DELETE_FOR_MOVE: "" }))));
    let found = broken(1, events);
    assert!(found.contains(&Broken::DeletedUnpaused { side: Side::Source }), "{found:?}");

    // Checked in the target while the source has it, as in a rollback; afterwards it is the target's own business.
    let mut events = good_run();
    events.truncate(3);
    events.push(seen(Side::Target, dying(object(false, json!({ "a": "1" })))));
    assert_eq!(broken(1, events), [Broken::DeletedUnpaused { side: Side::Target }]);
    let mut events = good_run();
    events.push(seen(Side::Target, dying(object(false, json!({ "a": "1" })))));
    assert_eq!(broken(1, events), []);
}

/// An object that the target had before, and then what happens to it.
fn foreign(annotations: Value, events: Vec<Event>) -> (usize, Vec<Event>) {
    let there = seen(Side::Target, object(false, annotations));
    (1, [vec![there], events].concat())
}

#[test]
fn seven_an_object_of_somebody_else_in_the_target() {
    let found = |annotations: Value, events: Vec<Event>| {
        let (started, events) = foreign(annotations, events);
        broken(started, events)
    };
    let note = || json!({ "a": "1" });
    let overwritten = |paths: &[&str]| {
        vec![Broken::Overwritten { differs: paths.iter().map(ToString::to_string).collect() }]
    };
    // Overwritten, with or without our mark, and then again: reported once.
    let mut written = object(true, json!({ "a": "1", "pivot-host.io/move": "m" }));
    let again = object(true, json!({ "a": "2", "pivot-host.io/move": "m" }));
    let events = vec![seen(Side::Target, written.clone()), seen(Side::Target, again)];
    let paths = ["/metadata/annotations/pivot-host.io/move", "/spec/paused"];
    assert_eq!(found(note(), events), overwritten(&paths));
    written["metadata"]["ownerReferences"] = json!([{ "uid": "o" }]);
    written["metadata"]["annotations"] = note();
    let paths = ["/metadata/ownerReferences", "/spec/paused"];
    assert_eq!(found(note(), vec![seen(Side::Target, written)]), overwritten(&paths));
    // Deleted, at once or in two steps, and created again.
    let end = dying(object(false, note()));
    let events = vec![
        seen(Side::Target, end.clone()),
        gone(Side::Target, end),
        seen(Side::Target, object(true, note())),
    ];
    assert_eq!(found(note(), events.clone()), overwritten(&[]));
    assert_eq!(found(note(), events[1..].to_vec()), overwritten(&[]));
}

#[test]
fn seven_what_is_ours_or_nobodys_doing_is_no_overwriting() {
    let found = |rules: &Rules, annotations: Value, event: Event| {
        let (started, events) = foreign(annotations, vec![event]);
        broken_by(rules, started, events)
    };
    let changed = || seen(Side::Target, object(true, json!({})));
    assert_eq!(found(&Rules::new(), json!({ "pivot-host.io/move": "m" }), changed()), []);
    assert_eq!(found(&Rules::new().target_at_work(), json!({}), changed()), []);
    assert_eq!(found(&Rules::new(), json!({}), changed()).len(), 1);
    // The same name in the source, and a status.
    assert_eq!(found(&Rules::new(), json!({}), seen(Side::Source, object(true, json!({})))), []);
    let mut reported = object(false, json!({}));
    reported["status"] = json!({ "seen": false });
    reported["metadata"]["resourceVersion"] = json!("2");
    assert_eq!(found(&Rules::new(), json!({}), seen(Side::Target, reported)), []);
    // Its deletion had started before.
    let events =
        [false, true].map(|gone| Event { gone, ..seen(Side::Target, dying(object(false, json!({})))) });
    assert_eq!(broken(1, events.to_vec()), []);
    // Objects made by the run belong to it.
    assert_eq!(broken(0, vec![seen(Side::Target, object(false, json!({}))), changed()]), []);
}

#[test]
fn objects_that_are_not_moved_are_nobodys_business() {
    let events = vec![
        seen(Side::Source, object(false, json!({}))),
        seen(Side::Target, object(false, json!({}))),
        gone(Side::Source, object(false, json!({}))),
        gone(Side::Target, object(false, json!({}))),
    ];
    assert_eq!(broken_by(&Rules::new().moved(|_| false), 1, events.clone()), []);
    // Not there at the start: created and removed by somebody during the run.
    assert_eq!(broken_by(&Rules::new(), 0, events.clone()), []);
    assert!(!broken_by(&Rules::new(), 1, events).is_empty());
}

#[test]
fn a_violation_says_what_where_and_which_promise() {
    let violation = Violation { key: cluster(), at: 7, what: Broken::Lost { side: Side::Source } };
    let text =
        "invariant 1 (event 7): Cluster.cluster.x-k8s.io n/c exists on neither side; the source had it last";
    assert_eq!(violation.to_string(), text);

    let what = Broken::Overwritten { differs: vec!["/spec/size".to_owned()] };
    let text = "invariant 7 (event 8): Cluster.cluster.x-k8s.io n/c was in the target before the move, and was changed: /spec/size";
    assert_eq!(Violation { key: cluster(), at: 8, what }.to_string(), text);
}
