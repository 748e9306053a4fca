//! Pivots for Clusters that users of an agent's cluster want to move back.
//!
//! An agent's word is not trusted. So a Pivot that results from it is suspended until a user of this cluster approves it, and is
//! in the agent's namespace. None is changed, and an agent can cause no more than [`MAX_PIVOTS`].

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use pivot_link::{AgentName, OfferedCluster};
use pivot_places::{Change, PlaceError};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::home::{Home, retry_request};
use crate::resource::Pivot;
use crate::shared::Shared;
use crate::status::ConditionType;

/// The most Pivots for Clusters of one agent whose move has not ended.
const MAX_PIVOTS: usize = 16;
/// Pause between two looks at the offers, which the links have.
const PAUSE: Duration = Duration::from_secs(15);

/// Creates the missing Pivots, again and again, until the future is dropped.
pub(crate) async fn follow_offers(shared: &Shared) -> Infallible {
    if shared.settings.accept_returns.is_empty() {
        return pending().await;
    }
    // A failure that repeats is reported once.
    let mut failures: BTreeMap<AgentName, String> = BTreeMap::new();
    loop {
        for (agent, offers) in shared.opener.list_offers() {
            // In a name with a dot, the agent's part would have no end.
            if !shared.settings.accept_returns.contains(&agent.namespace) || !agent.is_valid() {
                continue;
            }
            match create_missing_pivots(&shared.home, &agent, &offers).await {
                Ok(()) => drop(failures.remove(&agent)),
                Err(error) => {
                    let why = error.to_string();
                    if failures.insert(agent.clone(), why.clone()) != Some(why) {
                        tracing::warn!(%error, %agent, "no Pivot was created for a Cluster that the agent offers");
                    }
                }
            }
        }
        sleep(PAUSE).await;
    }
}

/// Creates a Pivot for each offered Cluster that has none. An offer that fails holds up no other.
async fn create_missing_pivots(
    home: &Home,
    agent: &AgentName,
    offers: &BTreeSet<OfferedCluster>,
) -> Result<(), PlaceError> {
    let listing = retry_request(|| home.place.list(&home.pivots, Some(&agent.namespace))).await?;
    let prefix = format!("return-{}.", agent.name);
    let pivots = listing.objects.iter().map(Pivot::from_object);
    let pivots: Vec<Pivot> = pivots.filter(|pivot| pivot.key.name.starts_with(&prefix)).collect();
    let mut not_ended = pivots.iter().filter(|pivot| !pivot.status.is_true(ConditionType::Succeeded)).count();
    let mut result = Ok(());
    for offer in offers {
        let name = format!("{prefix}{}", offer.name);
        // The Pivot is in the agent's namespace, and a move into its own cluster ends in the Pivot's namespace.
        if offer.namespace != agent.namespace {
            let OfferedCluster { namespace, name } = offer;
            let why = format!(
                "Cluster {namespace}/{name}: only Clusters of the agent's own namespace {} are accepted",
                agent.namespace
            );
            result = Err(PlaceError::Invalid(why));
            continue;
        }
        if pivots.iter().any(|pivot| pivot.key.name == name) {
            continue;
        }
        if not_ended >= MAX_PIVOTS {
            let why = format!("{name}: {MAX_PIVOTS} Pivots of this agent have not ended");
            return Err(PlaceError::Invalid(why));
        }
        let body = return_pivot(&name, agent, offer, &home.pivots.api_version());
        match home.place.create(&home.pivots, &body, Change::Real).await {
            Ok(_) => {
                tracing::info!(pivot = name, %agent, "a Pivot was created for a Cluster that the agent offers");
                not_ended += 1;
            }
            // Another one, which is left as it is.
            Err(PlaceError::AlreadyExists(_)) => {}
            Err(error) => result = Err(error),
        }
    }
    result
}

/// Returns the Pivot that moves an offered Cluster to this cluster once it is approved.
fn return_pivot(name: &str, agent: &AgentName, offer: &OfferedCluster, api_version: &str) -> Value {
    json!({
        "apiVersion": api_version, "kind": "Pivot", "metadata": {"name": name, "namespace": agent.namespace},
        "spec": {"from": {"agent": agent.name}, "to": {}, "clusters": [offer.name], "suspend": true},
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pivot_core::Key;
    use pivot_memory::MemoryPlace;

    use super::*;
    use crate::resource::pivot_kind;

    fn edge() -> AgentName {
        AgentName { namespace: "shop".to_owned(), name: "edge".to_owned() }
    }

    fn offers(names: impl Iterator<Item = String>) -> BTreeSet<OfferedCluster> {
        names.map(|name| OfferedCluster { namespace: "shop".to_owned(), name }).collect()
    }

    fn home() -> (MemoryPlace, Home) {
        let place = MemoryPlace::new("home");
        place.add_kind((*pivot_kind()).clone());
        place.add_namespace("shop");
        (place.clone(), Home::new(Arc::new(place), "pivot-host-system").unwrap())
    }

    fn pivots_in(place: &MemoryPlace) -> Vec<Value> {
        let keys = place.keys().into_iter().filter(|key| key.group_kind.kind == "Pivot");
        keys.filter_map(|key| place.body(&key)).collect()
    }

    // proves: T183
    #[tokio::test]
    async fn agents_cause_few_suspended_pivots() {
        let (place, home) = home();
        for round in 0..3 {
            let names = offers((0..16).map(|number| format!("c{round}-{number}")));
            let created = create_missing_pivots(&home, &edge(), &names).await;
            assert_eq!(created.is_ok(), round == 0, "{created:?}");
        }
        let pivots = pivots_in(&place);
        assert_eq!(pivots.len(), MAX_PIVOTS);
        for pivot in &pivots {
            assert_eq!((&pivot["spec"]["suspend"], &pivot["spec"]["to"]), (&json!(true), &json!({})));
            assert_eq!(pivot["spec"]["from"], json!({"agent": "edge"}));
            assert_eq!(pivot["metadata"]["namespace"], "shop");
        }
        // Those that have ended don't count.
        for mut pivot in pivots {
            pivot["status"] = json!({"conditions": [{
                "type": "Succeeded", "status": "True", "reason": "Succeeded", "lastTransitionTime": "",
            }]});
            place.insert(pivot).unwrap();
        }
        create_missing_pivots(&home, &edge(), &offers(["new".to_owned()].into_iter())).await.unwrap();
        assert_eq!(pivots_in(&place).len(), MAX_PIVOTS + 1);
    }

    /// The Pivot would take the name of one for the agent's namespace, and move a Cluster of another one there.
    // proves: T183
    #[tokio::test]
    async fn offers_of_other_namespaces_are_skipped() {
        let (place, home) = home();
        let offer = |namespace: &str, name: &str| OfferedCluster {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        let offers = [offer("lab", "prod"), offer("shop", "prod")].into();
        let error = create_missing_pivots(&home, &edge(), &offers).await.unwrap_err().to_string();
        assert!(error.contains("Cluster lab/prod"), "{error}");
        let pivots = pivots_in(&place);
        assert_eq!(pivots.len(), 1);
        assert_eq!(pivots[0]["spec"]["from"], json!({"agent": "edge"}));
    }

    // proves: T183
    #[tokio::test]
    async fn existing_pivot_is_left_alone() {
        let (place, home) = home();
        let body = json!({
            "apiVersion": home.pivots.api_version(), "kind": "Pivot",
            "metadata": {"name": "return-edge.prod", "namespace": "shop"}, "spec": {"to": {"cluster": "c"}},
        });
        place.insert(body).unwrap();
        create_missing_pivots(&home, &edge(), &offers(["prod".to_owned()].into_iter())).await.unwrap();
        let key = Key::new(home.pivots.group_kind.clone(), Some("shop"), "return-edge.prod");
        assert_eq!(place.body(&key).unwrap()["spec"], json!({"to": {"cluster": "c"}}));
        assert_eq!(pivots_in(&place).len(), 1);
    }
}
