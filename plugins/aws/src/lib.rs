//! Brings along the identities of AWS clusters, and the Secrets with their keys. Reports a role of the controllers that the target's
//! ServiceAccount doesn't name.

use pivot_sdk::prelude::*;
use references::{Place, Reference, SECRET, SHARED_SECRET, Target, declare_table, relate_object};

mod kinds;
mod role;
#[cfg(test)]
mod tests;

use kinds::{
    CLUSTER, CLUSTER_TEMPLATE, CLUSTERS, EKS, EKS_TEMPLATE, ROLE, ROSA, ROSA_NETWORK, ROSA_ROLES, STATIC,
};

/// The provider creates the only AWSClusterControllerIdentity in each management cluster.
const IDENTITIES: &[(&str, Target)] = &[
    ("AWSClusterRoleIdentity", Target::share(ROLE, Place::Cluster)),
    ("AWSClusterStaticIdentity", Target::share(STATIC, Place::Cluster)),
];

const TABLE: &[Reference] = &[
    Reference {
        from: &[CLUSTER, EKS, ROSA, ROSA_NETWORK, ROSA_ROLES],
        parent: "spec.identityRef",
        name: "name",
        decides: "spec.identityRef.kind",
        to: IDENTITIES,
    },
    Reference {
        from: &[CLUSTER_TEMPLATE, EKS_TEMPLATE],
        parent: "spec.template.spec.identityRef",
        name: "name",
        decides: "spec.template.spec.identityRef.kind",
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
        let mut about = declare_table(pivot_sdk::about!(), TABLE).reads(Side::Source, ROLE);
        for kind in CLUSTERS {
            about = about.reads(Side::Source, kind);
        }
        for side in Side::BOTH {
            about = about.reads_in(side, role::SERVICE_ACCOUNT, role::NAMESPACE);
        }
        about
    }

    fn relate(&self, object: &Object) -> Result<Vec<Relation>> {
        Ok(relate_object(TABLE, object))
    }

    fn check(&self, point: Point, moving: &Move) -> Result<Vec<Finding>> {
        if point == Point::BeforePause { role::check_role(moving) } else { Ok(Vec::new()) }
    }
}

pivot_sdk::export!(Aws, hooks = [relate, check]);
