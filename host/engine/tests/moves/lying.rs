//! A child that answers what isn't asked: about objects of other namespaces, with other names, or without an end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use futures::stream::{BoxStream, StreamExt};
use pivot_core::objects::names::MARK;
use pivot_core::records::route::EndKind;
use pivot_core::{Key, Kind, KindLabels, Object, Side, Uid};
use pivot_engine::run;
use pivot_link::{Guard, LinkPlace, Role, serve};
use pivot_memory::MemoryPlace;
use pivot_places::{
    Access, Capabilities, Change, Event, Identity, Listing, MetaListing, Patch, Place, PlaceError,
    Preconditions, Result, Subresource,
};
use serde_json::{Value, json};
use tokio::io::duplex;

use crate::linked::link;
use crate::stage::{CLUSTERS, INFRA, Stage, body, key, kind, picture};

/// What a lying child makes of an object's metadata.
type Lie = fn(&mut Value);

const LIES: [(&str, Lie); 5] = [
    ("another namespace", |metadata| metadata["namespace"] = json!("kube-system")),
    ("no namespace", |metadata| drop(metadata.as_object_mut().unwrap().remove("namespace"))),
    ("a namespace that is a path", |metadata| metadata["namespace"] = json!("ns/../kube-system")),
    ("a name that is a path", |metadata| metadata["name"] = json!("../../kube-system/secrets/s")),
    ("a uid that is no word", |metadata| metadata["uid"] = json!("a b\nerror: c")),
];
/// In a list any name will do.
const ANOTHER_NAME: (&str, Lie) = ("another name", |metadata| metadata["name"] = json!("other"));

/// A place that adds an object to each list of Secrets, about which it lies.
struct Liar {
    truth: MemoryPlace,
    lie: Lie,
    /// What it says of itself.
    can: Capabilities,
    end_kind: EndKind,
    label: String,
    identity: Option<Identity>,
}

impl Liar {
    /// A lie about an object.
    fn about(&self, kind: &Arc<Kind>, object: &Object) -> Object {
        let mut value = object.value().unwrap();
        (self.lie)(&mut value["metadata"]);
        Object::from_value(kind.clone(), &value).unwrap()
    }

    fn lie(&self, kind: &Arc<Kind>, mut listing: Listing) -> Listing {
        if kind.group_kind.is_secret() {
            let mut secret = body("", "Secret", "s", Some((CLUSTERS, "Cluster", "c")));
            secret["metadata"]["resourceVersion"] = json!("1");
            (self.lie)(&mut secret["metadata"]);
            listing.objects.push(Object::from_value(kind.clone(), &secret).unwrap());
        }
        listing
    }
}

#[async_trait]
impl Place for Liar {
    fn label(&self) -> &str {
        &self.label
    }

    fn end_kind(&self) -> EndKind {
        self.end_kind
    }

    fn capabilities(&self) -> Capabilities {
        self.can
    }

    async fn identify(&self) -> Result<Identity> {
        match &self.identity {
            Some(identity) => Ok(identity.clone()),
            None => self.truth.identify().await,
        }
    }

    async fn kinds(&self) -> Result<Vec<Arc<Kind>>> {
        self.truth.kinds().await
    }

    async fn list(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<Listing> {
        Ok(self.lie(kind, self.truth.list(kind, namespace).await?))
    }

    async fn list_labelled(&self, kind: &Arc<Kind>, namespace: &str, label: &str) -> Result<Listing> {
        Ok(self.lie(kind, self.truth.list_labelled(kind, namespace, label).await?))
    }

    async fn list_meta(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing> {
        let Listing { objects, resource_version } = self.list(kind, namespace).await?;
        Ok(MetaListing { metas: objects.into_iter().map(|object| object.meta).collect(), resource_version })
    }

    async fn get(&self, kind: &Arc<Kind>, key: &Key) -> Result<Option<Object>> {
        Ok(self.truth.get(kind, key).await?.map(|object| self.about(kind, &object)))
    }

    async fn create(&self, kind: &Arc<Kind>, body: &Value, change: Change) -> Result<Object> {
        self.truth.create(kind, body, change).await.map(|object| self.about(kind, &object))
    }

    async fn patch(&self, kind: &Arc<Kind>, key: &Key, patch: &Patch) -> Result<Object> {
        self.truth.patch(kind, key, patch).await.map(|object| self.about(kind, &object))
    }

    async fn delete(&self, kind: &Arc<Kind>, key: &Key, preconditions: &Preconditions) -> Result<()> {
        self.truth.delete(kind, key, preconditions).await
    }

    async fn watch(
        &self,
        kind: &Arc<Kind>,
        namespace: Option<&str>,
        version: &str,
    ) -> Result<BoxStream<'static, Result<Event>>> {
        let listing = self.list(kind, namespace).await?;
        let lies = futures::stream::iter(listing.objects.into_iter().map(Event::Applied).map(Ok));
        Ok(lies.chain(self.truth.watch(kind, namespace, version).await?).boxed())
    }

    async fn find_denied(&self, asked: &[Access]) -> Result<Vec<Access>> {
        self.truth.find_denied(asked).await
    }
}

/// The child, as its parent has it.
async fn child(truth: &MemoryPlace, lie: Lie, role: Role) -> Arc<LinkPlace> {
    let (can, end_kind, label, identity) =
        (truth.capabilities(), truth.end_kind(), truth.label().to_owned(), None);
    behind_link(Liar { truth: truth.clone(), lie, can, end_kind, label, identity }, role).await
}

async fn behind_link(place: Liar, role: Role) -> Arc<LinkPlace> {
    let (near, far) = duplex(64 << 10);
    let guard =
        Guard { namespaces: None, record_namespace: "pivot-host-records".into(), role, keep_answering: true };
    tokio::spawn(async move { drop(serve(far, Arc::new(place), guard).await) });
    let (place, alive) = LinkPlace::connect(near).await.unwrap();
    tokio::spawn(alive);
    place
}

// proves: T67
#[tokio::test]
async fn what_a_child_says_of_other_objects_than_those_asked_for_is_not_believed() {
    for (what, lie) in LIES {
        let truth = Stage::new().source;
        let place = child(&truth, lie, Role::Source).await;
        let kinds = place.kinds().await.unwrap();
        let secrets = kinds.iter().find(|kind| kind.group_kind.is_secret()).unwrap();
        let key = Key::new(secrets.group_kind.clone(), Some("ns"), "pull");
        let mut watch = place.watch(secrets, Some("ns"), "0").await.unwrap();
        let watched = loop {
            match watch.next().await.unwrap() {
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        let errors = [
            place.list(secrets, Some("ns")).await.map(drop).unwrap_err(),
            place.list_meta(secrets, Some("ns")).await.map(drop).unwrap_err(),
            place.list_labelled(secrets, "ns", "l").await.map(drop).unwrap_err(),
            place.get(secrets, &key).await.map(drop).unwrap_err(),
            watched,
        ];
        for error in errors {
            assert!(matches!(error, PlaceError::Unreadable(_)), "{what}: {error:?}");
            assert!(!error.to_string().contains('\n'), "{what}: {error}");
        }
    }
}

#[tokio::test]
async fn what_a_child_says_of_one_object_is_about_that_one() {
    for (what, lie) in LIES.into_iter().chain([ANOTHER_NAME]) {
        let truth = Stage::new().target;
        truth.add_namespace("ns");
        let place = child(&truth, lie, Role::Target).await;
        let kinds = place.kinds().await.unwrap();
        let secrets = kinds.iter().find(|kind| kind.group_kind.is_secret()).unwrap();
        let key = Key::new(secrets.group_kind.clone(), Some("ns"), "s");
        let mut secret = body("", "Secret", "s", None);
        secret["metadata"]["annotations"] = json!({ MARK: "1" });
        let patch = json!({"metadata": {"labels": {"l": "2"}}});
        let patch = Patch { body: patch, subresource: Subresource::None, change: Change::Real };
        let errors = [
            place.create(secrets, &secret, Change::Real).await.unwrap_err(),
            place.get(secrets, &key).await.unwrap_err(),
            place.patch(secrets, &key, &patch).await.unwrap_err(),
        ];
        for error in errors {
            // A patch is bound to the UID that the object has for whoever looks at it.
            let refused = matches!(error, PlaceError::Unreadable(_) | PlaceError::Conflict(_));
            assert!(refused, "{what}: {error:?}");
        }
    }
}

// proves: T67
#[tokio::test]
async fn a_child_that_lies_when_it_is_taken_back_brings_nothing_into_another_namespace() {
    for (what, lie) in LIES {
        let stage = Stage::new();
        stage.target.add_namespace("kube-system");
        let (before, after) = (picture(&stage.source), picture(&stage.target));
        let mut setup = stage.setup();
        setup.sides.source = child(&stage.source, lie, Role::Source).await;
        let stop = run::start(setup).await.unwrap_err();
        assert_eq!((picture(&stage.source), picture(&stage.target)), (before, after), "{what}: {stop}");
    }
}

/// What it says it has it has not: its own objects are lost, and nobody else's.
// proves: T69
#[tokio::test]
async fn a_child_that_claims_copies_loses_its_own_objects_and_nobody_elses() {
    let stage = Stage::new();
    stage.source.add_namespace("other");
    let mut others = body(CLUSTERS, "Cluster", "c", None);
    others["metadata"]["namespace"] = json!("other");
    others["metadata"]["uid"] = json!("other");
    stage.source.insert(others).unwrap();
    let of_others = |stage: &Stage| {
        let mut all = picture(&stage.source);
        all.retain(|key, _| key.contains("other/"));
        all
    };
    let before = of_others(&stage);
    assert_eq!(before.len(), 1);
    // It says yes to everything, and forgets it when the parent believes it.
    let (forgetful, forgot) = (stage.target.clone(), Arc::new(AtomicBool::new(false)));
    let forgets = forgot.clone();
    stage.source.on_call(move |verb, _| {
        if verb == "delete" {
            forgets.store(true, Ordering::SeqCst);
            let copies = forgetful.keys().into_iter().filter(|key| key.namespace.as_deref() == Some("ns"));
            copies.for_each(|key| drop(forgetful.remove(&key)));
        }
        None
    });
    let mut setup = stage.setup();
    setup.sides.target = link(&stage.target, Role::Target).await;
    let _ = run::start(setup).await;
    assert!(forgot.load(Ordering::SeqCst) && stage.source.body(&key(CLUSTERS, "Cluster", "c")).is_none());
    assert_eq!(of_others(&stage), before);
}

/// Where records and leases are, and whether controllers are waited for, follows from the kind of a side. An agent has no say in it.
// proves: T144
#[tokio::test]
async fn an_agent_stands_before_an_api_server() {
    let truth = Stage::new().source;
    let directory = Identity::Directory { path: "/".to_owned(), contents: Some(Uid("directory-1".into())) };
    let place = Liar {
        truth,
        lie: |_| {},
        can: Capabilities { owns_status: true, ..Capabilities::FILES },
        end_kind: EndKind::HandoverFiles,
        label: "x".repeat(1 << 17),
        identity: Some(directory),
    };
    let place = behind_link(place, Role::Source).await;
    assert_eq!((place.capabilities(), place.end_kind()), (Capabilities::API_SERVER, EndKind::Cluster));
    assert!(place.label().len() < 1_000);
    assert!(matches!(place.identify().await, Err(PlaceError::Unreadable(_))));
}

/// Which kinds move, and whether they are in namespaces, its own cluster knows: a child that is taken back could have bindings made.
/// Nor does a cluster say it whose kubeconfig a tenant brings.
// proves: T66, T142
#[tokio::test]
async fn a_child_does_not_say_which_kinds_move() {
    for (linked, confined, moved) in
        [(false, None, true), (true, None, false), (false, Some(Side::Target), false)]
    {
        let mut stage = Stage::new();
        stage.target.add_namespace("ns");
        stage.options.confined = confined;
        let labels = KindLabels { discover: true, moves: true, ..KindLabels::default() };
        let group = "rbac.example.com";
        stage.source.add_kind(kind(group, "Binding", "bindings", labels));
        stage.target.add_kind(kind(group, "Binding", "bindings", KindLabels::default()));
        stage.source.insert(body(group, "Binding", "b", None)).unwrap();
        let mut setup = stage.setup();
        if linked {
            setup.sides.source = link(&stage.source, Role::Source).await;
        }
        run::start(setup).await.unwrap();
        let there = stage.target.keys().iter().any(|key| key.group_kind.kind == "Binding");
        assert_eq!(there, moved, "linked: {linked}, {confined:?}");
    }
}

// proves: T66
#[tokio::test]
async fn kinds_that_can_be_no_kinds_are_not_believed() {
    let truth = Stage::new().source;
    truth.add_kind(kind(INFRA, "Odd", "../odds", KindLabels::default()));
    let place = link(&truth, Role::Source).await;
    assert!(matches!(place.kinds().await, Err(PlaceError::Unreadable(_))));
}
