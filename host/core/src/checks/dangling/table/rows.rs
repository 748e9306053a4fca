//! The rows of the table, by provider.

use crate::checks::dangling::table::row::NamedKind::{
    ClusterScoped, InNamespace, SecretInNamespace, SecretOfProvider,
};
use crate::checks::dangling::table::row::{ANNOTATIONS, BOOTSTRAP, INFRASTRUCTURE, NamedKind, Row};
use crate::objects::names::{GROUP_ADDONS, GROUP_CLUSTER};

/// Group of the providers' control planes.
const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io";
/// Annotation of Azure Service Operator: the Secret with an object's credentials, in the object's namespace.
const CREDENTIAL_FROM: &str = "serviceoperator.azure.com/credential-from";

const SECRET: NamedKind = InNamespace("Secret");
const ONLY_SECRET: &[(&str, NamedKind)] = &[("", SECRET)];
const OPENSTACK_IDENTITY: &[(&str, NamedKind)] =
    &[("", SECRET), ("Secret", SECRET), ("ClusterIdentity", ClusterScoped("OpenStackClusterIdentity"))];
const FLOATING_POOL: &[(&str, NamedKind)] =
    &[("OpenStackFloatingIPPool", InNamespace("OpenStackFloatingIPPool"))];
const AZURE_IDENTITY: &[(&str, NamedKind)] = &[("", InNamespace("AzureClusterIdentity"))];
const VSPHERE_IDENTITY: &[(&str, NamedKind)] =
    &[("Secret", SECRET), ("VSphereClusterIdentity", ClusterScoped("VSphereClusterIdentity"))];
const AWS_IDENTITY: &[(&str, NamedKind)] = &[
    ("AWSClusterControllerIdentity", ClusterScoped("AWSClusterControllerIdentity")),
    ("AWSClusterRoleIdentity", ClusterScoped("AWSClusterRoleIdentity")),
    ("AWSClusterStaticIdentity", ClusterScoped("AWSClusterStaticIdentity")),
];

/// All rows, each with the bundled plugin that brings along what its field names; "" if there is none.
pub(super) const ROWS: &[(&str, &[Row])] = &[
    ("", KUBEADM),
    ("gcp", GCP),
    ("azure", AZURE),
    ("vsphere", VSPHERE),
    ("openstack", OPENSTACK),
    ("helm-addon", HELM_ADDON),
    ("aws", AWS),
];

/// Fields of the kubeadm providers.
const KUBEADM: &[Row] = &[
    // cluster-api, bootstrap/kubeadm/internal/controllers/kubeadmconfig_controller.go, resolveSecretFileContent and
    // resolveSecretPasswordContent: the next Machine needs them, a bootstrapped one doesn't. rotateMachinePoolBootstrapToken: a
    // MachinePool's configuration is rendered again with each token
    secret_row(CONTROL_PLANE, &["KubeadmControlPlane"], "spec.kubeadmConfigSpec.files[].contentFrom.secret"),
    secret_row(CONTROL_PLANE, &["KubeadmControlPlane"], "spec.kubeadmConfigSpec.users[].passwdFrom.secret"),
    secret_row(BOOTSTRAP, &["KubeadmConfig"], "spec.files[].contentFrom.secret"),
    secret_row(BOOTSTRAP, &["KubeadmConfig"], "spec.users[].passwdFrom.secret"),
    secret_row(BOOTSTRAP, &["KubeadmConfigTemplate"], "spec.template.spec.files[].contentFrom.secret"),
    secret_row(BOOTSTRAP, &["KubeadmConfigTemplate"], "spec.template.spec.users[].passwdFrom.secret"),
];

/// Fields of GCP's provider.
const GCP: &[Row] = &[
    // cluster-api-provider-gcp, cloud/scope/credentials.go, getCredentialDataFromRef
    row(&["GCPCluster", "GCPManagedCluster"], "spec.credentialsRef", "name", "", ONLY_SECRET),
    row(
        &["GCPClusterTemplate", "GCPManagedClusterTemplate"],
        "spec.template.spec.credentialsRef",
        "name",
        "",
        ONLY_SECRET,
    ),
];

/// Fields of Azure's provider, and of Azure Service Operator.
const AZURE: &[Row] = &[
    // cluster-api-provider-azure, azure/scope/identity.go, NewAzureCredentialsProvider
    row(&["AzureCluster", "AzureManagedControlPlane"], "spec.identityRef", "name", "", AZURE_IDENTITY),
    row(
        &["AzureClusterTemplate", "AzureManagedControlPlaneTemplate"],
        "spec.template.spec.identityRef",
        "name",
        "",
        AZURE_IDENTITY,
    ),
    // cluster-api-provider-azure, azure/scope/identity.go, GetClientSecret: other types of identities have no Secret
    row(
        &["AzureClusterIdentity"],
        "spec.clientSecret",
        "name",
        "spec.type",
        &[
            ("ServicePrincipal", SECRET),
            ("ManualServicePrincipal", SECRET),
            ("ServicePrincipalCertificate", SECRET),
        ],
    ),
    // azure-service-operator, v2/internal/reconcilers/arm, perResourceSecretAnnotation
    row(
        &["AzureASOManagedCluster", "AzureASOManagedControlPlane", "AzureASOManagedMachinePool"],
        "spec.resources[].metadata.annotations",
        CREDENTIAL_FROM,
        "",
        ONLY_SECRET,
    ),
    row(
        &[
            "AzureASOManagedClusterTemplate",
            "AzureASOManagedControlPlaneTemplate",
            "AzureASOManagedMachinePoolTemplate",
        ],
        "spec.template.spec.resources[].metadata.annotations",
        CREDENTIAL_FROM,
        "",
        ONLY_SECRET,
    ),
    Row { group: "*.azure.com", ..row(&[], ANNOTATIONS, CREDENTIAL_FROM, "", ONLY_SECRET) },
];

/// Fields of vSphere's provider.
const VSPHERE: &[Row] = &[
    // cluster-api-provider-vsphere, pkg/identity/identity.go, GetCredentials
    row(&["VSphereCluster"], "spec.identityRef", "name", "spec.identityRef.kind", VSPHERE_IDENTITY),
    row(
        &["VSphereClusterTemplate"],
        "spec.template.spec.identityRef",
        "name",
        "spec.template.spec.identityRef.kind",
        VSPHERE_IDENTITY,
    ),
    // cluster-api-provider-vsphere, controllers/vsphereclusteridentity_controller.go, Reconcile
    row(
        &["VSphereClusterIdentity"],
        "spec",
        "secretName",
        "",
        &[("", SecretOfProvider("vsphere", "capv-system"))],
    ),
    // cluster-api-provider-vsphere, controllers/vspherevm_controller.go, Reconcile
    Row {
        group: GROUP_CLUSTER,
        ..row(
            &["Machine"],
            "spec",
            "failureDomain",
            "spec.infrastructureRef.kind",
            &[("VSphereMachine", ClusterScoped("VSphereDeploymentZone"))],
        )
    },
    row(
        &["VSphereDeploymentZone"],
        "spec",
        "failureDomain",
        "",
        &[("", ClusterScoped("VSphereFailureDomain"))],
    ),
];

/// Fields of OpenStack's provider.
const OPENSTACK: &[Row] = &[
    // cluster-api-provider-openstack, pkg/scope/provider.go, NewClientScopeFromObject
    row(
        &["OpenStackCluster", "OpenStackMachine", "OpenStackServer", "OpenStackFloatingIPPool"],
        "spec.identityRef",
        "name",
        "spec.identityRef.type",
        OPENSTACK_IDENTITY,
    ),
    row(
        &["OpenStackClusterTemplate", "OpenStackMachineTemplate"],
        "spec.template.spec.identityRef",
        "name",
        "spec.template.spec.identityRef.type",
        OPENSTACK_IDENTITY,
    ),
    row(
        &["OpenStackClusterIdentity"],
        "spec.secretRef",
        "name",
        "",
        &[("", SecretInNamespace("capo-system"))],
    ),
    // cluster-api-provider-openstack, controllers/openstackserver_controller.go, reconcileFloatingAddressFromPool
    row(
        &["OpenStackMachine", "OpenStackServer"],
        "spec.floatingIPPoolRef",
        "name",
        "spec.floatingIPPoolRef.kind",
        FLOATING_POOL,
    ),
    row(
        &["OpenStackMachineTemplate"],
        "spec.template.spec.floatingIPPoolRef",
        "name",
        "spec.template.spec.floatingIPPoolRef.kind",
        FLOATING_POOL,
    ),
    // cluster-api-provider-openstack, controllers/openstackcluster_controller.go, bastionToOpenStackServerSpec: a bastion has the
    // pool of its specification, and the identity of its cluster
    row(
        &["OpenStackCluster"],
        "spec.bastion.spec.floatingIPPoolRef",
        "name",
        "spec.bastion.spec.floatingIPPoolRef.kind",
        FLOATING_POOL,
    ),
    row(
        &["OpenStackClusterTemplate"],
        "spec.template.spec.bastion.spec.floatingIPPoolRef",
        "name",
        "spec.template.spec.bastion.spec.floatingIPPoolRef.kind",
        FLOATING_POOL,
    ),
];

/// Fields of the Helm add-on provider.
const HELM_ADDON: &[Row] = &[
    // cluster-api-addon-provider-helm, controllers/helmreleaseproxy/helmreleaseproxy_controller.go
    secret_row(GROUP_ADDONS, &["HelmChartProxy", "HelmReleaseProxy"], "spec.credentials.secret"),
    secret_row(GROUP_ADDONS, &["HelmChartProxy", "HelmReleaseProxy"], "spec.tlsConfig.caSecret"),
];

/// Fields of AWS's provider.
const AWS: &[Row] = &[
    // cluster-api-provider-aws, pkg/cloud/scope/session.go, buildProvidersForRef
    row(
        &["AWSCluster", "ROSANetwork", "ROSARoleConfig"],
        "spec.identityRef",
        "name",
        "spec.identityRef.kind",
        AWS_IDENTITY,
    ),
    Row {
        group: CONTROL_PLANE,
        ..row(
            &["AWSManagedControlPlane", "ROSAControlPlane"],
            "spec.identityRef",
            "name",
            "spec.identityRef.kind",
            AWS_IDENTITY,
        )
    },
    row(
        &["AWSClusterTemplate"],
        "spec.template.spec.identityRef",
        "name",
        "spec.template.spec.identityRef.kind",
        AWS_IDENTITY,
    ),
    Row {
        group: CONTROL_PLANE,
        ..row(
            &["AWSManagedControlPlaneTemplate"],
            "spec.template.spec.identityRef",
            "name",
            "spec.template.spec.identityRef.kind",
            AWS_IDENTITY,
        )
    },
    // cluster-api-provider-aws, pkg/cloud/scope/rosacontrolplane.go, CredentialsSecret
    secret_row(CONTROL_PLANE, &["ROSAControlPlane"], "spec.credentialsSecretRef"),
    // cluster-api-provider-aws, pkg/cloud/scope/rosaroleconfig.go, CredentialsSecret
    secret_row(INFRASTRUCTURE, &["ROSARoleConfig"], "spec.credentialsSecretRef"),
    // cluster-api-provider-aws, controlplane/rosa/controllers/rosacontrolplane_controller.go, reconcileNormal and
    // reconcileExternalAuthProviders
    rosa_row("spec.rosaNetworkRef", &[("", InNamespace("ROSANetwork"))]),
    rosa_row("spec.rosaRoleConfigRef", &[("", InNamespace("ROSARoleConfig"))]),
    rosa_row("spec.externalAuthProviders[].oidcClients[].clientSecret", ONLY_SECRET),
    row(
        &["AWSClusterRoleIdentity"],
        "spec.sourceIdentityRef",
        "name",
        "spec.sourceIdentityRef.kind",
        AWS_IDENTITY,
    ),
    // cluster-api-provider-aws, pkg/cloud/scope/session.go, buildAWSClusterStaticIdentity
    row(
        &["AWSClusterStaticIdentity"],
        "spec",
        "secretRef",
        "",
        &[("", SecretOfProvider("aws", "capa-system"))],
    ),
];

/// A row of an infrastructure provider's kinds.
const fn row(
    kinds: &'static [&'static str],
    parent: &'static str,
    name: &'static str,
    decides: &'static str,
    referents: &'static [(&'static str, NamedKind)],
) -> Row {
    Row { group: INFRASTRUCTURE, kinds, parent, name, decides, referents }
}

/// A row of a field that names only Secrets.
const fn secret_row(group: &'static str, kinds: &'static [&'static str], parent: &'static str) -> Row {
    Row { group, ..row(kinds, parent, "name", "", ONLY_SECRET) }
}

/// A row of ROSA's control plane.
const fn rosa_row(parent: &'static str, referents: &'static [(&'static str, NamedKind)]) -> Row {
    Row { group: CONTROL_PLANE, ..row(&["ROSAControlPlane"], parent, "name", "", referents) }
}
