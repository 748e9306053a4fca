//! Plans in files: what is read back, what is refused, what counts as a difference.

use pivot_worlds::mutants;
use serde_json::{Value, json};

use super::*;
use crate::messages::risk::Risk;
use crate::objects::{merge, names, pause};
use crate::plan::{ChangingHook, KeepReason, Why};
use crate::request::scope::Namespaces;
use crate::testing::{Case, key, kind};
use crate::{GroupKind, Object};

const WORLD: &str = "Cluster ns/foo
    InfraCluster ns/foo < Cluster ns/foo
    Secret ns/foo-kubeconfig < Cluster ns/foo
    Machine ns/m < Cluster ns/foo
    Secret ns/other";

fn plan_of(world: &str) -> Plan {
    let mut plan = Case::new(world).plan();
    for step in &mut plan.steps {
        step.content = Some(Content::Digest(format!("content of {}", step.key.name)));
    }
    plan
}

fn decisions() -> Decisions {
    Decisions { scope: Scope::new(Namespaces::All), accept: Risk::TakeoverUnchecked.into(), handover: false }
}

fn saved(plan: &Plan) -> SavedPlan {
    let end = |label: &str| End {
        label: label.to_owned(),
        identity: Some(Uid(format!("uid of {label}"))),
        files: None,
    };
    let made = Made {
        by: "jane@laptop".to_owned(),
        at: "2026-11-21T22:00:00Z".to_owned(),
        source: end("boot"),
        target: Some(end("prod")),
        plugins: vec![Pin {
            name: "hosts".into(),
            version: "1".into(),
            digest: "d".into(),
            vouched_by: vec![],
            granted: vec![],
        }],
    };
    SavedPlan::new(plan, made, decisions(), vec!["wait".to_owned(); plan.refusals.len()])
}

fn content_of(object: &Object) -> Result<Content, crate::objects::object::ObjectError> {
    super::content_of(object, "m")
}

fn found(plan: &Plan) -> Vec<Found<'_>> {
    let found = |step| Found { step, content: step.content.clone(), in_target: None, changes: None };
    plan.steps.iter().map(found).collect()
}

#[test]
fn a_plan_is_read_back_as_it_was_saved() {
    let mut plan = plan_of(WORLD);
    plan.steps[1].in_target = Some(InTarget::Differs { fields: vec!["spec.a".into()] });
    let change =
        PluginChange { hook: ChangingHook::Adapt, by: "plugin hosts".into(), fields: vec!["/spec".into()] };
    plan.steps[2].changes.push(change);
    let saved = saved(&plan);
    assert_eq!(SavedPlan::parse(&saved.text()), Ok(saved.clone()));
    assert_eq!((saved.steps.len(), saved.stays.len()), (4, 1));
    assert_eq!(compare_with_found(&saved, found(&plan)), []);
    assert_eq!((compare_plans(&saved, &saved), aspects_between(&saved, &saved)), (vec![], vec![]));
    // Formatting is nobody's change.
    let compact = serde_json::to_string(&saved).unwrap();
    assert_eq!(SavedPlan::parse(&compact), Ok(saved));
}

/// Each value of the file.
fn pointers(value: &Value, path: &str, all: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| pointers(value, &format!("{path}/{key}"), all))
        }
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(at, value)| pointers(value, &format!("{path}/{at}"), all))
        }
        _ => all.push(path.to_owned()),
    }
}

// proves: T118
#[test]
fn a_file_that_was_edited_anywhere_or_cut_is_refused() {
    let text = saved(&plan_of(WORLD)).text();
    let whole: Value = serde_json::from_str(&text).unwrap();
    let mut all = Vec::new();
    pointers(&whole, "", &mut all);
    assert!(all.len() > 60, "{all:?}");
    for path in all {
        let mut edited = whole.clone();
        let value = edited.pointer_mut(&path).unwrap();
        *value = match &value {
            Value::Bool(is) => json!(!*is),
            Value::Number(number) => json!(number.as_u64().unwrap() + 1),
            Value::String(text) => json!(format!("{text}x")),
            _ => json!("x"),
        };
        assert!(SavedPlan::parse(&edited.to_string()).is_err(), "{path}");
    }
    for (path, line) in [("/steps", 0), ("/stays", 0)] {
        let mut edited = whole.clone();
        edited.pointer_mut(path).unwrap().as_array_mut().unwrap().remove(line);
        assert_eq!(SavedPlan::parse(&edited.to_string()), Err(SavedPlanError::Edited), "{path}");
    }
    for end in (0..text.len() - 2).step_by(97) {
        let error = SavedPlan::parse(&text[..end]).unwrap_err();
        assert!(matches!(error, SavedPlanError::NotAPlan(_)), "{end}: {error}");
    }
}

#[test]
fn a_plan_of_a_newer_version_is_refused_by_name_whatever_else_it_has() {
    let mut newer: Value = serde_json::from_str(&saved(&plan_of(WORLD)).text()).unwrap();
    newer["format"] = json!(FORMAT + 1);
    newer["writtenBy"] = json!("9.9.9");
    newer["new"] = json!({"field": 1});
    let error = SavedPlan::parse(&newer.to_string()).unwrap_err();
    assert_eq!(error, SavedPlanError::Newer { format: 3, written_by: "9.9.9".into() });
    let other = json!({"kind": "Plan", "format": 1}).to_string();
    assert_eq!(SavedPlan::parse(&other), Err(SavedPlanError::NotAPlan("its kind is not SavedPlan".into())));
    let mut unknown: Value = serde_json::from_str(&saved(&plan_of(WORLD)).text()).unwrap();
    unknown["new"] = json!(1);
    assert!(matches!(SavedPlan::parse(&unknown.to_string()), Err(SavedPlanError::NotAPlan(_))));
}

#[test]
fn each_kind_of_difference_is_named_with_its_object() {
    let plan = plan_of(WORLD);
    let saved = saved(&plan);
    let machine = || key("Machine ns/m");
    let at = plan.steps.iter().position(|step| step.key == machine()).unwrap();
    let changed = |change: &dyn Fn(&mut Step)| {
        let mut plan = plan.clone();
        change(&mut plan.steps[at]);
        compare_with_found(&saved, found(&plan))
    };
    assert_eq!(changed(&|step| step.uid = Uid("new".into())), [Difference::Replaced(machine())]);
    let content = Content::Digest("other".into());
    assert_eq!(changed(&|step| step.content = Some(content.clone())), [Difference::Content(machine())]);
    let kept = Difference::Fate { object: machine(), was: SavedFate::Move, is: SavedFate::Keep };
    assert_eq!(changed(&|step| step.fate = Fate::Keep(KeepReason::AlsoCopied)), [kept]);
    // Why is for people.
    assert_eq!(changed(&|step| step.why = Why::Labelled), []);
    let owner = json!({"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u"});
    let owner: crate::OwnerReference = serde_json::from_value(owner).unwrap();
    let without = |step: &mut Step| step.dropped_owners.push(owner.clone());
    assert_eq!(changed(&without), [Difference::Owners(machine())]);

    let more = plan_of(&format!("{WORLD}\n Machine ns/n < Cluster ns/foo"));
    assert_eq!(compare_with_found(&saved, found(&more)), [Difference::New(key("Machine ns/n"))]);
    let fewer = plan_of(&WORLD.replace("Machine ns/m < Cluster ns/foo", ""));
    assert_eq!(compare_with_found(&saved, found(&fewer)), [Difference::Gone(machine())]);
    // What stays may change as it likes.
    assert_eq!(compare_with_found(&saved, found(&plan_of(&format!("{WORLD}\n Secret ns/third")))), []);

    let asked = |in_target: Option<InTarget>, changes: Vec<PluginChange>| {
        let asked = found(&plan).into_iter().enumerate().map(|(index, one)| {
            let asked = if index == at { (in_target.clone(), changes.clone()) } else { (None, Vec::new()) };
            {
                let (in_target, changes) = asked;
                Found { in_target: Some(in_target), changes: Some(changes), ..one }
            }
        });
        compare_with_found(&saved, asked)
    };
    assert_eq!(asked(None, Vec::new()), []);
    assert_eq!(asked(Some(InTarget::Same), Vec::new()), [Difference::InTarget(machine())]);
    let change = PluginChange { hook: ChangingHook::Hold, by: "plugin hosts".into(), fields: Vec::new() };
    assert_eq!(asked(None, vec![change]), [Difference::Changes(machine())]);
}

#[test]
fn staying_objects_are_compared_with_their_reasons() {
    let old = saved(&plan_of(WORLD));
    let stay = |object: &str, why: &str| SavedStay { object: key(object), why: why.to_owned() };
    assert_eq!(compare_stays(&old, &old), []);
    let mut new = old.clone();
    let late = new.steps.pop().unwrap().object;
    new.stays =
        vec![SavedStay { object: late.clone(), why: "excluded".into() }, stay("Secret ns/new", "no owner")];
    let other = || key("Secret ns/other");
    let expected = [
        StayDifference::NowStays(late.clone()),
        StayDifference::New(key("Secret ns/new")),
        StayDifference::Gone(other()),
    ];
    assert_eq!(compare_stays(&old, &new), expected);
    let back = [
        StayDifference::NowCopied(late),
        StayDifference::New(other()),
        StayDifference::Gone(key("Secret ns/new")),
    ];
    assert_eq!(compare_stays(&new, &old), back);
    let mut reason = old.clone();
    reason.stays[0].why = "excluded by the user".into();
    assert_eq!(compare_stays(&old, &reason), [StayDifference::Reason(other())]);
}

#[test]
fn dependency_on_a_later_object_is_refused() {
    let plan = saved(&plan_of(WORLD));
    assert_eq!(plan.steps.iter().map(|step| step.after.len()).sum::<usize>(), 3, "each has its owner");
    for before in [1, 2, usize::MAX] {
        let mut edited = plan.clone();
        edited.steps[1].after = vec![before];
        let error = SavedPlan::parse(&edited.with_checksum().text()).unwrap_err().to_string();
        assert!(error.contains("comes before an object that it needs"), "{error}");
    }
}

fn host(edit: Value) -> Object {
    let mut body = json!({
        "apiVersion": "metal3.io/v1beta2", "kind": "BareMetalHost",
        "metadata": {
            "name": "h", "namespace": "ns", "uid": "u", "resourceVersion": "1", "labels": {"rack": "1"},
            "annotations": {"site.example.com/owner": "jane"},
        },
        "spec": {"online": true},
    });
    merge::apply_patch(&mut body, &edit);
    Object::from_value(kind("BareMetalHost"), &body).unwrap()
}

#[test]
fn what_a_pause_and_controllers_change_is_no_difference_and_what_people_change_is() {
    let before = content_of(&host(json!({}))).unwrap();
    let bookkeeping = [
        json!({"status": {"powered": true}}),
        json!({"metadata": {"resourceVersion": "2", "generation": 4, "finalizers": ["metal3.io/host"]}}),
        json!({"metadata": {"annotations": {"baremetalhost.metal3.io/status": "{}", names::BLOCK_MOVE: ""}}}),
    ];
    for edit in bookkeeping {
        assert_eq!(content_of(&host(edit.clone())).unwrap(), before, "{edit}");
    }
    let by_people = [
        json!({"metadata": {"labels": {"rack": "2"}}}),
        json!({"metadata": {"annotations": {"site.example.com/owner": "joe"}}}),
        json!({"metadata": {"annotations": {"plain": "1"}}}),
        json!({"metadata": {"annotations": {"baremetalhost.metal3.io/detached": ""}}}),
        json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}),
        json!({"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "x"}]}}),
        json!({"spec": {"online": false}}),
    ];
    for edit in by_people {
        assert_ne!(content_of(&host(edit.clone())).unwrap(), before, "{edit}");
    }
    // Held by a plugin, with what undoes it.
    let hold =
        json!({"metadata": {"annotations": {"held.example.com/by": "move"}, "labels": {"rack": null}}});
    let held = pause::with_undo(&host(json!({})).value().unwrap(), hold, "m");
    assert_eq!(content_of(&host(held.clone())).unwrap(), before);
    // Who writes what undoes a change beside it hides nothing.
    assert_ne!(super::content_of(&host(held), "another").unwrap(), before);
}

#[test]
fn a_cluster_that_is_paused_by_the_move_is_the_one_that_was_planned() {
    let cluster = |edit: Value| {
        let mut body = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "metadata": {"name": "c", "namespace": "ns", "uid": "u", "resourceVersion": "1"}, "spec": {"a": 1},
        });
        merge::apply_patch(&mut body, &edit);
        Object::from_value(kind("Cluster"), &body).unwrap()
    };
    let plain = cluster(json!({}));
    let paused = pause::with_undo(&plain.value().unwrap(), pause::pause_patch(&plain).unwrap().unwrap(), "m");
    assert_eq!(content_of(&cluster(paused)).unwrap(), content_of(&plain).unwrap());
    assert_ne!(
        content_of(&cluster(json!({"spec": {"paused": true}}))).unwrap(),
        content_of(&plain).unwrap(),
        "somebody else paused it"
    );
}

/// With a digest, guesses could be verified.
// proves: T122
#[test]
fn a_secret_is_known_by_its_version_alone() {
    let secret = |data: &str| {
        let body = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "s", "namespace": "ns", "uid": "u", "resourceVersion": "7"}, "data": {"p": data},
        });
        content_of(&Object::from_value(kind("Secret"), &body).unwrap()).unwrap()
    };
    assert_eq!(secret("YQ=="), Content::Version("7".into()));
    assert_eq!(secret("YQ=="), secret("Yg=="));
}

/// What differs between two plans, beside what a move finds: each way by its name.
#[test]
fn two_plans_differ_in_objects_and_in_what_they_were_made_with() {
    let plan = plan_of(WORLD);
    let old = saved(&plan);
    let object = |at: usize| old.steps[at].object.clone();
    type Edit = fn(&mut SavedPlan);
    let differing: [(Edit, Vec<Difference>); 8] = [
        (|new| drop(new.steps.remove(1)), vec![Difference::Gone(object(1))]),
        (|new| new.steps[1].uid = Uid("another".into()), vec![Difference::Replaced(object(1))]),
        (|new| new.steps[1].content = None, vec![Difference::Content(object(1))]),
        (
            |new| new.steps[1].fate = SavedFate::Keep,
            vec![Difference::Fate { object: object(1), was: SavedFate::Move, is: SavedFate::Keep }],
        ),
        (|new| new.steps[1].dropped_owners.push("Cluster foo".into()), vec![Difference::Owners(object(1))]),
        (|new| new.steps[1].in_target = Some(InTarget::Same), vec![Difference::InTarget(object(1))]),
        (
            |new| {
                let by = "plugin hosts".into();
                new.steps[1].changes.push(PluginChange { hook: ChangingHook::Hold, by, fields: vec![] });
            },
            vec![Difference::Changes(object(1))],
        ),
        (
            // What was created again has another content, too: that explains nothing more.
            |new| {
                new.steps[1].uid = Uid("another".into());
                new.steps[1].content = None;
            },
            vec![Difference::Replaced(object(1))],
        ),
    ];
    for (edit, expected) in differing {
        let mut new = old.clone();
        edit(&mut new);
        assert_eq!(compare_plans(&old, &new), expected);
    }
    let mut more = old.clone();
    let late = SavedStep {
        object: Key::new(GroupKind::new("", "Secret"), Some("ns"), "late"),
        ..old.steps[1].clone()
    };
    more.steps.push(late.clone());
    assert_eq!(compare_plans(&old, &more), [Difference::New(late.object)]);

    let aspects: [(Edit, Vec<Aspect>); 11] = [
        (
            |new| {
                let message = "the target has no webhook".to_owned();
                new.warnings.push(Note { code: "webhook".into(), object: None, message });
            },
            vec![Aspect::Warnings],
        ),
        (
            |new| {
                let (code, message) = ("foreign".to_owned(), "exists".to_owned());
                let remedy = "delete it".to_owned();
                let objects = Vec::new();
                new.refusals.push(SavedRefusal { code, side: Side::Target, objects, message, remedy });
            },
            vec![Aspect::Problems],
        ),
        (|new| new.source.identity = None, vec![Aspect::Source]),
        (|new| new.target = None, vec![Aspect::Target]),
        (|new| new.target.as_mut().unwrap().files = Some(Files::Encrypted), vec![Aspect::Target]),
        (|new| new.decisions.handover = true, vec![Aspect::Decisions]),
        (|new| new.plugins.clear(), vec![Aspect::Plugins]),
        (|new| new.plugins[0].digest = "e".into(), vec![Aspect::Plugins]),
        (|new| new.plugins[0].vouched_by.push("vetted by alice".into()), vec![]),
        (|new| new.made_by = "joe".into(), vec![]),
        // The name in a kubeconfig identifies no cluster.
        (|new| new.target.as_mut().unwrap().label = "production".into(), vec![]),
    ];
    for (edit, expected) in aspects {
        let mut new = old.clone();
        edit(&mut new);
        assert_eq!(aspects_between(&old, &new), expected);
    }
}

/// Only a plan that says the same is accepted: its checksum is of what it says.
#[test]
fn any_text_is_the_plan_or_refused() {
    let plan = saved(&plan_of(WORLD));
    let text = plan.text();
    let (mut good, mut refused) = (0, 0);
    mutants::each(&[text.as_bytes()], 1_000, |bytes| {
        match SavedPlan::parse(&String::from_utf8_lossy(bytes)) {
            Ok(read) => {
                good += 1;
                assert_eq!(read.text(), text);
            }
            Err(error) => {
                refused += 1;
                let told = error.to_string();
                assert!(told.len() < 2_000 && !told.contains(['\0', '\u{202e}']), "{told}");
            }
        }
    });
    assert!(good > 5 && refused > 500, "{good} good, {refused} refused");
}
