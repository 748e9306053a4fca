//! The agent's own rules for requests, on top of the permissions of its account. The rules are pure, except that a role may
//! look at an object ([`Role`]).
//!
//! Whoever asks writes its questions itself, kinds and names included; so what is judged is what the request to the API server
//! would be, and never what the question says about itself.

use std::collections::BTreeSet;

use pivot_core::Kind;
use pivot_core::objects::kind::is_kubernetes_group;
use pivot_core::objects::names::{RETURN, SECRETS_OF_ONE_CLUSTER};
use pivot_core::records::record::record_namespace_manifest;
use pivot_core::request::validate::{find_kind_error, find_name_error, find_version_error};
use pivot_places::{Access, Place, PlaceError, Result};
use serde_json::Value;

use crate::link_request::LinkRequest;
use crate::requested_access::{OURS, RequestedAccess, is_read_only, requested_access};
use crate::role::Role;

/// The ConfigMap with the namespaces for which the agent is a source, next to the records of moves.
pub(crate) const CONSENT: &str = "agent-return";

/// The rules for requests to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The namespaces whose objects may be written, and whose Secrets may be read; none for all of them.
    pub namespaces: Option<BTreeSet<String>>,
    /// Namespace of the leases and records of moves.
    pub record_namespace: String,
    /// The role of the cluster in moves.
    pub role: Role,
    /// True if all requests are answered even after a move into the cluster has ended.
    pub keep_answering: bool,
}

impl Guard {
    /// Returns the error for a request that is refused.
    pub(crate) fn refusal(&self, ask: &LinkRequest) -> Option<PlaceError> {
        if let Some(odd) = invalid_word(ask) {
            return Some(PlaceError::Invalid(odd));
        }
        if self.creates_record_namespace(ask) {
            return None;
        }
        let refused = match ask {
            LinkRequest::ProxyGet { service, .. } => (!self.is_allowed_namespace(Some(&service.namespace)))
                .then(|| format!("asking services in namespace {}", service.namespace)),
            ask => requested_access(ask)
                .filter(|deed| !self.allows_access(&deed.access, deed.name.as_deref(), deed.stands_in))
                .map(|deed| deed.access.to_string()),
        };
        if let Some(what) = refused {
            let why = format!("the agent's --allow-namespace leaves this out: {what}");
            return Some(PlaceError::Forbidden(why));
        }
        let deed = requested_access(ask)?;
        if requests_return(ask) || self.is_consent(&deed) {
            let why = "the agent changes nothing that says which Clusters may leave its cluster: users of the cluster decide that";
            return Some(PlaceError::Forbidden(why.to_owned()));
        }
        if let LinkRequest::Create { body, .. } = ask
            && (&*deed.access.group, &*deed.access.resource) == ("", "secrets")
            && body.get("type").and_then(Value::as_str).is_some_and(|of| SECRETS_OF_ONE_CLUSTER.contains(&of))
        {
            let why = "the agent makes no credentials of its cluster: they would bypass its rules";
            return Some(PlaceError::Forbidden(why.to_owned()));
        }
        let why = if self.is_state_object(&deed.access, deed.name.as_deref()) {
            self.role.record_refusal(&deed)?
        } else {
            self.role.access_refusal(&deed.access).or_else(|| self.role.request_refusal(ask))?
        };
        Some(PlaceError::Forbidden(format!("the agent's --role is {}, and {why}", self.role)))
    }

    /// Binds a request to the objects that it may be about.
    pub(crate) async fn bind_to_object(&self, ask: LinkRequest, place: &dyn Place) -> Result<LinkRequest> {
        match requested_access(&ask) {
            Some(deed) if !self.is_state_object(&deed.access, deed.name.as_deref()) => {
                self.role.bind_to_object(ask, place).await
            }
            _ => Ok(ask),
        }
    }

    /// Returns true if the guard alone would refuse the access, for every object name.
    pub(crate) fn denies_access(&self, access: &Access) -> bool {
        !self.allows_access(access, Some(OURS), false)
            && !self.allows_access(access, self.any_namespace(), false)
    }

    /// Returns true if the request writes what the agent keeps of the users' consent.
    fn is_consent(&self, deed: &RequestedAccess) -> bool {
        !is_read_only(&deed.access)
            && (&*deed.access.group, &*deed.access.resource) == ("", "configmaps")
            && deed.access.namespace.as_deref() == Some(&self.record_namespace)
            && deed.name.as_deref() == Some(CONSENT)
    }

    fn any_namespace(&self) -> Option<&str> {
        self.namespaces.iter().flatten().next().map(String::as_str)
    }

    /// Returns true if the question creates the namespace of records, as every run creates it.
    fn creates_record_namespace(&self, ask: &LinkRequest) -> bool {
        matches!(ask, LinkRequest::Create { kind, body, .. } if kind.group_kind.is("", "Namespace")
            && (&*kind.plural, kind.namespaced) == ("namespaces", false)
            && *body == record_namespace_manifest(&self.record_namespace))
    }

    /// Returns true if the access is to a lease or a record of a move.
    fn is_state_object(&self, access: &Access, name: Option<&str>) -> bool {
        let kind = (access.group.as_str(), access.resource.as_str());
        matches!(kind, ("", "configmaps") | ("coordination.k8s.io", "leases"))
            && access.namespace.as_deref() == Some(self.record_namespace.as_str())
            && name.is_some_and(|name| name.starts_with(OURS))
    }

    fn allows_access(&self, access: &Access, name: Option<&str>, stands_in: bool) -> bool {
        let (group, plural) = (access.group.as_str(), access.resource.as_str());
        let within = stands_in || self.is_allowed_namespace(access.namespace.as_deref());
        if is_read_only(access) {
            // What else there is, a move has to know to be safe; none of it is secret.
            return within || (group, plural) != ("", "secrets");
        }
        match (group, plural) {
            _ if self.is_state_object(access, name) => true,
            ("", "namespaces") => self.is_allowed_namespace(name),
            ("", "secrets" | "configmaps") => within && access.namespace.is_some(),
            // Permissions, webhooks, definitions, workloads: no move writes one.
            _ if is_kubernetes_group(group) => false,
            // What is in no namespace at all: the account's permissions decide.
            _ => within || access.namespace.is_none(),
        }
    }

    /// Returns true if a namespace is allowed. The whole cluster is allowed only if all namespaces are.
    fn is_allowed_namespace(&self, namespace: Option<&str>) -> bool {
        let Some(allowed) = &self.namespaces else { return true };
        namespace.is_some_and(|namespace| allowed.contains(namespace))
    }
}

/// Returns true if a request sets the annotation by which users offer a Cluster.
fn requests_return(ask: &LinkRequest) -> bool {
    let body = match ask {
        LinkRequest::Create { body, .. } => body,
        LinkRequest::Patch { patch, .. } => &patch.body,
        _ => return false,
    };
    let annotations = body.pointer("/metadata/annotations");
    annotations.and_then(|all| all.get(RETURN)).is_some_and(|value| !value.is_null())
}

/// Returns the fault in the words of a request that become part of a path.
fn invalid_word(ask: &LinkRequest) -> Option<String> {
    let kinds: Vec<&Kind> = match ask {
        LinkRequest::List { kind, .. }
        | LinkRequest::ListLabelled { kind, .. }
        | LinkRequest::ListMeta { kind, .. }
        | LinkRequest::ListIdentities { kind, .. }
        | LinkRequest::Get { kind, .. }
        | LinkRequest::Create { kind, .. }
        | LinkRequest::Patch { kind, .. }
        | LinkRequest::Delete { kind, .. }
        | LinkRequest::Watch { kind, .. } => vec![kind],
        LinkRequest::Learn { kinds } => kinds.iter().collect(),
        _ => Vec::new(),
    };
    let odd_in_kind = kinds.iter().find_map(|kind| {
        let versions = kind.served.iter().chain([&kind.version]);
        find_kind_error(&kind.group_kind)
            .or_else(|| find_name_error(&kind.plural))
            .or_else(|| versions.map(String::as_str).find_map(find_version_error))
    });
    if let LinkRequest::Create { body, .. } = ask
        && body.pointer("/metadata/generateName").is_some_and(|prefix| !prefix.is_null())
    {
        return Some("generateName: the name decides what may be created".to_owned());
    }
    let deed = requested_access(ask);
    let names = deed.iter().flat_map(|deed| deed.access.namespace.iter().chain(&deed.name));
    let service = match ask {
        LinkRequest::ProxyGet { service, .. } => vec![&service.namespace, &service.service, &service.port],
        _ => Vec::new(),
    };
    odd_in_kind.or_else(|| names.chain(service).map(String::as_str).find_map(find_name_error))
}

#[cfg(test)]
mod tests {
    use pivot_core::objects::names::MARK;
    use pivot_core::{GroupKind, Key, KindLabels};
    use pivot_places::{Change, Preconditions, ServicePath, builtin_kinds};
    use serde_json::json;

    use super::*;

    fn guard() -> Guard {
        Guard {
            namespaces: Some(["shop".to_owned()].into()),
            record_namespace: "pivot-host-records".to_owned(),
            role: Role::Target,
            keep_answering: false,
        }
    }

    fn kind(name: &str) -> Kind {
        builtin_kinds().into_iter().find(|kind| kind.group_kind.kind == name).unwrap_or_else(|| Kind {
            group_kind: GroupKind::new("cluster.x-k8s.io", name),
            version: "v1beta2".to_owned(),
            plural: format!("{}s", name.to_ascii_lowercase()),
            namespaced: name != "Identity",
            status_subresource: true,
            served: vec!["v1beta2".to_owned()],
            labels: KindLabels::default(),
        })
    }

    fn key(kind: &Kind, namespace: &str, name: &str) -> Key {
        Key::new(kind.group_kind.clone(), Some(namespace).filter(|one| !one.is_empty()), name)
    }

    fn each_write(name: &str, namespace: &str, object: &str) -> [LinkRequest; 3] {
        let kind = kind(name);
        let key = key(&kind, namespace, object);
        let mut metadata = json!({"name": object, "annotations": {MARK: "1"}});
        if !namespace.is_empty() {
            metadata["namespace"] = json!(namespace);
        }
        let patch = pivot_places::Patch {
            body: json!({}),
            subresource: pivot_places::Subresource::None,
            change: Change::Real,
        };
        [
            LinkRequest::Create {
                kind: kind.clone(),
                body: json!({"metadata": metadata}),
                change: Change::Real,
            },
            LinkRequest::Patch { kind: kind.clone(), key: key.clone(), patch },
            LinkRequest::Delete { kind, key, preconditions: Preconditions::default() },
        ]
    }

    // proves: T52
    #[test]
    fn guard_allows_writes_of_moving_objects_only() {
        let allowed = [
            ("Machine", "shop", "m"),
            ("Secret", "shop", "s"),
            ("ConfigMap", "shop", "c"),
            ("Identity", "", "i"),
            ("Namespace", "", "shop"),
            ("ConfigMap", "pivot-host-records", "pivot-host-target-1"),
            ("Lease", "pivot-host-records", "pivot-host.ns.shop"),
        ];
        for (kind, namespace, name) in allowed {
            for ask in each_write(kind, namespace, name) {
                assert_eq!(guard().refusal(&ask), None, "{ask:?}");
            }
        }
        let refused = [
            ("Machine", "other", "m"),
            ("Secret", "other", "s"),
            ("Secret", "pivot-host-records", "pivot-host-target-1"),
            ("Secret", "", "s"),
            ("ConfigMap", "pivot-host-records", "coredns"),
            ("Lease", "pivot-host-records", "kube-controller-manager"),
            ("Lease", "shop", "pivot-host"),
            ("Namespace", "", "other"),
            ("Namespace", "", "pivot-host-records"),
            ("Deployment", "shop", "d"),
            ("Service", "shop", "s"),
            ("ServiceAccount", "shop", "s"),
            ("Role", "shop", "r"),
            ("RoleBinding", "shop", "r"),
            ("ClusterRole", "", "r"),
            ("ClusterRoleBinding", "", "r"),
            ("CustomResourceDefinition", "", "machines.cluster.x-k8s.io"),
        ];
        for (kind, namespace, name) in refused {
            for ask in each_write(kind, namespace, name) {
                assert!(matches!(guard().refusal(&ask), Some(PlaceError::Forbidden(_))), "{ask:?}");
            }
        }
    }

    // proves: T55, T181
    #[tokio::test]
    async fn leases_and_records_need_no_mark() {
        let place = pivot_memory::MemoryPlace::new("far");
        for role in [Role::Target, Role::Source] {
            let guard = Guard { role, ..guard() };
            let (here, elsewhere) = match role {
                Role::Target => ("pivot-host-target-1", "pivot-host-source-1"),
                Role::Source => ("pivot-host-source-1", "pivot-host-target-1"),
            };
            for (kind, name) in [
                ("ConfigMap", here),
                ("ConfigMap", "pivot-host-release-1-0"),
                ("Lease", "pivot-host.ns.shop"),
            ] {
                for mut ask in each_write(kind, "pivot-host-records", name) {
                    if let LinkRequest::Create { body, .. } = &mut ask {
                        body["metadata"]["annotations"] = json!({});
                    }
                    assert_eq!(guard.refusal(&ask), None, "{ask:?}");
                    assert!(guard.bind_to_object(ask, &place).await.is_ok(), "{role} {name}");
                }
            }
            for ask in each_write("ConfigMap", "pivot-host-records", elsewhere) {
                let refused = guard.refusal(&ask);
                assert!(
                    matches!(&refused, Some(PlaceError::Forbidden(why)) if why.contains("--role")),
                    "{refused:?}"
                );
            }
            for ask in each_write("ConfigMap", "pivot-host-records", "pivot-host-1") {
                assert!(matches!(guard.refusal(&ask), Some(PlaceError::Forbidden(_))), "{ask:?}");
            }
            let kind = kind("ConfigMap");
            assert_eq!(
                guard.refusal(&LinkRequest::Get { key: key(&kind, "pivot-host-records", elsewhere), kind }),
                None
            );
        }
        let source = Guard { role: Role::Source, ..guard() };
        for ask in each_write("Namespace", "", "shop") {
            let refused = source.refusal(&ask);
            assert!(
                matches!(&refused, Some(PlaceError::Forbidden(why)) if why.contains("--role")),
                "{refused:?}"
            );
        }
    }

    // proves: T149
    #[test]
    fn missing_record_namespace_is_created() {
        let create =
            |body: Value| LinkRequest::Create { kind: kind("Namespace"), body, change: Change::Real };
        let manifest = record_namespace_manifest("pivot-host-records");
        for role in [Role::Target, Role::Source] {
            let guard = Guard { role, ..guard() };
            assert_eq!(guard.refusal(&create(manifest.clone())), None);
            let mut labelled = manifest.clone();
            labelled["metadata"]["labels"] = json!({"a": "b"});
            for other in [labelled, record_namespace_manifest("other")] {
                assert!(guard.refusal(&create(other)).is_some(), "{role}");
            }
        }
    }

    #[test]
    fn stand_in_namespace_allows_dry_runs_only() {
        let create = |name, namespace: &str, change| LinkRequest::Create {
            kind: kind(name),
            body: json!({"metadata": {"name": "m", "namespace": namespace, "annotations": {MARK: "1"}}}),
            change,
        };
        for name in ["Machine", "Secret", "ConfigMap"] {
            assert_eq!(guard().refusal(&create(name, "default", Change::DryRun)), None, "{name}");
            assert!(guard().refusal(&create(name, "default", Change::Real)).is_some(), "{name}");
            assert!(guard().refusal(&create(name, "other", Change::DryRun)).is_some(), "{name}");
        }
        assert!(guard().refusal(&create("RoleBinding", "default", Change::DryRun)).is_some());
    }

    /// The tokens could be read over the link, and used without it.
    // proves: T59
    #[test]
    fn cluster_credentials_are_never_created() {
        let create = |of: &str| LinkRequest::Create {
            kind: kind("Secret"),
            body: json!({"type": of, "metadata": {"name": "s", "namespace": "shop", "annotations": {MARK: "1"}}}),
            change: Change::Real,
        };
        assert_eq!(guard().refusal(&create("cluster.x-k8s.io/secret")), None);
        for of in SECRETS_OF_ONE_CLUSTER {
            assert!(matches!(guard().refusal(&create(of)), Some(PlaceError::Forbidden(_))), "{of}");
        }
    }

    // proves: T182
    #[test]
    fn links_request_no_return() {
        let machines = kind("Machine");
        let annotated = |value: Value| json!({"metadata": {"name": "m", "namespace": "shop", "annotations": {MARK: "1", RETURN: value}}});
        let patch = |body| pivot_places::Patch {
            body,
            subresource: pivot_places::Subresource::None,
            change: Change::Real,
        };
        let created = |body| LinkRequest::Create { kind: machines.clone(), body, change: Change::Real };
        let patched = |body| LinkRequest::Patch {
            kind: machines.clone(),
            key: key(&machines, "shop", "m"),
            patch: patch(body),
        };
        let set = json!({"metadata": {"annotations": {RETURN: "requested"}}});
        let unset = json!({"metadata": {"annotations": {RETURN: null}}});
        let source = Guard { role: Role::Source, ..guard() };
        for (guard, ask) in [
            (guard(), created(annotated(json!("requested")))),
            (guard(), created(annotated(json!("")))),
            (guard(), patched(set.clone())),
            (source.clone(), patched(set)),
        ] {
            let refused = guard.refusal(&ask);
            assert!(
                matches!(&refused, Some(PlaceError::Forbidden(why)) if why.contains("may leave")),
                "{ask:?}"
            );
        }
        assert_eq!(guard().refusal(&created(annotated(Value::Null))), None);
        assert_eq!(source.refusal(&patched(unset)), None);
        // Not even where all namespaces are allowed.
        let everywhere = Guard { namespaces: None, ..guard() };
        for guard in [&everywhere, &Guard { role: Role::Source, ..everywhere.clone() }] {
            for ask in each_write("ConfigMap", "pivot-host-records", CONSENT) {
                assert!(matches!(guard.refusal(&ask), Some(PlaceError::Forbidden(_))), "{ask:?}");
            }
        }
        let generated = json!({"metadata": {
            "generateName": "pivot-host-source-", "namespace": "pivot-host-records", "annotations": {MARK: "1"}, "labels": {"a": "b"},
        }});
        let kind = kind("ConfigMap");
        let ask = LinkRequest::Create { kind, body: generated, change: Change::Real };
        assert!(matches!(everywhere.refusal(&ask), Some(PlaceError::Invalid(_))));
    }

    // proves: T52
    #[test]
    fn secrets_are_read_only_in_allowed_namespaces() {
        let list = |name, namespace: Option<&str>| LinkRequest::List {
            kind: kind(name),
            namespace: namespace.map(str::to_owned),
        };
        for ask in [list("Secret", Some("shop")), list("Machine", None), list("Deployment", Some("other"))] {
            assert_eq!(guard().refusal(&ask), None, "{ask:?}");
        }
        for ask in [list("Secret", None), list("Secret", Some("pivot-host-records"))] {
            assert!(guard().refusal(&ask).is_some(), "{ask:?}");
        }
        let everything = Guard { namespaces: None, ..guard() };
        assert_eq!(everything.refusal(&list("Secret", None)), None);
    }

    // proves: T52
    #[test]
    fn request_is_judged_by_its_path() {
        // A Secret that says it is a Machine.
        let lying = Kind { group_kind: GroupKind::new("", "Machine"), ..kind("Secret") };
        assert!(guard().refusal(&LinkRequest::List { kind: lying, namespace: None }).is_some());
        // Secrets that say they are in no namespace: the path would name none, and so all of them.
        let all = || Kind { namespaced: false, ..kind("Secret") };
        let namespace = || Some("shop".to_owned());
        let version = "1".to_owned();
        for ask in [
            LinkRequest::List { kind: all(), namespace: namespace() },
            LinkRequest::ListMeta { kind: all(), namespace: namespace() },
            LinkRequest::ListIdentities { kind: all(), namespace: namespace() },
            LinkRequest::ListLabelled { kind: all(), namespace: "shop".to_owned(), label: "a=b".to_owned() },
            LinkRequest::Watch { kind: all(), namespace: namespace(), resource_version: version },
        ] {
            assert!(matches!(guard().refusal(&ask), Some(PlaceError::Forbidden(_))), "{ask:?}");
        }
        for plural in ["../secrets", "namespaces/kube-system/secrets", "", ".."] {
            let kind = Kind { plural: plural.to_owned(), ..kind("Machine") };
            let ask = LinkRequest::List { kind, namespace: Some("shop".to_owned()) };
            assert!(matches!(guard().refusal(&ask), Some(PlaceError::Invalid(_))), "{plural}");
        }
        let kind = kind("Machine");
        for (namespace, name) in [("shop", "../../other/machines/m"), ("shop/../other", "m"), ("shop", "..")]
        {
            let ask = LinkRequest::Get { kind: kind.clone(), key: key(&kind, namespace, name) };
            assert!(matches!(guard().refusal(&ask), Some(PlaceError::Invalid(_))), "{ask:?}");
        }
        let service = |namespace: &str| ServicePath {
            namespace: namespace.to_owned(),
            service: "ironic".to_owned(),
            port: "80".to_owned(),
            path: "v1".to_owned(),
        };
        assert!(guard().refusal(&LinkRequest::ProxyGet { service: service("other"), limit: 1 }).is_some());
        assert_eq!(guard().refusal(&LinkRequest::ProxyGet { service: service("shop"), limit: 1 }), None);
    }
}
