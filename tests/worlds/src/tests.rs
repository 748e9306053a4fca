//! What every test that plays worlds relies on.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::*;

/// As many as the engine's tests play in each landing.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=60;

fn text(object: &Value, path: &str) -> String {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Which object it is: kind, namespace and name.
fn name(object: &Value) -> (String, String, String) {
    (text(object, "/kind"), text(object, "/metadata/namespace"), text(object, "/metadata/name"))
}

fn owners(object: &Value) -> impl Iterator<Item = &Value> {
    object["metadata"]["ownerReferences"].as_array().into_iter().flatten()
}

/// Each owner exists, and is what the reference says; the first one comes before what it owns; no name and no UID is there twice.
fn assert_consistent(objects: &[Value]) {
    let all: BTreeMap<String, (usize, (String, String, String))> = objects
        .iter()
        .enumerate()
        .map(|(at, object)| (text(object, "/metadata/uid"), (at, name(object))))
        .collect();
    let names: BTreeSet<_> = objects.iter().map(name).collect();
    assert_eq!((all.len(), names.len()), (objects.len(), objects.len()), "a UID or a name is there twice");
    for (at, object) in objects.iter().enumerate() {
        let name = name(object);
        for (number, owner) in owners(object).enumerate() {
            let (before, there) =
                all.get(&text(owner, "/uid")).unwrap_or_else(|| panic!("{name:?}: {owner}"));
            assert_eq!((&there.0, &there.2), (&text(owner, "/kind"), &text(owner, "/name")), "{name:?}");
            assert!(there.1.is_empty() || there.1 == name.1, "{name:?} is owned from {}", there.1);
            // Another Cluster may come to share what the first one has.
            assert!(number > 0 || *before < at, "{name:?} comes before its owner");
        }
    }
}

#[test]
fn a_seed_gives_the_same_bytes() {
    let bytes = |seed| {
        let World { objects, provider, clusters, trouble } = World::of(seed);
        format!("{}{provider}{clusters:?}{trouble:?}", Value::from(objects))
    };
    let all: Vec<String> = SEEDS.map(bytes).collect();
    // In another order, and in another thread.
    let again = std::thread::spawn(move || SEEDS.rev().map(bytes).collect::<Vec<_>>()).join();
    assert_eq!(again.unwrap().into_iter().rev().collect::<Vec<_>>(), all);
    assert_eq!(all.into_iter().collect::<BTreeSet<_>>().len(), 60, "two seeds give one world");
}

/// Seeds are written down, as that of a failure.
#[test]
fn dice_say_the_same_in_each_release() {
    let said: Vec<u64> = ["", "a", "clusters"].map(|about| Dice::new(7).about(about).below(1000)).to_vec();
    assert_eq!(said, [625, 313, 26]);
}

#[test]
fn owners_exist_and_come_first() {
    for seed in SEEDS {
        assert_consistent(&World::of_sound(seed).objects);
    }
    assert_consistent(&many(2_000));
}

#[test]
fn a_world_with_trouble_differs_in_that_alone() {
    for seed in SEEDS {
        let (world, sound) = (World::of(seed), World::of_sound(seed));
        assert_eq!((&world.clusters, &world.provider), (&sound.clusters, &sound.provider), "seed {seed}");
        let same = world.objects.iter().zip(&sound.objects).filter(|(one, other)| one == other).count();
        let (added, changed) = (world.objects.len() - sound.objects.len(), sound.objects.len() - same);
        match world.trouble {
            None => assert_eq!((added, changed), (0, 0), "seed {seed}"),
            Some(_) => assert!((1..=2).contains(&(added + changed)), "seed {seed}: {added} and {changed}"),
        }
    }
}

#[test]
fn sixty_seeds_have_every_kind_and_trouble() {
    let worlds: Vec<World> = SEEDS.map(World::of).collect();
    let there: BTreeSet<String> =
        worlds.iter().flat_map(|world| &world.objects).map(|object| text(object, "/kind")).collect();
    let expected = KINDS.iter().filter(|spec| !spec.inventory).map(|spec| spec.kind);
    let expected: BTreeSet<String> =
        expected.chain(["ConfigMap", "Secret", "Service"]).map(str::to_owned).collect();
    assert_eq!(there, expected);
    let troubles: BTreeSet<Trouble> = worlds.iter().filter_map(|world| world.trouble).collect();
    assert_eq!(troubles, BTreeSet::from(Trouble::ALL));
    assert!(worlds.iter().any(|world| world.trouble.is_none()));
}

/// Each of these is a case of its own in some rule of a move.
#[test]
fn sixty_seeds_have_every_relation() {
    let worlds: Vec<World> = SEEDS.map(World::of_sound).collect();
    let clusters = |world: &World| -> Vec<Value> {
        world.objects.iter().filter(|object| object["kind"] == "Cluster").cloned().collect()
    };
    let any = |what: &str, is: &dyn Fn(&World) -> bool| {
        assert!(worlds.iter().any(is), "no world has {what}");
        assert!(!worlds.iter().all(is), "each world has {what}");
    };
    let class = |cluster: &Value| text(cluster, "/spec/topology/classRef/namespace");
    any("a class of another namespace", &|world| clusters(world).iter().any(|one| !class(one).is_empty()));
    any("a Cluster without a class", &|world| {
        clusters(world).iter().any(|one| one["spec"].get("topology").is_none())
    });
    any("several namespaces", &|world| {
        world.clusters.iter().map(|(namespace, _)| namespace).collect::<BTreeSet<_>>().len() > 1
    });
    any("several Clusters in a namespace", &|world| {
        world.clusters.windows(2).any(|two| two[0].0 == two[1].0)
    });
    any("an object with two owners of one kind", &|world| {
        world
            .objects
            .iter()
            .any(|object| owners(object).filter(|owner| owner["kind"] == "Cluster").count() > 1)
    });
    any("cluster-scoped objects", &|world| {
        world.objects.iter().any(|object| object["metadata"].get("namespace").is_none())
    });
    any("objects that move by their own label", &|world| {
        let label =
            |object: &Value| object.pointer("/metadata/labels/clusterctl.cluster.x-k8s.io~1move").is_some();
        world.objects.iter().any(label)
    });
    any("Secrets of a Cluster by name alone", &|world| {
        let alone = |object: &&Value| object["kind"] == "Secret" && owners(object).next().is_none();
        world
            .objects
            .iter()
            .filter(alone)
            .any(|secret| text(secret, "/metadata/name").ends_with("-kubeconfig"))
    });
}

#[test]
fn worlds_are_of_very_different_sizes() {
    let mut sizes: Vec<usize> = SEEDS.map(|seed| World::of_sound(seed).objects.len()).collect();
    sizes.sort_unstable();
    assert!(sizes[0] < 20 && sizes[30] > 50 && sizes[59] > 200, "{sizes:?}");
    for count in [1, 201, 5_000] {
        let made = many(count).len();
        assert!((count..count + 300).contains(&made), "{made} instead of {count}");
    }
}

#[test]
fn definitions_are_of_the_kinds() {
    let defined: BTreeMap<String, Value> =
        crds().into_iter().map(|crd| (text(&crd, "/spec/names/kind"), crd)).collect();
    assert_eq!(defined.len(), KINDS.len());
    for spec in &KINDS {
        let crd = &defined[spec.kind];
        assert_eq!(text(crd, "/metadata/name"), format!("{}.{}", spec.plural(), spec.group));
        assert_eq!(text(crd, "/spec/scope") == "Namespaced", spec.namespaced, "{}", spec.kind);
    }
    let plurals = |kind: &str| KINDS.iter().find(|spec| spec.kind == kind).unwrap().plural();
    assert_eq!(
        ["Cluster", "ClusterClass", "IPAddress", "LabIdentity"].map(plurals),
        ["clusters", "clusterclasses", "ipaddresses", "labidentitys"]
    );
}

#[test]
fn secrets_alone_have_their_content() {
    for object in SEEDS.flat_map(|seed| World::of(seed).objects) {
        assert_eq!(has_secret(&object.to_string()), object["kind"] == "Secret", "{object}");
    }
    assert!(has_secret(&format!("password: {SECRET_CONTENT}")) && !has_secret("c-ca is a Secret"));
}
