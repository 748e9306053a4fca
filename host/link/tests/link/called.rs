//! Agents that call, who they are, and who is turned away.

use std::sync::Arc;
use std::time::Duration;

use pivot_core::objects::names::MARK;
use pivot_core::{GroupKind, Key, Kind};
use pivot_link::{Agent, AgentName, Agents, Guard, Role, TlsFiles};
use pivot_memory::MemoryPlace;
use pivot_places::{Change, Place, PlaceError, builtin_kinds};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::tls_files::Authority;

const EDGE: &str = "spiffe://site.example.com/agent/shop/edge";
/// Longer than an agent's first pauses.
pub(crate) const SOON: Duration = Duration::from_secs(20);
/// Long enough for a handshake that is refused.
pub(crate) const NOT: Duration = Duration::from_secs(1);

pub(crate) fn edge() -> AgentName {
    AgentName { namespace: "shop".into(), name: "edge".into() }
}

pub(crate) fn guard() -> Guard {
    Guard {
        namespaces: Some(["shop".to_owned()].into()),
        record_namespace: "pivot-host-records".into(),
        role: Role::Target,
        keep_answering: false,
    }
}

pub(crate) fn kind(name: &str) -> Arc<Kind> {
    Arc::new(builtin_kinds().into_iter().find(|kind| kind.group_kind.kind == name).unwrap())
}

/// Takes agents at an address.
pub(crate) async fn called(agents: &Arc<Agents>, at: &str) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind(at).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let agents = agents.clone();
    let task = tokio::spawn(async move { match agents.listen(listener).await {} });
    (format!("localhost:{port}"), task)
}

/// An agent that calls; what it says of each call.
fn calls(
    address: &str,
    papers: TlsFiles,
    place: &MemoryPlace,
) -> (JoinHandle<()>, mpsc::UnboundedReceiver<Option<String>>) {
    let (send, said) = mpsc::unbounded_channel();
    let agent = Agent::new(address.to_owned(), papers, Arc::new(place.clone()), guard()).unwrap();
    let task = tokio::spawn(async move {
        let tell = |called: Result<(), &pivot_link::DialError>| {
            drop(send.send(called.err().map(ToString::to_string)));
        };
        match agent.keep(tell).await {}
    });
    (task, said)
}

/// A cluster that has the namespace.
pub(crate) fn cluster(name: &str) -> MemoryPlace {
    let place = MemoryPlace::new(name);
    place.add_namespace("shop");
    place
}

pub(crate) async fn create(place: &dyn Place, namespace: &str, name: &str) -> Result<(), PlaceError> {
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace, "annotations": {MARK: "1"}}});
    place.create(&kind("ConfigMap"), &body, Change::Real).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_is_found_by_its_certificates_name() {
    let authority = Authority::new();
    let agents = Arc::new(Agents::new(authority.controller("localhost")).unwrap());
    let (address, _listens) = called(&agents, "127.0.0.1:0").await;
    assert!(agents.wait_for_place(&edge(), Duration::ZERO).await.is_none());
    let place = cluster("far");
    let (_agent, mut said) = calls(&address, authority.agent(&[EDGE]), &place);
    assert_eq!(said.recv().await.unwrap(), None);
    let link = agents.wait_for_place(&edge(), SOON).await.unwrap();
    assert_eq!((link.label(), agents.connected_count()), ("far", 1));
    create(&*link, "shop", "c").await.unwrap();
    let key = Key::new(GroupKind::new("", "ConfigMap"), Some("shop"), "c");
    assert!(place.get(&kind("ConfigMap"), &key).await.unwrap().is_some());
    let error = create(&*link, "other", "c").await.unwrap_err();
    assert!(matches!(&error, PlaceError::Forbidden(why) if why.contains("--allow-namespace")), "{error}");
    let stranger = AgentName { namespace: "other".into(), name: "edge".into() };
    assert!(agents.wait_for_place(&stranger, Duration::ZERO).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn link_status_follows_the_link() {
    let authority = Authority::new();
    let agents = Arc::new(Agents::new(authority.controller("localhost")).unwrap());
    let (address, listens) = called(&agents, "127.0.0.1:0").await;
    let place = Arc::new(cluster("far"));
    let agent = Agent::new(address, authority.agent(&[EDGE]), place, guard()).unwrap();
    let status = agent.link_status();
    let until = async |linked| {
        let reached = async {
            while status.is_linked() != linked {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(SOON, reached).await.unwrap();
    };
    assert!(!status.is_linked());
    let _agent = tokio::spawn(async move { match agent.keep(|_| {}).await {} });
    until(true).await;
    listens.abort();
    until(false).await;
}

/// Each summary of a move has it.
#[tokio::test(flavor = "multi_thread")]
async fn long_label_of_an_agent_is_cut() {
    let authority = Authority::new();
    let agents = Arc::new(Agents::new(authority.controller("localhost")).unwrap());
    let (address, _listens) = called(&agents, "127.0.0.1:0").await;
    let (_agent, _said) = calls(&address, authority.agent(&[EDGE]), &cluster(&"far".repeat(2_000)));
    let link = agents.wait_for_place(&edge(), SOON).await.unwrap();
    let characters = link.label().chars().count();
    assert!(link.label().starts_with("farfar") && characters <= 201, "{characters}");
}

#[tokio::test(flavor = "multi_thread")]
async fn reconnected_agent_keeps_its_place() {
    let authority = Authority::new();
    let agents = Arc::new(Agents::new(authority.controller("localhost")).unwrap());
    let (address, listens) = called(&agents, "127.0.0.1:0").await;
    let place = cluster("far");
    let (_agent, _said) = calls(&address, authority.agent(&[EDGE]), &place);
    let link = agents.wait_for_place(&edge(), SOON).await.unwrap();
    create(&*link, "shop", "before").await.unwrap();
    listens.abort();
    drop(listens.await);
    while link.is_connected() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(create(&*link, "shop", "meanwhile").await.unwrap_err().is_transient());
    let port = address.rsplit_once(':').unwrap().1;
    let (_, _listens) = called(&agents, &format!("127.0.0.1:{port}")).await;
    assert!(Arc::ptr_eq(&link, &agents.wait_for_place(&edge(), SOON).await.unwrap()));
    create(&*link, "shop", "after").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_with_the_same_credentials_say_so() {
    let authority = Authority::new();
    let agents = Arc::new(Agents::new(authority.controller("localhost")).unwrap());
    let (address, _listens) = called(&agents, "127.0.0.1:0").await;
    let place = cluster("far");
    let (_first, mut said) = calls(&address, authority.agent(&[EDGE]), &place);
    let (_second, _) = calls(&address, authority.agent(&[EDGE]), &place);
    let told = async {
        while !said.recv().await.unwrap().is_some_and(|why| why.contains("runs with the same credentials")) {}
    };
    tokio::time::timeout(SOON, told).await.unwrap();
}

// proves: T49
#[tokio::test(flavor = "multi_thread")]
async fn callers_of_other_authorities_are_rejected() {
    let (authority, other) = (Authority::new(), Authority::new());
    let agents = Arc::new(Agents::new(authority.controller("localhost")).unwrap());
    let (address, _listens) = called(&agents, "127.0.0.1:0").await;
    let strangers = [
        other.agent(&[EDGE]),
        authority.expired(&[EDGE]),
        authority.agent(&[]),
        authority.agent(&["spiffe://site.example.com/ns/shop/sa/edge"]),
        authority.agent(&[EDGE, "spiffe://site.example.com/agent/bank/edge"]),
        // Who is called is no agent.
        authority.controller("edge"),
    ];
    for papers in strangers {
        let (agent, mut said) = calls(&address, papers.clone(), &MemoryPlace::new("far"));
        // The first call has failed: it has been made, and answered.
        let why = said.recv().await.unwrap();
        assert!(why.is_some(), "{papers:?}");
        assert!(agents.wait_for_place(&edge(), Duration::ZERO).await.is_none(), "{papers:?}: {why:?}");
        assert_eq!(agents.connected_count(), 0, "{papers:?}: {why:?}");
        agent.abort();
    }
    // Who says nothing at all keeps nobody else out, however often.
    let mut silent = Vec::new();
    for _ in 0..600 {
        silent.push(TcpStream::connect(address.replace("localhost", "127.0.0.1")).await.unwrap());
    }
    let (_agent, _said) = calls(&address, authority.agent(&[EDGE]), &MemoryPlace::new("far"));
    assert!(agents.wait_for_place(&edge(), SOON).await.is_some());
}

// proves: T50
#[tokio::test(flavor = "multi_thread")]
async fn agent_answers_trusted_controllers_only() {
    let (authority, other) = (Authority::new(), Authority::new());
    // Of another authority, of another name, and a fellow agent.
    let impostors =
        [other.controller("localhost"), authority.controller("elsewhere"), authority.agent(&[EDGE])];
    for papers in impostors {
        let agents = Arc::new(Agents::new(papers.clone()).unwrap());
        let (address, _listens) = called(&agents, "127.0.0.1:0").await;
        let (agent, mut said) = calls(&address, authority.agent(&[EDGE]), &MemoryPlace::new("far"));
        let why = said.recv().await.unwrap().unwrap();
        assert!(why.contains("invalid peer certificate"), "{papers:?}: {why}");
        assert_eq!(agents.connected_count(), 0);
        agent.abort();
    }
}

// proves: T64
#[tokio::test(flavor = "multi_thread")]
async fn copied_certificate_takes_no_link() {
    let authority = Authority::new();
    let agents = Arc::new(Agents::new(authority.controller("localhost")).unwrap());
    let (address, _listens) = called(&agents, "127.0.0.1:0").await;
    let (first, _said) = calls(&address, authority.agent(&[EDGE]), &MemoryPlace::new("first"));
    let link = agents.wait_for_place(&edge(), SOON).await.unwrap();
    let (_second, _said) = calls(&address, authority.agent(&[EDGE]), &MemoryPlace::new("second"));
    tokio::time::sleep(NOT).await;
    assert_eq!(agents.wait_for_place(&edge(), Duration::ZERO).await.unwrap().label(), "first");
    // When the first is away for good, its name is free; a move that was under way keeps the place that it began with.
    first.abort();
    while link.is_connected() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(agents.wait_for_place(&edge(), SOON).await.unwrap().label(), "second");
    assert!(create(&*link, "shop", "c").await.unwrap_err().is_transient());
}

#[test]
fn unusable_tls_files_are_named_without_content() {
    let directory = tempfile::tempdir().unwrap();
    let refused = || Agents::new(TlsFiles::in_directory(directory.path())).err().unwrap().to_string();
    assert!(refused().contains("ca.crt: No such file"), "{}", refused());
    let authority = Authority::new();
    let good = authority.controller("localhost");
    for name in ["ca.crt", "tls.crt", "tls.key"] {
        std::fs::copy(good.directory().join(name), directory.path().join(name)).unwrap();
    }
    assert!(Agents::new(TlsFiles::in_directory(directory.path())).is_ok());
    for name in ["tls.crt", "tls.key"] {
        let kept = std::fs::read(directory.path().join(name)).unwrap();
        let broken = "-----BEGIN PRIVATE KEY-----\nhunter2!\n-----END PRIVATE KEY-----\n";
        std::fs::write(directory.path().join(name), broken).unwrap();
        assert!(refused().contains(name) && !refused().contains("hunter2"), "{}", refused());
        std::fs::write(directory.path().join(name), kept).unwrap();
    }
    // A key of another certificate.
    let other_authority = Authority::new();
    let other = other_authority.controller("localhost");
    std::fs::copy(other.directory().join("tls.key"), directory.path().join("tls.key")).unwrap();
    assert!(!refused().is_empty());
}
