//! The risks that a run's options accept.

use pivot_core::Side;
use pivot_core::messages::risk::Risk;

use super::Event;
use crate::base::options::Options;

/// Returns an event for each accepted risk, and for the side that the run goes without.
pub(crate) fn accepted_risk_events(options: &Options, absent: Option<Side>) -> Vec<Event> {
    let flags = [
        (Risk::LeaseBroken, options.break_lease),
        (Risk::WithoutSource, absent == Some(Side::Source)),
        (Risk::WithoutTarget, absent == Some(Side::Target)),
    ];
    let flags = flags.into_iter().filter(|(_, accepted)| *accepted).map(|(risk, _)| risk);
    let risks = options.scope.accept.iter().chain(options.accept.iter());
    let risks = risks.map(|(code, kinds)| Event::Accepted { code, kinds: kinds.iter().cloned().collect() });
    risks.chain(flags.map(|code| Event::Accepted { code, kinds: Vec::new() })).collect()
}

/// Writes accepted risks for the summary that a move leaves behind: `dependents-lost Machine.cluster.x-k8s.io`.
pub fn describe_accepted_risks(options: &Options, absent: Option<Side>) -> Vec<String> {
    let words = |event| {
        let Event::Accepted { code, kinds } = event else { return None };
        let kinds = kinds.iter().map(|kind| format!(" {kind}"));
        Some(std::iter::once(code.to_string()).chain(kinds).collect())
    };
    accepted_risk_events(options, absent).into_iter().filter_map(words).collect()
}
