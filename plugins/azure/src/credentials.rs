//! Identities whose credentials are bound to a management cluster, so that no copy brings them to another one.
//!
//! The types are explained in cluster-api-provider-azure, docs/book/src/topics/identities.md and workload-identity.md. They
//! choose the credentials in azure/scope/identity.go, GetTokenCredential.

use pivot_sdk::prelude::*;

use crate::kinds::IDENTITY;

/// A requirement of an identity on its management cluster.
#[derive(Clone, Copy, PartialEq)]
enum Binding {
    /// Azure trusts the tokens of one cluster's issuer.
    Issuer,
    /// The identity is assigned to the nodes on which the controllers run.
    Nodes,
    /// A file in the container of the controllers.
    File,
}

/// Reports the identities that move and whose credentials don't. The target may be prepared, which no object shows.
pub(crate) fn check_credentials(moving: &Move) -> Result<Vec<Finding>> {
    if !context::is_cluster(Side::Target) || moving.of_kind(&IDENTITY).next().is_none() {
        return Ok(Vec::new());
    }
    let mut identities = objects::list(Side::Source, &IDENTITY)
        .map_err(|error| error.with_context("reading AzureClusterIdentities of the source"))?;
    identities.retain(|identity| moving.contains_object(&identity.key()));
    identities.sort_by_key(Object::key);
    let findings = [Binding::Issuer, Binding::Nodes, Binding::File].into_iter().filter_map(|binding| {
        let mut bound =
            identities.iter().filter(|identity| find_binding(identity) == Some(binding)).peekable();
        bound.peek()?;
        Some(bound.fold(describe_binding(binding), |finding, identity| finding.on_object(identity)))
    });
    Ok(findings.collect())
}

fn find_binding(identity: &Object) -> Option<Binding> {
    let has_path = |pointer: &str| identity.text(pointer).is_some_and(|path| !path.is_empty());
    match identity.text("/spec/type")? {
        "WorkloadIdentity" => Some(Binding::Issuer),
        "UserAssignedMSI" => Some(Binding::Nodes),
        "ServicePrincipalCertificate" if has_path("/spec/certPath") => Some(Binding::File),
        "UserAssignedIdentityCredential" => Some(Binding::File),
        _ => None,
    }
}

fn describe_binding(binding: Binding) -> Finding {
    match binding {
        Binding::Issuer => Finding::warn(
            "workload-identity",
            "the target's controllers use tokens of their cluster, which Azure accepts only if a federated credential names \
             that cluster's issuer; pivot-host can't see whether one does",
        )
        .with_remedy(
            "before the move, make sure that this client has federated credentials with the target's issuer, for the ServiceAccounts \
             of CAPZ and Azure Service Operator",
        ),
        Binding::Nodes => Finding::warn(
            "managed-identity",
            "the target's controllers can use this managed identity only if it is assigned to the nodes on which they run; \
             pivot-host can't see whether it is",
        )
        .with_remedy(
            "before the move, make sure that the identity is assigned to the nodes of the target, which must run on Azure",
        ),
        Binding::File => Finding::warn(
            "credential-file",
            "the credentials are in a file in the container of the controllers, which no move copies; pivot-host can't see \
             whether the target's controllers have it",
        )
        .with_remedy(
            "before the move, make sure that the file is mounted at the same path into the controllers of the target",
        ),
    }
}
