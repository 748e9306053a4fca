//! The fields in which objects name others that they can't work without.
//!
//! Each row says where a provider's code reads the field. Fields whose referents move with their object by owner, such as
//! templates, are not in the table.

use serde_json::Value;

use crate::GroupKind;
use crate::objects::names::{GROUP_ADDONS, GROUP_CLUSTER};

/// Group of the providers' kinds.
pub(super) const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
/// Group of the providers' bootstrap configurations.
pub(super) const BOOTSTRAP: &str = "bootstrap.cluster.x-k8s.io";
/// Group of the providers' control planes.
const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io";
/// Path of the annotations. Their keys are chosen freely.
pub(super) const ANNOTATIONS: &str = "metadata.annotations";
/// Annotation of Azure Service Operator: the Secret with an object's credentials, in the object's namespace.
const CREDENTIAL_FROM: &str = "serviceoperator.azure.com/credential-from";

/// Kinds whose controllers ignore the pause: copies on both sides would act. Each side needs its own object.
///
/// cluster-api-provider-aws, exp/controllers/rosanetwork_controller.go and rosaroleconfig_controller.go, Reconcile.
const UNPAUSABLE: [&str; 2] = ["ROSANetwork", "ROSARoleConfig"];

/// A field that names an object.
pub(super) struct Row {
    /// Group of the objects with the field. `*` stands for any beginning.
    group: &'static str,
    /// Kinds of the objects with the field; empty for all of the group.
    kinds: &'static [&'static str],
    /// Path of the map with the name. `[]` stands for each item of a list.
    pub(super) parent: &'static str,
    /// Field with the name.
    pub(super) name: &'static str,
    /// Path of the field that decides the kind; empty if there is none.
    decides: &'static str,
    /// Kinds that can be named, by the text of the deciding field. An absent field has the text "".
    referents: &'static [(&'static str, NamedKind)],
}

/// A kind that a field names, and where its objects are.
#[derive(Clone, Copy)]
pub(super) enum NamedKind {
    /// A kind in the namespace that is written with the name, or else in the object's own.
    InNamespace(&'static str),
    /// A cluster-scoped kind.
    ClusterScoped(&'static str),
    /// A Secret in the namespace of a provider's controllers: name of the provider, and its usual namespace.
    SecretOfProvider(&'static str, &'static str),
}

use NamedKind::{ClusterScoped, InNamespace, SecretOfProvider};

const SECRET: NamedKind = InNamespace("Secret");
const ONLY_SECRET: &[(&str, NamedKind)] = &[("", SECRET)];
const OPENSTACK_IDENTITY: &[(&str, NamedKind)] =
    &[("", SECRET), ("Secret", SECRET), ("ClusterIdentity", ClusterScoped("OpenStackClusterIdentity"))];
const FLOATING_POOL: &[(&str, NamedKind)] =
    &[("OpenStackFloatingIPPool", InNamespace("OpenStackFloatingIPPool"))];
const AWS_IDENTITY: &[(&str, NamedKind)] = &[
    ("AWSClusterControllerIdentity", ClusterScoped("AWSClusterControllerIdentity")),
    ("AWSClusterRoleIdentity", ClusterScoped("AWSClusterRoleIdentity")),
    ("AWSClusterStaticIdentity", ClusterScoped("AWSClusterStaticIdentity")),
];

const ROWS: &[Row] = &[
    // cluster-api, bootstrap/kubeadm/internal/controllers/kubeadmconfig_controller.go, resolveSecretFileContent and
    // resolveSecretPasswordContent: the next Machine needs them, a bootstrapped one doesn't. rotateMachinePoolBootstrapToken: a
    // MachinePool's configuration is rendered again with each token
    secret_row(CONTROL_PLANE, &["KubeadmControlPlane"], "spec.kubeadmConfigSpec.files[].contentFrom.secret"),
    secret_row(CONTROL_PLANE, &["KubeadmControlPlane"], "spec.kubeadmConfigSpec.users[].passwdFrom.secret"),
    secret_row(BOOTSTRAP, &["KubeadmConfig"], "spec.files[].contentFrom.secret"),
    secret_row(BOOTSTRAP, &["KubeadmConfig"], "spec.users[].passwdFrom.secret"),
    secret_row(BOOTSTRAP, &["KubeadmConfigTemplate"], "spec.template.spec.files[].contentFrom.secret"),
    secret_row(BOOTSTRAP, &["KubeadmConfigTemplate"], "spec.template.spec.users[].passwdFrom.secret"),
    // cluster-api-provider-gcp, cloud/scope/credentials.go, getCredentialDataFromRef
    row(&["GCPCluster", "GCPManagedCluster"], "spec.credentialsRef", "name", "", ONLY_SECRET),
    // cluster-api-provider-azure, azure/scope/identity.go, NewAzureCredentialsProvider
    row(
        &["AzureCluster", "AzureManagedControlPlane"],
        "spec.identityRef",
        "name",
        "",
        &[("", InNamespace("AzureClusterIdentity"))],
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
    Row { group: "*.azure.com", ..row(&[], ANNOTATIONS, CREDENTIAL_FROM, "", ONLY_SECRET) },
    // cluster-api-provider-vsphere, pkg/identity/identity.go, GetCredentials
    row(
        &["VSphereCluster"],
        "spec.identityRef",
        "name",
        "spec.identityRef.kind",
        &[("Secret", SECRET), ("VSphereClusterIdentity", ClusterScoped("VSphereClusterIdentity"))],
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
    row(&["OpenStackClusterIdentity"], "spec.secretRef", "name", "", ONLY_SECRET),
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
    // cluster-api-addon-provider-helm, controllers/helmreleaseproxy/helmreleaseproxy_controller.go
    secret_row(GROUP_ADDONS, &["HelmChartProxy", "HelmReleaseProxy"], "spec.credentials.secret"),
    secret_row(GROUP_ADDONS, &["HelmChartProxy", "HelmReleaseProxy"], "spec.tlsConfig.caSecret"),
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

impl Row {
    fn is_of_kind(&self, kind: &GroupKind) -> bool {
        let of_group = match self.group.strip_prefix('*') {
            Some(suffix) => kind.group.ends_with(suffix),
            None => kind.group == self.group,
        };
        of_group && (self.kinds.is_empty() || self.kinds.contains(&kind.kind.as_str()))
    }

    /// Returns the kind that the field names in a body; none if nothing needs the named object.
    pub(super) fn find_named(&self, body: &Value) -> Option<NamedKind> {
        let decided = self.decides.split('.').try_fold(body, |value, step| value.get(step));
        let decided = decided.and_then(Value::as_str).unwrap_or_default();
        self.referents.iter().find(|(text, _)| *text == decided).map(|(_, named)| *named)
    }
}

/// Returns true if the controllers of a kind ignore the pause, so that its objects should neither move nor be copied.
pub(super) fn is_unpausable(kind: &GroupKind) -> bool {
    UNPAUSABLE.iter().any(|name| kind.is(INFRASTRUCTURE, name))
}

/// The rows of an object's kind.
pub(super) fn find_rows(kind: &GroupKind) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |row| row.is_of_kind(kind))
}

#[cfg(test)]
mod tests;
