//! A controller that is its own authority: who is invited, who gets a certificate and the next one, and who is turned away.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt;
use jiff::{SignedDuration, Timestamp};
use pivot_core::{GroupKind, Key};
use pivot_link::{Agent, AgentName, Agents, Clock, Credentials, Enrolment, invitation_data};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::{Place, PlaceError};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::called::{NOT, SOON, called, cluster, create, edge, guard, kind};
use crate::clock::ByHand;
use crate::stranger::{Stranger, framed};

const SYSTEM: &str = "pivot-host-system";
const CREDENTIALS: &str = "pivot-host-agent-credentials";
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// A controller, and where it is called.
struct Parent {
    place: MemoryPlace,
    clock: Arc<ByHand>,
    enrolment: Arc<Enrolment>,
    agents: Arc<Agents>,
    address: String,
    listens: JoinHandle<()>,
}

impl Parent {
    async fn new() -> Self {
        let place = MemoryPlace::new("parent");
        place.add_namespace(SYSTEM);
        let clock = Arc::new(ByHand::new());
        Self::of(place, clock, "127.0.0.1:0").await
    }

    async fn of(place: MemoryPlace, clock: Arc<ByHand>, at: &str) -> Self {
        let names = vec!["localhost".to_owned()];
        let enrolment =
            Arc::new(Enrolment::new(Arc::new(place.clone()), SYSTEM, names, clock.clone()).unwrap());
        let agents = Arc::new(Agents::with_enrolment(enrolment.clone()));
        let (address, listens) = called(&agents, at).await;
        Self { place, clock, enrolment, agents, address, listens }
    }

    /// The process ends, and another begins.
    async fn restarted(self) -> Self {
        self.listens.abort();
        drop(self.listens.await);
        let port = self.address.rsplit_once(':').unwrap().1;
        Self::of(self.place, self.clock, &format!("127.0.0.1:{port}")).await
    }

    /// What is applied in the cluster of an agent that is invited.
    async fn invites(&self, agent: &AgentName) -> Value {
        invitation_data(&self.enrolment.invite(agent).await.unwrap())
    }

    async fn linked(&self) -> bool {
        self.agents.wait_for_place(&edge(), SOON).await.is_some()
    }

    /// Whether nobody links, for a while.
    async fn is_alone(&self) -> bool {
        self.agents.wait_for_place(&edge(), NOT).await.is_none()
    }
}

fn other() -> AgentName {
    AgentName { namespace: "bank".into(), name: "vault".into() }
}

fn secret(name: &str) -> Key {
    Key::new(GroupKind::new("", "Secret"), Some(SYSTEM), name)
}

/// A cluster with what was printed for its agent.
fn child(data: &Value) -> MemoryPlace {
    let place = cluster("child");
    place.add_namespace(SYSTEM);
    let metadata = json!({"name": CREDENTIALS, "namespace": SYSTEM});
    place.insert(json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})).unwrap();
    place
}

/// Applies it where something else is already.
fn applied(place: &MemoryPlace, data: &Value) {
    let invitation = data["invitation"].clone();
    place.edit(&secret(CREDENTIALS), |body| body["data"]["invitation"] = invitation).unwrap();
}

fn decoded(entry: &Value) -> Value {
    serde_json::from_slice(&STANDARD.decode(entry.as_str().unwrap()).unwrap()).unwrap()
}

/// An entry of the Secret of an agent, in its cluster.
fn kept(place: &MemoryPlace, entry: &str) -> Option<Value> {
    let body = place.body(&secret(CREDENTIALS)).unwrap();
    body["data"].get(entry).map(decoded)
}

fn forged(data: &Value, change: impl FnOnce(&mut Value)) -> Value {
    let mut invitation = decoded(&data["invitation"]);
    change(&mut invitation);
    json!({"invitation": STANDARD.encode(invitation.to_string())})
}

/// An agent at work; what it says of each call.
struct Child {
    task: JoinHandle<()>,
    said: mpsc::UnboundedReceiver<Option<String>>,
}

impl Child {
    fn of(place: &MemoryPlace, parent: &Parent) -> Self {
        Self::by(parent.clock.clone(), place, parent)
    }

    fn by(clock: Arc<ByHand>, place: &MemoryPlace, parent: &Parent) -> Self {
        let (send, said) = mpsc::unbounded_channel();
        let place: Arc<dyn Place> = Arc::new(place.clone());
        let credentials = Credentials::new(place.clone(), SYSTEM, CREDENTIALS, clock).unwrap();
        let agent = Agent::with_invitation(parent.address.clone(), credentials, place, guard()).unwrap();
        let task = tokio::spawn(async move {
            let tell = |called: Result<(), &pivot_link::DialError>| {
                drop(send.send(called.err().map(ToString::to_string)));
            };
            match agent.keep(tell).await {}
        });
        Self { task, said }
    }

    /// What it says next.
    async fn says(&mut self) -> Option<String> {
        timeout(SOON, self.said.recv()).await.expect("it says nothing").unwrap()
    }

    /// Why it has no link.
    async fn complains(&mut self) -> String {
        self.says().await.expect("it is linked")
    }

    async fn stop(self) {
        self.task.abort();
        drop(self.task.await);
    }
}

// proves: T56
#[tokio::test(flavor = "multi_thread")]
async fn invitation_token_and_keys_stay_secret() {
    let parent = Parent::new().await;
    let absence = async || parent.agents.describe_absence(&edge()).await;
    assert!(absence().await.ends_with("it was not invited, or was removed"), "{}", absence().await);
    let data = parent.invites(&edge()).await;
    assert!(absence().await.ends_with("it was invited and has not called yet"), "{}", absence().await);
    let place = child(&data);
    let mut agent = Child::of(&place, &parent);
    assert_eq!(agent.says().await, None);
    assert!(absence().await.ends_with("is not connected"), "nothing is wrong with it: {}", absence().await);
    let link = parent.agents.wait_for_place(&edge(), SOON).await.unwrap();
    create(&*link, "shop", "c").await.unwrap();
    // What it no longer needs is gone from its own cluster, too.
    assert!(kept(&place, "invitation").is_none() && kept(&place, "asking").is_none());
    let token = decoded(&data["invitation"])["token"].as_str().unwrap().to_owned();
    for key in parent.place.keys().iter().filter(|key| key.group_kind.kind == "Secret") {
        let entries = parent.place.body(key).unwrap()["data"].as_object().unwrap().clone();
        for (name, entry) in entries {
            assert!(!decoded(&entry).to_string().contains(&token), "{key} {name}");
        }
    }
    // Nor does the agent's own key leave its cluster, or the authority's the controller's.
    let own = kept(&place, "held").unwrap();
    let roots = parent.place.body(&secret("pivot-agents-authority")).unwrap();
    let root = decoded(&roots["data"]["roots.json"])[0]["key"].as_str().unwrap().to_owned();
    assert!(root.contains("PRIVATE KEY") && own["key"].as_str().unwrap().contains("PRIVATE KEY"));
    assert!(!own.to_string().contains(&root) && !data.to_string().contains(&root));
}

/// Of the writes to the Secret of an agent in its cluster, this one fails.
fn fails_at_write(place: &MemoryPlace, nth: usize) {
    let writes = AtomicUsize::new(0);
    place.on_call(move |verb, key| {
        let write = verb == "patch" && key.name == CREDENTIALS;
        let fails = write && writes.fetch_add(1, Ordering::Relaxed) + 1 == nth;
        fails.then(|| Fault::Before(PlaceError::Unavailable("the child's server".to_owned())))
    });
}

// proves: T61
#[tokio::test(flavor = "multi_thread")]
async fn lost_answer_is_requested_with_same_key() {
    let parent = Parent::new().await;
    let place = child(&parent.invites(&edge()).await);
    // The first write keeps the key for which it asks, the second what it gets for it.
    fails_at_write(&place, 2);
    let mut agent = Child::of(&place, &parent);
    assert!(agent.complains().await.contains("the child's server"));
    agent.stop().await;
    let asking = kept(&place, "asking").unwrap();
    assert!(kept(&place, "held").is_none() && parent.agents.connected_count() == 0);
    // Another process of it, with nothing but its cluster.
    let mut agent = Child::of(&place, &parent);
    assert_eq!(agent.says().await, None);
    assert!(parent.linked().await);
    assert_eq!(kept(&place, "held").unwrap()["key"], asking["key"]);
}

// proves: T61
#[tokio::test(flavor = "multi_thread")]
async fn agent_without_stored_key_does_not_enrol() {
    let parent = Parent::new().await;
    let place = child(&parent.invites(&edge()).await);
    fails_at_write(&place, 1);
    let mut agent = Child::of(&place, &parent);
    assert!(agent.complains().await.contains("the child's server"));
    agent.stop().await;
    let entry = parent.place.body(&secret("pivot-agent.shop.edge")).unwrap();
    assert_eq!(decoded(&entry["data"]["agent.json"])["taken"], false);
}

// proves: T58
#[tokio::test(flavor = "multi_thread")]
async fn used_token_is_refused_for_another_key() {
    let parent = Parent::new().await;
    let data = parent.invites(&edge()).await;
    let mut agent = Child::of(&child(&data), &parent);
    assert_eq!(agent.says().await, None);
    let mut thief = Child::of(&child(&data), &parent);
    assert!(thief.complains().await.contains("doesn't take this agent's invitation"));
    let link = parent.agents.wait_for_place(&edge(), Duration::ZERO).await.unwrap();
    create(&*link, "shop", "c").await.unwrap();
}

// proves: T58
#[tokio::test(flavor = "multi_thread")]
async fn invitation_expires_or_is_replaced() {
    let parent = Parent::new().await;
    let (replaced, data) = (parent.invites(&edge()).await, parent.invites(&edge()).await);
    let refused = |why: String| assert!(why.contains("doesn't take this agent's invitation"), "{why}");
    refused(Child::of(&child(&replaced), &parent).complains().await);
    parent.clock.wait(DAY);
    refused(Child::of(&child(&data), &parent).complains().await);
    let data = parent.invites(&edge()).await;
    parent.clock.wait(DAY - SignedDuration::from_secs(1));
    assert_eq!(Child::of(&child(&data), &parent).says().await, None);
}

// proves: T56
#[tokio::test(flavor = "multi_thread")]
async fn refused_invitations_get_equal_answers() {
    let parent = Parent::new().await;
    let data = parent.invites(&edge()).await;
    let others = parent.invites(&other()).await;
    let wrong = [
        // Its own token by the name of another agent, of one that there isn't, and of what can't be one.
        forged(&data, |invitation| invitation["agent"] = decoded(&others["invitation"])["agent"].clone()),
        forged(&data, |invitation| invitation["agent"]["name"] = "edge2".into()),
        forged(&data, |invitation| invitation["agent"]["name"] = "../../shop".into()),
        forged(&data, |invitation| invitation["token"] = "0".repeat(32).into()),
        forged(&data, |invitation| invitation["token"] = "".into()),
    ];
    let mut answers = Vec::new();
    for wrong in &wrong {
        let mut agent = Child::of(&child(wrong), &parent);
        answers.push(agent.complains().await);
        agent.stop().await;
    }
    answers.dedup();
    assert!(answers.len() == 1 && answers[0].contains("doesn't take this agent's invitation"), "{answers:?}");
    // And none of it has used it up.
    assert_eq!(Child::of(&child(&data), &parent).says().await, None);
}

// proves: T60
#[tokio::test(flavor = "multi_thread")]
async fn removed_agent_is_rejected_until_invited() {
    let parent = Parent::new().await;
    let place = child(&parent.invites(&edge()).await);
    let mut agent = Child::of(&place, &parent);
    assert_eq!(agent.says().await, None);
    let link = parent.agents.wait_for_place(&edge(), SOON).await.unwrap();
    let removed_key = kept(&place, "held").unwrap()["key"].clone();
    // What is being read over a link would keep its connection.
    let config_maps = kind("ConfigMap");
    let version = link.list(&config_maps, Some("shop")).await.unwrap().resource_version;
    let mut watched = link.watch(&config_maps, Some("shop"), &version).await.unwrap();
    assert!(parent.enrolment.remove(&edge()).await.unwrap());
    assert!(!parent.enrolment.remove(&edge()).await.unwrap());
    timeout(Duration::from_secs(5), async {
        while link.is_connected() {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .expect("the link goes on");
    let last = timeout(Duration::from_secs(5), watched.next()).await.expect("the watch goes on");
    assert!(last.is_none_or(|event| event.is_err()));
    assert!(agent.complains().await.contains("rejects this agent"));
    assert!(parent.is_alone().await);
    // Its certificate isn't renewed either.
    let held = kept(&place, "held").unwrap();
    parent.clock.wait(DAY * 25);
    assert!(parent.is_alone().await);
    assert_eq!(kept(&place, "held").unwrap(), held);
    // What is applied reaches the agent that runs, and the key that was removed doesn't come back with it.
    applied(&place, &parent.invites(&edge()).await);
    assert!(parent.linked().await);
    assert_ne!(kept(&place, "held").unwrap()["key"], removed_key);
}

// proves: T60
#[tokio::test(flavor = "multi_thread")]
async fn newly_enrolled_agent_replaces_its_predecessor() {
    let parent = Parent::new().await;
    let old = child(&parent.invites(&edge()).await);
    let mut first = Child::of(&old, &parent);
    assert_eq!(first.says().await, None);
    let link = parent.agents.wait_for_place(&edge(), SOON).await.unwrap();
    // Until it comes the first one goes on.
    let new = child(&parent.invites(&edge()).await);
    create(&*link, "shop", "c").await.unwrap();
    let mut second = Child::of(&new, &parent);
    while second.says().await.is_some() {}
    assert!(!link.is_connected());
    assert!(first.complains().await.contains("rejects this agent"));
}

// proves: T62
#[tokio::test(flavor = "multi_thread")]
async fn links_survive_two_years_of_renewals() {
    let parent = Parent::new().await;
    let place = child(&parent.invites(&edge()).await);
    let mut agent = Child::of(&place, &parent);
    assert_eq!(agent.says().await, None);
    let link = parent.agents.wait_for_place(&edge(), SOON).await.unwrap();
    let held = || kept(&place, "held").unwrap()["granted"].clone();
    let until = || held()["until"].as_str().unwrap().parse::<Timestamp>().unwrap();
    let (own, first) = (kept(&place, "held").unwrap()["key"].clone(), held());
    let (mut renewals, mut last) = (0, until());
    for day in 1..=760 {
        parent.clock.wait(DAY);
        let in_time = async {
            // Three quarters of thirty days are 22.5.
            while until().duration_since(parent.clock.now()) < DAY * 7 {
                sleep(Duration::from_millis(1)).await;
            }
        };
        // A renewal that fails is tried again an hour later.
        let later = async {
            loop {
                sleep(Duration::from_secs(2)).await;
                parent.clock.wait(SignedDuration::from_hours(1));
            }
        };
        let in_time = async {
            tokio::select! {
                () = in_time => {}
                () = later => {}
            }
        };
        timeout(SOON, in_time).await.unwrap_or_else(|_| panic!("not renewed on day {day}"));
        if until() != last {
            (renewals, last) = (renewals + 1, until());
        }
    }
    assert!((760 / 24..=760 / 20).contains(&renewals), "{renewals}");
    assert!(link.is_connected() && agent.said.try_recv().is_err(), "the link was cut");
    create(&*link, "shop", "c").await.unwrap();
    assert_eq!(kept(&place, "held").unwrap()["key"], own);
    // The root of the beginning has ended; both ends begin anew with what they have.
    let (before, now) =
        (first["authority"].as_str().unwrap(), held()["authority"].as_str().unwrap().to_owned());
    assert!(!before.is_empty() && !now.contains(before));
    agent.stop().await;
    let parent = parent.restarted().await;
    let mut agent = Child::of(&place, &parent);
    assert_eq!(agent.says().await, None);
    assert!(parent.linked().await);
}

// proves: T62
#[tokio::test(flavor = "multi_thread")]
async fn expired_agent_reports_that_it_needs_invitation() {
    let parent = Parent::new().await;
    let place = child(&parent.invites(&edge()).await);
    let mut agent = Child::of(&place, &parent);
    assert_eq!(agent.says().await, None);
    agent.stop().await;
    let minutes = SignedDuration::from_mins(10);
    let slow = Arc::new(ByHand::at(parent.clock.now() + DAY * 30 - minutes));
    parent.clock.wait(DAY * 30 + minutes);
    let mut agent = Child::of(&place, &parent);
    let why = agent.complains().await;
    assert!(why.contains("was good until") && why.contains("invite it again"), "{why}");
    agent.stop().await;
    // The controller goes by its own clock.
    let mut agent = Child::by(slow, &place, &parent);
    let why = agent.complains().await;
    assert!(why.contains("rejects this agent") && why.contains("CertificateExpired"), "{why}");
    agent.stop().await;
    applied(&place, &parent.invites(&edge()).await);
    assert_eq!(Child::of(&place, &parent).says().await, None);
}

// proves: T62
#[tokio::test(flavor = "multi_thread")]
async fn fast_clock_renews_hourly() {
    let parent = Parent::new().await;
    let place = child(&parent.invites(&edge()).await);
    // For this agent each new certificate is due at once.
    let fast = Arc::new(ByHand::at(parent.clock.now() + DAY * 26));
    let mut agent = Child::by(fast.clone(), &place, &parent);
    assert_eq!(agent.says().await, None);
    let writes = Arc::new(AtomicUsize::new(0));
    let count = writes.clone();
    place.on_call(move |verb, key| {
        count.fetch_add((key.name == CREDENTIALS && verb == "patch").into(), Ordering::Relaxed);
        None
    });
    for hour in 1..=3 {
        fast.wait(SignedDuration::from_mins(61));
        timeout(SOON, async {
            while writes.load(Ordering::Relaxed) < hour {
                sleep(Duration::from_millis(1)).await;
            }
        })
        .await
        .unwrap_or_else(|_| panic!("not renewed in hour {hour}"));
        sleep(Duration::from_millis(100)).await;
        assert_eq!(writes.load(Ordering::Relaxed), hour);
    }
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reapplied_invitation_is_harmless() {
    let parent = Parent::new().await;
    let data = parent.invites(&edge()).await;
    let place = child(&data);
    let mut agent = Child::of(&place, &parent);
    assert_eq!(agent.says().await, None);
    let held = kept(&place, "held").unwrap();
    applied(&place, &data);
    agent.stop().await;
    let mut agent = Child::of(&place, &parent);
    assert_eq!(agent.says().await, None);
    assert_eq!(kept(&place, "held").unwrap(), held);
}

// proves: T63
#[tokio::test(flavor = "multi_thread")]
async fn an_invited_agent_answers_no_other_controller() {
    let (parent, impostor) = (Parent::new().await, Parent::new().await);
    let data = parent.invites(&edge()).await;
    impostor.invites(&edge()).await;
    let place = child(&data);
    let mut agent = Child::of(&place, &impostor);
    assert!(agent.complains().await.contains("invalid peer certificate"));
    agent.stop().await;
    let mut agent = Child::of(&place, &parent);
    assert_eq!(agent.says().await, None);
    agent.stop().await;
    let mut agent = Child::of(&place, &impostor);
    assert!(agent.complains().await.contains("invalid peer certificate"));
    assert!(impostor.is_alone().await);
}

// proves: T57
#[tokio::test(flavor = "multi_thread")]
async fn hostile_enrolments_end_without_cluster_requests() {
    let parent = Parent::new().await;
    let data = parent.invites(&edge()).await;
    let invitation = decoded(&data["invitation"]);
    let question = json!({"agent": invitation["agent"], "token": invitation["token"]});
    let stranger = Stranger::new(&parent.address, invitation["authority"].as_str().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    parent.place.on_call(move |_, key| {
        count.fetch_add(key.name.starts_with("pivot-agent.").into(), Ordering::Relaxed);
        None
    });
    let more = |name: &str, value: &str| {
        let mut question = question.clone();
        question[name] = value.into();
        framed(question.to_string().as_bytes())
    };
    let messages = [
        u32::MAX.to_be_bytes().to_vec(),
        ((16_u32 << 10) + 1).to_be_bytes().to_vec(),
        framed(b""),
        framed(b"\xff\xfe"),
        framed("[".repeat(16 << 10).as_bytes()),
        framed(b"{}"),
        // There is no place for a name.
        more("names", "spiffe://site/agent/bank/vault"),
        more("csr", "MII"),
        // It ends within the message.
        framed(question.to_string().as_bytes())[..20].to_vec(),
    ];
    for message in messages {
        let answer = stranger.says(&message).await;
        assert_eq!(answer.unwrap_or_default(), b"", "{message:?}");
    }
    // Who shows a certificate, another kind of key or none doesn't get that far, nor who asks for no protocol or another.
    for odd in stranger.odd_ones() {
        let answer = odd.says(&framed(question.to_string().as_bytes())).await;
        assert_eq!(answer.unwrap_or_default(), b"", "{odd:?}");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    // The invitation is still good.
    let granted = stranger.says(&framed(question.to_string().as_bytes())).await.unwrap();
    assert!(String::from_utf8_lossy(&granted).contains("BEGIN CERTIFICATE"));
    assert!(asked.load(Ordering::Relaxed) > 0);
}
