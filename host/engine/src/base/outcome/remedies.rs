//! Remedies for a plugin, or a wait, that stopped a move. They depend on the phase: from the first pause on, the record names the
//! plugins, and a run that resumes the move needs the same ones. After the commit the move can accept others.

use std::collections::BTreeSet;

use pivot_core::Side;
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::shell::Kubectl;
use pivot_core::plugins::hooks::Hook;

use crate::base::outcome::failure::{Exit, Failure};
use crate::base::outcome::one_sided::OneSidedMove;
use crate::base::outcome::paused_cluster::PausedCluster;

/// Remedy for Clusters that run in the target without the mark of their move.
const EXPLAIN_UNMARKED: &str = "find out which tool made these Clusters, or removed the mark. Compare all that belongs to them with the source. \
                                Restore neither side from a backup";

const CORRECT_RESTORED: &str =
    "correct the paused copies, or make the nodes readable, and resume: each Cluster is compared again";
const CORRECT_RECOVERED: &str = "correct the paused Clusters that differ, or make their nodes readable, and repeat the command: each \
                                 Cluster is compared again";
/// Ends of the remedy for a control plane with a node without a Machine.
const END_RECOVERY: &str = "), and name the Cluster";
const END_RESTORE: &str = "), and resume. Then restore this Cluster alone from a backup that has the Machine";

/// Returns alternative remedies for a failure.
pub(crate) fn remedies_for(failure: &Failure, exit: Exit) -> Vec<Remedy> {
    match (failure, exit) {
        (Failure::Hook { plugin, hook, .. }, _) => remedies_for_hook(plugin.clone(), *hook, exit),
        (Failure::Gate(findings), Exit::PastCommit) => {
            let plugins: BTreeSet<String> = findings.iter().map(|found| found.plugin.clone()).collect();
            let plugins = plugins.into_iter().collect();
            vec![Remedy::ResolveThenResume, Remedy::SwitchOffThenAcceptChange { plugins }]
        }
        (Failure::NotSeen(missing), _) => {
            let kinds = missing
                .iter()
                .filter_map(|awaited| Some(awaited.object.as_ref()?.group_kind.clone()))
                .collect();
            vec![Remedy::ResumeAgain, Remedy::AcceptUnseen { kinds }]
        }
        (Failure::NotTakenOver(_), _) => vec![Remedy::ResumeAgain, Remedy::ResumeUnverified],
        (Failure::OneSidedMove { one_sided: OneSidedMove::LastCopyInSource, .. }, _) => {
            vec![Remedy::RestoreTarget, Remedy::RecoverSource]
        }
        (Failure::OneSidedMove { one_sided: OneSidedMove::ClosedInTarget { proof }, .. }, _) => {
            vec![if proof.is_some() { Remedy::ResumeWithoutSource } else { Remedy::RestoreTarget }]
        }
        (Failure::OneSidedMove { one_sided: OneSidedMove::ClosedInPart(_), .. }, _) => {
            vec![Remedy::ExplainMissingCopies]
        }
        (
            Failure::OneSidedMove {
                one_sided: OneSidedMove::SourceWentBack { is_recorded: true, .. }, ..
            },
            _,
        ) => vec![Remedy::PauseSource],
        (
            Failure::OneSidedMove {
                one_sided:
                    OneSidedMove::SourceWentBack { awake: clusters, is_recorded: false, .. }
                    | OneSidedMove::ClaimedByTarget { clusters, .. },
                ..
            },
            _,
        ) => clusters
            .first()
            .map(|cluster| Remedy::NameClusterToPause { cluster: cluster.clone() })
            .into_iter()
            .collect(),
        (
            Failure::OneSidedMove {
                one_sided: OneSidedMove::PartTakenOver { without, unmarked, .. }, ..
            },
            _,
        ) => {
            vec![match without.is_empty() && !unmarked.is_empty() {
                true => EXPLAIN_UNMARKED.into(),
                false => Remedy::ExplainMissingCopies,
            }]
        }
        (Failure::OneSidedMove { one_sided: OneSidedMove::TakenOver(_), .. }, _) => {
            vec![Remedy::SwitchOffSource]
        }
        (Failure::OneSidedMove { one_sided: OneSidedMove::PausedAgain(_), .. }, _) => {
            vec![Remedy::RollBackLostUndo]
        }
        (Failure::LeftPaused { side, clusters, .. }, _) => {
            remedies_for_differences(clusters, CORRECT_RECOVERED, explain_control_plane(*side, END_RECOVERY))
        }
        (Failure::RestoreDiffers(clusters), _) => {
            let explained = explain_control_plane(Side::Target, END_RESTORE);
            remedies_for_differences(clusters, CORRECT_RESTORED, explained)
        }
        (Failure::UndoLost { clusters }, _) => clusters
            .first()
            .map(|cluster| Remedy::NameClusterToUnpause { cluster: cluster.clone() })
            .into_iter()
            .collect(),
        (Failure::MayBeImported { .. }, _) => vec![Remedy::NotImported],
        (Failure::Unreachable { .. }, _) => vec![Remedy::ReachServer],
        (Failure::Unsettled(_), _) => {
            vec![Remedy::ResumeAgain, Remedy::FixThenAcceptChange { plugin: None }]
        }
        _ => Vec::new(),
    }
}

/// Returns the remedy for a control plane with a node without a Machine. `end` follows the command.
fn explain_control_plane(side: Side, end: &str) -> Remedy {
    let before = format!(
        "a control plane with a node without a Machine stays paused, also if a command names it: its provider would remove that member of \
         etcd. To end the move while this Cluster stays paused, replace its annotation in the {side} ("
    );
    Remedy::kubectl(&before, Kubectl::keep_cluster_paused(side), end)
}

/// Returns the remedies for Clusters that stay paused until they are compared with their nodes.
fn remedies_for_differences(
    clusters: &[PausedCluster],
    correct: &str,
    explain_control_plane: Remedy,
) -> Vec<Remedy> {
    let mut remedies = Vec::new();
    if clusters.iter().any(|cluster| !cluster.reasons.is_empty()) {
        remedies.push(correct.into());
    }
    if clusters.iter().any(|cluster| !cluster.can_be_named) {
        remedies.push(explain_control_plane);
    }
    let dropped = clusters.iter().find(|cluster| cluster.can_be_dropped);
    remedies.extend(dropped.map(|paused| Remedy::DropLostWorkers { cluster: paused.cluster.clone() }));
    if clusters.iter().any(|cluster| cluster.can_be_named) {
        // Users decide about a Cluster that differs.
        let equal = clusters.iter().find(|cluster| cluster.reasons.is_empty());
        remedies.push(Remedy::NameComparedCluster { cluster: equal.map(|paused| paused.cluster.clone()) });
    }
    remedies
}

fn remedies_for_hook(plugin: String, hook: Hook, exit: Exit) -> Vec<Remedy> {
    let check_again = || vec![Remedy::ResumeAgain, Remedy::LetCheckPass { plugin: plugin.clone() }];
    match (exit, hook) {
        (Exit::PartWay, Hook::Check) => [check_again(), vec![Remedy::RollBackThenFix { plugin }]].concat(),
        (Exit::PastCommit, Hook::Check) => {
            [check_again(), vec![Remedy::FixThenAcceptChange { plugin: Some(plugin) }]].concat()
        }
        (Exit::PartWay, _) => {
            vec![Remedy::RollBackThenFix { plugin: plugin.clone() }, Remedy::RollBackThenSwitchOff { plugin }]
        }
        (Exit::PastCommit, _) => vec![Remedy::FixThenAcceptChange { plugin: Some(plugin) }],
        _ => vec![Remedy::Fix { plugin: plugin.clone() }, Remedy::SwitchOff { plugin }],
    }
}
