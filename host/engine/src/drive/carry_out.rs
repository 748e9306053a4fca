//! Carries out a command that writes: which move it is about, what it may do with that move, and what it does.

use futures::FutureExt;
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::records::plugin_set::PluginSet;

use crate::act::handover;
use crate::base::command::Command;
use crate::base::options::Options;
use crate::base::outcome::failure::Failure;
use crate::base::outcome::one_sided::OneSidedMove;
use crate::base::outcome::stop::Stop;
use crate::base::setup::Setup;
use crate::base::state::moves::{FoundMove, Moves, refuse_for_other_author};
use crate::check::{approved, from_manifests};
use crate::drive::rollback::RolledBack;
use crate::drive::sequence::{ActiveMove, Done};
use crate::drive::stopping::{stop_and_show_status, stop_without_move};
use crate::drive::{outdated_source, recovery};

/// Result of a command that writes.
pub(super) enum Outcome {
    Moved(Done),
    RolledBack(RolledBack),
    FinishedAlone,
}

impl Command {
    /// Returns the stop for a failure before any move is known.
    pub(super) fn stop_before_move(&self, failure: Failure) -> Stop {
        if matches!(self, Self::Start) { stop_without_move(failure) } else { stop_and_show_status(failure) }
    }

    /// Returns the move that the command is about, if there is one.
    pub(super) fn choose_move(&self, setup: &Setup, moves: &Moves) -> Result<Option<FoundMove>, Failure> {
        let found = match self {
            Self::Start => {
                let found = moves.of_scope(&setup.options.scope);
                let of_others = found
                    .filter(|found| found.one_sided.is_none())
                    .and_then(FoundMove::record)
                    .filter(|record| {
                        setup.options.asked_by.is_some() && record.started_by != setup.options.operator
                    });
                if let Some(record) = of_others {
                    return Err(refuse_for_other_author(record));
                }
                found.cloned()
            }
            Self::Resume(_) | Self::Rollback(_) | Self::FinishAlone { .. } => {
                let selected = moves.select(self.named_move())?;
                // Without this, a rollback could undo a move that the user didn't think of.
                if selected.other_files && self.named_move().is_none() {
                    return Err(Failure::Declined(format!(
                        "move {} was begun from other files than those given: if that is the one, name it by its id",
                        selected.describe()
                    )));
                }
                Some(selected.clone())
            }
        };
        // A move that has ended is not changed, except that a user may pause Clusters that the source has again.
        match &found {
            Some(FoundMove { one_sided: Some(one_sided), has_ended: true, .. })
                if !self.may_pause_source(&setup.options) =>
            {
                let move_id = found.as_ref().and_then(FoundMove::record).map(|record| record.move_id.clone());
                Err(Failure::OneSidedMove {
                    move_id: move_id.unwrap_or_default(),
                    one_sided: one_sided.clone(),
                })
            }
            _ => Ok(found),
        }
    }

    /// Returns true if no earlier run of the move can have used a risk that this run accepts. A repeated `move`, a Pivot and a saved plan
    /// accept for all runs of the move. A proposed `resume` has the codes of the run that stopped.
    pub(super) fn can_report_unused(&self, risk: Risk, options: &Options, begun: bool) -> bool {
        let is_planned =
            || options.approved.as_ref().is_some_and(|plan| plan.decisions.accept.contains(risk));
        match self {
            Self::Start => !begun,
            Self::Resume(_) => [Risk::PluginsChanged, Risk::CopyChanged].contains(&risk) && !is_planned(),
            Self::Rollback(_) => risk == Risk::MaybeImported,
            Self::FinishAlone { .. } => false,
        }
    }

    /// Returns true if the user asked to pause the Clusters of a source that went back.
    fn may_pause_source(&self, options: &Options) -> bool {
        matches!(self, Self::Resume(_)) && options.accept.contains(Risk::WorldChanged)
    }

    /// Refuses everything now that would be refused after the move is committed again, when nothing can be undone any more.
    fn check_may_delete_from_outdated(&self, active: &ActiveMove) -> Result<(), Failure> {
        let record = &active.journal.record;
        if !self.clusters_to_unpause().is_empty() {
            return Err(Failure::Declined(format!(
                "the source of move {} is out of date, and unpauses no Cluster",
                record.move_id
            )));
        }
        self.check_handover(active)?;
        approved::check_same_plan(record, active.job.options.approved.as_deref())?;
        check_same_plugins(active, "name those: without them nothing shows what was copied")
    }

    /// Checks that the command's handover options apply to the move that was found.
    fn check_handover(&self, active: &ActiveMove) -> Result<(), Failure> {
        let (record, options) = (&active.journal.record, &active.job.options);
        let (id, begun) = (&record.move_id, record.handover.is_some());
        let imported = self.is_after_import();
        let why = match (record.handed_over(), self) {
            (Some(_), _) if record.is_being_rolled_back() => {
                format!("move {id} is being rolled back, and can't be continued")
            }
            (Some(_), _) if imported && active.job.route.target_runs() => return Ok(()),
            // If a run died before it closed them, they are written again.
            (Some(_), Self::Start) if options.handover => return Ok(()),
            (Some(_), Self::Resume(_)) if !active.job.route.target_runs() => return Ok(()),
            (Some(_), _) => handover::describe_handed_over(record),
            (None, _) if imported && !record.phase.is_committed() && begun => {
                format!("move {id} has not finished writing the files: continue that first")
            }
            (None, _) if imported && !begun => format!("move {id} hands nothing over in files"),
            (None, Self::Start) if options.handover && !begun => {
                format!(
                    "move {id} was begun as a copy that leaves its source in service: continue it as that, or roll it back"
                )
            }
            (None, Self::Start) if begun && !options.handover && !record.phase.is_committed() => {
                format!("move {id} was begun to hand its source over: continue it as that, or roll it back")
            }
            _ => return Ok(()),
        };
        Err(Failure::Declined(why))
    }

    /// Refuses to accept missing copies before any can be missing. Accepted beforehand, the risk would excuse every later
    /// deletion in the target.
    fn check_copies_can_be_gone(&self, active: &ActiveMove) -> Result<(), Failure> {
        let (record, options) = (&active.journal.record, &active.job.options);
        let applies = matches!(self, Self::Start | Self::Resume(_)) && !self.is_after_import();
        if applies && options.accept.contains(Risk::CopyChanged) && !record.phase.is_committed() {
            return Err(Failure::Declined(format!(
                "move {} is not committed, so that no copy can be gone or changed yet: accept `{}` once a run has named the copies",
                record.move_id,
                Risk::CopyChanged.code()
            )));
        }
        Ok(())
    }

    /// Refuses Clusters that the command names for an action that isn't part of the move.
    fn check_named_clusters(&self, active: &ActiveMove) -> Result<(), Failure> {
        let move_id = &active.job.move_id;
        if !self.clusters_to_pause().is_empty() && !active.is_targets_word() {
            return Err(Failure::Declined(format!(
                "Clusters to pause are named only for a move that went on, and of which the source has no record; move {move_id} is another"
            )));
        }
        if !self.clusters_to_drop().is_empty() && !active.job.route.may_restore(&active.journal.record) {
            return Err(Failure::Declined(format!(
                "move {move_id} restores no backup: its Clusters have no Machines to drop"
            )));
        }
        Ok(())
    }

    /// Checks that this run, with its options, may bring the move forward.
    fn check_may_go_forward(&self, active: &ActiveMove, begun: bool) -> Result<(), Failure> {
        if begun {
            self.check_handover(active)?;
            check_may_continue(active)?;
        }
        self.check_copies_can_be_gone(active)
    }

    /// Carries the command out on the move that was found.
    pub(super) async fn carry_out(&self, active: &mut ActiveMove, begun: bool) -> Result<Outcome, Failure> {
        self.check_named_clusters(active)?;
        if active.recovers {
            // These checks follow a recovery, too. A command that is refused only then has changed both sides.
            match self {
                Self::Rollback(_) => check_same_plugins(
                    active,
                    "name those: without them nothing shows that the source is complete",
                )?,
                _ => {
                    recovery::check_may_copy_again(active)?;
                    self.check_may_go_forward(active, begun)?;
                }
            }
            recovery::recover_source(active).boxed().await?;
        } else if let Some(one_sided) = active.one_sided.clone() {
            let accepted = self.may_pause_source(&active.job.options);
            if accepted {
                outdated_source::pause_clusters(active, &one_sided).boxed().await?;
            }
            if !(accepted && matches!(one_sided, OneSidedMove::SourceOutOfDate(_))) {
                return Err(Failure::OneSidedMove { move_id: active.job.move_id.clone(), one_sided });
            }
            self.check_may_delete_from_outdated(active)?;
            outdated_source::commit_again(active).boxed().await?;
        }
        recovery::check_options(active).boxed().await?;
        if matches!(self, Self::Rollback(_)) {
            check_may_resume_source(active).await?;
            let record = &active.journal.record;
            if record.phase.is_committed() && !active.orphaned {
                return Err(Failure::Declined(format!(
                    "move {} is past the point of no return ({}): it can only be resumed",
                    record.move_id, record.phase
                )));
            }
            if active.job.source.end_kind.is_absent() && !record.is_of_files() {
                return Err(Failure::Declined(format!(
                    "move {} is of a cluster, which it paused: it can only be rolled back with it",
                    record.move_id
                )));
            }
            return active.roll_back().boxed().await.map(Outcome::RolledBack);
        }
        if matches!(self, Self::FinishAlone { .. }) {
            check_same_plugins(active, "start the agent with those: the controller's image has them")?;
            return active.finish_alone().boxed().await.map(|()| Outcome::FinishedAlone);
        }
        self.check_may_go_forward(active, begun)?;
        active.forward().boxed().await.map(Outcome::Moved)
    }
}

/// Checks that a rollback may unpause a source that was handed over in files. Until its record says so, no files are complete,
/// and no cluster can have imported them.
async fn check_may_resume_source(active: &ActiveMove) -> Result<(), Failure> {
    let (record, job) = (&active.journal.record, &active.job);
    let Some(contents) = record.handed_over() else { return Ok(()) };
    if job.target.end_kind.is_cluster() {
        handover::refuse_imported(job, &active.journal, contents).await?;
    }
    // A cluster without these objects proves nothing: another cluster may have imported the files.
    let accepted = job.options.accept.contains(Risk::MaybeImported);
    if accepted {
        job.used_risks.insert(Risk::MaybeImported);
    }
    if accepted || record.is_being_rolled_back() {
        return Ok(());
    }
    Err(Failure::MayBeImported { move_id: record.move_id.clone() })
}

/// Advice about the copies of files that may be lost.
const KEEP_COPIES: &str = "its copies in the target may be the last. Keep them. Only with another copy of the backup, put the files back \
                           and resume, or roll back without the source and begin again";

/// Checks that this run may continue the move that was found.
fn check_may_continue(active: &ActiveMove) -> Result<(), Failure> {
    if active.orphaned {
        return Err(Failure::Orphan(active.journal.record.move_id.clone()));
    }
    let record = &active.journal.record;
    let unread = if active.other_files {
        let given = active.job.source.place.label();
        Some(format!(
            "move {} was begun from other files than those in {given}: name that directory, as it was",
            record.move_id
        ))
    } else if active.job.source.end_kind.is_absent() && !record.phase.is_committed() && record.is_of_files() {
        Some(format!("move {} is not committed, and needs the files that it was begun from", record.move_id))
    } else {
        None
    };
    if let Some(why) = unread {
        return Err(Failure::Declined(match record.phase.has_uncommitted_copies() {
            true => format!("{why}; {KEEP_COPIES}"),
            false => why,
        }));
    }
    // A handed over move has these objects in its files.
    let in_files = record.handed_over().is_some() && active.job.route.target_runs();
    if !in_files {
        approved::check_same_plan(record, active.job.options.approved.as_deref())?;
    }
    if !(record.phase.is_committed() || in_files) {
        from_manifests::check_same_manifests(record, &active.job.options.added)?;
    }
    match active.journal.record.phase.is_committed() {
        true => check_same_plugins(active, Remedy::AcceptPluginChange),
        false => check_same_plugins(active, "use the same plugins, or roll it back, which needs none"),
    }
}

/// Checks that the plugins are those that the move was begun with. A rollback needs no plugins.
fn check_same_plugins(active: &ActiveMove, remedy: impl Into<Remedy>) -> Result<(), Failure> {
    let (record, options) = (&active.journal.record, &active.job.options);
    let begun: PluginSet = record.plugins.iter().collect();
    if begun.matches(&active.job.plugin_set()) {
        return Ok(());
    }
    if record.phase.is_committed() && options.accept.contains(Risk::PluginsChanged) {
        active.job.used_risks.insert(Risk::PluginsChanged);
        return Ok(());
    }
    Err(Failure::Plugins {
        move_id: record.move_id.clone(),
        begun: begun.describe(),
        remedy: Box::new(remedy.into()),
    })
}
