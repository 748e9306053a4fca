//! Random management clusters: the same seed gives the same objects.
//!
//! They have what real ones have, in any combination: several Clusters in several namespaces, with and without classes, machines of
//! control planes, deployments and pools, addresses from pools, resource sets, identities and their Secrets, labelled and unrelated
//! objects. Some have a trouble that a move must refuse or wait for ([`Trouble`]). Infrastructure is of a provider that doesn't
//! exist; the other kinds are Cluster API's.

#![allow(clippy::indexing_slicing, reason = "it fills in objects that it has just made")]

mod cluster;
mod dice;
mod kinds;
pub mod mutants;
mod objects;
mod secrets;
#[cfg(test)]
mod tests;
mod trouble;

pub use dice::Dice;
pub use kinds::{KINDS, KindSpec, crds};
pub use secrets::{SECRET_CONTENT, SECRET_DATA, has_secret};
pub use trouble::Trouble;

use serde_json::{Value, json};

use objects::{Objects, PROVIDER_NAMESPACE};

/// A management cluster.
#[derive(Debug)]
pub struct World {
    /// All of its objects, each after its first owner, with UIDs that owner references name.
    pub objects: Vec<Value>,
    /// Its provider, which the target needs too.
    pub provider: Value,
    /// Its Clusters: namespace and name.
    pub clusters: Vec<(String, String)>,
    /// What is wrong with it.
    pub trouble: Option<Trouble>,
}

fn provider() -> Value {
    json!({
        "apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3", "kind": "Provider",
        "metadata": { "name": "infrastructure-lab", "namespace": PROVIDER_NAMESPACE,
            "labels": { "clusterctl.cluster.x-k8s.io/core": "inventory" } },
        "providerName": "lab", "type": "InfrastructureProvider", "version": "v1.0.0",
    })
}

/// At least so many objects: the worlds of as many seeds as that takes, each with namespaces and cluster-scoped objects of its own.
#[must_use]
pub fn many(count: usize) -> Vec<Value> {
    let mut all = Vec::with_capacity(count);
    for seed in 1_u64.. {
        if all.len() >= count {
            break;
        }
        let own = |text: &str| {
            let is_own =
                NAMESPACES.contains(&text) || text == objects::IDENTITY || text == objects::GLOBAL_POOL;
            is_own.then(|| format!("{text}-{seed}"))
        };
        for mut object in World::of_sound(seed).objects {
            rename(&mut object, &own);
            all.push(object);
        }
    }
    all
}

/// Replaces names, alone and within the UIDs that [`Objects`] makes of them.
fn rename(value: &mut Value, own: &impl Fn(&str) -> Option<String>) {
    match value {
        Value::String(text) => {
            let parts: Vec<String> =
                text.split('.').map(|part| own(part).unwrap_or_else(|| part.to_owned())).collect();
            *text = parts.join(".");
        }
        Value::Array(list) => list.iter_mut().for_each(|value| rename(value, own)),
        Value::Object(map) => map.values_mut().for_each(|value| rename(value, own)),
        _ => {}
    }
}

/// Namespaces in which Clusters can be.
pub const NAMESPACES: [&str; 3] = ["blue", "green", "red"];

impl World {
    /// The world of a seed. About a third of them have some trouble.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let dice = Dice::new(seed);
        let mut world = Self::sound(dice);
        if dice.about("trouble").percent(35) {
            world.trouble = Some(Trouble::add(dice.about("which"), &mut world.objects, &world.clusters));
        }
        world
    }

    /// The same world without any trouble.
    #[must_use]
    pub fn of_sound(seed: u64) -> Self {
        Self::sound(Dice::new(seed))
    }

    fn sound(dice: Dice) -> Self {
        let mut objects = Objects::default();
        let mut clusters = Vec::new();
        let identity = dice.about("identity").percent(40);
        if identity {
            objects.identity();
        }
        let global_pool = dice.about("global pool").percent(20);
        if global_pool {
            objects.global_pool();
        }
        let count = 1 + dice.about("namespaces").below(NAMESPACES.len() as u64);
        for namespace in NAMESPACES.iter().take(usize::try_from(count).unwrap_or(1)) {
            let dice = dice.about(namespace);
            objects.common(namespace, dice);
            let names = ["a", "b", "c"];
            let few = 1 + dice.about("clusters").below(names.len() as u64);
            for name in names.iter().take(usize::try_from(few).unwrap_or(1)) {
                let wishes = cluster::Wishes {
                    identity: identity && dice.about(name).about("identity").percent(50),
                    global_pool: global_pool && dice.about(name).about("global").percent(50),
                    first_namespace: NAMESPACES[0],
                };
                objects.cluster(namespace, name, dice.about(name), &wishes);
                clusters.push(((*namespace).to_owned(), (*name).to_owned()));
            }
        }
        Self { objects: objects.all, provider: provider(), clusters, trouble: None }
    }
}
