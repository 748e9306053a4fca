//! Remedies for a plugin, or a wait, that stopped a move. They depend on the phase: from the first pause on, the record names the
//! plugins, and a run that resumes the move needs the same ones. After the commit the move can accept others.

use std::collections::BTreeSet;

use pivot_core::messages::remedy::Remedy;
use pivot_core::plugins::hooks::Hook;

use crate::base::outcome::failure::{Exit, Failure};
use crate::base::outcome::one_sided::OneSidedMove;
use crate::base::outcome::paused_cluster::PausedCluster;

/// Remedy for Clusters that run in the target without the mark of their move.
const EXPLAIN_UNMARKED: &str = "find out which tool made these Clusters, or removed the mark. Compare all that belongs to them with the source. \
                                Restore neither side from a backup";

/// Remedies for Clusters that stay paused until they are compared with their nodes.
struct DifferenceRemedies {
    correct: &'static str,
    /// For a control plane with a node without a Machine.
    explain_control_plane: &'static str,
}

const OF_RESTORES: DifferenceRemedies = DifferenceRemedies {
    correct: "correct the paused copies, or make the nodes readable, and resume: each Cluster is compared again",
    explain_control_plane: "a control plane with a node without a Machine stays paused: its provider would remove that member of etcd. \
                            To end the restore without this Cluster, remove its annotation pivot-host.io/undo: it stays paused. \
                            Then restore this Cluster alone from a backup that has the Machine",
};

const OF_RECOVERIES: DifferenceRemedies = DifferenceRemedies {
    correct: "correct the paused Clusters that differ, or make their nodes readable, and repeat the command: each Cluster is compared again",
    explain_control_plane: "a control plane with a node without a Machine stays paused, also if a command names it: its provider would remove \
                            that member of etcd. To end the move while this Cluster stays paused, replace its annotation pivot-host.io/undo \
                            by cluster.x-k8s.io/paused, and name it",
};

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
        (Failure::LeftPaused { clusters, .. }, _) => remedies_for_differences(clusters, &OF_RECOVERIES),
        (Failure::RestoreDiffers(clusters), _) => remedies_for_differences(clusters, &OF_RESTORES),
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

fn remedies_for_differences(clusters: &[PausedCluster], words: &DifferenceRemedies) -> Vec<Remedy> {
    let mut remedies = Vec::new();
    if clusters.iter().any(|cluster| !cluster.reasons.is_empty()) {
        remedies.push(words.correct.into());
    }
    if clusters.iter().any(|cluster| !cluster.can_be_named) {
        remedies.push(words.explain_control_plane.into());
    }
    let dropped = clusters.iter().find(|cluster| cluster.can_be_dropped);
    remedies.extend(dropped.map(|paused| Remedy::DropLostWorkers { cluster: paused.cluster.clone() }));
    let nameable = clusters.iter().filter(|cluster| cluster.can_be_named);
    // A Cluster without a difference comes first.
    let named = nameable.min_by_key(|cluster| !cluster.reasons.is_empty());
    remedies.extend(named.map(|named| Remedy::NameComparedCluster { cluster: named.cluster.clone() }));
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
