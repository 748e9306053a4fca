//! Looks up the addresses of a server's name.
//!
//! The author of a kubeconfig chooses the connections from here. If the author may be a stranger, the addresses of this machine,
//! its link and its cloud's metadata service are left out, whatever name leads to them.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::vec;

use futures::FutureExt;
use futures::future::BoxFuture;
use http::Uri;
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use pivot_core::request::network::{Network, is_reachable};
use tower::{BoxError, Service};

/// Looks addresses up, again for each connection, so that a name can't lead to another address later.
#[derive(Clone)]
pub(super) struct Resolver {
    inner: GaiResolver,
    named: Option<Arc<[Network]>>,
}

impl Resolver {
    /// Creates a resolver. With networks, it leaves out special addresses that are in none of them.
    pub(super) fn new(named: Option<Vec<Network>>) -> Self {
        Self { inner: GaiResolver::new(), named: named.map(Arc::from) }
    }
}

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(BoxError::from)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (host, named, found) = (name.as_str().to_owned(), self.named.clone(), self.inner.call(name));
        async move {
            let all: Vec<SocketAddr> = found.await?.collect();
            let Some(named) = named else { return Ok(all.into_iter()) };
            let (fine, special): (Vec<_>, Vec<_>) =
                all.into_iter().partition(|address| is_reachable(address.ip(), &named));
            match special.first().filter(|_| fine.is_empty()) {
                Some(address) => Err(describe_refusal(&host, address.ip()).into()),
                None => Ok(fine.into_iter()),
            }
        }
        .boxed()
    }
}

/// Returns the reason to refuse a server whose host is a special address: no resolver sees addresses.
pub(super) fn refusal_reason(server: &Uri, named: &[Network]) -> Option<String> {
    let host = server.host()?;
    let address = host.trim_matches(['[', ']']).parse().ok()?;
    (!is_reachable(address, named)).then(|| describe_refusal(host, address))
}

fn describe_refusal(host: &str, address: IpAddr) -> String {
    format!(
        "{host} has a special address ({address}): of the machine itself, its link or its cloud's metadata service; the operator of pivot-host can allow its network"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolver(named: Option<&str>) -> Resolver {
        Resolver::new(named.map(|named| named.split_whitespace().map(|one| one.parse().unwrap()).collect()))
    }

    // proves: T151
    #[tokio::test]
    async fn special_addresses_are_skipped_under_any_name() {
        let look = async |named| resolver(named).call("localhost".parse().unwrap()).await;
        let refused = look(Some("")).await.unwrap_err().to_string();
        assert!(refused.starts_with("localhost has a special address ("), "{refused}");
        assert!(look(None).await.unwrap().all(|address| address.ip().is_loopback()));
        assert!(look(Some("127.0.0.0/8 ::1")).await.unwrap().count() > 0);
    }

    // proves: T151
    #[test]
    fn special_addresses_are_refused_as_hosts() {
        for (server, named, allowed) in [
            ("https://127.0.0.1:6443", "", false),
            ("https://127.0.0.1:6443", "127.0.0.0/8", true),
            ("https://[::1]:6443", "", false),
            ("https://[::ffff:169.254.169.254]", "", false),
            ("https://100.100.100.200", "0.0.0.0/0", false),
            ("https://10.0.0.1:6443", "", true),
            ("https://api.example.com:6443", "", true),
        ] {
            let named: Vec<Network> = named.split_whitespace().map(|one| one.parse().unwrap()).collect();
            assert_eq!(
                refusal_reason(&server.parse().unwrap(), &named).is_none(),
                allowed,
                "{server} {named:?}"
            );
        }
    }
}
