//! Requests that get their own connections.
//!
//! A server takes a limited number of requests on one HTTP/2 connection, 100 by default, and the client opens no second one. Watches last,
//! and use the number up; and a lease that waits behind other requests is lost. Both use HTTP/1.1, with a connection for each request.

use std::task::{Context, Poll};

use ::kube::client::Body;
use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::Connect;
use hyper_util::client::legacy::{Client, Error, ResponseFuture};
use tower::Service;

/// Two clients of one server.
#[derive(Clone)]
pub(super) struct Split<C> {
    /// For requests that share a connection, if the server offers HTTP/2.
    pub(super) shared: Client<C, Body>,
    /// For watches and leases.
    pub(super) apart: Client<C, Body>,
}

impl<C: Connect + Clone + Send + Sync + 'static> Service<Request<Body>> for Split<C> {
    type Response = Response<Incoming>;
    type Error = Error;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> ResponseFuture {
        let client = if is_apart(request.uri()) { &self.apart } else { &self.shared };
        client.request(request)
    }
}

/// Returns true for watches and leases.
fn is_apart(uri: &Uri) -> bool {
    let is_watch = uri.query().is_some_and(|query| query.split('&').any(|part| part == "watch=true"));
    is_watch || uri.path().contains("/apis/coordination.k8s.io/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watches_and_leases_are_apart() {
        for (path, expected) in [
            ("/api/v1/namespaces/a/secrets?watch=true&resourceVersion=1", true),
            ("/apis/coordination.k8s.io/v1/namespaces/a/leases/b", true),
            ("/k8s/clusters/c/apis/coordination.k8s.io/v1/namespaces/a/leases/b", true),
            ("/api/v1/namespaces/a/secrets?limit=500", false),
            ("/api/v1/namespaces/a/configmaps/watch=true", false),
        ] {
            let uri = format!("https://server{path}").parse().unwrap();
            assert_eq!(is_apart(&uri), expected, "{path}");
        }
    }
}
