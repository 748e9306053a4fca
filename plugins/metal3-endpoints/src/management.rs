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

/// Reports hosts that no operator of the target would look at: before the pause, and while its operator doesn't run. A target in
/// which the plugin sees no operator is reported once.
pub(crate) fn check_operators(
    config: &Metal3Endpoints,
    point: Point,
    moving: &Move,
    target: &Setup,
) -> Vec<Finding> {
    let Some(first) = target.operators.first() else {
        return (point == Point::BeforePause).then(|| report_unseen(config)).into_iter().collect();
    };
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
            None if point == Point::BeforePause => found.push(report_unwatched(&namespace, &first.key)),
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
    Finding::note("operator-not-seen", what).with_remedy(
        "if it is installed elsewhere in the target, say where: namespaces = [\"…\"] in this plugin's configuration",
    )
}

fn report_unwatched(namespace: &str, operator: &Key) -> Finding {
    let what = format!("the target's baremetal operator ({operator}) doesn't watch namespace {namespace}");
    let edit = ["edit", "-n", &namespace_of(operator, Side::Target), "deployment", &operator.name]
        .map(str::to_owned)
        .to_vec();
    Finding::stop("operator-not-watching", what)
        .on_object(operator)
        .with_remedy(format!(
            "let it watch the namespace, or all namespaces ({WATCH_NAMESPACE} or --namespace of its Deployment); if another operator \
             does that, say where it is installed: namespaces = [\"…\"] in this plugin's configuration"
        ))
        .with_kubectl(Side::Target, edit)
}
