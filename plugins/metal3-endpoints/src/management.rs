//! Whether an operator of the target will manage the hosts: it runs, and it watches their namespaces.
//!
//! An operator never looks at hosts in other namespaces. They would stay as they were copied, with no operator on either side.

use std::collections::{BTreeMap, BTreeSet};

use pivot_sdk::prelude::*;

use crate::Metal3Endpoints;
use crate::gather::HOST;
use crate::operator::{Operator, WATCH_NAMESPACE};
use crate::serving::{namespace_of, report_stopped};
use crate::setup::Setup;
use crate::state::State;

const MAX_NAMED_OPERATORS: usize = 5;
/// Remedy for an operator outside of the namespaces that the plugin reads.
const NAME_NAMESPACES: &str =
    "say where it is installed: namespaces = [\"…\"] in this plugin's configuration";

/// Reports hosts that no operator of the target would look at: before the pause, and while its operator doesn't run. A target in
/// which the plugin sees no operator is reported once.
pub(crate) fn check_operators(
    config: &Metal3Endpoints,
    point: Point,
    moving: &Move,
    target: &Setup,
) -> Vec<Finding> {
    if target.operators.is_empty() {
        return (point == Point::BeforePause).then(|| report_unseen(config)).into_iter().collect();
    }
    let namespaces: BTreeSet<String> = moving
        .of_kind(&HOST)
        .filter_map(|host| host.namespace.as_deref())
        .map(context::target_namespace)
        .collect();
    let mut found = Vec::new();
    let mut stopped = BTreeMap::new();
    for namespace in namespaces {
        let watching: Vec<&Operator> =
            target.operators.iter().filter(|operator| operator.may_watch(&namespace)).collect();
        match watching.first().copied() {
            None if point == Point::BeforePause => {
                found.push(report_unwatched(&namespace, &target.operators))
            }
            Some(operator) if watching.iter().all(|operator| operator.state != State::Up) => {
                stopped.insert(&operator.key, operator);
            }
            _ => {}
        }
    }
    if config.must_be_up(point) {
        found.extend(stopped.into_values().map(|operator| {
            report_stopped("operator-not-up", "baremetal operator", &operator.key, operator.state)
        }));
    }
    found
}

fn report_unseen(config: &Metal3Endpoints) -> Finding {
    let what = format!(
        "no Deployment of the target's baremetal operator in {}: the plugin can't check whether one runs and watches the hosts",
        config.namespaces.join(", ")
    );
    Finding::note("operator-not-seen", what)
        .with_remedy(format!("if it is installed elsewhere in the target, {NAME_NAMESPACES}"))
}

/// Reports a namespace that no operator watches. Several operators share the target's namespaces, so another one may be where the
/// plugin doesn't look.
fn report_unwatched(namespace: &str, operators: &[Operator]) -> Finding {
    let code = "operator-not-watching";
    if let [operator] = operators {
        let key = &operator.key;
        let what = format!("the target's baremetal operator ({key}) doesn't watch namespace {namespace}");
        let edit = ["edit", "-n", &namespace_of(key, Side::Target), "deployment", &key.name];
        return Finding::stop(code, what)
            .on_object(key)
            .with_remedy(format!(
                "if another operator watches the namespace, {NAME_NAMESPACES}; otherwise let it watch the namespace, or all \
                 namespaces ({WATCH_NAMESPACE} or --namespace of its Deployment)"
            ))
            .with_kubectl(Side::Target, edit.map(str::to_owned).to_vec());
    }
    let mut names: Vec<String> =
        operators.iter().take(MAX_NAMED_OPERATORS).map(|operator| operator.key.to_string()).collect();
    if operators.len() > names.len() {
        names.push("…".to_owned());
    }
    let what = format!(
        "none of the target's baremetal operators that the plugin sees ({}) watches namespace {namespace}",
        names.join(", ")
    );
    let remedy = format!(
        "if an operator elsewhere watches the namespace, {NAME_NAMESPACES}; otherwise install one that does"
    );
    operators
        .iter()
        .fold(Finding::warn(code, what), |finding, operator| finding.on_object(&operator.key))
        .with_remedy(remedy)
}
