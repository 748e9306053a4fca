//! Clusters that two management clusters run at the same time.

use std::collections::BTreeMap;

use futures::FutureExt;
use pivot_core::messages::grouping::MAX_LISTED_NAMES;
use pivot_core::messages::refusal::{Refusal, some_of};
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::shell::Kubectl;
use pivot_core::objects::names::GROUP_CLUSTER;
use pivot_core::objects::pause;
use pivot_core::records::cluster_identity::ClusterIdentity;
use pivot_core::request::scope::Namespaces;
use pivot_core::{Both, GroupKind, Key, Object, Side};
use pivot_places::PlaceError;

use crate::base::events::{Event, Watcher};
use crate::base::kinds::Kinds;
use crate::base::outcome::failure::Failure;
use crate::base::requests::side::Handle;
use crate::base::requests::side_by_side::{self, OBJECTS, Work};
use crate::base::state::cluster_copies::read_identity;

/// Returns a refusal for each workload cluster that an unpaused Cluster describes on both sides.
pub(crate) async fn find_active_in_both(
    sides: &Both<Handle>,
    kinds: &Kinds,
    namespaces: &Namespaces,
    watcher: &dyn Watcher,
) -> Result<Vec<Refusal>, Failure> {
    let (here, there) = tokio::try_join!(
        list_active(&sides.source, kinds, namespaces),
        list_active(&sides.target, kinds, &Namespaces::All)
    )?;
    // Anyone may write an address, so several Clusters can have one.
    let pairs = here.iter().flat_map(|(endpoint, clusters)| {
        let others = there.get(endpoint).into_iter().flatten();
        others.flat_map(move |other| clusters.iter().map(move |cluster| (cluster, other)))
    });
    let reads = pairs.map(|(cluster, other)| -> Work<'_, Option<Result<Refusal, (String, String)>>> {
        async move {
            let identities = tokio::try_join!(
                read_identity(&sides.source, &kinds.source, cluster),
                read_identity(&sides.target, &kinds.target, other)
            );
            match identities {
                Ok((one, another)) => {
                    Ok(one.is_same(&another).then(|| Ok(refuse(&cluster.key(), &other.key(), sides))))
                }
                Err(Failure::Place { error: PlaceError::Forbidden(why), .. }) => {
                    let there = sides.target.place.label();
                    Ok(Some(Err((format!("{} ({} in {there})", cluster.key(), other.key()), why))))
                }
                Err(failure) => Err(failure),
            }
        }
        .boxed()
    });
    let (mut refusals, mut unreadable) = (Vec::new(), Vec::new());
    for judged in side_by_side::try_all(OBJECTS, reads.collect()).await?.into_iter().flatten() {
        match judged {
            Ok(refusal) => refusals.push(refusal),
            Err(pair) => unreadable.push(pair),
        }
    }
    unreadable.sort();
    let (pairs, reasons): (Vec<_>, Vec<_>) = unreadable.into_iter().unzip();
    if let Some(why) = reasons.first() {
        let text = format!(
            "Clusters of the two sides have one address; whether they are one cluster isn't known, because certificate authorities can't be \
             read ({why}): {}",
            some_of(&pairs, MAX_LISTED_NAMES)
        );
        watcher.event(Event::warning("authority-unreadable", text));
    }
    Ok(refusals)
}

/// Lists the unpaused Clusters of a side by the addresses of their control planes.
async fn list_active(
    side: &Handle,
    kinds: &Kinds,
    namespaces: &Namespaces,
) -> Result<BTreeMap<String, Vec<Object>>, Failure> {
    let Some(kind) = kinds.get(side.side).get(&GroupKind::new(GROUP_CLUSTER, "Cluster")) else {
        return Ok(BTreeMap::new());
    };
    let unreadable = |error| Failure::Object(side.side, error);
    let namespace = match namespaces {
        Namespaces::All => None,
        Namespaces::One(name) => Some(name.as_str()),
    };
    let mut active: BTreeMap<String, Vec<Object>> = BTreeMap::new();
    for cluster in side.list(kind, namespace).await?.objects {
        let endpoint = ClusterIdentity::from_objects(&cluster, None).map_err(unreadable)?.endpoint;
        if let Some(endpoint) = endpoint.filter(|_| !cluster.meta.is_being_deleted())
            && !pause::is_paused(&cluster).map_err(unreadable)?
        {
            active.entry(endpoint).or_default().push(cluster);
        }
    }
    Ok(active)
}

fn refuse(cluster: &Key, other: &Key, sides: &Both<Handle>) -> Refusal {
    let message = format!(
        "{cluster} is active, and so is {other} in {}: both describe one workload cluster, and the controllers of both act on its machines",
        sides.target.place.label()
    );
    let pause = |manager: &str, side, key: &Key| {
        let place = sides.get(side).place.label();
        let before = format!("if {manager} should manage the workload cluster, pause {key} in {place}: ");
        let after = ", and each host and pool that ignores the pause of its Cluster";
        Remedy::kubectl(&before, Kubectl::patch(side, key, r#"{"spec":{"paused":true}}"#), after)
    };
    let (here, there) = (sides.source.place.label(), sides.target.place.label());
    let in_source = pause(there, Side::Source, cluster);
    Refusal::source("active-in-both", cluster.clone(), message, in_source).with_remedy(pause(
        here,
        Side::Target,
        other,
    ))
}
