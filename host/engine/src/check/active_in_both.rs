//! Clusters that two management clusters run at the same time.

use std::collections::BTreeMap;

use futures::FutureExt;
use pivot_core::messages::refusal::Refusal;
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::shell::Kubectl;
use pivot_core::objects::names::GROUP_CLUSTER;
use pivot_core::objects::pause;
use pivot_core::records::cluster_identity::ClusterIdentity;
use pivot_core::{Both, GroupKind, Key, Object, Side};

use crate::base::kinds::Kinds;
use crate::base::outcome::failure::Failure;
use crate::base::requests::side::Handle;
use crate::base::requests::side_by_side::{self, OBJECTS, Work};
use crate::base::state::cluster_copies::read_identity;

/// A pause of one Cluster.
const PAUSE: [&str; 4] = ["--type", "merge", "-p", r#"{"spec":{"paused":true}}"#];

/// Returns a refusal for each workload cluster that an unpaused Cluster describes on both sides.
pub(crate) async fn find_active_in_both(
    sides: &Both<Handle>,
    kinds: &Kinds,
) -> Result<Vec<Refusal>, Failure> {
    let (here, there) =
        tokio::try_join!(list_active(&sides.source, kinds), list_active(&sides.target, kinds))?;
    let pairs = here.iter().filter_map(|(endpoint, cluster)| Some((cluster, there.get(endpoint)?)));
    let reads = pairs.map(|(cluster, other)| -> Work<'_, Option<Refusal>> {
        async move {
            let (one, another) = tokio::try_join!(
                read_identity(&sides.source, &kinds.source, cluster),
                read_identity(&sides.target, &kinds.target, other)
            )?;
            Ok(one.is_same(&another).then(|| refuse(&cluster.key(), &other.key(), sides)))
        }
        .boxed()
    });
    Ok(side_by_side::try_all(OBJECTS, reads.collect()).await?.into_iter().flatten().collect())
}

/// Lists the unpaused Clusters of a side by the addresses of their control planes.
async fn list_active(side: &Handle, kinds: &Kinds) -> Result<BTreeMap<String, Object>, Failure> {
    let Some(kind) = kinds.get(side.side).get(&GroupKind::new(GROUP_CLUSTER, "Cluster")) else {
        return Ok(BTreeMap::new());
    };
    let unreadable = |error| Failure::Object(side.side, error);
    let mut active = BTreeMap::new();
    for cluster in side.list(kind, None).await?.objects {
        let endpoint = ClusterIdentity::from_objects(&cluster, None).map_err(unreadable)?.endpoint;
        if let Some(endpoint) = endpoint.filter(|_| !cluster.meta.is_being_deleted())
            && !pause::is_paused(&cluster).map_err(unreadable)?
        {
            active.insert(endpoint, cluster);
        }
    }
    Ok(active)
}

fn refuse(cluster: &Key, other: &Key, sides: &Both<Handle>) -> Refusal {
    let message = format!(
        "{cluster} is active, and so is {other} in {}: both describe one workload cluster, and the controllers of both act on its machines",
        sides.target.place.label()
    );
    let pause = |manager: &str, side, key| {
        let before = format!("if {manager} is the one to manage it, pause it in the other one: ");
        Remedy::kubectl(&before, Kubectl::object(side, "patch", key, &PAUSE), "")
    };
    let (here, there) = (sides.source.place.label(), sides.target.place.label());
    let in_source = pause(there, Side::Source, cluster);
    Refusal::source("active-in-both", cluster.clone(), message, in_source).with_remedy(pause(
        here,
        Side::Target,
        other,
    ))
}
