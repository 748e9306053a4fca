//! Providers' Deployments, found by the label that clusterctl and every provider's manifests set, and those that the operator
//! names.

use std::collections::BTreeSet;

use pivot_sdk::objects::{self, Query};
use pivot_sdk::{Finding, Kind, Object, Point, Result, Side, context};

use crate::report::Report;
use crate::settings::Area;
use crate::status;

/// The kind that runs a provider.
pub(crate) const DEPLOYMENT: Kind = Kind::new("apps", "Deployment");
const PROVIDER: &str = "cluster.x-k8s.io/provider";

/// Checks the target's providers at each point, and the source's before the pause.
pub(crate) fn check_providers(
    point: Point,
    wanted: &BTreeSet<String>,
    report: &mut Report<'_>,
) -> Result<()> {
    let sides: &[Side] = if point == Point::BeforePause { &Side::BOTH } else { &[Side::Target] };
    let queries: Vec<Query> =
        sides.iter().map(|side| Query::for_kind(*side, &DEPLOYMENT).in_all_namespaces()).collect();
    let mut names: Vec<BTreeSet<String>> = Vec::new();
    for (side, answer) in sides.iter().zip(objects::read_all(&queries)) {
        let is_readable = answer.is_ok();
        let mut all = report_if_unreadable(answer, Area::Providers, *side, &DEPLOYMENT, report)?;
        if is_readable && *side == Side::Target && context::is_cluster(Side::Target) {
            check_wanted(&all, wanted, report);
        }
        all.retain(|deployment| deployment.label(PROVIDER).is_some());
        all.sort_by_key(Object::key);
        for deployment in &all {
            let subject = format!("provider {}", deployment.label(PROVIDER).unwrap_or_default());
            if let Some(finding) = check_deployment(deployment, &subject, *side) {
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

/// Checks the Deployments of the target that the operator names.
fn check_wanted(all: &[Object], wanted: &BTreeSet<String>, report: &mut Report<'_>) {
    for name in wanted {
        let subject = format!("Deployment {name}");
        let is_named = |it: &&Object| {
            name.split_once('/').is_some_and(|(ns, name)| it.namespace() == Some(ns) && it.name() == name)
        };
        // The check of its provider covers a labelled Deployment.
        let finding = match all.iter().find(is_named) {
            Some(found) if found.label(PROVIDER).is_some() => None,
            Some(found) => check_deployment(found, &subject, Side::Target).map(|it| it.on_object(found)),
            None => Some(
                Finding::wait("deployment-missing", format!("{subject} is not in the target"))
                    .with_remedy("install it there, or remove it from the configuration of readiness"),
            ),
        };
        if let Some(finding) = finding {
            report.add_finding(Area::Providers, finding);
        }
    }
}

fn check_deployment(deployment: &Object, subject: &str, side: Side) -> Option<Finding> {
    let place = side.as_str();
    let (namespace, name) = (deployment.namespace().unwrap_or_default(), deployment.name());
    let pods = |finding: Finding| {
        let words = ["describe", "-n", namespace, "deployment", name];
        finding.with_remedy("see its events, and its Pods").with_kubectl(side, words)
    };
    let wanted = status::number_at(deployment, &["/spec/replicas"]).unwrap_or(1);
    let count = |pointer| status::number_at(deployment, &[pointer]).unwrap_or(0);
    if wanted == 0 {
        let message = format!("{subject} of the {place} is scaled to zero");
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
        let message = format!("the roll-out of {subject} of the {place} is stuck: {why}");
        return Some(pods(Finding::stop("provider-stuck", message)));
    }
    if status::condition_status(deployment, "Available") != "True" {
        let message = format!("{subject} of the {place} is not available");
        return Some(pods(Finding::wait("provider-unavailable", message)));
    }
    let updated = count("/status/updatedReplicas");
    if status::is_unobserved(deployment) || updated < wanted || count("/status/replicas") > updated {
        let message = format!("{subject} of the {place} is being rolled out");
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
