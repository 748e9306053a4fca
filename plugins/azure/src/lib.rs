//! Brings along the identities of Azure clusters, and the Secrets with their credentials. Reports credentials that are bound to a
//! management cluster.

use pivot_sdk::prelude::*;
use references::{Place, Reference, SHARED_SECRET, Target, declare_table, relate_object};

mod credentials;
mod kinds;
#[cfg(test)]
mod tests;

use kinds::{IDENTITY, INFRASTRUCTURE};

/// Annotation of Azure Service Operator: the Secret with an object's credentials.
const CREDENTIAL_FROM: &str = "serviceoperator.azure.com/credential-from";

const TABLE: &[Reference] = &[
    Reference {
        from: &[
            Kind::new(INFRASTRUCTURE, "AzureCluster"),
            Kind::new(INFRASTRUCTURE, "AzureManagedControlPlane"),
        ],
        parent: "spec.identityRef",
        name: "name",
        decides: "",
        to: &[("", Target::share(IDENTITY, Place::OwnNamespace))],
    },
    Reference {
        from: &[
            Kind::new(INFRASTRUCTURE, "AzureClusterTemplate"),
            Kind::new(INFRASTRUCTURE, "AzureManagedControlPlaneTemplate"),
        ],
        parent: "spec.template.spec.identityRef",
        name: "name",
        decides: "",
        to: &[("", Target::share(IDENTITY, Place::OwnNamespace))],
    },
    Reference {
        from: &[IDENTITY],
        parent: "spec.clientSecret",
        name: "name",
        decides: "spec.type",
        to: &[
            ("ServicePrincipal", SHARED_SECRET),
            ("ManualServicePrincipal", SHARED_SECRET),
            ("ServicePrincipalCertificate", SHARED_SECRET),
        ],
    },
    Reference {
        from: &[
            Kind::new(INFRASTRUCTURE, "AzureASOManagedCluster"),
            Kind::new(INFRASTRUCTURE, "AzureASOManagedControlPlane"),
            Kind::new(INFRASTRUCTURE, "AzureASOManagedMachinePool"),
        ],
        parent: "spec.resources[].metadata.annotations",
        name: CREDENTIAL_FROM,
        decides: "",
        to: &[("", SHARED_SECRET)],
    },
    Reference {
        from: &[
            Kind::new(INFRASTRUCTURE, "AzureASOManagedClusterTemplate"),
            Kind::new(INFRASTRUCTURE, "AzureASOManagedControlPlaneTemplate"),
            Kind::new(INFRASTRUCTURE, "AzureASOManagedMachinePoolTemplate"),
        ],
        parent: "spec.template.spec.resources[].metadata.annotations",
        name: CREDENTIAL_FROM,
        decides: "",
        to: &[("", SHARED_SECRET)],
    },
    // The groups of the resources that the provider creates.
    Reference {
        from: &[
            Kind::new("containerservice.azure.com", "*"),
            Kind::new("kubernetesconfiguration.azure.com", "*"),
            Kind::new("network.azure.com", "*"),
            Kind::new("resources.azure.com", "*"),
        ],
        parent: "metadata.annotations",
        name: CREDENTIAL_FROM,
        decides: "",
        to: &[("", SHARED_SECRET)],
    },
];

/// The plugin.
#[derive(Debug, Default)]
pub struct Azure;

impl Plugin for Azure {
    fn about() -> About {
        declare_table(pivot_sdk::about!(), TABLE).reads(Side::Source, IDENTITY)
    }

    fn relate(&self, object: &Object) -> Result<Vec<Relation>> {
        Ok(relate_object(TABLE, object))
    }

    fn check(&self, point: Point, moving: &Move) -> Result<Vec<Finding>> {
        if point == Point::BeforePause { credentials::check_credentials(moving) } else { Ok(Vec::new()) }
    }
}

pivot_sdk::export!(Azure, hooks = [relate, check]);
