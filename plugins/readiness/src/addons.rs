//! ClusterResourceSets: whether their resources are applied to Clusters.
//!
//! A set that is half applied continues from the other side, perhaps applying resources twice.

use pivot_sdk::{Finding, Kind, Object};
use serde_json::Value;

use crate::report::Report;
use crate::settings::Area;
use crate::status;

const GROUP: &str = "addons.cluster.x-k8s.io";
/// Reasons that don't go away: a user has to change the set or the resources it names.
const LASTING: [&str; 2] = ["WrongSecretType", "InvalidResource"];

/// Checks a ClusterResourceSet or a binding.
pub(crate) fn check_addon(object: &Object, report: &mut Report<'_>) {
    let finding = match &*object.kind().kind {
        _ if !is_addon(&object.kind()) => None,
        "ClusterResourceSet" => check_set(object),
        "ClusterResourceSetBinding" => check_binding(object),
        _ => None,
    };
    add_to_report(object, finding, report);
}

/// Returns true for kinds of ClusterResourceSets.
pub(crate) fn is_addon(kind: &Kind) -> bool {
    kind.group == GROUP
}

fn add_to_report(object: &Object, finding: Option<Finding>, report: &mut Report<'_>) {
    if let Some(finding) = finding {
        report.add_finding(
            Area::Addons,
            status::with_describe_command(finding.on_object(object), report.side, object),
        );
    }
}

fn check_set(object: &Object) -> Option<Finding> {
    let open = status::unmet_conditions(object, &["ResourcesApplied"], false);
    let what = open.first()?;
    Some(if LASTING.contains(&status::condition_reason(object, "ResourcesApplied")) {
        Finding::stop("resources-refused", format!("what it applies is not as it should be: {what}"))
            .with_remedy("fix the resource that it names")
    } else {
        Finding::wait("resources-not-applied", format!("not all it applies is applied: {what}"))
            .with_remedy(status::SEE_CONDITIONS)
    })
}

fn check_binding(object: &Object) -> Option<Finding> {
    let text =
        |value: &Value, field: &str| value.get(field).and_then(Value::as_str).unwrap_or("?").to_owned();
    let resources =
        object.items("/spec/bindings").filter_map(|set| set.get("resources")?.as_array()).flatten();
    let open: Vec<String> = resources
        .filter(|resource| resource.get("applied").and_then(Value::as_bool) != Some(true))
        .map(|resource| format!("{} {}", text(resource, "kind"), text(resource, "name")))
        .collect();
    (!open.is_empty()).then(|| {
        Finding::wait("resources-not-applied", format!("not applied to its Cluster: {}", open.join(", ")))
            .with_remedy(status::SEE_CONDITIONS)
    })
}
