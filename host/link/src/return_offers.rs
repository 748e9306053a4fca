//! Clusters that users of the agent's cluster want to move back, and the role that the agent takes for them.
//!
//! A user offers a Cluster by an annotation. Then the agent answers as a source, for the namespaces of offered Clusters only. The
//! role stays until a move out of the cluster has ended, although the Cluster is deleted before that. So the agent keeps the
//! namespaces in a ConfigMap. No request over a link may write that ConfigMap, or set the annotation.
//!
//! While a move into the cluster is under way, no offer counts: the side that asks still changes what is in the cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use pivot_core::objects::names::{GROUP_CLUSTER, RECORD, RETURN};
use pivot_core::{Key, Kind};
use pivot_places::{Change, Patch, Place, PlaceError, Preconditions, Result, Subresource, builtin_kinds};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use crate::guard::{CONSENT, Guard};
use crate::link_request::OfferedCluster;
use crate::role::Role;

/// The most Clusters that an agent offers, in each namespace and in all.
const MAX_OFFERS_IN_NAMESPACE: usize = 16;
const MAX_OFFERS: usize = 256;
/// The longest name of a Cluster, which is the value of a label, too.
const MAX_NAME_LENGTH: usize = 63;
/// Value of the annotation of an offered Cluster.
const REQUEST_VALUE: &str = "requested";
/// Pause between two reads.
const READ_PAUSE: Duration = Duration::from_secs(10);
/// The longest time for which the agent keeps the role of a source without having read the offers.
const MAX_UNREAD: Duration = Duration::from_secs(60);

/// Returns the first offers of each namespace that an agent may make.
pub(crate) fn bound_offers(offers: BTreeSet<OfferedCluster>) -> BTreeSet<OfferedCluster> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let short = offers.into_iter().filter(|offer| offer.name.len() <= MAX_NAME_LENGTH);
    let first = short.filter(|offer| {
        let count = counts.entry(offer.namespace.clone()).or_default();
        *count += 1;
        *count <= MAX_OFFERS_IN_NAMESPACE
    });
    first.take(MAX_OFFERS).collect()
}

/// A reason why an annotation has no effect now.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ineffective {
    /// Another move is under way, or there are too many offers.
    Offer(OfferedCluster),
    /// The agent's account has no permission to list the Clusters of a namespace, or of all.
    Forbidden { namespace: Option<String>, why: String },
}

/// The offers in a cluster, and the namespaces for which its agent is a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReturnState {
    pub(crate) offers: BTreeSet<OfferedCluster>,
    /// Without any, the agent keeps its own role.
    pub(crate) namespaces: BTreeSet<String>,
    /// True if a move out of the cluster is under way.
    is_leaving: bool,
}

impl ReturnState {
    /// Returns true if a link with this state must be made again for another one. An offer that ends during its move needs no new
    /// link.
    fn needs_new_link(&self, now: &Self) -> bool {
        self.namespaces != now.namespaces || (!now.is_leaving && self.offers != now.offers)
    }
}

/// The moves that are under way, by the cluster's own records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct UnderWay {
    into: bool,
    out: bool,
}

/// Decides for which namespaces the agent is a source. `kept` are those before, as the agent kept them.
fn decide_state(
    under_way: UnderWay,
    mut offers: BTreeSet<OfferedCluster>,
    kept: BTreeSet<String>,
) -> ReturnState {
    if under_way.out && !kept.is_empty() {
        offers.retain(|offer| kept.contains(&offer.namespace));
        return ReturnState { offers, namespaces: kept, is_leaving: true };
    }
    if under_way.into {
        return ReturnState::default();
    }
    let namespaces = offers.iter().map(|offer| offer.namespace.clone()).collect();
    ReturnState { offers, namespaces, is_leaving: false }
}

/// Reads the offers in the agent's cluster.
pub(crate) struct ReturnOffers {
    place: Arc<dyn Place>,
    /// The namespaces that the agent's administrator allows; none for all of them.
    allowed: Option<BTreeSet<String>>,
    record_namespace: String,
    config_maps: Arc<Kind>,
    /// The kind of Clusters, once the cluster has it.
    clusters: Mutex<Option<Arc<Kind>>>,
    /// The reasons that were logged after the last read.
    logged: Mutex<BTreeSet<Ineffective>>,
}

impl ReturnOffers {
    /// Returns none if the built-in kinds are unknown.
    pub(crate) fn new(place: Arc<dyn Place>, guard: &Guard) -> Option<Self> {
        let config_maps = builtin_kinds().into_iter().find(|kind| kind.group_kind.is("", "ConfigMap"))?;
        Some(Self {
            place,
            allowed: guard.namespaces.clone(),
            record_namespace: guard.record_namespace.clone(),
            config_maps: Arc::new(config_maps),
            clusters: Mutex::default(),
            logged: Mutex::default(),
        })
    }

    /// Returns the state for the next link, and keeps its namespaces. Waits until the cluster answers: in the middle of a move
    /// out of it, another role would be wrong.
    pub(crate) async fn prepare_link(&self) -> ReturnState {
        let mut has_warned = false;
        loop {
            match self.read_and_keep().await {
                Ok(state) => return state,
                Err(error) if has_warned || error.is_transient() => {
                    tracing::debug!(%error, "offers can't be read or kept");
                }
                Err(error) => {
                    has_warned = true;
                    tracing::warn!(%error, "the agent doesn't call, because it can't read or keep what users offer");
                }
            }
            sleep(READ_PAUSE).await;
        }
    }

    /// Returns once a link with this state must be made again, and the next state is kept. Until then the link goes on. A link
    /// in the role of a source also ends if the agent can no longer read whether users still want it.
    pub(crate) async fn wait_for_change(&self, linked: &ReturnState) {
        let mut last_read = Instant::now();
        loop {
            sleep(READ_PAUSE).await;
            match self.keep_change(linked).await {
                Ok(true) => return,
                Ok(false) => last_read = Instant::now(),
                Err(error)
                    if linked.namespaces.is_empty()
                        || error.is_transient() && last_read.elapsed() < MAX_UNREAD =>
                {
                    tracing::debug!(%error, "offers can't be read or kept");
                }
                Err(error) => {
                    tracing::warn!(%error, "the link ends, because the agent can't read or keep what users offer");
                    return;
                }
            }
        }
    }

    /// Keeps the state if a link with the earlier one must be made again, and returns true then.
    async fn keep_change(&self, linked: &ReturnState) -> Result<bool> {
        let now = self.read_state().await?;
        if !linked.needs_new_link(&now) {
            return Ok(false);
        }
        self.keep_consent(&now).await.map(|()| true)
    }

    /// Deletes what the agent kept while its administrator allowed moves back, once no move out of the cluster needs it. Waits while
    /// the cluster doesn't answer.
    pub(crate) async fn forget_consent(&self) {
        let (namespace, name) = (&self.record_namespace, CONSENT);
        let mut logged = None;
        loop {
            let reason = match self.delete_unneeded_consent().await {
                Ok(true) => return,
                Ok(false) => "a move out of the cluster is under way".to_owned(),
                Err(error) if error.is_transient() => error.to_string(),
                Err(error) => {
                    tracing::warn!(%error, "delete ConfigMap {namespace}/{name}: it allows a move back that the agent no longer allows");
                    return;
                }
            };
            if logged.as_ref() != Some(&reason) {
                tracing::info!(reason, "ConfigMap {namespace}/{name} still allows a move back");
                logged = Some(reason);
            }
            sleep(READ_PAUSE).await;
        }
    }

    /// Returns false if a move out of the cluster is under way.
    async fn delete_unneeded_consent(&self) -> Result<bool> {
        if self.read_records().await?.out {
            return Ok(false);
        }
        self.keep_consent(&ReturnState::default()).await.map(|()| true)
    }

    async fn read_and_keep(&self) -> Result<ReturnState> {
        let state = self.read_state().await?;
        self.keep_consent(&state).await?;
        Ok(state)
    }

    async fn read_state(&self) -> Result<ReturnState> {
        let under_way = self.read_records().await?;
        let kept = if under_way.out { self.read_consent().await? } else { BTreeSet::new() };
        let (offers, mut ineffective) = self.list_offers().await?;
        let state = decide_state(under_way, bound_offers(offers.clone()), kept);
        ineffective.extend(offers.difference(&state.offers).cloned().map(Ineffective::Offer));
        self.log_ineffective(ineffective).await;
        Ok(state)
    }

    /// Logs the reasons that did not hold at the last read.
    async fn log_ineffective(&self, now: BTreeSet<Ineffective>) {
        let mut logged = self.logged.lock().await;
        for reason in now.difference(&logged) {
            match reason {
                Ineffective::Offer(OfferedCluster { namespace, name }) => tracing::info!(
                    "Cluster {namespace}/{name} is not offered yet: another move is under way, there are too many offers, or its name is too long"
                ),
                Ineffective::Forbidden { namespace, why } => {
                    let namespace = namespace.as_deref().unwrap_or("(all)");
                    tracing::warn!(
                        namespace,
                        why,
                        "no Cluster of this namespace can move back, because the agent has no permission to list its Clusters"
                    );
                }
            }
        }
        *logged = now;
    }

    async fn read_records(&self) -> Result<UnderWay> {
        let records = self.place.list_labelled(&self.config_maps, &self.record_namespace, RECORD).await?;
        let has_any = |role: Role| records.objects.iter().any(|object| role.has_record(RECORD, &object.meta));
        Ok(UnderWay { into: has_any(Role::Target), out: has_any(Role::Source) })
    }

    /// Lists the annotated Clusters, and the namespaces that the agent's account can't read.
    async fn list_offers(&self) -> Result<(BTreeSet<OfferedCluster>, BTreeSet<Ineffective>)> {
        let (mut offers, mut ineffective) = (BTreeSet::new(), BTreeSet::new());
        let Some(kind) = self.find_clusters_kind().await? else { return Ok((offers, ineffective)) };
        let namespaces: Vec<Option<&str>> = match &self.allowed {
            None => vec![None],
            Some(allowed) => allowed.iter().map(|namespace| Some(namespace.as_str())).collect(),
        };
        let lists = namespaces.iter().map(|namespace| self.place.list_meta(&kind, *namespace));
        let listed = futures::future::join_all(lists).await;
        for (namespace, listing) in namespaces.into_iter().zip(listed) {
            let listing = match listing {
                Err(PlaceError::Forbidden(why)) => {
                    let namespace = namespace.map(str::to_owned);
                    ineffective.insert(Ineffective::Forbidden { namespace, why });
                    continue;
                }
                Err(error) => {
                    // A version may be served no more.
                    *self.clusters.lock().await = None;
                    return Err(error);
                }
                Ok(listing) => listing,
            };
            let metas = listing.metas.into_iter();
            let requested =
                metas.filter(|meta| meta.annotations.get(RETURN).is_some_and(|value| value == REQUEST_VALUE));
            offers.extend(
                requested
                    .filter_map(|meta| Some(OfferedCluster { namespace: meta.namespace?, name: meta.name })),
            );
        }
        Ok((offers, ineffective))
    }

    async fn find_clusters_kind(&self) -> Result<Option<Arc<Kind>>> {
        let mut known = self.clusters.lock().await;
        if known.is_none() {
            let kinds = self.place.kinds().await?;
            *known = kinds.into_iter().find(|kind| kind.group_kind.is(GROUP_CLUSTER, "Cluster"));
        }
        Ok(known.clone())
    }

    fn consent_key(&self) -> Key {
        Key::new(self.config_maps.group_kind.clone(), Some(&self.record_namespace), CONSENT)
    }

    /// Returns the kept namespaces that are still allowed.
    async fn read_consent(&self) -> Result<BTreeSet<String>> {
        let Some(kept) = self.place.get(&self.config_maps, &self.consent_key()).await? else {
            return Ok(BTreeSet::new());
        };
        let body = kept.value().unwrap_or_default();
        let text = body.pointer("/data/namespaces").and_then(Value::as_str).unwrap_or_default();
        let is_allowed = |name: &&str| self.allowed.as_ref().is_none_or(|allowed| allowed.contains(*name));
        let names = text.split(',').filter(|name| !name.is_empty());
        Ok(names.filter(is_allowed).map(str::to_owned).collect())
    }

    /// Keeps the namespaces of a state, unless they are kept already because a move out is under way.
    async fn keep_consent(&self, ReturnState { namespaces, is_leaving, .. }: &ReturnState) -> Result<()> {
        if *is_leaving {
            return Ok(());
        }
        let key = self.consent_key();
        if namespaces.is_empty() {
            return match self.place.delete(&self.config_maps, &key, &Preconditions::default()).await {
                Err(PlaceError::NotFound(_)) => Ok(()),
                deleted => deleted,
            };
        }
        let names: Vec<&str> = namespaces.iter().map(String::as_str).collect();
        let data = json!({"namespaces": names.join(",")});
        let body = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": key.name, "namespace": self.record_namespace}, "data": data,
        });
        match self.place.create(&self.config_maps, &body, Change::Real).await {
            Err(PlaceError::AlreadyExists(_)) => {
                let patch = Patch {
                    body: json!({ "data": data }),
                    subresource: Subresource::None,
                    change: Change::Real,
                };
                self.place.patch(&self.config_maps, &key, &patch).await.map(drop)
            }
            created => created.map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use pivot_core::{GroupKind, KindLabels};
    use pivot_memory::{Fault, MemoryPlace};
    use tokio::time::timeout;

    use super::*;

    const RECORDS: &str = "pivot-host-records";

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn offers(clusters: &[(&str, &str)]) -> BTreeSet<OfferedCluster> {
        let offer = |(namespace, name): &(&str, &str)| OfferedCluster {
            namespace: (*namespace).to_owned(),
            name: (*name).to_owned(),
        };
        clusters.iter().map(offer).collect()
    }

    // proves: T181
    #[test]
    fn offers_decide_the_namespaces_of_the_role() {
        let state = |namespaces: &[&str], clusters: &[(&str, &str)], is_leaving| ReturnState {
            offers: offers(clusters),
            namespaces: names(namespaces),
            is_leaving,
        };
        let edge = [("shop", "edge")];
        let none: [(&str, &str); 0] = [];
        for (into, out, offered, kept, expected) in [
            (false, false, &none[..], &[][..], state(&[], &[], false)),
            (false, false, &edge, &[], state(&["shop"], &edge, false)),
            // The side that asks may still write into the cluster.
            (true, false, &edge, &[], state(&[], &[], false)),
            // The Cluster is gone before its move has ended.
            (false, true, &none, &["shop"], state(&["shop"], &[], true)),
            (true, true, &none, &["shop"], state(&["shop"], &[], true)),
            // A move that others make out of the cluster is no consent.
            (false, true, &none, &[], state(&[], &[], false)),
            // An offer in another namespace waits for the end of the move.
            (false, true, &[("lab", "l"), ("shop", "edge")], &["shop"], state(&["shop"], &edge, true)),
        ] {
            let found = decide_state(UnderWay { into, out }, offers(offered), names(kept));
            assert_eq!(found, expected, "{into} {out} {offered:?} {kept:?}");
        }
    }

    #[test]
    fn deleted_cluster_cuts_no_link() {
        let linked = decide_state(UnderWay::default(), offers(&[("shop", "edge")]), names(&[]));
        let out = UnderWay { into: false, out: true };
        let state = |offered, kept| decide_state(out, offers(offered), names(kept));
        assert!(!linked.needs_new_link(&state(&[], &["shop"])));
        assert!(linked.needs_new_link(&state(&[], &[])));
        let more =
            decide_state(UnderWay::default(), offers(&[("shop", "edge"), ("shop", "new")]), names(&[]));
        assert!(linked.needs_new_link(&more));
    }

    fn place() -> MemoryPlace {
        let place = MemoryPlace::new("far");
        for namespace in ["shop", "lab", "other", RECORDS] {
            place.add_namespace(namespace);
        }
        place.add_kind(Kind {
            group_kind: GroupKind::new(GROUP_CLUSTER, "Cluster"),
            version: "v1beta2".to_owned(),
            plural: "clusters".to_owned(),
            namespaced: true,
            status_subresource: true,
            served: vec!["v1beta2".to_owned()],
            labels: KindLabels::default(),
        });
        place
    }

    fn cluster(place: &MemoryPlace, namespace: &str, name: &str, value: &str) -> Key {
        let metadata = json!({"name": name, "namespace": namespace, "annotations": {RETURN: value}});
        let api_version = format!("{GROUP_CLUSTER}/v1beta2");
        place.insert(json!({"apiVersion": api_version, "kind": "Cluster", "metadata": metadata})).unwrap();
        Key::new(GroupKind::new(GROUP_CLUSTER, "Cluster"), Some(namespace), name)
    }

    fn record(place: &MemoryPlace, name: &str, role: &str) -> Key {
        let metadata = json!({"name": name, "namespace": RECORDS, "labels": {RECORD: role}});
        place.insert(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})).unwrap();
        Key::new(GroupKind::new("", "ConfigMap"), Some(RECORDS), name)
    }

    /// An agent that begins.
    fn agent(place: &MemoryPlace) -> ReturnOffers {
        let guard = Guard {
            namespaces: Some(names(&["shop", "lab"])),
            record_namespace: RECORDS.to_owned(),
            role: Role::Target,
            keep_answering: false,
        };
        ReturnOffers::new(Arc::new(place.clone()), &guard).unwrap()
    }

    // proves: T181
    #[tokio::test]
    async fn only_offers_in_allowed_namespaces_count() {
        let place = place();
        for (namespace, name, value) in
            [("shop", "edge", REQUEST_VALUE), ("shop", "stays", "yes"), ("other", "hidden", REQUEST_VALUE)]
        {
            cluster(&place, namespace, name, value);
        }
        let state = agent(&place).prepare_link().await;
        assert_eq!((state.offers, state.namespaces), (offers(&[("shop", "edge")]), names(&["shop"])));
    }

    #[tokio::test]
    async fn forbidden_namespace_hides_no_other() {
        let place = place();
        cluster(&place, "shop", "edge", REQUEST_VALUE);
        place.on_call(|verb, key| {
            let forbidden = verb == "list-meta" && key.namespace.as_deref() == Some("lab");
            forbidden.then(|| Fault::Before(PlaceError::Forbidden("no".to_owned())))
        });
        assert_eq!(agent(&place).prepare_link().await.namespaces, names(&["shop"]));
    }

    #[test]
    fn full_namespace_hides_no_other() {
        let many: Vec<String> = (0..20).map(|number| format!("c{number:02}")).collect();
        let long = "x".repeat(64);
        let mut all = offers(&[("shop", "edge"), ("shop", &long)]);
        all.extend(offers(&many.iter().map(|name| ("lab", name.as_str())).collect::<Vec<_>>()));
        let bounded = bound_offers(all);
        assert_eq!(bounded.len(), 17);
        assert!(bounded.is_superset(&offers(&[("shop", "edge"), ("lab", "c15")])), "{bounded:?}");
    }

    // proves: T181
    #[tokio::test(start_paused = true)]
    async fn unread_offers_end_the_role() {
        let place = place();
        let agent = agent(&place);
        let own = ReturnState::default();
        cluster(&place, "shop", "edge", REQUEST_VALUE);
        let source = agent.prepare_link().await;
        for (linked, error, least, most) in [
            (&source, PlaceError::Forbidden("no".to_owned()), 0, 15),
            (&source, PlaceError::Unavailable("away".to_owned()), 60, 80),
        ] {
            place.on_call(move |_, _| Some(Fault::Before(error.clone())));
            let begun = Instant::now();
            timeout(Duration::from_secs(most), agent.wait_for_change(linked)).await.unwrap();
            assert!(begun.elapsed() >= Duration::from_secs(least), "{least}");
            timeout(Duration::from_secs(600), agent.wait_for_change(&own)).await.unwrap_err();
        }
    }

    #[tokio::test]
    async fn restarted_agent_stays_source_until_the_end() {
        let place = place();
        let edge = cluster(&place, "shop", "edge", REQUEST_VALUE);
        let begun = agent(&place);
        let linked = begun.prepare_link().await;
        let move_out = record(&place, "pivot-host-source-1", "source");
        place.remove(&edge).unwrap();
        for agent in [begun, agent(&place)] {
            assert!(!linked.needs_new_link(&agent.read_state().await.unwrap()));
            assert_eq!(agent.prepare_link().await.namespaces, names(&["shop"]));
        }
        place.remove(&move_out).unwrap();
        assert_eq!(agent(&place).prepare_link().await, ReturnState::default());
        assert!(place.body(&agent(&place).consent_key()).is_none());
        agent(&place).forget_consent().await;
        // A later move out of it, by others.
        record(&place, "pivot-host-source-2", "source");
        assert_eq!(agent(&place).prepare_link().await, ReturnState::default());
    }

    /// Another agent of the cluster may be in the middle of that move.
    #[tokio::test(start_paused = true)]
    async fn consent_is_kept_while_a_move_needs_it() {
        let place = place();
        cluster(&place, "shop", "edge", REQUEST_VALUE);
        agent(&place).prepare_link().await;
        let move_out = record(&place, "pivot-host-source-1", "source");
        let (minutes, consent) = (Duration::from_secs(600), agent(&place).consent_key());
        timeout(minutes, agent(&place).forget_consent()).await.unwrap_err();
        assert!(place.body(&consent).is_some());
        place.remove(&move_out).unwrap();
        timeout(minutes, agent(&place).forget_consent()).await.unwrap();
        assert!(place.body(&consent).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn unread_offers_begin_no_link() {
        let place = place();
        for error in [PlaceError::Forbidden("no".to_owned()), PlaceError::Unavailable("away".to_owned())] {
            place.on_call(move |_, _| Some(Fault::Before(error.clone())));
            let begun = agent(&place);
            timeout(Duration::from_secs(600), begun.prepare_link()).await.unwrap_err();
        }
        place.on_call(|_, _| None);
        assert_eq!(agent(&place).prepare_link().await, ReturnState::default());
    }

    // proves: T182
    #[tokio::test]
    async fn labelled_target_record_holds_no_role() {
        let place = place();
        let edge = cluster(&place, "shop", "edge", REQUEST_VALUE);
        agent(&place).prepare_link().await;
        place.remove(&edge).unwrap();
        record(&place, "pivot-host-target-1", "source");
        assert_eq!(agent(&place).prepare_link().await, ReturnState::default());
    }

    // proves: T182
    #[tokio::test]
    async fn labelled_source_record_ends_no_role() {
        let place = place();
        cluster(&place, "shop", "edge", REQUEST_VALUE);
        record(&place, "pivot-host-source-1", "target");
        assert_eq!(agent(&place).prepare_link().await.namespaces, names(&["shop"]));
    }
}
