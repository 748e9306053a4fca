//! What an agent does by itself while it has no link, and what is asked meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::FutureExt;
use pivot_core::plugins::hooks::Description;
use pivot_core::records::plugin_set::PluginSet;
use pivot_link::{Agent, Agents};
use pivot_memory::MemoryPlace;
use pivot_places::{AgentDescription, Place, PlaceError};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::called::{NOT, SOON, called, cluster, create, edge, guard};
use crate::tls_files::Authority;

const AFTER: Duration = Duration::from_secs(1);

/// What an agent did alone: begun, and let end.
struct Alone {
    agent: JoinHandle<()>,
    begun: Arc<AtomicUsize>,
    may_end: Arc<Semaphore>,
}

impl Alone {
    /// The agent at the beginning, which finishes whenever it was alone for a second.
    fn start(authority: &Authority, address: &str, place: &MemoryPlace) -> Self {
        let papers = authority.agent(&["spiffe://site.example.com/agent/shop/edge"]);
        let agent = Agent::new(address.to_owned(), papers, Arc::new(place.clone()), guard()).unwrap();
        let (begun, may_end) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        let (count, end) = (begun.clone(), may_end.clone());
        let agent = agent.finishing(
            AFTER,
            PluginSet::default(),
            Box::new(move |place, returned| {
                let nth = count.fetch_add(1, Ordering::SeqCst);
                let end = end.clone();
                async move {
                    // By the same rules as whoever asks.
                    let elsewhere = create(&*place, "other", "alone").await;
                    assert!(matches!(elsewhere, Err(PlaceError::Forbidden(_))), "{elsewhere:?}");
                    create(&*place, "shop", &format!("alone-{nth}")).await.unwrap();
                    end.acquire().await.unwrap().forget();
                    if nth == 0 {
                        timeout(SOON, returned).await.unwrap();
                    }
                    false
                }
                .boxed()
            }),
        );
        Self { agent: tokio::spawn(async move { match agent.keep(|_| {}).await {} }), begun, may_end }
    }

    fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }

    async fn has_begun(&self, times: usize) {
        let begun = async {
            while self.begun() < times {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(SOON, begun).await.unwrap();
        assert_eq!(self.begun(), times);
    }
}

// proves: T70
#[tokio::test(flavor = "multi_thread")]
async fn agent_alone_finishes_without_other_requests() {
    let authority = Authority::new();
    let agents = Arc::new(Agents::new(authority.controller("localhost")).unwrap());
    let (address, listens) = called(&agents, "127.0.0.1:0").await;
    let place = cluster("far");
    let alone = Alone::start(&authority, &address, &place);
    let link = agents.wait_for_place(&edge(), SOON).await.unwrap();
    // With a link it never does.
    sleep(AFTER + NOT).await;
    assert_eq!(alone.begun(), 0);
    create(&*link, "shop", "before").await.unwrap();

    listens.abort();
    drop(listens.await);
    alone.has_begun(1).await;
    let port = address.rsplit_once(':').unwrap().1;
    let (_, listens) = called(&agents, &format!("127.0.0.1:{port}")).await;
    let link = agents.wait_for_place(&edge(), SOON).await.unwrap();
    let error = create(&*link, "shop", "meanwhile").await.unwrap_err();
    assert!(error.is_transient() && error.to_string().contains("by itself"), "{error}");
    assert!(link.list(&crate::called::kind("Secret"), Some("shop")).await.unwrap_err().is_transient());
    // That it lives is said.
    assert_eq!(link.identify().await.unwrap(), place.identify().await.unwrap());

    alone.may_end.add_permits(1);
    let answers = async {
        while create(&*link, "shop", "after").await.is_err() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(SOON, answers).await.unwrap();
    // Not again while the link is there, nor twice without one.
    sleep(AFTER + NOT).await;
    assert_eq!(alone.begun(), 1);
    listens.abort();
    drop(listens.await);
    alone.may_end.add_permits(1);
    alone.has_begun(2).await;
    sleep(AFTER + NOT).await;
    assert_eq!(alone.begun(), 2);
    alone.agent.abort();
}

/// Plugins of these versions.
fn plugins(versions: &[usize]) -> PluginSet {
    let plugins = versions.iter().map(|version| Description {
        name: "hosts".to_owned(),
        version: version.to_string(),
        digest: format!("digest of {version}"),
        ..Description::default()
    });
    plugins.collect::<Vec<_>>().iter().collect()
}

/// Starts an agent that finishes moves with these plugins, if with any.
fn start(
    authority: &Authority,
    address: &str,
    place: &MemoryPlace,
    plugins: Option<PluginSet>,
) -> JoinHandle<()> {
    let papers = authority.agent(&["spiffe://site.example.com/agent/shop/edge"]);
    let agent = Agent::new(address.to_owned(), papers, Arc::new(place.clone()), guard()).unwrap();
    let agent = match plugins {
        Some(plugins) => {
            let finish = Box::new(|_, _| std::future::ready(false).boxed());
            agent.finishing(Duration::from_secs(600), plugins, finish)
        }
        None => agent,
    };
    tokio::spawn(async move { match agent.keep(|_| {}).await {} })
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_is_described_by_its_last_call() {
    let authority = Authority::new();
    let agents = Arc::new(Agents::new(authority.controller("localhost")).unwrap());
    let (address, _listens) = called(&agents, "127.0.0.1:0").await;
    let (place, mut first) = (cluster("far"), None);
    for finishes_with in [Some(plugins(&[1])), None, Some(plugins(&[1, 2])), Some(PluginSet::default())] {
        let agent = start(&authority, &address, &place, finishes_with.clone());
        let link = agents.wait_for_place(&edge(), SOON).await.unwrap();
        assert_eq!(link.agent(), Some(AgentDescription { finishes_with }));
        // A move that is under way has the same place, and so sees the new description.
        assert!(Arc::ptr_eq(&link, first.get_or_insert(link.clone())));
        agent.abort();
        while link.is_connected() {
            sleep(Duration::from_millis(10)).await;
        }
    }
}

/// The controller keeps the description for as long as it runs.
// proves: T68
#[tokio::test(flavor = "multi_thread")]
async fn endless_description_of_an_agent_is_refused() {
    let authority = Authority::new();
    let agents = Arc::new(Agents::new(authority.controller("localhost")).unwrap());
    let (address, _listens) = called(&agents, "127.0.0.1:0").await;
    let too_many = plugins(&(0..101).collect::<Vec<_>>());
    let too_long = cluster(&"x".repeat(1 << 20));
    for (place, plugins) in [(cluster("far"), too_many), (too_long, PluginSet::default())] {
        let agent = start(&authority, &address, &place, Some(plugins));
        assert!(agents.wait_for_place(&edge(), NOT).await.is_none());
        agent.abort();
    }
    let (place, most) = (cluster("far"), plugins(&(0..100).collect::<Vec<_>>()));
    start(&authority, &address, &place, Some(most.clone()));
    let link = agents.wait_for_place(&edge(), SOON).await.unwrap();
    assert_eq!(link.agent(), Some(AgentDescription { finishes_with: Some(most) }));
}
