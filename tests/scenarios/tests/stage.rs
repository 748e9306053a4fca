//! Two servers that serve the example's kinds, and the program between them.

use std::time::Duration;

use pivot_lab::{Crds, Dump, FaultProxy, Observer, Pair, Relay, Rules, Server};
use pivot_scenarios::host::Host;
use pivot_scenarios::{shape, state};

/// Two servers.
pub(crate) struct Stage {
    pub(crate) pair: Pair,
    pub(crate) host: Host,
}

/// Two servers behind networks that fail on request.
pub(crate) struct Wired {
    pub(crate) source: FaultProxy,
    pub(crate) target: FaultProxy,
    pub(crate) host: Host,
}

/// Two servers at the end of wires, which carry their TLS unread.
pub(crate) struct Relayed {
    pub(crate) source: Relay,
    pub(crate) target: Relay,
    pub(crate) host: Host,
}

impl Stage {
    pub(crate) async fn start() -> Self {
        let crds = Crds::parse(&shape::crds().unwrap()).unwrap();
        let pair = Pair::start_with(&crds).await.unwrap();
        let host = Host::between(pair.source.kubeconfig(), pair.target.kubeconfig());
        Self { pair, host }
    }

    /// The way back.
    pub(crate) fn back(&self) -> Host {
        Host::between(self.pair.target.kubeconfig(), self.pair.source.kubeconfig())
    }

    pub(crate) async fn wired(&self) -> Wired {
        let (source, target) =
            tokio::try_join!(FaultProxy::start(&self.pair.source), FaultProxy::start(&self.pair.target))
                .unwrap();
        let host = Host::between(source.kubeconfig(), target.kubeconfig());
        Wired { source, target, host }
    }

    pub(crate) async fn relayed(&self) -> Relayed {
        let Pair { source, target } = &self.pair;
        let ((source, from), (target, to)) =
            tokio::try_join!(Relay::to_server(source), Relay::to_server(target)).unwrap();
        Relayed { source, target, host: Host::between(&from, &to) }
    }

    /// Fills the source with a cluster of that many machines; returns the state.
    pub(crate) async fn fill(&self, namespace: &str, machines: usize) -> Dump {
        self.pair.source.apply_values(shape::cluster(namespace, machines)).await.unwrap();
        self.pair.source.dump(&[namespace]).await.unwrap()
    }

    /// Nothing of ours is left, and no reference dangles, once garbage is collected.
    pub(crate) async fn tidy(&self, namespaces: &[&str]) {
        let servers = [&self.pair.source, &self.pair.target];
        let (source, target) = tokio::join!(all(servers[0], namespaces), all(servers[1], namespaces));
        let models: Dump = source.into_iter().chain(target).collect();
        for server in servers {
            server.collect_garbage(&models).await.unwrap();
            assert_eq!(
                state::belongings(server).await.unwrap(),
                Vec::<String>::new(),
                "on the {}",
                server.name()
            );
            state::ensure_no_secret_in_records(server).await.unwrap();
            let dump = server.dump(namespaces).await.unwrap();
            assert_eq!(state::dangling(&dump), Vec::<String>::new(), "on the {}", server.name());
        }
    }
}

impl Relayed {
    /// Every round trip to either server takes this much longer.
    pub(crate) fn delay(&self, round_trip: Duration) {
        self.source.delay(round_trip);
        self.target.delay(round_trip);
    }
}

impl Wired {
    /// Every round trip to either server takes this much longer.
    pub(crate) fn delay(&self, round_trip: Duration) {
        self.source.faults().delay(round_trip);
        self.target.faults().delay(round_trip);
    }
}

/// The two states are equal except for what no move preserves.
#[track_caller]
pub(crate) fn same(left: Dump, right: Dump) {
    let (left, right) = (state::carried(left), state::carried(right));
    assert!(left == right, "{}", state::difference(&left, &right));
}

/// What the observer saw breaks no promise.
pub(crate) async fn clean(observer: Observer, rules: &Rules) {
    let violations = observer.finish(rules).await.unwrap();
    let lines: Vec<_> = violations.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

/// Everything in these namespaces.
pub(crate) async fn all(server: &Server, namespaces: &[&str]) -> Dump {
    server.dump(namespaces).await.unwrap()
}
