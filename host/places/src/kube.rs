//! A Kubernetes API server as a place.
//!
//! Requests are raw: a body that is read stays the bytes the server sent, and a body that is written is sent unchanged. There is
//! one connection pool and no client-side rate limit: the engine finds out from a server's answers how much it can take.

mod access;
mod caught;
mod certificate;
mod connect;
mod error;
mod inline;
mod kinds;
mod kubeconfig;
mod list;
mod proxy;
mod resolver;
mod split;
mod status;
mod transport;
mod url;
mod watch;

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use http::Method;
use pivot_core::records::route::EndKind;
use pivot_core::{GroupKind, Key, Kind, Meta, Object, Uid};
use serde::Deserialize;
use serde_json::{Value, json};

pub use caught::catches_panics;
pub use connect::ConnectOptions;
pub use error::ConnectError;
pub use kubeconfig::current_context;
pub use proxy::choose_proxy;

use crate::budget::Budget;
use crate::place::{
    Access, Capabilities, Change, Event, Identity, KubeContext, Listing, MetaListing, Patch, Place,
    PlaceError, Preconditions, Result, ServicePath, Subresource, Throttled,
};
use list::parse_object;
use status::Quote;
use transport::{JSON, KubeRequest, MERGE_PATCH, ServerDescription, Transport};

/// Concurrent access reviews.
const MAX_REVIEWS: usize = 16;

/// An API server. Clones share its connections and its count of throttled requests.
#[derive(Clone)]
pub struct KubePlace {
    label: String,
    /// The kubeconfig and the context; empty for a client created elsewhere.
    named_in: String,
    context: Option<KubeContext>,
    default_namespace: String,
    transport: Transport,
    throttled: Throttled,
}

impl KubePlace {
    /// Wraps a client created elsewhere.
    pub fn from_client(client: ::kube::Client, label: impl Into<String>) -> Self {
        Self::new(client, label.into(), String::new(), ServerDescription::default(), None)
    }

    /// Returns the namespace of the context, or `default`.
    pub fn default_namespace(&self) -> &str {
        &self.default_namespace
    }

    fn new(
        client: ::kube::Client,
        label: String,
        named_in: String,
        described: ServerDescription,
        budget: Option<Budget>,
    ) -> Self {
        let default_namespace = client.default_namespace().to_owned();
        let transport = Transport::new(client, described, budget);
        Self { label, named_in, context: None, default_namespace, transport, throttled: Throttled::default() }
    }

    /// Limits the bytes of answers that are held at once. The budget of this place counts them, too.
    #[must_use]
    pub fn limit_answers(&self, bytes: usize) -> Self {
        Self { transport: self.transport.limit_answers(bytes), ..self.clone() }
    }

    async fn review_access(&self, access: &Access) -> Result<bool> {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {
                "verb": access.verb,
                "group": access.group,
                "resource": access.resource,
                "subresource": access.subresource,
                "namespace": access.namespace.as_deref().unwrap_or_default(),
            }},
        });
        #[derive(Deserialize)]
        struct Review {
            status: Verdict,
        }
        #[derive(Deserialize)]
        struct Verdict {
            #[serde(default)]
            allowed: bool,
        }
        let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews".to_owned();
        let about = "ask what the user is allowed to do".to_owned();
        let ask = KubeRequest::get(path, about.clone()).with_body(Method::POST, JSON, review.to_string());
        let answer = self.transport.call(ask).await?;
        Ok(list::parse_json::<Review>(&answer, &about)?.status.allowed)
    }
}

#[async_trait]
impl Place for KubePlace {
    fn label(&self) -> &str {
        &self.label
    }

    fn context(&self) -> Option<&KubeContext> {
        self.context.as_ref()
    }

    fn kubeconfig_and_context(&self) -> Option<&str> {
        Some(self.named_in.as_str()).filter(|named_in| !named_in.is_empty())
    }

    fn end_kind(&self) -> EndKind {
        EndKind::Cluster
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::API_SERVER
    }

    fn throttled_requests(&self) -> Throttled {
        Arc::clone(&self.throttled)
    }

    async fn identify(&self) -> Result<Identity> {
        let about = "read Namespace kube-system".to_owned();
        let ask = KubeRequest::get("/api/v1/namespaces/kube-system".to_owned(), about.clone())
            .with_accept("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");
        match self.transport.call(ask).await.map_err(PlaceError::from) {
            Ok(body) => match list::parse_meta(&body, &about)?.uid {
                Uid(uid) if uid.is_empty() => {
                    Err(PlaceError::Unreadable(format!("{about}: the namespace has no uid")))
                }
                uid => Ok(Identity::Cluster(uid)),
            },
            Err(PlaceError::Forbidden(_)) => Ok(Identity::Unknown),
            Err(error) => Err(error),
        }
    }

    async fn kinds(&self) -> Result<Vec<Arc<Kind>>> {
        kinds::discover_kinds(&self.transport).await
    }

    async fn list(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<Listing> {
        list::list_objects(&self.transport, kind, namespace, "").await
    }

    async fn read_version(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<String> {
        list::read_version(&self.transport, kind, namespace).await
    }

    async fn list_snapshot(
        &self,
        kind: &Arc<Kind>,
        namespace: Option<&str>,
        version: &str,
    ) -> Result<Listing> {
        list::list_snapshot(&self.transport, kind, namespace, version).await
    }

    async fn list_labelled(&self, kind: &Arc<Kind>, namespace: &str, label: &str) -> Result<Listing> {
        list::list_objects(&self.transport, kind, Some(namespace), label).await
    }

    async fn list_meta(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing> {
        list::list_metas(&self.transport, kind, namespace, Meta::forget_managers).await
    }

    async fn list_identities(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing> {
        list::list_metas(&self.transport, kind, namespace, Meta::reduce_to_identity).await
    }

    async fn get(&self, kind: &Arc<Kind>, key: &Key) -> Result<Option<Object>> {
        let about = format!("read {key}");
        let ask = KubeRequest::get(url::object_path(kind, key)?, about.clone());
        match self.transport.call(ask).await {
            Ok(body) => {
                let mut object = parse_object(kind, body)?;
                self.transport.hold_object(&mut object, &about)?;
                Ok(Some(object))
            }
            // Only an answer of the API server itself counts: a proxy's 404 doesn't mean that the object is gone.
            Err(refusal) if transport::is_absent(&refusal) => Ok(None),
            Err(refusal) => Err(refusal.into()),
        }
    }

    async fn create(&self, kind: &Arc<Kind>, body: &Value, change: Change) -> Result<Object> {
        let path = format!("{}{}", url::creation_path(kind, body)?, url::write_query(change));
        // The server answers with a 500, which would be retried.
        if body.pointer("/metadata/resourceVersion").and_then(Value::as_str).is_some_and(|v| !v.is_empty()) {
            let text = format!("create {}: with a resourceVersion", name_of(&kind.group_kind, body));
            return Err(PlaceError::Invalid(text));
        }
        let about = format!("create {}", name_of(&kind.group_kind, body));
        let ask = KubeRequest::get(path, about)
            .with_body(Method::POST, JSON, body.to_string())
            .with_quote(quote_for(kind));
        parse_object(kind, self.transport.call(ask).await?)
    }

    async fn patch(&self, kind: &Arc<Kind>, key: &Key, patch: &Patch) -> Result<Object> {
        let (subresource, part) = match patch.subresource {
            Subresource::None => ("", ""),
            Subresource::Status => ("/status", " status"),
        };
        let path = format!("{}{subresource}{}", url::object_path(kind, key)?, url::write_query(patch.change));
        let ask = KubeRequest::get(path, format!("patch {key}{part}"))
            .with_body(Method::PATCH, MERGE_PATCH, patch.body.to_string())
            .with_quote(quote_for(kind));
        parse_object(kind, self.transport.call(ask).await?)
    }

    async fn delete(&self, kind: &Arc<Kind>, key: &Key, preconditions: &Preconditions) -> Result<()> {
        let Preconditions { uid, resource_version } = preconditions;
        let mut must = serde_json::Map::new();
        if let Some(Uid(uid)) = uid {
            must.insert("uid".to_owned(), uid.clone().into());
        }
        if let Some(version) = resource_version {
            must.insert("resourceVersion".to_owned(), version.clone().into());
        }
        let options = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
            "preconditions": must,
        });
        let ask = KubeRequest::get(url::object_path(kind, key)?, format!("delete {key}"))
            .with_body(Method::DELETE, JSON, options.to_string())
            .with_quote(quote_for(kind));
        self.transport.call(ask).await?;
        Ok(())
    }

    async fn watch(
        &self,
        kind: &Arc<Kind>,
        namespace: Option<&str>,
        resource_version: &str,
    ) -> Result<BoxStream<'static, Result<Event>>> {
        watch::open_watch(&self.transport, kind, namespace, resource_version).await
    }

    async fn proxy_get(&self, service: &ServicePath, limit: usize) -> Result<(u16, Vec<u8>)> {
        let about = format!("ask service {}/{}", service.namespace, service.service);
        let path = url::service_path(service)?;
        let (code, body) = self.transport.pass_through(path, limit, &about).await?;
        Ok((code, body.to_vec()))
    }

    fn used_permissions(&self) -> BTreeSet<Access> {
        self.transport.used_access()
    }

    async fn find_denied(&self, asked: &[Access]) -> Result<Vec<Access>> {
        // Administrators have all permissions: one request instead of hundreds.
        let everything = Access {
            verb: "*".into(),
            group: "*".into(),
            resource: "*".into(),
            subresource: "".into(),
            namespace: None,
        };
        if !asked.is_empty() && self.review_access(&everything).await? {
            return Ok(Vec::new());
        }
        stream::iter(asked.to_vec())
            .map(|access| async move {
                let allowed = self.review_access(&access).await?;
                Ok((!allowed).then_some(access))
            })
            .buffered(MAX_REVIEWS)
            .try_filter_map(|denied| async move { Ok(denied) })
            .try_collect()
            .await
    }
}

/// Returns the parts of an object that an error may quote if its write or deletion fails. Admission webhooks receive the whole object
/// also if it is deleted. Reads send nothing that an error could quote.
fn quote_for(kind: &Kind) -> Quote {
    if kind.group_kind.is_secret() { Quote::Names } else { Quote::Message }
}

fn name_of(group_kind: &GroupKind, body: &Value) -> String {
    let text = |path| body.pointer(path).and_then(Value::as_str);
    Key::new(group_kind.clone(), text("/metadata/namespace"), text("/metadata/name").unwrap_or_default())
        .to_string()
}

#[cfg(test)]
mod tests;
