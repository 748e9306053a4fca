//! Moves of random management clusters (`tests/worlds`), hundreds of each sort.
//!
//! What must be true of any move is asserted, not what one move does. A seed that fails is printed; it is played again alone with
//! `PIVOT_HOST_SEED=<seed> cargo test -p pivot-engine --test moves generated`, and more with `PIVOT_HOST_SEEDS=<number>`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use pivot_core::messages::risk::Risk;
use pivot_core::plan::{Fate, Plan};
use pivot_core::request::mapping::NamespaceMap;
use pivot_core::request::scope::{ClusterName, Namespaces, Scope};
use pivot_core::{GroupKind, Key, KindLabels};
use pivot_engine::{Exit, Setup, Sides, Stop, run};
use pivot_memory::MemoryPlace;
use pivot_places::DirectoryPlace;
use pivot_worlds::{KINDS, NAMESPACES, Trouble, World};
use serde_json::Value;

use crate::mapped::{renamed, renamed_object};
use crate::secret_watcher::ensure_no_secret;
use crate::seeds::{Results, Seeds, is_brief};
use crate::simulated::holds::add_host;
use crate::stage::{Stage, kind, picture};

/// The first have each kind and each trouble: `worlds: sixty_seeds_have_every_kind_and_trouble`.
const SEEDS: Seeds = Seeds { first: 60, landing: 80, nightly: 3_000 };

type Picture = BTreeMap<String, Value>;

/// Plays all seeds.
fn each(purpose: &str, test: impl AsyncFn(u64) -> Result<(), String> + Sync) {
    let Results { played, broken } = SEEDS.play(purpose, |seed| {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().start_paused(true).build().unwrap().block_on(test(seed))
    });
    assert!(broken.is_empty(), "{} seeds of {played}; the first:\n{}", broken.len(), broken[0]);
}

/// A server with all kinds, a source with a world's objects, and their provider on both.
pub(crate) fn stage(world: &World) -> Stage {
    let mut stage = Stage::empty();
    stage.options.scope = Scope::new(Namespaces::All);
    for place in [&stage.source, &stage.target] {
        for spec in &KINDS {
            let labels = KindLabels {
                discover: !spec.inventory,
                moves: spec.moves == Some("move"),
                hierarchy: spec.moves == Some("move-hierarchy"),
                ..KindLabels::default()
            };
            let mut kind = kind(spec.group, spec.kind, &spec.plural(), labels);
            kind.namespaced = spec.namespaced;
            place.add_kind(kind);
        }
    }
    world.objects.iter().for_each(|object| drop(stage.source.insert(object.clone()).unwrap()));
    for place in [&stage.source, &stage.target] {
        place.insert(world.provider.clone()).unwrap();
    }
    stage
}

fn back(stage: &Stage) -> Setup {
    let mut setup = stage.setup();
    setup.sides = Sides { source: setup.sides.target, target: setup.sides.source };
    setup
}

/// What a place holds, apart from providers.
fn contents(place: &MemoryPlace) -> Picture {
    let mut picture = picture(place);
    picture.retain(|_, body| body["kind"] != "Provider");
    picture
}

/// As the garbage collector leaves it: without references to owners that are gone, if there are others.
fn collected(mut picture: Picture) -> Picture {
    let there: BTreeSet<String> = picture.keys().cloned().collect();
    for body in picture.values_mut() {
        let metadata = body["metadata"].as_object_mut().unwrap();
        if let Some(owners) = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut) {
            owners.retain(|owner| owner["uid"].as_str().is_some_and(|owner| there.contains(owner)));
        }
    }
    picture
}

fn same(what: &str, left: &Picture, right: &Picture) -> Result<(), String> {
    let keys: BTreeSet<_> = left.keys().chain(right.keys()).collect();
    let differs = |key: &&&String| left.get(**key) != right.get(**key);
    match keys.iter().find(differs) {
        Some(key) => Err(format!("{what}: {key}: {:?} is not {:?}", left.get(*key), right.get(*key))),
        None => Ok(()),
    }
}

fn said(what: &str) -> impl Fn(Stop) -> String {
    move |stop| format!("{what}: {stop}")
}

/// What controllers do after a move: a create drops status.
fn restore_status(place: &MemoryPlace, from: &[Value]) {
    for key in place.keys() {
        let is = |object: &&Value| {
            let metadata = &object["metadata"];
            object["kind"] == key.group_kind.kind.as_str()
                && metadata["name"] == key.name.as_str()
                && metadata["namespace"].as_str() == key.namespace.as_deref()
        };
        if let Some(status) = from.iter().find(is).and_then(|object| object.get("status")) {
            place.edit(&key, |body| body["status"] = status.clone()).unwrap();
        }
    }
}

/// Of a picture, what is in the plan, or is not.
fn part(picture: &Picture, plan: &Plan, test: impl Fn(Option<&Fate>) -> bool) -> Picture {
    let fates: BTreeMap<String, &Fate> =
        plan.steps.iter().map(|step| (step.key.to_string(), &step.fate)).collect();
    let fits = |(key, _): &(&String, &Value)| test(fates.get(*key).copied());
    picture.iter().filter(fits).map(|(key, body)| (key.clone(), body.clone())).collect()
}

/// Moved objects are in the target alone, kept ones on both sides, others in the source, each as it was; nothing is garbage.
fn as_planned(stage: &Stage, plan: &Plan, before: &Picture) -> Result<(), String> {
    let stays = collected(part(before, plan, |fate| fate != Some(&Fate::Move)));
    same("the source", &collected(contents(&stage.source)), &stays)?;
    same("the target", &contents(&stage.target), &part(before, plan, |fate| fate.is_some()))?;
    ensure_no_secret(stage, &[])?;
    nothing_is_garbage(stage)
}

fn nothing_is_garbage(stage: &Stage) -> Result<(), String> {
    for place in [&stage.source, &stage.target] {
        let lost = place.collect_garbage();
        if !lost.is_empty() {
            return Err(format!("collected: {lost:?}"));
        }
    }
    Ok(())
}

#[test]
fn a_plan_accounts_for_every_object_and_creates_owners_first() {
    each("plans of random clusters", async |seed| {
        let world = World::of(seed);
        let stage = stage(&world);
        let plan = run::plan(stage.setup()).await;
        let plan = match plan {
            Ok(plan) => plan,
            Err(stop) if stop.exit == Exit::Refused && world.trouble.is_some() => return Ok(()),
            Err(stop) => return Err(stop.to_string()),
        };
        ensure_no_secret(&stage, &[serde_json::to_string(&plan).unwrap(), format!("{plan:?}")])?;
        let mut planned: Vec<&Key> =
            plan.steps.iter().map(|step| &step.key).chain(plan.stays.iter().map(|stay| &stay.key)).collect();
        planned.sort();
        let read = |key: &Key| {
            let kind = key.group_kind.kind.as_str();
            ["Secret", "ConfigMap"].contains(&kind)
                || KINDS.iter().any(|spec| spec.kind == kind && !spec.inventory)
        };
        let keys = stage.source.keys();
        let expected: Vec<&Key> = keys.iter().filter(|key| read(key)).collect();
        if planned != expected {
            return Err(format!("{planned:?} is not {expected:?}"));
        }
        match plan.steps.iter().enumerate().find(|(at, step)| step.after.iter().any(|after| after >= at)) {
            Some((_, step)) => Err(format!("{} comes before something that it comes after", step.key)),
            None => Ok(()),
        }
    });
}

#[test]
fn any_management_cluster_moves_as_planned_and_back_to_where_it_was() {
    each("moves there and back", async |seed| {
        let world = World::of_sound(seed);
        let stage = stage(&world);
        let before = contents(&stage.source);
        let plan = run::plan(stage.setup()).await.map_err(said("plan"))?;
        run::start(stage.setup()).await.map_err(said("there"))?;
        as_planned(&stage, &plan, &before)?;
        restore_status(&stage.target, &world.objects);
        run::start(back(&stage)).await.map_err(said("back"))?;
        // What was kept is used as it is: owners that went and came back are its controllers' to restore.
        let without_owners = |mut contents: Picture| {
            let kept = part(&contents, &plan, |fate| matches!(fate, Some(Fate::Keep(_))));
            for key in kept.keys() {
                contents.get_mut(key).unwrap()["metadata"].as_object_mut().unwrap().remove("ownerReferences");
            }
            contents
        };
        same("the way back", &without_owners(contents(&stage.source)), &without_owners(before))?;
        ensure_no_secret(&stage, &[])?;
        nothing_is_garbage(&stage)
    });
}

#[test]
fn with_a_trouble_a_move_ends_before_it_changes_anything() {
    let seen = Mutex::new(BTreeSet::new());
    each("moves with a trouble", async |seed| {
        let world = World::of(seed);
        let Some(trouble) = world.trouble else { return Ok(()) };
        let stage = stage(&world);
        let before = contents(&stage.source);
        let ended = run::start(stage.setup()).await;
        seen.lock().unwrap().insert(trouble);
        let expected = if trouble.is_waited_for() { Exit::Timeout } else { Exit::Refused };
        match ended {
            Err(stop) if stop.exit == expected => {
                ensure_no_secret(&stage, &[format!("{stop} {stop:?}")])?;
                same("the source", &contents(&stage.source), &before)?;
                same("the target", &contents(&stage.target), &Picture::new())
            }
            Err(stop) => Err(format!("{trouble:?}: exit {:?}: {stop}", stop.exit)),
            Ok(_) => Err(format!("{trouble:?} was not refused")),
        }
    });
    let seen = seen.into_inner().unwrap();
    assert!(is_brief() || seen.len() == Trouble::ALL.len(), "{seen:?}");
}

#[test]
fn any_management_cluster_ends_the_same_through_a_directory() {
    each("moves through a directory", async |seed| {
        let world = World::of_sound(seed);
        let (mut straight, mut stage) = (stage(&world), stage(&world));
        // What a plugin holds is held in the files, too.
        if seed % 3 == 0 {
            [&mut straight, &mut stage].into_iter().for_each(|stage| add_host(stage, NAMESPACES[0]));
        }
        run::start(straight.setup()).await.map_err(said("straight"))?;

        let dir = tempfile::tempdir().unwrap();
        let before = contents(&stage.source);
        let mut out = stage.setup();
        out.sides.target = Arc::new(DirectoryPlace::to_write(dir.path()).unwrap());
        run::start(out).await.map_err(said("out"))?;
        same("the source", &contents(&stage.source), &before)?;

        let mut into = stage.setup();
        into.sides.source = Arc::new(DirectoryPlace::to_read(dir.path()).unwrap());
        into.options.scope.accept.insert(Risk::SourceMayRun);
        run::start(into).await.map_err(said("in"))?;
        ensure_no_secret(&stage, &[])?;
        same("the target", &contents(&stage.target), &contents(&straight.target))
    });
}

/// The namespaces exchange their names, or each gets a new one; references and comparisons follow.
#[test]
fn any_management_cluster_moves_under_other_names_and_back() {
    each("moves under other names", async |seed| {
        let world = World::of_sound(seed);
        let (plain, mut stage) = (stage(&world), stage(&world));
        run::start(plain.setup()).await.map_err(said("plain"))?;
        let theirs: BTreeSet<&str> = world.clusters.iter().map(|(namespace, _)| namespace.as_str()).collect();
        let others = theirs.iter().cycle().skip(1);
        let new =
            |one: &str, other: &str| if seed % 2 == 0 { format!("{one}-new") } else { other.to_owned() };
        let pairs = theirs.iter().zip(others).map(|(one, other)| ((*one).to_owned(), new(one, other)));
        let map = NamespaceMap::new(pairs).unwrap();
        stage.options.scope.namespace_map = map.clone();
        let before = contents(&stage.source);
        let plan = run::plan(stage.setup()).await.map_err(said("plan"))?;
        run::start(stage.setup()).await.map_err(said("there"))?;
        same("the target", &contents(&stage.target), &renamed(contents(&plain.target), &map))?;
        same("the source", &contents(&stage.source), &contents(&plain.source))?;
        ensure_no_secret(&stage, &[])?;
        nothing_is_garbage(&stage)?;
        let there: Vec<Value> = world.objects.iter().map(|object| renamed_object(object, &map)).collect();
        restore_status(&stage.target, &there);
        let mut home = back(&stage);
        home.options.scope.namespace_map =
            NamespaceMap::new(map.pairs().map(|(from, to)| (to.to_owned(), from.to_owned()))).unwrap();
        run::start(home).await.map_err(said("back"))?;
        let moved = |contents: Picture| part(&contents, &plan, |fate| fate == Some(&Fate::Move));
        same("the way back", &moved(contents(&stage.source)), &moved(before))
    });
}

/// A copy that is made for the first Cluster can't have the others as owners, too.
fn owners_of_shared_aside(mut contents: Picture) -> Picture {
    for body in contents.values_mut().filter(|body| body["metadata"]["name"] == "shared") {
        body["metadata"].as_object_mut().unwrap().remove("ownerReferences");
    }
    contents
}

/// By name, one after another, Clusters end as all at once; what is left over is what none of them refers to.
#[test]
fn clusters_by_name_one_after_another_end_as_all_named_at_once() {
    let setup = |stage: &Stage, clusters: &[(String, String)]| {
        let mut setup = stage.setup();
        let names = clusters.iter().map(|(namespace, name)| ClusterName::new(namespace, name));
        setup.options.scope.clusters = names.collect();
        let shared = ["InClusterIPPool", "GlobalInClusterIPPool", "LabNetwork"];
        let kinds = KINDS.iter().filter(|spec| shared.contains(&spec.kind));
        setup
            .options
            .scope
            .accept
            .insert_kinds(Risk::Shared, kinds.map(|spec| GroupKind::new(spec.group, spec.kind)));
        setup
    };
    each("moves of one cluster after another", async |seed| {
        let world = World::of_sound(seed);
        let (at_once, stage) = (stage(&world), stage(&world));
        run::start(setup(&at_once, &world.clusters)).await.map_err(said("at once"))?;
        for cluster in &world.clusters {
            let before = owners_of_shared_aside(collected(contents(&stage.source)));
            let what = format!("{}/{}", cluster.0, cluster.1);
            run::start(setup(&stage, std::slice::from_ref(cluster))).await.map_err(said(&what))?;
            // What stays is as it was.
            let after = owners_of_shared_aside(collected(contents(&stage.source)));
            let stays: Picture = before.into_iter().filter(|(key, _)| after.contains_key(key)).collect();
            same(&what, &collected(after), &collected(stays))?;
            ensure_no_secret(&stage, &[])?;
            nothing_is_garbage(&stage)?;
        }
        let left = owners_of_shared_aside(collected(contents(&stage.source)));
        let (all, target) = (contents(&at_once.source), contents(&stage.target));
        // What was kept for a Cluster that never referred to it is on both sides.
        let kept = |key: &String| !all.contains_key(key) && target.contains_key(key);
        let left = left.into_iter().filter(|(key, _)| !kept(key)).collect();
        same("the source", &left, &owners_of_shared_aside(collected(all)))?;
        same(
            "the target",
            &owners_of_shared_aside(collected(contents(&stage.target))),
            &owners_of_shared_aside(collected(contents(&at_once.target))),
        )
    });
}

#[test]
fn namespaces_one_after_another_end_as_all_at_once() {
    each("moves of one namespace after another", async |seed| {
        let world = World::of_sound(seed);
        let (at_once, mut stage) = (stage(&world), stage(&world));
        run::start(at_once.setup()).await.map_err(said("at once"))?;
        // A class of the first is used from others: it comes last, when nobody else needs it.
        let theirs: BTreeSet<&str> = world.clusters.iter().map(|(namespace, _)| namespace.as_str()).collect();
        for namespace in NAMESPACES.iter().rev().filter(|namespace| theirs.contains(*namespace)) {
            stage.options.scope = Scope::new(Namespaces::One((*namespace).to_owned()));
            run::start(stage.setup()).await.map_err(said(namespace))?;
            ensure_no_secret(&stage, &[])?;
            nothing_is_garbage(&stage)?;
        }
        let sources = [&stage, &at_once].map(|stage| collected(contents(&stage.source)));
        same("the source", &sources[0], &sources[1])?;
        same("the target", &contents(&stage.target), &contents(&at_once.target))
    });
}
