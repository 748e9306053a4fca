//! Opens the two clusters of a Pivot, by kubeconfigs in Secrets and by links of agents.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pivot_core::discovery::implicit_links::kubeconfig_of;
use pivot_core::objects::names::GROUP_CLUSTER;
use pivot_core::request::network::Network;
use pivot_core::{GroupKind, Key, Object, Side};
use pivot_engine::Sides;
use pivot_link::{AgentName, Agents, OfferedCluster};
use pivot_places::{Budget, ConnectOptions, KubePlace, Place, PlaceError};
use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout};

use crate::confined::Confined;
use crate::home::{Home, builtin_kind};
use crate::resource::{KubeconfigSecret, Pivot, Spec, default_entry};

/// Time that an agent may take to call again.
const AGENT_TIMEOUT: Duration = Duration::from_secs(20);
/// Time that both clusters may take to be opened, and then to answer at all.
pub(crate) const OPENING_TIMEOUT: Duration = Duration::from_secs(120);
/// Longer than any attempt to connect.
const FIRST_ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Opens clusters.
#[async_trait]
pub trait Opener: Send + Sync + 'static {
    /// Opens the cluster of a kubeconfig in a Secret, without a request. The error contains nothing of the Secret's data.
    async fn open_by_secret(&self, secret: Object, entry: &str) -> Result<Arc<dyn Place>, String>;

    /// Opens the cluster of an agent.
    async fn open_agent(&self, name: &AgentName) -> Result<Arc<dyn Place>, PlaceError>;

    /// Returns the Clusters that users of each connected agent's cluster want to move back.
    fn list_offers(&self) -> Vec<(AgentName, BTreeSet<OfferedCluster>)>;

    /// Opens the Pivots' own cluster for one side of a move. A user who may write Pivots may fill their namespace: the answers that the side
    /// holds are bounded as they are read, so that other moves have room for theirs.
    fn open_own(&self) -> Arc<dyn Place>;
}

/// Opens API servers.
pub struct KubeOpener {
    /// The Pivots' own cluster, of whose answers all moves together may hold as many bytes as it allows.
    pub own: KubePlace,
    /// The agents that call, if any may.
    pub agents: Option<Arc<Agents>>,
    /// Bytes of each API server's answers that may be held at once for one move.
    pub answers: usize,
    /// Networks of special addresses in which API servers of kubeconfigs in Secrets may be.
    pub special_networks: Vec<Network>,
}

#[async_trait]
impl Opener for KubeOpener {
    async fn open_by_secret(&self, secret: Object, entry: &str) -> Result<Arc<dyn Place>, String> {
        let options = ConnectOptions {
            budget: Some(Budget::new(self.answers)),
            foreign: Some(self.special_networks.clone()),
            ..ConnectOptions::default()
        };
        match KubePlace::connect_by_secret(secret, entry, options).await {
            Ok(place) => Ok(Arc::new(place)),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn open_agent(&self, name: &AgentName) -> Result<Arc<dyn Place>, PlaceError> {
        let Some(agents) = &self.agents else {
            return Err(PlaceError::unsupported(
                "this controller",
                "be called by agents: start it with --agents",
            ));
        };
        match agents.wait_for_place(name, AGENT_TIMEOUT).await {
            Some(place) => Ok(place),
            None => Err(PlaceError::Unavailable(agents.describe_absence(name).await)),
        }
    }

    fn list_offers(&self) -> Vec<(AgentName, BTreeSet<OfferedCluster>)> {
        self.agents.as_ref().map(|agents| agents.list_offers()).unwrap_or_default()
    }

    fn open_own(&self) -> Arc<dyn Place> {
        Arc::new(self.own.limit_answers(self.answers))
    }
}

/// The two clusters, opened.
pub(crate) struct OpenedSides {
    pub(crate) sides: Sides,
    /// The Secret that leads to the target, if it may move away with its Cluster.
    pub(crate) found_by: Option<Key>,
}

/// The error if the two clusters can't be opened.
pub(crate) enum OpenSidesError {
    /// Another attempt may succeed.
    NoAnswer(String),
    /// An attempt succeeds only after a change by a user.
    Wrong(String),
    /// The target's kubeconfig is missing: it moved away with its Cluster, or the Cluster is still being built. The source's
    /// records may show which.
    NoTarget { source: Arc<dyn Place>, why: String, still_building: bool },
}

impl From<PlaceError> for OpenSidesError {
    fn from(error: PlaceError) -> Self {
        if error.is_transient() { Self::NoAnswer(error.to_string()) } else { Self::Wrong(error.to_string()) }
    }
}

/// Opens both clusters, and waits until both answer. The time is bounded for all clusters.
pub(crate) async fn open_both_clusters(
    home: &Home,
    opener: &dyn Opener,
    pivot: &Pivot,
    spec: &Spec,
    record_namespace: &str,
) -> Result<OpenedSides, OpenSidesError> {
    let opening = open_and_wait(home, opener, pivot, spec, record_namespace);
    // Their addresses come from Secrets that others write.
    let leads_elsewhere = [&spec.from.kubeconfig, &spec.to.kubeconfig].into_iter().any(Option::is_some);
    match leads_elsewhere || spec.to.cluster.is_some() {
        true => take_equally_long(opening).await,
        false => opening.await,
    }
}

async fn open_and_wait(
    home: &Home,
    opener: &dyn Opener,
    pivot: &Pivot,
    spec: &Spec,
    record_namespace: &str,
) -> Result<OpenedSides, OpenSidesError> {
    let opened = timeout(OPENING_TIMEOUT, open_sides(home, opener, pivot, spec, record_namespace)).await;
    let ends = opened.map_err(|_| {
        let seconds = OPENING_TIMEOUT.as_secs();
        OpenSidesError::NoAnswer(format!("both clusters were not opened within {seconds} seconds"))
    })??;
    let Sides { source, target } = &ends.sides;
    tokio::try_join!(wait_for_answer(Side::Source, &**source), wait_for_answer(Side::Target, &**target))?;
    Ok(ends)
}

/// Lets every failure to connect take equally long: the author of the address must not learn by the time whether a port is open, closed or
/// filtered.
async fn take_equally_long<T>(
    opening: impl Future<Output = Result<T, OpenSidesError>>,
) -> Result<T, OpenSidesError> {
    let until = Instant::now() + FIRST_ANSWER_TIMEOUT;
    let opened = opening.await;
    if matches!(opened, Err(OpenSidesError::NoAnswer(_))) {
        sleep_until(until).await;
    }
    opened
}

/// Waits for any answer. Errors that aren't about the connection occur again later.
async fn wait_for_answer(side: Side, place: &dyn Place) -> Result<(), OpenSidesError> {
    let why = match timeout(FIRST_ANSWER_TIMEOUT, place.identify()).await {
        Ok(Err(error)) if error.is_transient() => error.to_string(),
        Ok(_) => return Ok(()),
        Err(_) => format!("nothing for {} seconds", FIRST_ANSWER_TIMEOUT.as_secs()),
    };
    Err(OpenSidesError::NoAnswer(format!("no answer from the {side}: {why}")))
}

async fn open_sides(
    home: &Home,
    opener: &dyn Opener,
    pivot: &Pivot,
    spec: &Spec,
    record_namespace: &str,
) -> Result<OpenedSides, OpenSidesError> {
    let by = async |secret: &KubeconfigSecret| -> Result<Arc<dyn Place>, OpenSidesError> {
        let found = home.find_secret(pivot.namespace(), &secret.name).await?;
        let Some(found) = found else {
            return Err(OpenSidesError::Wrong(format!(
                "there is no Secret {}/{}",
                pivot.namespace(),
                secret.name
            )));
        };
        opener.open_by_secret(found, &secret.key).await.map_err(OpenSidesError::Wrong)
    };
    // An agent's certificate names the namespace whose Pivots may use it.
    let of = async |name: &String| {
        opener.open_agent(&AgentName { namespace: pivot.namespace().to_owned(), name: name.clone() }).await
    };
    let own = |side| {
        let (place, namespace) = (opener.open_own(), pivot.namespace().to_owned());
        let (record_namespace, operator) = (record_namespace.to_owned(), pivot.operator_name());
        let uid = pivot.meta.uid.clone();
        Arc::new(Confined { place, side, namespace, record_namespace, operator, uid }) as Arc<dyn Place>
    };
    let source = match (&spec.from.kubeconfig, &spec.from.agent) {
        (Some(secret), _) => by(secret).await?,
        (None, Some(agent)) => of(agent).await?,
        (None, None) => own(Side::Source),
    };
    let (target, found_by) = match (&spec.to.cluster, &spec.to.kubeconfig, &spec.to.agent) {
        (Some(cluster), ..) => {
            open_workload_cluster(home, opener, pivot, spec, (source.clone(), cluster)).await?
        }
        (None, Some(secret), _) => (by(secret).await?, None),
        (None, None, Some(agent)) => (of(agent).await?, None),
        (None, None, None) => (own(Side::Target), None),
    };
    Ok(OpenedSides { sides: Sides { source, target }, found_by })
}

/// Opens the workload cluster of a Cluster in the source. The Cluster's Secret moves away with it, and from then on the
/// controller uses its copy.
async fn open_workload_cluster(
    home: &Home,
    opener: &dyn Opener,
    pivot: &Pivot,
    spec: &Spec,
    (source, cluster): (Arc<dyn Place>, &str),
) -> Result<(Arc<dyn Place>, Option<Key>), OpenSidesError> {
    let namespace = spec.source_namespace(pivot.namespace());
    let cluster = Key::new(GroupKind::new(GROUP_CLUSTER, "Cluster"), Some(namespace), cluster);
    let key = kubeconfig_of(&cluster);
    let found = source.get(&builtin_kind("", "Secret")?, &key).await?;
    let kept = home.find_target_secret(pivot, &cluster).await?;
    // A Secret counts only next to its Cluster. Otherwise a user who may write Secrets, but no Clusters, could choose the target.
    // Without a Secret, this shows whether the Cluster is still being built.
    let there = (found.is_some() || kept.is_none()) && cluster_exists(&*source, &cluster).await?;
    let secret = match (found, kept) {
        (Some(secret), _) if there => {
            let data = secret.value().ok().and_then(|body| body.get("data").cloned()).unwrap_or(Value::Null);
            home.keep_target_secret(pivot, &cluster, &data).await?;
            secret
        }
        (_, Some(kept)) => kept,
        (Some(_), None) => {
            let why = format!("{key} is there, but {cluster} is not");
            return Err(OpenSidesError::NoTarget { source, why, still_building: false });
        }
        (None, None) if there => {
            let why = format!("there is no {key}: the control plane of {cluster} is not initialised yet");
            return Err(OpenSidesError::NoTarget { source, why, still_building: true });
        }
        (None, None) => {
            let why = format!("there is no {key}, and no {cluster}: it may have been moved already");
            return Err(OpenSidesError::NoTarget { source, why, still_building: false });
        }
    };
    let place = opener.open_by_secret(secret, &default_entry()).await.map_err(OpenSidesError::Wrong)?;
    Ok((place, Some(key)))
}

async fn cluster_exists(source: &dyn Place, cluster: &Key) -> Result<bool, OpenSidesError> {
    let kinds = source.kinds().await?;
    let Some(kind) = kinds.into_iter().find(|kind| kind.group_kind == cluster.group_kind) else {
        return Ok(false);
    };
    Ok(source.get(&kind, cluster).await?.is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::time::sleep;

    use super::*;

    /// A kubeconfig of `https://127.0.0.1:1`, as a Secret has it.
    const OWN_MACHINE: &str = "\
        eyJhcGlWZXJzaW9uIjoidjEiLCJraW5kIjoiQ29uZmlnIiwiY3VycmVudC1jb250ZXh0IjoiYSIsImNvbnRleHRzIjpbeyJuYW1lIjoiYSIsIm\
        NvbnRleHQiOnsiY2x1c3RlciI6ImEiLCJ1c2VyIjoiYSJ9fV0sImNsdXN0ZXJzIjpbeyJuYW1lIjoiYSIsImNsdXN0ZXIiOnsic2VydmVyIjoi\
        aHR0cHM6Ly8xMjcuMC4wLjE6MSJ9fV0sInVzZXJzIjpbeyJuYW1lIjoiYSIsInVzZXIiOnsidG9rZW4iOiJ0In19XX0=";

    // proves: T151
    #[tokio::test]
    async fn secrets_lead_to_allowed_special_addresses_only() {
        let kind = builtin_kind("", "Secret").unwrap();
        let body = json!({"metadata": {"name": "way", "namespace": "shop"}, "data": {"value": OWN_MACHINE}});
        let secret = Object::from_value(kind, &body).unwrap();
        let own = KubePlace::connect_by_secret(secret.clone(), "value", ConnectOptions::default()).await;
        let own = own.unwrap();
        let open = async |special_networks| {
            let opener = KubeOpener { own: own.clone(), agents: None, answers: 1 << 20, special_networks };
            opener.open_by_secret(secret.clone(), "value").await.map(drop)
        };
        let refused = open(Vec::new()).await.unwrap_err();
        assert!(refused.contains("127.0.0.1 has a special address"), "{refused}");
        open(vec!["127.0.0.0/8".parse().unwrap()]).await.unwrap();
    }

    // proves: T151
    #[tokio::test(start_paused = true)]
    async fn failures_to_connect_take_equally_long() {
        let fails = |takes| async move {
            sleep(Duration::from_secs(takes)).await;
            Err::<(), _>(OpenSidesError::NoAnswer("no connection".into()))
        };
        for takes in [0, 10, 20] {
            let begun = Instant::now();
            assert!(take_equally_long(fails(takes)).await.is_err());
            assert_eq!(begun.elapsed().as_secs(), FIRST_ANSWER_TIMEOUT.as_secs(), "{takes}");
        }
        let begun = Instant::now();
        assert!(take_equally_long(async { Ok(()) }).await.is_ok());
        assert!(begun.elapsed().is_zero());
    }
}
