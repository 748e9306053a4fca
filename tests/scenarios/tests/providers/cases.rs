//! A cluster of each provider, as its users have it: a template, and what the provider's guides tell them to add.

use pivot_lab::parse;
use pivot_scenarios::secrets::mark_secret;
use serde_json::{Value, json};

use super::controllers::at_rest;
use super::templates::{Providers, placed};

/// A namespace with one cluster.
pub(crate) struct Case {
    pub(crate) namespace: &'static str,
    templates: &'static [&'static str],
    /// Objects that no template has.
    more: &'static str,
    /// What no move takes along, beside objects in no namespace: a move leaves it in the source alone.
    pub(crate) stays: &'static [&'static str],
    /// Objects of [`SHARED`] that the cluster needs and that no move takes along.
    pub(crate) needs: &'static [&'static str],
}

/// Of a provider, in no namespace and in the namespace of its controllers: identities, zones and pools that clusters share.
pub(crate) const SHARED: [(&str, &str); 4] = [
    ("aws", include_str!("shared/aws.yaml")),
    ("ipam-in-cluster", include_str!("shared/ipam-in-cluster.yaml")),
    ("openstack", include_str!("shared/openstack.yaml")),
    ("vsphere", include_str!("shared/vsphere.yaml")),
];

pub(crate) const CASES: [Case; 15] = [
    Case {
        namespace: "aws",
        templates: &["aws/cluster-template"],
        more: "",
        stays: &[],
        needs: &["Secret capa-system/aws-keys"],
    },
    Case {
        namespace: "aws-pool",
        templates: &["aws/cluster-template-machinepool"],
        more: "",
        stays: &[],
        needs: &[],
    },
    Case {
        namespace: "aws-eks",
        templates: &["aws/cluster-template-eks-managedmachinepool"],
        more: "",
        stays: &[],
        needs: &[],
    },
    Case {
        namespace: "aws-class",
        templates: &["aws/cluster-template-multitenancy-clusterclass"],
        more: AWS_CLUSTER,
        stays: &[],
        needs: &[],
    },
    Case {
        namespace: "gcp",
        templates: &["gcp/cluster-template"],
        more: GCP,
        stays: &["Secret gcp/credentials"],
        needs: &[],
    },
    Case { namespace: "gcp-gke", templates: &["gcp/cluster-template-gke"], more: "", stays: &[], needs: &[] },
    Case {
        namespace: "azure",
        templates: &["azure/cluster-template-machinepool"],
        more: AZURE,
        stays: &["Secret azure/identity-password"],
        needs: &[],
    },
    Case {
        namespace: "azure-aks",
        templates: &["azure/cluster-template-aks"],
        more: "",
        stays: &[],
        needs: &[],
    },
    Case {
        namespace: "azure-aso",
        templates: &["azure/cluster-template-aks-aso"],
        more: ASO,
        stays: &["Secret azure-aso/aso-credential-secret-name"],
        needs: &[],
    },
    Case {
        namespace: "vsphere",
        templates: &["vsphere/cluster-template-node-ipam"],
        more: POOL,
        stays: &[],
        needs: &[],
    },
    Case {
        namespace: "vsphere-class",
        templates: &["vsphere/clusterclass-template", "vsphere/cluster-template-topology"],
        more: "",
        stays: &[],
        needs: &[
            "Secret capv-system/vcenter",
            "VSphereClusterIdentity.infrastructure.cluster.x-k8s.io vcenter",
            "VSphereDeploymentZone.infrastructure.cluster.x-k8s.io zone-a",
            "VSphereFailureDomain.infrastructure.cluster.x-k8s.io domain-a",
        ],
    },
    Case {
        namespace: "openstack",
        templates: &["openstack/cluster-template"],
        more: FLOATING,
        stays: &["OpenStackFloatingIPPool.infrastructure.cluster.x-k8s.io openstack/floating"],
        needs: &[
            "OpenStackClusterIdentity.infrastructure.cluster.x-k8s.io cloud",
            "Secret capo-system/clouds",
        ],
    },
    Case {
        namespace: "openstack-class",
        templates: &["openstack/clusterclass-dev-test", "openstack/cluster-template-topology"],
        more: CLOUDS,
        stays: &["Secret openstack-class/dev-test-cloud-config"],
        needs: &[],
    },
    Case {
        namespace: "docker",
        templates: &["docker/clusterclass-quick-start", "docker/cluster-template-development"],
        more: HELM,
        stays: &["Secret docker/registry"],
        needs: &[],
    },
    Case {
        namespace: "docker-pool",
        templates: &["docker/clusterclass-quick-start", "docker/cluster-template-development-mp"],
        more: "",
        stays: &[],
        needs: &[],
    },
];

const AWS_CLUSTER: &str = "
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c}
spec:
  topology:
    classRef: {name: multi-tenancy}
    version: v1.36.3
    controlPlane: {replicas: 1}
    workers: {machineDeployments: [{class: default-worker, name: md-0, replicas: 1}]}
";

const GCP: &str = "
apiVersion: v1
kind: Secret
metadata: {name: credentials}
stringData: {credentials: '{}'}
";

const AZURE: &str = "
apiVersion: v1
kind: Secret
metadata: {name: identity-password}
stringData: {clientSecret: secret}
";

const ASO: &str = "
apiVersion: v1
kind: Secret
metadata: {name: aso-credential-secret-name}
stringData: {AZURE_CLIENT_SECRET: secret}
";

const POOL: &str = "
apiVersion: ipam.cluster.x-k8s.io/v1alpha2
kind: InClusterIPPool
metadata: {name: pool, finalizers: [ipam.cluster.x-k8s.io/ProtectPool]}
spec: {addresses: [192.0.2.10-192.0.2.50], prefix: 24, gateway: 192.0.2.1}
status: {ipAddresses: {total: 41, free: 38, used: 3, outOfRange: 0}}
";

const FLOATING: &str = "
apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1
kind: OpenStackFloatingIPPool
metadata: {name: floating, finalizers: [openstackfloatingippool.infrastructure.cluster.x-k8s.io]}
spec: {identityRef: {name: c-cloud-config, cloudName: cloud}, reclaimPolicy: Retain, maxIPs: 3}
status: {claimedIPs: [192.0.2.77]}
";

const CLOUDS: &str = "
apiVersion: v1
kind: Secret
metadata: {name: dev-test-cloud-config}
stringData: {clouds.yaml: '{}'}
";

const HELM: &str = "
apiVersion: addons.cluster.x-k8s.io/v1alpha1
kind: HelmChartProxy
metadata: {name: cni, finalizers: [helmchartproxy.addons.cluster.x-k8s.io]}
spec:
  clusterSelector: {matchLabels: {cni: calico}}
  chartName: tigera-operator
  repoURL: https://docs.tigera.io/calico/charts
  credentials: {key: config.json, secret: {name: registry, namespace: docker}}
status: {matchingClusters: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, name: c, namespace: docker}]}
---
apiVersion: addons.cluster.x-k8s.io/v1alpha1
kind: HelmReleaseProxy
metadata:
  name: tigera-operator-c-7x2kq
  labels: {cluster.x-k8s.io/cluster-name: c, helmreleaseproxy.addons.cluster.x-k8s.io/helmchartproxy-name: cni}
  finalizers: [helmreleaseproxy.addons.cluster.x-k8s.io]
  ownerReferences:
  - {apiVersion: addons.cluster.x-k8s.io/v1alpha1, kind: HelmChartProxy, name: cni, controller: true, blockOwnerDeletion: true}
spec:
  clusterRef: {apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, name: c, namespace: docker}
  chartName: tigera-operator
  repoURL: https://docs.tigera.io/calico/charts
  credentials: {key: config.json, secret: {name: registry, namespace: docker}}
status: {revision: 1, status: deployed}
---
apiVersion: v1
kind: Secret
metadata: {name: registry}
stringData: {config.json: '{}'}
";

impl Case {
    /// Whether its templates are available.
    pub(crate) fn can_run(&self, providers: &Providers) -> bool {
        self.templates.iter().all(|name| providers.has(name.split('/').next().unwrap()))
    }

    /// Everything in the namespace once the cluster runs.
    pub(crate) fn objects(&self, providers: &Providers) -> Vec<Value> {
        let users = self.templates.iter().flat_map(|name| providers.template(name, self.namespace));
        let more = parse(self.more).unwrap().into_iter().map(|object| placed(object, self.namespace));
        let mut objects: Vec<Value> = users.chain(more).filter(|object| !self.is_unused(object)).collect();
        for object in &mut objects {
            self.adjust(object);
        }
        let mut objects = at_rest(self.namespace, objects);
        objects.iter_mut().for_each(mark_secret);
        objects
    }

    /// With an identity, a vSphere cluster has no Secret of its own.
    fn is_unused(&self, object: &Value) -> bool {
        self.namespace == "vsphere-class" && object["kind"] == "Secret" && object["metadata"]["name"] == "c"
    }

    /// What a user of this template chooses.
    fn adjust(&self, object: &mut Value) {
        match (self.namespace, object["kind"].as_str().unwrap()) {
            ("gcp", "GCPCluster") => {
                object["spec"]["credentialsRef"] = json!({"name": "credentials", "namespace": "gcp"});
            }
            ("azure", "AzureClusterIdentity") => {
                object["spec"]["type"] = json!("ServicePrincipal");
                object["spec"]["clientSecret"] = json!({"name": "identity-password", "namespace": "azure"});
            }
            ("aws", "AWSCluster") => {
                object["spec"]["identityRef"] = json!({"kind": "AWSClusterRoleIdentity", "name": "team"});
            }
            ("openstack", "OpenStackCluster") => {
                let identity = json!({"type": "ClusterIdentity", "name": "cloud", "cloudName": "cloud"});
                object["spec"]["identityRef"] = identity;
            }
            ("openstack", "OpenStackMachineTemplate") => {
                let group = "infrastructure.cluster.x-k8s.io";
                let pool = json!({"apiGroup": group, "kind": "OpenStackFloatingIPPool", "name": "floating"});
                object["spec"]["template"]["spec"]["floatingIPPoolRef"] = pool;
            }
            // What a patch of the class adds.
            ("vsphere-class", "VSphereClusterTemplate") => {
                let identity = json!({"kind": "VSphereClusterIdentity", "name": "vcenter"});
                object["spec"]["template"]["spec"] = json!({"server": "vcenter.example.org", "thumbprint": "00", "identityRef": identity, "failureDomainSelector": {}});
            }
            _ => {}
        }
    }
}
