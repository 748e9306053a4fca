//! The IAM role of the provider's controllers, which its trust policy binds to one management cluster.
//!
//! cluster-api-provider-aws, docs/book/src/topics/rosa/specify-management-iam-role.md and docs/book/src/topics/multitenancy.md.

use std::collections::BTreeMap;

use pivot_sdk::prelude::*;

use crate::kinds::{CLUSTERS, ROLE, STATIC};

pub(crate) const SERVICE_ACCOUNT: Kind = Kind::core("ServiceAccount");
/// Namespace of the controllers.
pub(crate) const NAMESPACE: &str = "capa-system";
/// ServiceAccount of the controllers.
const NAME: &str = "capa-controller-manager";
/// Annotation of a ServiceAccount with the role that its Pods assume.
const ROLE_ARN: &str = "eks.amazonaws.com/role-arn";

/// Reports clusters whose provider has a role in the source, if the target's ServiceAccount names none. Other credentials can have
/// the same permissions: EKS Pod Identity, and keys in the provider's Secret, show in no ServiceAccount.
pub(crate) fn check_role(moving: &Move) -> Result<Vec<Finding>> {
    if !context::is_cluster(Side::Target) {
        return Ok(Vec::new());
    }
    let clusters = find_users(moving)?;
    if clusters.is_empty() {
        return Ok(Vec::new());
    }
    let (source, target) = match (read_role(Side::Source), read_role(Side::Target)) {
        (Ok(source), Ok(target)) => (source, target),
        (Err(error), _) | (_, Err(error)) => {
            let message = format!("the role of the provider's controllers is not checked: {}", error.message);
            let remedy =
                "compare the annotations of ServiceAccount capa-system/capa-controller-manager on both sides";
            return Ok(vec![Finding::note("role-not-readable", message).with_remedy(remedy)]);
        }
    };
    let (Some(role), None) = (source, target) else { return Ok(Vec::new()) };
    let message = format!(
        "the source's controllers assume the role {role}, and the target's ServiceAccount {NAMESPACE}/{NAME} names none; pivot-host \
         can't see whether the target's controllers have the same permissions by EKS Pod Identity or keys"
    );
    let finding = Finding::warn("controller-role", message).with_remedy(
        "before the move, make sure that they have them; otherwise let a role with these permissions trust the target's issuer, name \
         it in the ServiceAccount, and restart the controllers",
    );
    Ok(vec![clusters.into_iter().fold(finding, Finding::on_object)])
}

/// Returns the role of the controllers on a side.
fn read_role(side: Side) -> Result<Option<String>> {
    let account = objects::get(side, &SERVICE_ACCOUNT.key_in(NAMESPACE, NAME))?;
    let role = account.and_then(|account| account.annotation(ROLE_ARN).map(str::to_owned));
    Ok(role.filter(|role| !role.is_empty()))
}

/// Returns the moved clusters that the provider reconciles with the credentials of its controllers.
fn find_users(moving: &Move) -> Result<Vec<Key>> {
    let mut kinds = vec![ROLE];
    kinds.extend(CLUSTERS.iter().filter(|kind| moving.of_kind(kind).next().is_some()).cloned());
    let queries: Vec<objects::Query> =
        kinds.iter().map(|kind| objects::Query::for_kind(Side::Source, kind)).collect();
    let mut found = Vec::new();
    for (kind, answer) in kinds.iter().zip(objects::read_all(&queries)) {
        match answer {
            Ok(objects) => found.extend(objects.into_iter().filter(|it| moving.contains_object(&it.key()))),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.with_context(format!("reading {kind} of the source"))),
        }
    }
    let roles: BTreeMap<String, &Object> =
        found.iter().filter(|it| it.kind() == ROLE).map(|it| (it.name().to_owned(), it)).collect();
    let clusters = found.iter().filter(|it| it.kind() != ROLE && !has_keys(it, &roles));
    Ok(clusters.map(Object::key).collect())
}

/// Returns true if an identity with keys is at the end of the chain that an object names.
fn has_keys(object: &Object, roles: &BTreeMap<String, &Object>) -> bool {
    let mut pointer = "/spec/identityRef";
    let mut object = object;
    // A chain longer than all roles is a cycle.
    for _ in 0..=roles.len() {
        let kind = object.text(&format!("{pointer}/kind")).unwrap_or_default();
        if *kind == *STATIC.kind {
            return true;
        }
        let name = object.text(&format!("{pointer}/name")).filter(|_| *kind == *ROLE.kind);
        let Some(next) = name.and_then(|name| roles.get(name)) else { return false };
        object = next;
        pointer = "/spec/sourceIdentityRef";
    }
    false
}
