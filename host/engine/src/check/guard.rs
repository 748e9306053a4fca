//! Checks what a guard needs on both sides ([`pivot_core::records::guard`]).

use std::collections::BTreeSet;

use pivot_core::Side;
use pivot_core::messages::refusal::Refusal;
use pivot_core::records::guard::{POLICY_GROUP, POLICY_KINDS};
use pivot_places::Access;

use crate::base::job::Job;

/// Refuses a guard on a side without admission policies.
pub(crate) fn refuse_without_policies(job: &Job) -> Vec<Refusal> {
    let lacks_kinds = |side: &Side| {
        let is_served =
            |kind| job.core_kind(*side, POLICY_GROUP, kind).is_ok_and(|kind| kind.version == "v1");
        job.options.guard && !POLICY_KINDS.iter().all(|(kind, _)| is_served(kind))
    };
    let refused = [Side::Source, Side::Target].into_iter().filter(lacks_kinds).map(|side| Refusal {
        code: "guard-unsupported",
        side,
        object: None,
        others: Vec::new(),
        message: format!(
            "a guard needs Kubernetes 1.30: the server has no admission policies ({POLICY_GROUP}/v1)"
        ),
        remedies: vec!["upgrade it, or move without a guard".into()],
    });
    refused.collect()
}

/// Returns the permissions for a guard on one side. `status` and `doctor` list the policies.
pub(crate) fn list_needed() -> BTreeSet<Access> {
    let [(_, policies), (_, bindings)] = POLICY_KINDS;
    let access = |resource: &str, verb: &'static str| Access {
        verb: verb.into(),
        group: POLICY_GROUP.into(),
        resource: resource.into(),
        subresource: "".into(),
        namespace: None,
    };
    let written = ["create", "patch", "delete"];
    let of_both =
        [policies, bindings].into_iter().flat_map(|resource| written.map(|verb| access(resource, verb)));
    of_both.chain([access(policies, "list")]).collect()
}
