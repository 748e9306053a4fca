//! Decides the advice about a move: the state of both sides, and the commands that make sense next.
//!
//! Only this file decides it, for a run that stops and for `status`. The answer depends only on a [`Situation`].

use pivot_core::Side;
use pivot_core::records::record::{Phase, Record};
use pivot_places::PlaceError;

use crate::base::outcome::failure::{Failure, RUN_ACTIVE};
use crate::base::outcome::one_sided::OneSidedMove;
use crate::base::outcome::stop::Next;
use crate::base::outcome::under_way::MoveStatus;

/// State of a move when a command reports it.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// The record that decides.
    pub record: &'a Record,
    /// Phase of the move. A run that stops may be further than the record.
    pub phase: Phase,
    /// Sides that the command knows.
    pub sides: KnownSides,
    /// Set if only one of the sides has a record of the move.
    pub one_sided: Option<OneRecord<'a>>,
    /// Whether the source was made authoritative again after the commit.
    pub recovered: bool,
    /// Files that the command has, of those that a resume needs.
    pub files: KnownFiles,
    /// Whether the user declared that the files of a handover were imported nowhere.
    pub not_imported: bool,
    /// Reason for the report.
    pub why: AdviceReason<'a>,
}

/// The sides of a move that a command knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownSides {
    /// Both, and the target is a cluster.
    Both,
    /// Both, and the target is a directory.
    IntoDirectory,
    /// The user named only the other side.
    NotGiven(Side),
    /// One side does not answer, or the user declared the target lost.
    Silent(Side),
    /// The target is not the move's target.
    OtherTarget,
}

/// A move that only one side has a record of.
#[derive(Clone, Copy, Debug)]
pub enum OneRecord<'a> {
    /// The two sides don't match.
    Lost(&'a OneSidedMove),
    /// The move was rolled back while its target could not be reached.
    RolledBack,
}

/// Files that a command has, of those that a resume needs: the source directory, manifests, a saved plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownFiles {
    /// The move needs none, or they were named.
    Named,
    /// The files that the move was begun from were not read: the user declared them lost, or named others.
    Unread {
        /// Whether the command rolls the move back without its source.
        rolls_back: bool,
    },
    /// The move was begun with other manifests or another plan than this command has, or this command knows none.
    OtherInputs,
}

/// The reason for a report about a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdviceReason<'a> {
    /// A user asked for the state.
    Asked,
    /// The move is in no state for the command.
    Declined,
    /// The command names other files, plugins or another end than the move's.
    WrongCommand,
    /// A handed over source may be at work where its files were imported.
    MayBeImported,
    /// The target has not imported the files of a handover.
    NotImportedThere,
    /// A run stopped.
    Stopped,
    /// Clusters stay paused on a side until they are named.
    LeftPaused(Side),
    /// A run lost its lease to another.
    LeaseLost,
    /// A commit may or may not be written.
    Undecided,
    /// A run stopped, and undid its changes.
    Undone,
    /// A run stopped, and could not undo its changes, for this reason.
    NotUndone(&'a str),
}

impl<'a> Situation<'a> {
    /// Returns the situation of a move when users ask for its state. `silent` is a side that does not answer. `into_directory`
    /// means that the target that they named is a directory.
    pub fn from_status(one: &'a MoveStatus, silent: Option<Side>, into_directory: bool) -> Self {
        let MoveStatus { record, .. } = one;
        let sides = match (silent, one.missing) {
            _ if one.elsewhere => KnownSides::OtherTarget,
            (_, Some(missing)) => KnownSides::NotGiven(missing),
            (Some(silent), None) => KnownSides::Silent(silent),
            (None, None) if into_directory => KnownSides::IntoDirectory,
            (None, None) => KnownSides::Both,
        };
        let one_sided = match &one.one_sided {
            Some(lost) => Some(OneRecord::Lost(lost)),
            None => one.orphaned.then_some(OneRecord::RolledBack),
        };
        // Only the user can name the plan's file.
        let files = if record.plan_checksum.is_some() { KnownFiles::OtherInputs } else { KnownFiles::Named };
        let (recovered, phase) = (one.recovered, record.phase);
        Self {
            record,
            phase,
            sides,
            one_sided,
            recovered,
            files,
            not_imported: false,
            why: AdviceReason::Asked,
        }
    }

    /// Describes the state of both sides.
    pub fn state(&self) -> String {
        let Self { record, phase, .. } = self;
        if let Some(one_sided) = &self.one_sided {
            return state_of_one_record(one_sided).to_owned();
        }
        let state = match self.sides {
            KnownSides::Silent(Side::Target)
            | KnownSides::NotGiven(Side::Target)
            | KnownSides::OtherTarget
                if phase.is_committed() =>
            {
                "the target has everything; only it shows how much of the source is deleted by now"
            }
            _ if self.is_kept_in_source() => {
                "the source is authoritative again: Clusters that no command named are paused; the target may hold a partial copy, paused"
            }
            _ if self.lacks_files() => state_without_files(*phase),
            _ => state_of_sides(record, *phase),
        };
        match self.why {
            // The source was not read, and the record may be from a backup of before the deletion.
            AdviceReason::Asked if self.is_before_deletion() => {
                "the target has everything and is taking over; by its record nothing is deleted from the source, which this move paused"
                    .to_owned()
            }
            AdviceReason::Declined | AdviceReason::WrongCommand | AdviceReason::MayBeImported => {
                format!("this command changed nothing; move {} is in phase {phase}: {state}", record.move_id)
            }
            AdviceReason::Undecided => match SourceKind::from_record(record) {
                SourceKind::Files => {
                    "it is not known whether the move is committed; the files are as they were; the target is complete, and paused"
                }
                SourceKind::HandedOver => {
                    "it is not known whether the move is committed; the target runs what it imported; the source is complete, and stays paused"
                }
                SourceKind::Cluster => {
                    "it is not known whether the move is committed; both sides are complete, and paused by this move"
                }
            }
            .to_owned(),
            AdviceReason::LeaseLost if phase.has_uncommitted_copies() => {
                format!("the commit was not sent; unless another run has continued, {state}")
            }
            AdviceReason::LeftPaused(Side::Source)
                if self.sides == KnownSides::Silent(Side::Target) && phase.has_uncommitted_copies() =>
            {
                "the source is authoritative and complete; the listed Clusters are paused; the target may hold copies, paused".to_owned()
            }
            AdviceReason::LeftPaused(Side::Source) => {
                "the source is authoritative and complete; the listed Clusters are paused; nothing is in the target".to_owned()
            }
            AdviceReason::LeftPaused(Side::Target) if self.lacks_files() => {
                "the target has everything; the listed Clusters, and objects outside of Clusters, are paused there".to_owned()
            }
            AdviceReason::LeftPaused(Side::Target) if SourceKind::from_record(record) == SourceKind::Files => {
                "the files are as they were; the target has everything; the listed Clusters, and objects outside of Clusters, are paused \
                 there"
                    .to_owned()
            }
            AdviceReason::LeftPaused(Side::Target) => {
                "the target has everything; the listed Clusters, and objects outside of Clusters, are paused there; the source is \
                 complete, and paused by this move"
                    .to_owned()
            }
            AdviceReason::Undone => "the source was paused and is unpaused again; nothing is in the target".to_owned(),
            AdviceReason::NotUndone(trouble) => format!(
                "the source is complete, and part of it is still paused: unpausing it failed too ({trouble}); nothing is in the target"
            ),
            AdviceReason::Asked | AdviceReason::NotImportedThere | AdviceReason::Stopped | AdviceReason::LeaseLost => state.to_owned(),
        }
    }

    /// Returns true if the move has a commit, and a cluster from which nothing was deleted yet.
    fn is_before_deletion(&self) -> bool {
        let is_of_cluster = SourceKind::from_record(self.record) == SourceKind::Cluster;
        let is_silent = matches!(
            self.sides,
            KnownSides::Silent(Side::Target) | KnownSides::NotGiven(Side::Target) | KnownSides::OtherTarget
        );
        is_of_cluster && !is_silent && matches!(self.phase, Phase::Committed | Phase::Live)
    }

    /// Returns true if a recovered source has not been committed again. A rollback may have unpaused part of it.
    fn is_kept_in_source(&self) -> bool {
        self.recovered && self.phase.has_uncommitted_copies()
    }

    /// Returns true if the move is of files that the command did not read.
    fn lacks_files(&self) -> bool {
        let is_unread = matches!(self.files, KnownFiles::Unread { .. })
            || matches!(self.sides, KnownSides::Silent(Side::Source) | KnownSides::NotGiven(Side::Source));
        is_unread && SourceKind::from_record(self.record) == SourceKind::Files
    }

    /// Returns true if no command should be advised about paused copies, because they may be the last. A rollback that stopped is
    /// continued: its user knew that the files are lost.
    fn should_keep_copies(&self) -> bool {
        let rolls_back = self.files == KnownFiles::Unread { rolls_back: true };
        self.lacks_files() && self.phase.has_uncommitted_copies() && !rolls_back
    }

    /// Returns the commands that make sense now, best first.
    pub fn next(&self) -> &'static [Next] {
        match (&self.one_sided, self.sides) {
            (_, KnownSides::OtherTarget | KnownSides::NotGiven(Side::Source)) => return &[],
            // A closed move gets its summary in the target, and the source is left as it is.
            (
                Some(OneRecord::Lost(
                    OneSidedMove::LastCopyInTarget | OneSidedMove::ClosedInTarget { proof: Some(_) },
                )),
                _,
            ) => return &[Next::ResumeWithoutSource],
            (Some(OneRecord::Lost(OneSidedMove::SourceOutOfDate(_))), _) => {
                return &[Next::DeleteFromSource];
            }
            (Some(OneRecord::Lost(_)), _) => return &[],
            (Some(OneRecord::RolledBack), _) => return &[Next::Rollback],
            (None, _) => {}
        }
        match self.why {
            AdviceReason::Undone => &[],
            AdviceReason::LeftPaused(Side::Source) => &[Next::Rollback],
            AdviceReason::LeftPaused(Side::Target) => &[Next::Resume],
            AdviceReason::NotUndone(_) => &[Next::Rollback, Next::Resume],
            _ if self.should_keep_copies() => &[],
            _ if SourceKind::from_record(self.record) == SourceKind::HandedOver => self.next_after_handover(),
            // A run that has the lease now may have gone on.
            AdviceReason::LeaseLost if !self.phase.is_committed() => {
                &[Next::Status, Next::Resume, Next::Rollback]
            }
            _ => self.next_without_handover(),
        }
    }

    /// Returns the commands for a move whose source was not handed over in files.
    fn next_without_handover(&self) -> &'static [Next] {
        match (self.sides, self.phase.is_committed() || self.why == AdviceReason::Undecided) {
            (KnownSides::NotGiven(_), _) => &[],
            (KnownSides::Silent(Side::Source), _) => &[Next::ResumeWithoutSource],
            (KnownSides::Silent(Side::Target), false) => &[Next::RollbackWithoutTarget],
            // The target's record decides, and the target is missing.
            (KnownSides::Silent(Side::Target), true) => &[],
            // Resuming needs the files that the move was begun from.
            (_, true) if matches!(self.files, KnownFiles::Unread { .. }) => &[Next::ResumeWithoutSource],
            (_, true) => &[Next::Resume],
            // A resume would pause the Clusters that were named, too.
            (_, false) if self.is_kept_in_source() && self.files == KnownFiles::Named => {
                &[Next::Rollback, Next::Resume]
            }
            (_, false) if self.files == KnownFiles::Named => &[Next::Resume, Next::Rollback],
            (_, false) => &[Next::Rollback],
        }
    }

    /// Returns the commands for a source that was handed over in files.
    fn next_after_handover(&self) -> &'static [Next] {
        match (self.why, self.sides) {
            (AdviceReason::Undecided, _) => &[Next::FinishHandover],
            (AdviceReason::Asked, KnownSides::Both) if self.record.is_being_rolled_back() => {
                &[Next::Rollback]
            }
            (AdviceReason::Asked, KnownSides::Both) => &[Next::FinishHandover, Next::CancelHandover],
            (AdviceReason::Asked, KnownSides::IntoDirectory | KnownSides::NotGiven(Side::Target)) => {
                &[Next::CancelHandover]
            }
            (AdviceReason::Asked, _) => &[],
            _ if self.record.is_being_rolled_back() && self.not_imported => &[Next::CancelHandover],
            _ if self.record.is_being_rolled_back() => &[Next::Rollback],
            (AdviceReason::MayBeImported, _) => &[Next::FinishHandover, Next::CancelHandover],
            (AdviceReason::NotImportedThere, _) => &[Next::FinishHandover],
            // The files were named, and no cluster that could have imported them.
            (AdviceReason::Declined, KnownSides::IntoDirectory) => &[Next::CancelHandover],
            (AdviceReason::Declined, _) => &[Next::FinishHandover, Next::CancelHandover],
            // The files may not have been closed: a resume does that.
            (_, KnownSides::IntoDirectory) => &[Next::Resume, Next::CancelHandover],
            // The files were imported, or that is not known: an unpaused source would be wrong.
            _ => &[Next::FinishHandover],
        }
    }
}

/// Returns the advice of a command that failed before it knew of a move under way, or because only one side has a record. Such
/// a command can vouch only for itself.
pub(crate) fn advise_without_move(failure: &Failure) -> (String, &'static [Next]) {
    let state = |one: OneRecord<'_>| format!("this command changed nothing; {}", state_of_one_record(&one));
    let unknown = "nothing is changed on either side by this command";
    match failure {
        Failure::OneSidedMove { one_sided, .. } => (state(OneRecord::Lost(one_sided)), &[Next::Status]),
        Failure::Orphan(_) => (state(OneRecord::RolledBack), &[Next::Rollback]),
        Failure::Declined(_)
        | Failure::BegunByOther { .. }
        | Failure::OtherEnd { .. }
        | Failure::Record(_)
        | Failure::Several(_) => (unknown.to_owned(), &[Next::Status]),
        // The reachable side's records of a move are worth a look, and so is the progress of another run.
        Failure::Place { error: PlaceError::Unavailable(_), .. } | Failure::Unreachable { .. } => {
            (unknown.to_owned(), &[Next::Status])
        }
        Failure::Refused(refusals) if refusals.iter().any(|refusal| refusal.code == RUN_ACTIVE) => {
            (unknown.to_owned(), &[Next::Status])
        }
        _ => (unknown.to_owned(), &[]),
    }
}

/// The state of both sides if no move was begun.
pub(crate) const UNTOUCHED: &str = "nothing is changed on either side";

/// The state of a source that was not made authoritative again.
pub(crate) const NOT_RECOVERED: &str = "the source may be the last copy: keep it, paused as it is";

/// The state between places without records: only the target shows the progress, and the same command continues from there.
pub(crate) const UNRECORDED: &str = "the source is as it was; the target holds a partial copy: run the same command again to continue, or delete it";

/// Describes both sides of a move that went back on one of them, after a command that could do nothing more about it.
pub(crate) fn state_of_one_sided(one_sided: &OneSidedMove, failure: &Failure) -> &'static str {
    match failure {
        Failure::SourcePaused { .. } => {
            "the target has taken over, the source is out of date, and the Clusters named are paused; hosts (BareMetalHosts), pools and \
             whatever else no Cluster pauses still run there: scale the source's providers to 0"
        }
        _ => state_of_one_record(&OneRecord::Lost(one_sided)),
    }
}

/// Describes both sides of a move with one record, as far as their objects show it.
fn state_of_one_record(one_sided: &OneRecord<'_>) -> &'static str {
    match one_sided {
        OneRecord::Lost(
            OneSidedMove::TakenOver(_)
            | OneSidedMove::SourceOutOfDate(_)
            | OneSidedMove::ClosedInTarget { proof: Some(_) },
        ) => "the target has taken over, the source is out of date",
        OneRecord::Lost(OneSidedMove::PausedAgain(_)) => {
            "the copies are paused, and one of the sides is out of date: keep both as they are"
        }
        OneRecord::Lost(OneSidedMove::SourceWentBack { .. }) => {
            "the target has taken over, the source is out of date, and runs"
        }
        OneRecord::Lost(OneSidedMove::ClaimedByTarget { .. }) => {
            "only the target says that it has taken over; if it has, the source is out of date, and runs"
        }
        OneRecord::Lost(OneSidedMove::LastCopyInSource | OneSidedMove::ClosedInTarget { proof: None }) => {
            NOT_RECOVERED
        }
        OneRecord::Lost(OneSidedMove::PartTakenOver { without, unmarked, .. })
            if without.is_empty() && !unmarked.is_empty() =>
        {
            "Clusters run in the target without the mark of the move, and may be incomplete: keep both sides as they are"
        }
        OneRecord::Lost(OneSidedMove::PartTakenOver { .. }) => {
            "the target runs part of what moved, and the source may be the last copy of the rest: keep both as they are"
        }
        OneRecord::Lost(OneSidedMove::ClosedInPart(_)) => {
            "the target ran at least part of what moved, and the source may be the last copy of the rest: keep both as they are"
        }
        OneRecord::Lost(OneSidedMove::LastCopyInTarget) => {
            "the target's copies may be the last: keep them as they are"
        }
        OneRecord::Lost(OneSidedMove::SourceReplaced(_)) => {
            "both sides have Clusters of the same names: find out which side runs them, and keep the other paused"
        }
        OneRecord::RolledBack => {
            "the source is authoritative and was unpaused; the target may hold copies, paused"
        }
    }
}

/// The source of a move, by its record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SourceKind {
    /// Files.
    Files,
    /// A cluster that was handed over in files, and stays paused.
    HandedOver,
    /// Any other cluster.
    Cluster,
}

impl SourceKind {
    fn from_record(record: &Record) -> Self {
        match record.handed_over() {
            _ if record.is_of_files() => Self::Files,
            Some(_) => Self::HandedOver,
            None => Self::Cluster,
        }
    }
}

/// Describes the target of a move of files that the command did not read.
fn state_without_files(phase: Phase) -> &'static str {
    match phase {
        Phase::Checked | Phase::Paused => UNTOUCHED,
        Phase::Copied => {
            "the files were not read; the target holds a partial copy, paused, which may be the last"
        }
        Phase::Ready => {
            "the files were not read; the target holds the copy, or a part of it, paused, which may be the last"
        }
        Phase::Committed | Phase::Live => "the target has everything and is taking over",
        Phase::Released | Phase::Settled => "the target runs; some objects of it may still be held",
    }
}

/// Describes both sides by the kind of the move and its phase.
fn state_of_sides(record: &Record, phase: Phase) -> &'static str {
    let source = SourceKind::from_record(record);
    if source == SourceKind::Files {
        return match phase {
            Phase::Checked | Phase::Paused => UNTOUCHED,
            Phase::Copied => "the files are as they were; the target holds a partial copy, paused",
            Phase::Ready => "the files are as they were; the target holds the copy, or a part of it, paused",
            Phase::Committed | Phase::Live => {
                "the files are as they were; the target has everything and is taking over"
            }
            Phase::Released | Phase::Settled => {
                "the files are as they were; the target runs; some objects of it may still be held"
            }
        };
    }
    if record.is_being_rolled_back() && !phase.is_committed() {
        return "the source is complete, and part of it may still be paused: it is no longer handed over";
    }
    if source == SourceKind::HandedOver {
        return "the source is complete, and stays paused: it was handed over in files";
    }
    match phase {
        Phase::Checked => UNTOUCHED,
        Phase::Paused => "the source is complete and may be paused; nothing is in the target",
        Phase::Copied => {
            "the source is authoritative: complete, paused; the target holds a partial copy, paused"
        }
        Phase::Ready => {
            "the source is authoritative: complete, paused; the target holds the copy, or a part of it, paused"
        }
        Phase::Committed | Phase::Live => {
            "the target has everything and is taking over; the source is complete, and paused by this move"
        }
        Phase::Released => {
            "the target runs; part of the source is deleted, the rest of it is paused by this move"
        }
        Phase::Settled => {
            "the target runs and the source is released; some objects of the target are still held"
        }
    }
}

#[cfg(test)]
mod tests {
    use pivot_core::request::scope::{Namespaces, Scope};
    use serde_json::json;

    use super::*;

    fn record(phase: Phase) -> Record {
        let fields = json!({
            "format": 5, "writtenBy": "0.1.0", "startedBy": "jane@laptop", "moveId": "m", "phase": phase, "scope": Scope::new(Namespaces::All), "startedAt": "", "createdNamespaces": [],
            "plugins": [], "kinds": [], "copiedNamespaces": [], "releaseChunks": 0,
        });
        serde_json::from_value(fields).unwrap()
    }

    fn live() -> MoveStatus {
        MoveStatus {
            decides: Side::Target,
            record: record(Phase::Live),
            elsewhere: false,
            orphaned: false,
            asked: None,
            one_sided: None,
            has_ended: false,
            recovered: false,
            missing: None,
        }
    }

    fn next(one: &MoveStatus) -> &'static [Next] {
        Situation::from_status(one, None, false).next()
    }

    #[test]
    fn next_commands_depend_on_the_answering_side() {
        let at = |phase, silent| {
            let one = MoveStatus { decides: Side::Source, record: record(phase), ..live() };
            Situation::from_status(&one, silent, false).next()
        };
        assert_eq!(at(Phase::Copied, None), [Next::Resume, Next::Rollback]);
        assert_eq!(at(Phase::Live, None), [Next::Resume]);
        assert_eq!(at(Phase::Copied, Some(Side::Target)), [Next::RollbackWithoutTarget]);
        assert_eq!(at(Phase::Committed, Some(Side::Target)), []);
        assert_eq!(at(Phase::Live, Some(Side::Source)), [Next::ResumeWithoutSource]);
        assert_eq!(next(&MoveStatus { elsewhere: true, ..live() }), []);
        let missing = MoveStatus { missing: Some(Side::Source), ..live() };
        assert_eq!(next(&missing), [], "a command would have to name it");
    }

    /// A target that was restored from a backup has an older record than its source, from which part may be deleted.
    #[test]
    fn status_claims_no_complete_source() {
        for phase in [Phase::Committed, Phase::Live] {
            let one = MoveStatus { record: record(phase), ..live() };
            let asked = Situation::from_status(&one, None, false);
            assert!(!asked.state().contains("complete"), "{}", asked.state());
            // A run has seen the source.
            let stopped = Situation { why: AdviceReason::Stopped, ..asked };
            assert!(stopped.state().contains("the source is complete"), "{}", stopped.state());
        }
    }

    #[test]
    fn resume_without_the_plan_is_not_offered() {
        let planned = |phase| MoveStatus {
            record: Record { plan_checksum: Some("checksum".into()), ..record(phase) },
            ..live()
        };
        assert_eq!(next(&planned(Phase::Copied)), [Next::Rollback]);
        assert_eq!(next(&planned(Phase::Live)), [Next::Resume]);
    }

    #[test]
    fn one_sided_moves_offer_only_safe_commands() {
        let orphaned = MoveStatus { orphaned: true, ..live() };
        assert_eq!(next(&orphaned), [Next::Rollback]);
        let lost = |one_sided| MoveStatus { one_sided: Some(one_sided), ..orphaned.clone() };
        assert_eq!(next(&lost(OneSidedMove::LastCopyInSource)), []);
        assert_eq!(next(&lost(OneSidedMove::TakenOver("it runs".into()))), []);
        assert_eq!(next(&lost(OneSidedMove::LastCopyInTarget)), [Next::ResumeWithoutSource]);
        let closed = |proof| lost(OneSidedMove::ClosedInTarget { proof });
        assert_eq!(next(&closed(Some("it runs".into()))), [Next::ResumeWithoutSource]);
        assert_eq!(next(&closed(None)), [], "the source may be the last copy");
        assert_eq!(next(&lost(OneSidedMove::ClosedInPart("it runs".into()))), []);
    }

    #[test]
    fn handover_offers_to_finish_or_cancel() {
        let mut record = record(Phase::Copied);
        record.handover = Some(serde_json::from_value(json!({"files": "files:0"})).unwrap());
        let handed_over = MoveStatus { decides: Side::Source, record, ..live() };
        assert_eq!(next(&handed_over), [Next::FinishHandover, Next::CancelHandover]);
        assert_eq!(Situation::from_status(&handed_over, None, true).next(), [Next::CancelHandover]);
        let silent = Situation::from_status(&handed_over, Some(Side::Target), false);
        assert_eq!(silent.next(), [], "it may have imported the files");
        let alone = MoveStatus { missing: Some(Side::Target), ..handed_over };
        assert_eq!(next(&alone), [Next::CancelHandover]);
    }
}
