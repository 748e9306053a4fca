//! Providers' Deployments, found by the label that clusterctl and every provider's manifests set.

use std::collections::BTreeSet;

use pivot_sdk::objects::{self, Query};
use pivot_sdk::{Finding, Kind, Object, Point, Result, Side};

use crate::report::Report;
use crate::settings::Area;
use crate::status;

/// The kind that runs a provider.
pub(crate) const DEPLOYMENT: Kind = Kind::new("apps", "Deployment");
const PROVIDER: &str = "cluster.x-k8s.io/provider";

/// Checks the target's providers at each point, and the source's before the pause.
pub(crate) fn check_providers(point: Point, report: &mut Report<'_>) -> Result<()> {
    let sides: &[Side] = if point == Point::BeforePause { &Side::BOTH } else { &[Side::Target] };
    let queries: Vec<Query> =
        sides.iter().map(|side| Query::for_kind(*side, &DEPLOYMENT).in_all_namespaces()).collect();
    let mut names: Vec<BTreeSet<String>> = Vec::new();
    for (side, answer) in sides.iter().zip(objects::read_all(&queries)) {
        let mut all = report_if_unreadable(answer, Area::Providers, *side, &DEPLOYMENT, report)?;
        all.retain(|deployment| deployment.label(PROVIDER).is_some());
        all.sort_by_key(Object::key);
        for deployment in &all {
            if let Some(finding) = check_deployment(deployment, *side) {
                report.add_finding(Area::Providers, finding.on_object(deployment));
            }
        }
        names.push(
            all.iter().filter_map(|deployment| deployment.label(PROVIDER)).map(str::to_owned).collect(),
        );
    }
    if let [source, target] = names.as_slice()
        // A directory runs nothing, and providers may run elsewhere: then there is nothing to compare.
        && !target.is_empty()
    {
        for missing in source.difference(target) {
            let message =
                format!("provider {missing} runs in the source, and no Deployment of it is in the target");
            let remedy = "install it there, unless nothing that moves needs it";
            report
                .add_finding(Area::Providers, Finding::warn("provider-missing", message).with_remedy(remedy));
        }
    }
    Ok(())
}

fn check_deployment(deployment: &Object, side: Side) -> Option<Finding> {
    let provider = deployment.label(PROVIDER).unwrap_or_default();
    let place = side.as_str();
    let (namespace, name) = (deployment.namespace().unwrap_or_default(), deployment.name());
    let pods = |finding: Finding| {
        let words = ["describe", "-n", namespace, "deployment", name];
        finding.with_remedy("see its events, and its Pods").with_kubectl(side, words)
    };
    let wanted = status::number_at(deployment, &["/spec/replicas"]).unwrap_or(1);
    let count = |pointer| status::number_at(deployment, &[pointer]).unwrap_or(0);
    if wanted == 0 {
        let message = format!("provider {provider} of the {place} is scaled to zero");
        return Some(match side {
            Side::Source => Finding::warn("provider-off", message).with_remedy(
                "nothing there answers the pause: start it, or move with --accept pause-unchecked",
            ),
            Side::Target => Finding::stop("provider-off", message)
                .with_remedy("start it")
                .with_kubectl(side, ["scale", "-n", namespace, "deployment", name, "--replicas=1"]),
        });
    }
    if status::condition_status(deployment, "Progressing") == "False" {
        let why = status::condition_reason(deployment, "Progressing");
        let message = format!("the roll-out of provider {provider} of the {place} is stuck: {why}");
        return Some(pods(Finding::stop("provider-stuck", message)));
    }
    if status::condition_status(deployment, "Available") != "True" {
        let message = format!("provider {provider} of the {place} is not available");
        return Some(pods(Finding::wait("provider-unavailable", message)));
    }
    let updated = count("/status/updatedReplicas");
    if status::is_unobserved(deployment) || updated < wanted || count("/status/replicas") > updated {
        let message = format!("provider {provider} of the {place} is being rolled out");
        return Some(pods(Finding::wait("provider-rolling-out", message)));
    }
    None
}

/// Returns the objects of an answer. A kind that a side doesn't serve has no objects. A kind without permission is skipped and
/// reported.
pub(crate) fn report_if_unreadable(
    answer: Result<Vec<Object>>,
    area: Area,
    side: Side,
    kind: &Kind,
    report: &mut Report<'_>,
) -> Result<Vec<Object>> {
    match answer {
        Ok(objects) => Ok(objects),
        Err(error) if error.is_not_found() => Ok(Vec::new()),
        Err(error) if error.is_denied() || error.code == "forbidden" => {
            let message = format!(
                "{kind} of the {} can't be read and is not checked: {}",
                side.as_str(),
                error.message
            );
            let remedy =
                "grant the right to list it in all namespaces, or skip the check in the configuration";
            report.add_finding(area, Finding::warn("not-readable", message).with_remedy(remedy));
            Ok(Vec::new())
        }
        Err(error) => Err(error.with_context(format!("reading {kind} of the {}", side.as_str()))),
    }
}
