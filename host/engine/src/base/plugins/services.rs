//! Answers plugins' service calls from the two sides, through the handles of the run.
//!
//! The runtime has checked that a call was declared and granted. Here, calls are confined to the objects that
//! move. Only the plan has these objects: no call is answered before there is a plan.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::try_join_all;
use pivot_core::checks::providers::Provider;
use pivot_core::discovery::inventory::Inventory;
use pivot_core::request::scope::Scope;
use pivot_core::{Both, Key, Kind, Object, Side};
use pivot_places::{PlaceError, ServicePath};
use pivot_runtime::probe::Here;
use pivot_runtime::{Answer, Denied, Probe, Query, ServiceError, Services, Vantage, read_providers};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

use crate::base::kinds::Kinds;
use crate::base::outcome::failure::Failure;
use crate::base::plugins::view::PluginView;
use crate::base::requests::side::Handle;

/// Maximum number of bytes that a plugin sees of a service's answer.
const ANSWER_LIMIT: usize = 256 * 1024;
/// Maximum number of namespaces that one call lists separately. More are read with one list of all namespaces.
const MAX_SEPARATE_LISTS: usize = 16;
/// Time for which the providers of a side count as known. A plugin may ask at every object, and one may wait until a provider is updated.
const PROVIDERS_KNOWN: Duration = Duration::from_secs(60);
/// Error of each failed probe from here, if the cause must stay in the log.
const HIDDEN_CAUSE: &str = "no connection, or no valid answer; the log of pivot-host says why";

/// The two sides, as plugins can query them.
pub(crate) struct PluginServices {
    source: Handle,
    target: Handle,
    kinds: Arc<Kinds>,
    scope: Scope,
    /// A source that can't be written to, as paused in the reading: plugins see that instead of the files.
    paused: OnceLock<Inventory>,
    /// Created on first use: it reads the machine's certificates, and most moves probe nothing from here.
    here: OnceLock<Option<Here>>,
    /// The providers of each side, with the time when they were read.
    providers: Both<Mutex<KnownProviders>>,
    /// Whether failed probes from here hide their causes. The author of a Pivot chooses endpoints, and must not scan our network.
    hides_causes: bool,
}

/// The providers of a side, if they were read.
type KnownProviders = Option<(Instant, Vec<Provider>)>;

/// The services of one plan: confined to the objects that move.
struct MoveServices {
    answers: Arc<PluginServices>,
    /// The namespaces that move.
    namespaces: BTreeSet<String>,
    /// The cluster-scoped objects that move.
    global: BTreeSet<Key>,
}

impl PluginServices {
    pub(crate) fn new(
        source: &Handle,
        target: &Handle,
        kinds: &Arc<Kinds>,
        scope: &Scope,
        hides_causes: bool,
    ) -> Self {
        Self {
            source: source.clone(),
            target: target.clone(),
            kinds: kinds.clone(),
            scope: scope.clone(),
            paused: OnceLock::new(),
            here: OnceLock::new(),
            providers: Both::default(),
            hides_causes,
        }
    }

    /// Returns services confined to the objects that move. Release lists from before they named the moving namespaces include a shared class's
    /// namespace, too: namespaces that the user didn't ask for stay closed.
    pub(crate) fn for_move(self: &Arc<Self>, view: &PluginView) -> Arc<dyn Services> {
        let moving =
            view.namespaces.iter().filter(|namespace| self.scope.includes_namespace(Some(namespace)));
        Arc::new(MoveServices {
            answers: self.clone(),
            namespaces: moving.cloned().collect(),
            global: view.keys.iter().filter(|key| key.namespace.is_none()).cloned().collect(),
        })
    }

    /// From now on, answers about the source come from the paused reading.
    pub(crate) fn use_paused_source(&self, inventory: Inventory) {
        // Files are read only once.
        let _ = self.paused.set(inventory);
    }

    fn handle(&self, side: Side) -> &Handle {
        match side {
            Side::Source => &self.source,
            Side::Target => &self.target,
        }
    }

    /// The objects of a kind in one namespace or all, with any name or one.
    async fn read_objects(
        &self,
        side: Side,
        kind: &Arc<Kind>,
        namespace: Option<&str>,
        name: Option<&str>,
    ) -> Result<Vec<Object>, ServiceError> {
        let handle = self.handle(side);
        let answer = match name {
            Some(name) if namespace.is_some() || !kind.namespaced => {
                let key = Key::new(kind.group_kind.clone(), namespace, name);
                handle.get(kind, &key).await.map(|object| object.into_iter().collect())
            }
            _ => handle.list(kind, namespace).await.map(|listing| listing.objects),
        };
        let mut objects: Vec<Object> = answer.map_err(|failure| service_error(&failure))?;
        objects.retain(|object| name.is_none_or(|name| object.meta.name == name));
        if let Some(inventory) = self.paused.get().filter(|_| side == Side::Source) {
            for object in &mut objects {
                if let Some(paused) = inventory.get_by_key(&object.key()) {
                    *object = paused.clone();
                }
            }
        }
        Ok(objects)
    }
}

impl MoveServices {
    /// The moving objects of a cluster-scoped kind.
    async fn read_cluster_scoped(
        &self,
        side: Side,
        kind: &Arc<Kind>,
        name: Option<&str>,
    ) -> Result<Vec<Object>, ServiceError> {
        let wanted =
            |key: &&Key| key.group_kind == kind.group_kind && name.is_none_or(|name| key.name == name);
        if !self.global.iter().any(|key| wanted(&key)) {
            return Ok(Vec::new());
        }
        let mut objects = self.answers.read_objects(side, kind, None, name).await?;
        objects.retain(|object| self.global.contains(&object.key()));
        Ok(objects)
    }

    /// The objects in the namespaces that move.
    async fn read_moving_namespaces(
        &self,
        side: Side,
        kind: &Arc<Kind>,
        name: Option<&str>,
    ) -> Result<Vec<Object>, ServiceError> {
        if self.namespaces.len() > MAX_SEPARATE_LISTS {
            let mut objects = self.answers.read_objects(side, kind, None, name).await?;
            objects
                .retain(|object| object.meta.namespace.as_ref().is_some_and(|n| self.namespaces.contains(n)));
            return Ok(objects);
        }
        let reads = self
            .namespaces
            .iter()
            .map(|namespace| self.answers.read_objects(side, kind, Some(namespace), name));
        Ok(try_join_all(reads).await?.into_iter().flatten().collect())
    }
}

#[async_trait]
impl Services for MoveServices {
    async fn read(&self, _plugin: &str, query: Query) -> Result<Vec<Object>, ServiceError> {
        let Query { side, kind, namespace, name, confined } = query;
        let Some(kind) = self.answers.kinds.get(side).get(&kind) else {
            return Err(ServiceError::new("no-such-kind", format!("the {side} has no {kind}")));
        };
        let name = name.as_deref();
        match namespace.as_deref() {
            Some("*") if !confined => self.answers.read_objects(side, kind, None, name).await,
            _ if !kind.namespaced => self.read_cluster_scoped(side, kind, name).await,
            None => self.read_moving_namespaces(side, kind, name).await,
            Some(asked) if confined && !self.namespaces.contains(asked) => {
                Err(Denied(format!("namespace {asked} does not move, and reading it was not granted")).into())
            }
            Some(asked) => self.answers.read_objects(side, kind, Some(asked), name).await,
        }
    }

    async fn providers(&self, plugin: &str, side: Side) -> Result<Vec<Provider>, ServiceError> {
        let mut known = self.answers.providers.get(side).lock().await;
        if let Some((read, providers)) = &*known
            && read.elapsed() < PROVIDERS_KNOWN
        {
            return Ok(providers.clone());
        }
        let providers = read_providers(self, plugin, side).await?;
        *known = Some((Instant::now(), providers.clone()));
        Ok(providers)
    }

    async fn probe(&self, plugin: &str, probe: Probe) -> Result<Answer, ServiceError> {
        self.answers.probe(plugin, probe).await
    }
}

impl PluginServices {
    async fn probe(&self, plugin: &str, probe: Probe) -> Result<Answer, ServiceError> {
        let side = match probe.vantage {
            Vantage::Here => {
                // Without trusted certificates, nothing is probed from here.
                let here = self.here.get_or_init(|| Here::new().ok()).as_ref();
                let here = here
                    .ok_or_else(|| ServiceError::new("unreachable", "no trusted certificates found here"))?;
                return match self.hides_causes {
                    true => probe_with_hidden_cause(here, plugin, &probe).await,
                    false => here.probe(&probe).await,
                };
            }
            Vantage::Side(side) if self.handle(side).end_kind.is_absent() => {
                return Err(ServiceError::new("unreachable", "this run goes without that side"));
            }
            Vantage::Side(side) => side,
        };
        let invalid = || ServiceError::new("invalid", "the URL of a service is namespace/service:port/path");
        let (namespace, rest) = probe.address.split_once('/').ok_or_else(invalid)?;
        let (service, rest) = rest.split_once(':').ok_or_else(invalid)?;
        let (port, path) = rest.split_once('/').unwrap_or((rest, ""));
        let owned = str::to_owned;
        let service = ServicePath {
            namespace: owned(namespace),
            service: owned(service),
            port: owned(port),
            path: owned(path),
        };
        let begun = Instant::now();
        let asked = self.handle(side).place.proxy_get(&service, ANSWER_LIMIT);
        match tokio::time::timeout(probe.timeout, asked).await {
            Ok(Ok((status, body))) => Ok(Answer {
                status,
                body: String::from_utf8_lossy(&body).into_owned(),
                took: begun.elapsed(),
            }),
            Ok(Err(error)) => Err(ServiceError::new(error_code(&error), error.to_string())),
            Err(_) => Err(ServiceError::new("unreachable", "no answer in time")),
        }
    }
}

/// Probes an endpoint from here. Each failure has the same text, and takes as long as the probe may: neither tells whether a name
/// resolves, or whether a port is open, closed or filtered. The cause is in the log.
async fn probe_with_hidden_cause(here: &Here, plugin: &str, probe: &Probe) -> Result<Answer, ServiceError> {
    let until = Instant::now() + probe.timeout;
    let answer = here.probe(probe).await;
    if let Err(error) = &answer {
        tracing::info!(target: "plugin", plugin, probe = probe.describe(), %error, "the probe failed");
        sleep_until(until).await;
        return Err(ServiceError::new("unreachable", HIDDEN_CAUSE));
    }
    answer
}

fn service_error(failure: &Failure) -> ServiceError {
    let code = match failure {
        Failure::Place { error, .. } => error_code(error),
        _ => "unreachable",
    };
    ServiceError::new(code, failure.to_string())
}

fn error_code(error: &PlaceError) -> &'static str {
    match error {
        PlaceError::NotFound(_) => "not-found",
        PlaceError::Forbidden(_) | PlaceError::Unauthorized(_) => "denied",
        PlaceError::Invalid(_) | PlaceError::Unsupported(..) => "invalid",
        _ => "unreachable",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use pivot_core::objects::names;
    use pivot_core::request::scope::Namespaces;
    use pivot_core::{GroupKind, KindLabels};
    use pivot_memory::MemoryPlace;
    use serde_json::json;
    use tokio::net::TcpListener;

    use super::*;
    use crate::base::events::NoWatcher;
    use crate::base::requests::halt::Halter;

    fn group_kind(kind: &str) -> GroupKind {
        GroupKind::new("", kind)
    }

    fn place() -> MemoryPlace {
        let place = MemoryPlace::new("somewhere");
        for (kind, namespaced) in [("Secret", true), ("Identity", false)] {
            place.add_kind(Kind {
                group_kind: group_kind(kind),
                version: "v1".into(),
                plural: format!("{}s", kind.to_lowercase()),
                namespaced,
                status_subresource: false,
                served: vec!["v1".into()],
                labels: KindLabels::default(),
            });
        }
        for namespace in ["a", "b", "kube-system"] {
            place.insert(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": namespace}})).unwrap();
        }
        for name in ["moves", "stays"] {
            place
                .insert(json!({"apiVersion": "v1", "kind": "Identity", "metadata": {"name": name}}))
                .unwrap();
        }
        place
    }

    /// Answers for a plan with these namespaces and one cluster-scoped object.
    async fn within(namespaces: impl IntoIterator<Item = String>, scope: Namespaces) -> Arc<dyn Services> {
        of_places(place(), place(), namespaces, scope).await
    }

    async fn of_places(
        source: MemoryPlace,
        target: MemoryPlace,
        namespaces: impl IntoIterator<Item = String>,
        scope: Namespaces,
    ) -> Arc<dyn Services> {
        let view = PluginView {
            namespaces: namespaces.into_iter().collect(),
            keys: vec![Key::new(group_kind("Identity"), None, "moves")],
        };
        Arc::new(between(source, target, scope, false).await).for_move(&view)
    }

    async fn between(
        source: MemoryPlace,
        target: MemoryPlace,
        scope: Namespaces,
        hides_causes: bool,
    ) -> PluginServices {
        let handle = |side, place| Handle::new(side, Arc::new(place), Halter::default(), Arc::new(NoWatcher));
        let (source, target) = (handle(Side::Source, source), handle(Side::Target, target));
        let kinds = Arc::new(Kinds::from_sides(&source, &target, None).await.unwrap());
        PluginServices::new(&source, &target, &kinds, &Scope::new(scope), hides_causes)
    }

    fn query(kind: &str, namespace: Option<&str>, name: Option<&str>, confined: bool) -> Query {
        let word = |word: &str| word.to_owned();
        let (namespace, name) = (namespace.map(word), name.map(word));
        Query { side: Side::Target, kind: group_kind(kind), namespace, name, confined }
    }

    async fn found(services: &Arc<dyn Services>, query: Query) -> Vec<String> {
        let objects = services.read("p", query).await.unwrap();
        objects
            .iter()
            .map(|object| object.meta.namespace.clone().unwrap_or(object.meta.name.clone()))
            .collect()
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn providers_are_listed_once_a_minute() {
        let target = place();
        let group_kind = GroupKind::new(names::GROUP_CLUSTERCTL, "Provider");
        target.add_kind(Kind {
            group_kind: group_kind.clone(),
            version: "v1alpha3".into(),
            plural: "providers".into(),
            namespaced: true,
            status_subresource: false,
            served: vec!["v1alpha3".into()],
            labels: KindLabels::default(),
        });
        let provider = |version| {
            json!({"apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3", "kind": "Provider",
                "metadata": {"name": "infrastructure-a", "namespace": "a"}, "providerName": "a", "version": version})
        };
        target.insert(provider("v1.0.0")).unwrap();
        let lists = Arc::new(AtomicUsize::new(0));
        target.on_call({
            let lists = lists.clone();
            move |verb, _| {
                lists.fetch_add(usize::from(verb == "list"), Ordering::Relaxed);
                None
            }
        });
        let services = of_places(place(), target.clone(), names(&["a"]), Namespaces::All).await;
        let versions = async || {
            let found = services.providers("p", Side::Target).await.unwrap();
            found.into_iter().map(|provider| provider.version).collect::<Vec<String>>()
        };
        for _ in 0..100 {
            assert_eq!(versions().await, ["v1.0.0"]);
        }
        assert_eq!(lists.load(Ordering::Relaxed), 1);
        let key = Key::new(group_kind, Some("a"), "infrastructure-a");
        target.edit(&key, |body| body["version"] = json!("v1.1.0")).unwrap();
        tokio::time::sleep(PROVIDERS_KNOWN).await;
        assert_eq!(versions().await, ["v1.1.0"]);
        assert_eq!(lists.load(Ordering::Relaxed), 2);
    }

    /// Log lines of one test.
    #[derive(Clone, Default)]
    struct Log(Arc<std::sync::Mutex<Vec<u8>>>);

    impl std::io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    // proves: T151
    #[tokio::test]
    async fn failed_probes_of_pivots_read_alike() {
        let log = Log::default();
        let lines = log.clone();
        let subscriber =
            tracing_subscriber::fmt().with_ansi(false).with_writer(move || lines.clone()).finish();
        let _logs = tracing::subscriber::set_default(subscriber);
        // Accepts connections, and never answers.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let silent = listener.local_addr().unwrap().to_string();
        let timeout = Duration::from_millis(300);
        let probe = |http, address: &str, named: &[&str]| Probe {
            http,
            vantage: Vantage::Here,
            address: address.to_owned(),
            timeout,
            named: named.iter().map(|network| network.parse().unwrap()).collect(),
        };
        let (closed, special) = (probe(false, "127.0.0.1:1", &["127.0.0.1"]), probe(false, &silent, &[]));
        let unanswered = probe(true, &format!("http://{silent}/"), &["127.0.0.1"]);
        let services = between(place(), place(), Namespaces::All, true).await;
        for failing in [&closed, &special, &unanswered] {
            let begun = Instant::now();
            let error = services.probe("p", failing.clone()).await.unwrap_err();
            assert_eq!(error, ServiceError::new("unreachable", HIDDEN_CAUSE), "{}", failing.address);
            assert!(begun.elapsed() >= timeout, "{}: {:?}", failing.address, begun.elapsed());
        }
        let open = probe(false, &silent, &["127.0.0.1"]);
        assert_eq!(services.probe("p", open).await.unwrap().status, 0);
        let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        for cause in ["no connection: Connection refused", "a special address", "no answer in time"] {
            assert!(log.contains(cause), "{cause}: {log}");
        }
        // An operator at a terminal reads the cause.
        let services = between(place(), place(), Namespaces::All, false).await;
        let error = services.probe("p", closed).await.unwrap_err();
        assert!(error.message.contains("no connection: Connection refused"), "{error}");
    }

    /// A tenant's namespace exists, and nothing in it moves.
    // proves: T10
    #[tokio::test]
    async fn plugins_read_only_namespaces_of_plan() {
        let few = names(&["a", "b"]);
        let many = (0..2 * MAX_SEPARATE_LISTS).map(|n| format!("n{n}")).chain(few.clone());
        for moving in [few.clone(), many.collect()] {
            let services = within(moving, Namespaces::All).await;
            for name in [None, Some("s")] {
                assert_eq!(found(&services, query("Secret", None, name, true)).await, few);
            }
            assert_eq!(found(&services, query("Secret", Some("a"), None, true)).await, ["a"]);
            for elsewhere in ["kube-system", "*"] {
                let denied = services.read("p", query("Secret", Some(elsewhere), None, true)).await;
                assert_eq!(denied.unwrap_err().code, "denied");
            }
            assert_eq!(
                found(&services, query("Secret", Some("kube-system"), None, false)).await,
                ["kube-system"]
            );
            assert_eq!(found(&services, query("Secret", Some("*"), None, false)).await.len(), 3);
        }
    }

    #[tokio::test]
    async fn objects_outside_scope_open_no_namespaces() {
        let services = within(names(&["a", "b"]), Namespaces::One("a".into())).await;
        assert_eq!(found(&services, query("Secret", None, None, true)).await, ["a"]);
        assert!(services.read("p", query("Secret", Some("b"), None, true)).await.is_err());
    }

    #[tokio::test]
    async fn plugins_read_only_moving_cluster_scoped_objects() {
        let services = within(names(&["a"]), Namespaces::All).await;
        for (namespace, confined) in [(None, true), (Some("a"), true), (Some("*"), true), (None, false)] {
            let asked = |name| query("Identity", namespace, name, confined);
            assert_eq!(found(&services, asked(None)).await, ["moves"], "{namespace:?}");
            assert_eq!(found(&services, asked(Some("moves"))).await, ["moves"], "{namespace:?}");
            assert!(found(&services, asked(Some("stays"))).await.is_empty(), "{namespace:?}");
        }
        assert_eq!(found(&services, query("Identity", Some("*"), None, false)).await.len(), 2);
        assert_eq!(found(&services, query("Identity", Some("*"), Some("stays"), false)).await, ["stays"]);
    }
}
