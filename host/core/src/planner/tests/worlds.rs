//! Properties of the plan of any management cluster (`tests/worlds`), whichever flags a user adds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use pivot_worlds::{Dice, KINDS, World};
use serde_json::Value;

use crate::discovery::inventory::Inventory;
use crate::messages::risk::Risk;
use crate::objects::selector::Part;
use crate::plan::{Fate, Plan};
use crate::planner::make_plan;
use crate::plugins::relations::Relations;
use crate::request::mapping::NamespaceMap;
use crate::request::scope::{ClusterName, Namespaces, Scope};
use crate::{GroupKind, Key, Kind, KindLabels, Object};

const SEEDS: std::ops::RangeInclusive<u64> = 1..=40;

fn kinds() -> BTreeMap<String, Arc<Kind>> {
    let made = |group: &str, kind: &str, version: &str, plural: String, namespaced, labels| Kind {
        group_kind: GroupKind::new(group, kind),
        version: version.into(),
        plural,
        namespaced,
        status_subresource: true,
        served: vec![version.into()],
        labels,
    };
    let own = KINDS.iter().map(|spec| {
        let labels = KindLabels {
            discover: true,
            moves: spec.moves == Some("move"),
            hierarchy: spec.moves == Some("move-hierarchy"),
            ..KindLabels::default()
        };
        made(spec.group, spec.kind, spec.version, spec.plural(), spec.namespaced, labels)
    });
    let core = ["Secret", "ConfigMap"]
        .map(|kind| made("", kind, "v1", format!("{}s", kind.to_lowercase()), true, KindLabels::default()));
    own.chain(core).map(|kind| (kind.group_kind.kind.clone(), Arc::new(kind))).collect()
}

/// The objects of a world that a move reads.
fn objects(world: &World) -> Vec<Object> {
    let kinds = kinds();
    let object = |body: &Value| {
        let kind = kinds.get(body["kind"].as_str().unwrap())?;
        Some(Object::parse(kind.clone(), Bytes::from(body.to_string())).unwrap())
    };
    world.objects.iter().filter_map(object).collect()
}

/// An order that has nothing to do with the one before.
fn shuffled<T>(mut all: Vec<T>, dice: Dice) -> Vec<T> {
    for at in (1..all.len()).rev() {
        let other = dice.about(&at.to_string()).below(at as u64 + 1);
        all.swap(at, usize::try_from(other).unwrap());
    }
    all
}

fn planned(objects: Vec<Object>, scope: &Scope) -> Plan {
    make_plan(&Inventory::new(objects), scope, &Relations::default(), &[])
}

/// Scopes with each of the flags that change what moves, for this world.
fn scopes(world: &World, objects: &[Object], dice: Dice) -> Vec<(&'static str, Scope)> {
    let all = Scope::new(Namespaces::All);
    let (namespace, name) = dice.about("cluster").pick(&world.clusters.iter().collect::<Vec<_>>());
    let any = |about: &str| dice.about(about).pick(&objects.iter().collect::<Vec<_>>());
    let kinds: BTreeSet<GroupKind> = objects.iter().map(|object| object.kind.group_kind.clone()).collect();
    let named = ClusterName::new(namespace.clone(), name);
    let mut scopes = vec![
        ("nothing", all.clone()),
        ("--namespace", Scope::new(Namespaces::One(namespace.clone()))),
        ("--cluster", Scope { clusters: [named].into(), ..all.clone() }),
        (
            "--exclude KIND",
            Scope { exclude: [Part::of_kind(any("kind").kind.group_kind.clone())].into(), ..all.clone() },
        ),
        ("--exclude", Scope { exclude: [Part::of_object(&any("excluded").key())].into(), ..all.clone() }),
        ("--also-copy", Scope { also_copy: [Part::of_object(&any("carried").key())].into(), ..all.clone() }),
    ];
    for risk in [Risk::OwnerDropped, Risk::DependentsLost, Risk::Shared] {
        let mut scope = all.clone();
        scope.accept.insert_kinds(risk, kinds.clone());
        scopes.push((risk.code(), scope));
    }
    let map = NamespaceMap::new([(namespace.clone(), format!("{namespace}-new"))]).unwrap();
    scopes.push(("--map-namespace", Scope { namespace_map: map, ..all }));
    scopes
}

/// Each world, each flag.
fn each(test: impl Fn(&str, &[Object], &Scope, &Plan)) {
    for seed in SEEDS {
        let (world, dice) = (World::of(seed), Dice::new(seed));
        let objects = objects(&world);
        for (flag, scope) in scopes(&world, &objects, dice) {
            test(&format!("seed {seed}, {flag}"), &objects, &scope, &planned(objects.clone(), &scope));
        }
    }
}

#[test]
fn plans_ignore_the_order_of_lists() {
    let seed = std::cell::Cell::new(0);
    each(|at, objects, scope, plan| {
        seed.set(seed.get() + 1);
        let again = planned(shuffled(objects.to_vec(), Dice::new(seed.get())), scope);
        assert_eq!(again, *plan, "{at}");
    });
}

#[test]
fn steps_come_after_what_they_need() {
    each(|at, objects, _, plan| {
        let keys: BTreeMap<&Key, usize> =
            plan.steps.iter().enumerate().map(|(index, step)| (&step.key, index)).collect();
        assert_eq!(keys.len(), plan.steps.len(), "{at}: an object is there twice");
        let by_key: BTreeMap<Key, &Object> = objects.iter().map(|object| (object.key(), object)).collect();
        for (index, step) in plan.steps.iter().enumerate() {
            assert!(step.after.iter().all(|before| *before < index), "{at}: {}", step.key);
            assert!(step.after.is_sorted(), "{at}: {}", step.key);
            // Each owner that moves is one of those that it comes after, unless the reference is dropped.
            for owner in &by_key[&step.key].meta.owner_references {
                let owner_at = plan.steps.iter().position(|other| other.uid == owner.uid);
                let dropped = step.dropped_owners.contains(owner);
                let waits = owner_at.is_none_or(|owner_at| step.after.contains(&owner_at));
                assert!(dropped || waits || !plan.refusals.is_empty(), "{at}: {} of {owner:?}", step.key);
            }
        }
    });
}

#[test]
fn every_object_is_a_step_or_stays() {
    each(|at, objects, scope, plan| {
        let steps = plan.steps.iter().map(|step| &step.key);
        let mut accounted: Vec<&Key> = steps.chain(plan.stays.iter().map(|stay| &stay.key)).collect();
        accounted.sort();
        let mut read: Vec<Key> = objects.iter().map(Object::key).collect();
        read.sort();
        // What lies in other namespaces is nothing that a move of one has read.
        read.retain(|key| scope.includes_namespace(key.namespace.as_deref()) || accounted.contains(&key));
        assert_eq!(accounted, read.iter().collect::<Vec<_>>(), "{at}");
    });
}

#[test]
fn excluded_objects_and_the_others_are_everything() {
    let mut allowed = 0;
    for seed in SEEDS {
        let (world, dice) = (World::of_sound(seed), Dice::new(seed));
        let objects = objects(&world);
        let all = Scope::new(Namespaces::All);
        let moves =
            |plan: &Plan| -> BTreeSet<Key> { plan.steps.iter().map(|step| step.key.clone()).collect() };
        let whole = moves(&planned(objects.clone(), &all));
        for number in 0..6 {
            let excluded =
                dice.about(&format!("excluded {number}")).pick(&objects.iter().collect::<Vec<_>>()).key();
            let scope = Scope { exclude: [Part::of_object(&excluded)].into(), ..all.clone() };
            let plan = planned(objects.clone(), &scope);
            let rest = moves(&plan);
            assert!(!rest.contains(&excluded), "seed {seed}: {excluded}");
            assert!(rest.is_subset(&whole), "seed {seed}: without {excluded} something else moves");
            if !plan.refusals.is_empty() {
                continue;
            }
            allowed += 1;
            // What doesn't move stays, each with its reason.
            let stays: BTreeSet<Key> = plan.stays.iter().map(|stay| stay.key.clone()).collect();
            let everything: BTreeSet<Key> = objects.iter().map(Object::key).collect();
            assert_eq!(rest.union(&stays).cloned().collect::<BTreeSet<_>>(), everything, "seed {seed}");
            // Nothing that moves alone is owned by what stays.
            let left: BTreeSet<_> = objects
                .iter()
                .filter(|object| !rest.contains(&object.key()))
                .map(|object| object.meta.uid.clone())
                .collect();
            for step in plan.steps.iter().filter(|step| step.fate == Fate::Move) {
                let object = objects.iter().find(|object| object.key() == step.key).unwrap();
                let owned = object.meta.owner_references.iter().any(|owner| left.contains(&owner.uid));
                assert!(!owned, "seed {seed}: {} is owned by what {excluded} leaves", step.key);
            }
        }
    }
    assert!(allowed > 20, "{allowed}");
}

#[test]
fn renaming_there_and_back_changes_no_byte() {
    let namespaces = ["blue", "green", "red"];
    let maps: [&[(&str, &str)]; 4] = [
        &[("blue", "sky")],
        &[("blue", "green"), ("green", "blue")],
        &[("blue", "green"), ("green", "red"), ("red", "blue")],
        &[("blue", "a"), ("green", "b"), ("red", "c")],
    ];
    let mut renamed = 0;
    for seed in SEEDS {
        for pairs in maps {
            let map =
                NamespaceMap::new(pairs.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())))
                    .unwrap();
            for name in namespaces.iter().chain(pairs.iter().map(|(_, to)| to)) {
                assert_eq!(map.in_source(map.in_target(name)), *name, "{map}");
                assert_eq!(map.in_target(map.in_source(name)), *name, "{map}");
            }
            for object in objects(&World::of_sound(seed)) {
                let there = map.into_target().rename_object(object.clone());
                let expected = object.meta.namespace.as_deref().map(|namespace| map.in_target(namespace));
                assert_eq!(there.meta.namespace.as_deref(), expected, "{map}");
                renamed += usize::from(there.raw() != object.raw());
                let back = map.out_of_target().rename_object(there);
                assert_eq!(back.value().unwrap(), object.value().unwrap(), "{map}: {}", object.key());
                assert_eq!(back.key(), object.key(), "{map}");
            }
        }
    }
    assert!(renamed > 1_000, "{renamed}");
}
