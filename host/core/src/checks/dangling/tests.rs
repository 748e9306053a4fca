//! Each row of the table, and what must not be refused.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::objects::names::GROUP_ADDONS;
use crate::plan::{Fate, Step, Why};
use crate::request::scope::Namespaces;
use crate::testing;
use crate::{Kind, Uid};

/// Cluster-scoped kinds of these tests.
const CLUSTER_SCOPED: [&str; 7] = [
    "AWSClusterControllerIdentity",
    "AWSClusterRoleIdentity",
    "AWSClusterStaticIdentity",
    "OpenStackClusterIdentity",
    "VSphereClusterIdentity",
    "VSphereDeploymentZone",
    "VSphereFailureDomain",
];

fn kind(name: &str) -> Arc<Kind> {
    let kind = Kind::clone(&testing::kind(name));
    let group = match name {
        "HelmChartProxy" => GROUP_ADDONS.to_owned(),
        "AWSManagedControlPlane" | "KubeadmControlPlane" | "ROSAControlPlane" => {
            "controlplane.cluster.x-k8s.io".to_owned()
        }
        "KubeadmConfig" | "KubeadmConfigTemplate" => "bootstrap.cluster.x-k8s.io".to_owned(),
        "ResourceGroup" => "resources.azure.com".to_owned(),
        _ => kind.group_kind.group.clone(),
    };
    Arc::new(Kind {
        namespaced: kind.namespaced && !CLUSTER_SCOPED.contains(&name),
        group_kind: GroupKind::new(group, name),
        ..kind
    })
}

/// An object `Kind ns/name` or `Kind name` with these fields.
fn object(name: &str, mut body: Value) -> Object {
    let (kind_name, rest) = name.split_once(' ').unwrap();
    let (namespace, own) = rest.split_once('/').map_or((None, rest), |(space, own)| (Some(space), own));
    body["metadata"]["name"] = json!(own);
    body["metadata"]["uid"] = json!(name);
    if let Some(namespace) = namespace {
        body["metadata"]["namespace"] = json!(namespace);
    }
    Object::from_value(kind(kind_name), &body).unwrap()
}

/// A source, and the names that the target has.
struct World {
    moves: Vec<Object>,
    stays: Vec<Object>,
    target: Vec<&'static str>,
    providers: [Vec<Provider>; 2],
    scope: Scope,
}

impl World {
    fn new<const N: usize>(moves: [(&str, Value); N]) -> Self {
        let moves = moves.into_iter().map(|(name, body)| object(name, body)).collect();
        let scope = Scope::new(Namespaces::One("ns".into()));
        Self { moves, stays: Vec::new(), target: Vec::new(), providers: Default::default(), scope }
    }

    fn moves(mut self, name: &str, body: Value) -> Self {
        self.moves.push(object(name, body));
        self
    }

    fn stays(mut self, name: &str, body: Value) -> Self {
        self.stays.push(object(name, body));
        self
    }

    fn target(mut self, name: &'static str) -> Self {
        self.target.push(name);
        self
    }

    /// A provider in a namespace of the source and of the target.
    fn provider(mut self, name: &str, namespaces: [&str; 2]) -> Self {
        for (side, namespace) in self.providers.iter_mut().zip(namespaces) {
            side.push(Provider {
                name: name.into(),
                kind_of: "InfrastructureProvider".into(),
                version: "v1.0.0".into(),
                namespace: namespace.into(),
                watched_namespace: None,
            });
        }
        self
    }

    /// Returns the refusals. Secrets that stay are in no list.
    fn refusals(&self) -> Vec<Refusal> {
        let is_listed = |it: &&Object| !it.kind.group_kind.is_secret();
        let listed = self.stays.iter().filter(is_listed).chain(&self.moves).cloned().collect();
        let inventory = Inventory::new(listed);
        let steps = self.moves.iter().map(|it| Step {
            object: inventory.index_of_key(&it.key()).unwrap(),
            key: it.key(),
            uid: Uid::default(),
            after: Vec::new(),
            dropped_owners: Vec::new(),
            fate: Fate::Move,
            why: Why::Root,
            cluster: None,
            in_target: None,
            changes: Vec::new(),
            content: None,
        });
        let plan = Plan { steps: steps.collect(), moving: ["ns".to_owned()].into(), ..Plan::default() };
        let [source, target] = &self.providers;
        let mut search = Search::new(&inventory, &plan, &self.scope, source, Some(target));
        loop {
            let unknown = search.take_unknown();
            if unknown.is_empty() {
                return search.into_refusals(true);
            }
            for referent in unknown {
                let there = self.stays.iter().find(|it| referent.source.contains(&it.key()));
                let in_target = referent.target.iter().any(|key| self.target.contains(&&*key.to_string()));
                if let Some(object) = there.filter(|_| !in_target) {
                    search.add_missing(referent, object.clone());
                }
            }
        }
    }

    fn missing(&self) -> Vec<String> {
        self.refusals().iter().map(|refusal| refusal.object.as_ref().unwrap().to_string()).collect()
    }
}

fn identity(kind: &str, name: &str) -> Value {
    json!({"spec": {"identityRef": {"kind": kind, "name": name}}})
}

/// A row: the object that moves, the object that it names, and whether it names a Secret.
#[test]
fn each_row_names_what_is_missing() {
    let named = |namespace| json!({"name": "x", "namespace": namespace});
    let annotations = json!({"annotations": {"serviceoperator.azure.com/credential-from": "x"}});
    let of_pool = |list: &str, field: &str| {
        let pool = json!([{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool", "name": "p", "uid": "p"}]);
        json!({"metadata": {"ownerReferences": pool}, "spec": {list: [{field: {"secret": {"name": "x"}}}]}})
    };
    for (by, body, missing) in [
        ("GCPCluster ns/c", json!({"spec": {"credentialsRef": named("keys")}}), "Secret keys/x"),
        (
            "KubeadmControlPlane ns/c",
            json!({"spec": {"kubeadmConfigSpec": {"files": [{"content": "a"}, {"contentFrom": {"secret": {"name": "x"}}}]}}}),
            "Secret ns/x",
        ),
        (
            "KubeadmControlPlane ns/c",
            json!({"spec": {"kubeadmConfigSpec": {"users": [{"passwdFrom": {"secret": {"name": "x"}}}]}}}),
            "Secret ns/x",
        ),
        ("KubeadmConfig ns/p", of_pool("files", "contentFrom"), "Secret ns/x"),
        ("KubeadmConfig ns/p", of_pool("users", "passwdFrom"), "Secret ns/x"),
        (
            "KubeadmConfig ns/unprovisioned",
            json!({"spec": {"files": [{"contentFrom": {"secret": {"name": "x"}}}]}}),
            "Secret ns/x",
        ),
        ("ROSAControlPlane ns/c", json!({"spec": {"credentialsSecretRef": {"name": "x"}}}), "Secret ns/x"),
        ("ROSAControlPlane ns/c", json!({"spec": {"rosaNetworkRef": {"name": "x"}}}), "ROSANetwork ns/x"),
        (
            "ROSAControlPlane ns/c",
            json!({"spec": {"rosaRoleConfigRef": {"name": "x"}}}),
            "ROSARoleConfig ns/x",
        ),
        (
            "ROSAControlPlane ns/c",
            json!({"spec": {"externalAuthProviders": [{"oidcClients": [{"clientSecret": {"name": "x"}}]}]}}),
            "Secret ns/x",
        ),
        ("ROSANetwork ns/n", identity("AWSClusterRoleIdentity", "x"), "AWSClusterRoleIdentity x"),
        ("ROSARoleConfig ns/r", identity("AWSClusterStaticIdentity", "x"), "AWSClusterStaticIdentity x"),
        ("ROSARoleConfig ns/r", json!({"spec": {"credentialsSecretRef": {"name": "x"}}}), "Secret ns/x"),
        (
            "AzureASOManagedCluster ns/c",
            json!({"spec": {"resources": [{"metadata": annotations}]}}),
            "Secret ns/x",
        ),
        ("ResourceGroup ns/c", json!({"metadata": annotations}), "Secret ns/x"),
        ("VSphereCluster ns/c", identity("Secret", "x"), "Secret ns/x"),
        ("VSphereCluster ns/c", identity("VSphereClusterIdentity", "x"), "VSphereClusterIdentity x"),
        (
            "Machine ns/m",
            json!({"spec": {"failureDomain": "x", "infrastructureRef": {"kind": "VSphereMachine"}}}),
            "VSphereDeploymentZone x",
        ),
        ("OpenStackCluster ns/c", json!({"spec": {"identityRef": {"name": "x"}}}), "Secret ns/x"),
        (
            "OpenStackMachine ns/m",
            json!({"spec": {"identityRef": {"type": "Secret", "name": "x"}}}),
            "Secret ns/x",
        ),
        (
            "OpenStackCluster ns/c",
            json!({"spec": {"identityRef": {"type": "ClusterIdentity", "name": "x"}}}),
            "OpenStackClusterIdentity x",
        ),
        (
            "OpenStackMachine ns/m",
            json!({"spec": {"floatingIPPoolRef": {"kind": "OpenStackFloatingIPPool", "name": "x"}}}),
            "OpenStackFloatingIPPool ns/x",
        ),
        (
            "OpenStackCluster ns/c",
            json!({"spec": {"bastion": {"spec": {"floatingIPPoolRef": {"kind": "OpenStackFloatingIPPool", "name": "x"}}}}}),
            "OpenStackFloatingIPPool ns/x",
        ),
        ("HelmChartProxy ns/h", json!({"spec": {"credentials": {"secret": {"name": "x"}}}}), "Secret ns/x"),
        ("HelmChartProxy ns/h", json!({"spec": {"tlsConfig": {"caSecret": named("keys")}}}), "Secret keys/x"),
        ("AWSCluster ns/c", identity("AWSClusterRoleIdentity", "x"), "AWSClusterRoleIdentity x"),
        (
            "AWSManagedControlPlane ns/c",
            identity("AWSClusterStaticIdentity", "x"),
            "AWSClusterStaticIdentity x",
        ),
    ] {
        let world = World::new([(by, body.clone())]);
        assert_eq!(world.missing(), [""; 0], "{by} in a source without {missing}");
        let world = world.stays(missing, json!({}));
        assert_eq!(world.missing(), [missing], "{by} {body}");
        let there = World::new([(by, body)]).stays(missing, json!({})).target(missing);
        assert_eq!(there.missing(), [""; 0], "{missing} in the target");
    }
}

#[test]
fn moved_referents_are_not_missing() {
    let world = World::new([("VSphereCluster ns/c", identity("Secret", "x")), ("Secret ns/x", json!({}))]);
    assert_eq!(world.missing(), [""; 0]);
}

#[test]
fn identity_types_decide_about_the_secret() {
    for (of, missing) in [("ServicePrincipal", vec!["Secret ns/x"]), ("WorkloadIdentity", Vec::new())] {
        let spec = json!({"type": of, "clientSecret": {"name": "x", "namespace": "ns"}});
        let world = World::new([
            ("AzureCluster ns/c", identity("AzureClusterIdentity", "i")),
            ("AzureClusterIdentity ns/i", json!({"spec": spec})),
        ]);
        assert_eq!(world.stays("Secret ns/x", json!({})).missing(), missing, "{of}");
    }
}

#[test]
fn references_are_followed_through_staying_objects() {
    let cluster = identity("VSphereClusterIdentity", "vcenter");
    let world = || {
        World::new([("VSphereCluster ns/c", cluster.clone())])
            .stays("VSphereClusterIdentity vcenter", json!({"spec": {"secretName": "s"}}))
            .stays("Secret capv-system/s", json!({}))
    };
    assert_eq!(world().missing(), ["Secret capv-system/s", "VSphereClusterIdentity vcenter"]);
    // The target's own identity may have another Secret.
    assert_eq!(world().target("VSphereClusterIdentity vcenter").missing(), [""; 0]);
    let refusals = world().refusals();
    let texts: Vec<&str> = refusals.iter().map(|refusal| refusal.message.as_str()).collect();
    let stays = "stays and isn't in the target, but is needed by";
    assert_eq!(
        texts,
        [
            format!(
                "Secret capv-system/s {stays} VSphereClusterIdentity vcenter (spec.secretName), which VSphereCluster ns/c uses"
            ),
            format!("VSphereClusterIdentity vcenter {stays} VSphereCluster ns/c (spec.identityRef.name)"),
        ]
    );
    let users = |refusal: &Refusal| refusal.others.iter().map(ToString::to_string).collect::<Vec<_>>();
    let both = ["VSphereCluster ns/c", "VSphereClusterIdentity vcenter"];
    assert_eq!(refusals.iter().map(users).collect::<Vec<_>>(), [both.to_vec(), vec!["VSphereCluster ns/c"]]);
    let zone =
        |name| json!({"spec": {"failureDomain": name, "infrastructureRef": {"kind": "VSphereMachine"}}});
    let zones = World::new([("Machine ns/a", zone("z")), ("Machine ns/b", zone("z"))])
        .stays("VSphereDeploymentZone z", json!({"spec": {"failureDomain": "d"}}))
        .stays("VSphereFailureDomain d", json!({}));
    assert_eq!(zones.missing(), ["VSphereDeploymentZone z", "VSphereFailureDomain d"]);
    let openstack = World::new([(
        "OpenStackCluster ns/c",
        json!({"spec": {"identityRef": {"type": "ClusterIdentity", "name": "cloud"}}}),
    )])
    .stays(
        "OpenStackClusterIdentity cloud",
        json!({"spec": {"secretRef": {"name": "s", "namespace": "capo"}}}),
    )
    .stays("Secret capo/s", json!({}));
    assert_eq!(openstack.missing(), ["Secret capo/s", "OpenStackClusterIdentity cloud"]);
}

#[test]
fn zones_are_selected_by_their_labels() {
    let cluster = |selector: Value| json!({"spec": {"server": "v", "failureDomainSelector": selector}});
    let zone = |server: &str| json!({"metadata": {"labels": {"l": "1"}}, "spec": {"server": server}});
    for (selector, server, selects) in [
        (json!({}), "v", true),
        (json!({"matchLabels": {"l": "1"}}), "v", true),
        (json!({"matchExpressions": [{"key": "l", "operator": "In", "values": ["1"]}]}), "v", true),
        (json!({"matchExpressions": [{"key": "l", "operator": "DoesNotExist"}]}), "v", false),
        (json!({"matchLabels": {"l": "2"}}), "v", false),
        (json!({}), "other", false),
        (Value::Null, "v", false),
    ] {
        let world = World::new([("VSphereCluster ns/c", cluster(selector.clone()))]);
        let found = world.stays("VSphereDeploymentZone z", zone(server)).missing();
        assert_eq!(found.len(), usize::from(selects), "{selector} {server}");
    }
}

#[test]
fn secrets_of_providers_follow_their_namespaces() {
    let chain = || {
        World::new([
            ("AWSCluster ns/c", identity("AWSClusterRoleIdentity", "role")),
            (
                "AWSClusterRoleIdentity role",
                json!({"spec": {"sourceIdentityRef": {"kind": "AWSClusterStaticIdentity", "name": "keys"}}}),
            ),
            ("AWSClusterStaticIdentity keys", json!({"spec": {"secretRef": "s"}})),
        ])
    };
    let here = chain().stays("Secret capa-system/s", json!({}));
    assert_eq!(here.missing(), ["Secret capa-system/s"]);
    let elsewhere = || chain().provider("aws", ["a", "b"]).stays("Secret a/s", json!({}));
    assert_eq!(elsewhere().missing(), ["Secret a/s"]);
    // A copy in the source's namespace would be of no use.
    let remedies = &elsewhere().refusals()[0].remedies;
    assert!(matches!(remedies[0], Remedy::ByHand { .. }), "{remedies:?}");
    assert_eq!(elsewhere().target("Secret b/s").missing(), [""; 0]);
    assert_eq!(elsewhere().target("Secret a/s").missing(), ["Secret a/s"]);
    assert_eq!(
        chain().provider("aws", ["a", "b"]).stays("Secret capa-system/s", json!({})).missing(),
        [""; 0]
    );
}

#[test]
fn unused_objects_need_nothing() {
    let template = || {
        let spec = json!({"template": {"spec": {"identityRef": {"name": "x"}}}});
        ("OpenStackMachineTemplate ns/t", json!({"spec": spec}))
    };
    let names = json!({"spec": {"infrastructureRef": {"kind": "OpenStackMachineTemplate", "name": "t"}}});
    let missing = |world: World| world.stays("Secret ns/x", json!({})).missing();
    assert_eq!(missing(World::new([template()])), [""; 0]);
    for user in ["ClusterClass ns/u", "MachineSet ns/u"] {
        assert_eq!(missing(World::new([template(), (user, names.clone())])), [""; 0], "{user}");
    }
    assert_eq!(missing(World::new([template(), ("MachineDeployment ns/u", names)])), ["Secret ns/x"]);
    // A class's patches may change the template of a cluster.
    for (kind, identity) in [
        ("AWSClusterTemplate", "AWSClusterRoleIdentity"),
        ("AzureClusterTemplate", "AzureClusterIdentity"),
        ("VSphereClusterTemplate", "VSphereClusterIdentity"),
    ] {
        let identity_ref = json!({"kind": identity, "name": "x"});
        let template = json!({"spec": {"template": {"spec": {"identityRef": identity_ref}}}});
        let named = json!({"spec": {"infrastructure": {"templateRef": {"kind": kind, "name": "t"}}}});
        let (template_name, cluster_scoped) = (format!("{kind} ns/t"), CLUSTER_SCOPED.contains(&identity));
        let stays = if cluster_scoped { format!("{identity} x") } else { format!("{identity} ns/x") };
        let with = |user: &str| {
            let world = World::new([(template_name.as_str(), template.clone()), (user, named.clone())]);
            world.stays(&stays, json!({})).missing()
        };
        assert_eq!(with("ClusterClass ns/u"), [""; 0], "{kind}");
        assert_eq!(with("Cluster ns/u"), std::slice::from_ref(&stays), "{kind}");
    }
    let pool = json!({"kind": "OpenStackFloatingIPPool", "name": "x"});
    let spec = json!({"identityRef": {"name": "x"}, "bastion": {"spec": {"floatingIPPoolRef": pool}}});
    let template = ("OpenStackClusterTemplate ns/t", json!({"spec": {"template": {"spec": spec}}}));
    let named = json!({"spec": {"infrastructure": {"templateRef": {"kind": "OpenStackClusterTemplate", "name": "t"}}}});
    let world = World::new([template, ("ClusterClass ns/u", named)]);
    assert_eq!(missing(world.stays("OpenStackFloatingIPPool ns/x", json!({}))), [""; 0]);
    let from = |list: &str, field: &str| {
        let spec = json!({"template": {"spec": {list: [{field: {"secret": {"name": "x"}}}]}}});
        ("KubeadmConfigTemplate ns/t", json!({"spec": spec}))
    };
    let named = json!({"kind": "KubeadmConfigTemplate", "name": "t"});
    let user = json!({"spec": {"template": {"spec": {"bootstrap": {"configRef": named}}}}});
    for template in [from("files", "contentFrom"), from("users", "passwdFrom")] {
        assert_eq!(missing(World::new([template.clone()])), [""; 0]);
        let deployment = ("MachineDeployment ns/u", user.clone());
        assert_eq!(missing(World::new([template, deployment])), ["Secret ns/x"]);
    }
    // No Cluster that moves uses them.
    let identity = ("AWSClusterStaticIdentity keys", json!({"spec": {"secretRef": "s"}}));
    assert_eq!(World::new([identity]).stays("Secret capa-system/s", json!({})).missing(), [""; 0]);
}

#[test]
fn no_false_alarms_are_raised() {
    let content = json!([{"contentFrom": {"secret": {"name": "x"}}}]);
    let aws_zone = json!({"spec": {"failureDomain": "z", "infrastructureRef": {"kind": "AWSMachine"}}});
    for (by, body) in [
        ("KubeadmConfig ns/m", json!({"spec": {"files": content}, "status": {"dataSecretName": "m"}})),
        ("AWSCluster ns/c", identity("AWSClusterControllerIdentity", "default")),
        ("Machine ns/m", aws_zone),
    ] {
        let mut world = World::new([(by, body)]);
        for name in ["AWSClusterControllerIdentity default", "Secret ns/x", "VSphereDeploymentZone z"] {
            world = world.stays(name, json!({}));
        }
        assert_eq!(world.missing(), [""; 0], "{by}");
    }
}

#[test]
fn remedies_would_bring_the_object() {
    let words = |world: World| {
        let refusals = world.refusals();
        let remedies = refusals.iter().flat_map(|refusal| refusal.remedies.clone());
        remedies.map(|remedy| remedy.by_hand().unwrap_or_else(|| format!("{remedy:?}"))).collect::<Vec<_>>()
    };
    let secret =
        || World::new([("VSphereCluster ns/c", identity("Secret", "x"))]).stays("Secret ns/x", json!({}));
    let [copy, label, plugin, accept] = words(secret()).try_into().unwrap();
    assert!(copy.starts_with("AlsoCopy") && accept.starts_with("AcceptDangling"), "{copy} {accept}");
    assert!(plugin.starts_with("EnablePlugin"), "{plugin}");
    assert_eq!(label, "let it move, too: `kubectl label -n ns secret x clusterctl.cluster.x-k8s.io/move=`");
    let cluster = World::new([("VSphereCluster ns/c", identity("VSphereClusterIdentity", "x"))]);
    let [label, _, _] = words(cluster.stays("VSphereClusterIdentity x", json!({}))).try_into().unwrap();
    assert!(
        label.contains("kubectl label vsphereclusteridentity.infrastructure.cluster.x-k8s.io x "),
        "{label}"
    );
    let elsewhere = World::new([(
        "AzureCluster ns/c",
        json!({"spec": {"identityRef": {"name": "x", "namespace": "o"}}}),
    )]);
    let words = words(elsewhere.stays("AzureClusterIdentity o/x", json!({})));
    let [doubt, by_hand, _] = words.try_into().unwrap();
    assert!(doubt.starts_with("find out whether the object that names it may use it"), "{doubt}");
    assert_eq!(by_hand, "create it in the target before the move");
}

/// A plugin follows no namespace that the author of an object chose, and sees no namespace but the usual one of its provider.
#[test]
fn plugins_are_offered_where_they_relate() {
    let offered = |world: &World| {
        let refusals = world.refusals();
        let remedies = refusals.iter().flat_map(|refusal| &refusal.remedies);
        let plugins = remedies.filter_map(|remedy| match remedy {
            Remedy::EnablePlugin { plugin, .. } => Some(plugin.clone()),
            _ => None,
        });
        plugins.collect::<Vec<_>>()
    };
    let gcp = |namespace: &str| json!({"spec": {"credentialsRef": {"name": "x", "namespace": namespace}}});
    let openstack = |namespace: &str| {
        let secret = json!({"name": "x", "namespace": namespace});
        World::new([(
            "OpenStackCluster ns/c",
            json!({"spec": {"identityRef": {"type": "ClusterIdentity", "name": "i"}}}),
        )])
        .moves("OpenStackClusterIdentity i", json!({"spec": {"secretRef": secret}}))
        .stays(&format!("Secret {namespace}/x"), json!({}))
    };
    let aws = |namespace| {
        World::new([("AWSCluster ns/c", identity("AWSClusterStaticIdentity", "keys"))])
            .moves("AWSClusterStaticIdentity keys", json!({"spec": {"secretRef": "x"}}))
            .provider("aws", [namespace, namespace])
            .stays(&format!("Secret {namespace}/x"), json!({}))
    };
    let zone = |status: Value| {
        let spec = json!({"server": "v", "failureDomainSelector": {}});
        World::new([("VSphereCluster ns/c", json!({"spec": spec, "status": {"failureDomains": status}}))])
            .stays("VSphereDeploymentZone z", json!({"spec": {"server": "v"}}))
    };
    let annotations = json!({"annotations": {"serviceoperator.azure.com/credential-from": "x"}});
    let kubeadm = json!({"spec": {"files": [{"contentFrom": {"secret": {"name": "x"}}}]}});
    let with_secret = |by, body| World::new([(by, body)]).stays("Secret ns/x", json!({}));
    for (world, expected) in [
        (with_secret("GCPCluster ns/c", gcp("ns")), &["gcp"][..]),
        (World::new([("GCPCluster ns/c", gcp("o"))]).stays("Secret o/x", json!({})), &[]),
        (openstack("capo-system"), &["openstack"]),
        (openstack("o"), &[]),
        (aws("capa-system"), &["aws"]),
        (aws("o"), &[]),
        (zone(json!([{"name": "z"}])), &["vsphere"]),
        (zone(json!({"z": {}})), &["vsphere"]),
        (zone(json!([])), &[]),
        (with_secret("ResourceGroup ns/c", json!({"metadata": annotations})), &[]),
        (with_secret("KubeadmConfig ns/c", kubeadm), &[]),
    ] {
        assert_eq!(world.refusals().len(), 1);
        assert_eq!(offered(&world), expected);
    }
}

/// Controllers would act on both sides.
#[test]
fn unpausable_referents_are_not_moved() {
    let body = json!({"spec": {"rosaNetworkRef": {"name": "x"}}});
    let world = World::new([("ROSAControlPlane ns/c", body)]).stays("ROSANetwork ns/x", json!({}));
    let [by_hand, accept] = &*world.refusals()[0].remedies else { panic!() };
    let by_hand = by_hand.by_hand().unwrap();
    assert!(by_hand.ends_with("so never delete it in the source while its cluster runs"), "{by_hand}");
    assert!(matches!(accept, Remedy::AcceptDangling { .. }), "{accept:?}");
}

/// A name becomes a part of a path.
#[test]
fn names_that_no_object_has_are_ignored() {
    for (name, expected) in [("a", &["Secret ns/a"][..]), ("a/b", &[]), ("..", &[]), ("a%2fb", &[])] {
        let world = World::new([("VSphereCluster ns/c", identity("Secret", name))]);
        let world = world.stays(&format!("Secret ns/{name}"), json!({}));
        assert_eq!(world.missing(), expected, "{name}");
    }
}
