//! Brings along the identities of AWS clusters, and the Secrets with their keys.

use pivot_sdk::prelude::*;
use references::{Place, Reference, SECRET, SHARED_SECRET, Target, declare_table, relate_object};

#[cfg(test)]
mod tests;

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io";

const ROLE: Kind = Kind::new(INFRASTRUCTURE, "AWSClusterRoleIdentity");
const STATIC: Kind = Kind::new(INFRASTRUCTURE, "AWSClusterStaticIdentity");
const ROSA: Kind = Kind::new(CONTROL_PLANE, "ROSAControlPlane");
const ROSA_NETWORK: Kind = Kind::new(INFRASTRUCTURE, "ROSANetwork");
const ROSA_ROLES: Kind = Kind::new(INFRASTRUCTURE, "ROSARoleConfig");

/// The provider creates the only AWSClusterControllerIdentity in each management cluster.
const IDENTITIES: &[(&str, Target)] = &[
    ("AWSClusterRoleIdentity", Target::share(ROLE, Place::Cluster)),
    ("AWSClusterStaticIdentity", Target::share(STATIC, Place::Cluster)),
];

const TABLE: &[Reference] = &[
    Reference {
        from: &[
            Kind::new(INFRASTRUCTURE, "AWSCluster"),
            Kind::new(CONTROL_PLANE, "AWSManagedControlPlane"),
            ROSA,
            ROSA_NETWORK,
            ROSA_ROLES,
        ],
        parent: "spec.identityRef",
        name: "name",
        decides: "spec.identityRef.kind",
        to: IDENTITIES,
    },
    Reference {
        from: &[ROLE],
        parent: "spec.sourceIdentityRef",
        name: "name",
        decides: "spec.sourceIdentityRef.kind",
        to: IDENTITIES,
    },
    Reference {
        from: &[STATIC],
        parent: "spec",
        name: "secretRef",
        decides: "",
        to: &[("", Target::share(SECRET, Place::Namespace("capa-system")))],
    },
    Reference {
        from: &[ROSA, ROSA_ROLES],
        parent: "spec.credentialsSecretRef",
        name: "name",
        decides: "",
        to: &[("", SHARED_SECRET)],
    },
    // No relation to the ROSANetwork and the ROSARoleConfig of a control plane: their controllers ignore the pause, and delete what
    // is in AWS.
    Reference {
        from: &[ROSA],
        parent: "spec.externalAuthProviders[].oidcClients[].clientSecret",
        name: "name",
        decides: "",
        to: &[("", SHARED_SECRET)],
    },
];

/// The plugin.
#[derive(Debug, Default)]
pub struct Aws;

impl Plugin for Aws {
    fn about() -> About {
        declare_table(pivot_sdk::about!(), TABLE)
    }

    fn relate(&self, object: &Object) -> Result<Vec<Relation>> {
        Ok(relate_object(TABLE, object))
    }
}

pivot_sdk::export!(Aws, hooks = [relate]);
