//! The ends and the route of a move. They are decided once, and every later phase reads them.
//!
//! [`Ends`] says what each side is: as soon as both sides are open, before any record may be read. [`Route`] says what the move does with
//! the sides: as soon as the move is chosen.

use crate::objects::side::Side;
use crate::records::record::Record;

/// Kind of a side, as the user named it and never as it describes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndKind {
    /// A management cluster.
    Cluster,
    /// Files. A cluster may run the objects of which they are copies.
    Files,
    /// Files of a source that stays paused until a cluster imports them.
    HandoverFiles,
    /// A management cluster as it was at one version, for a backup. It stays in service, and the run writes nothing to it.
    Snapshot,
    /// A side that this run goes without: declared lost, silent, or not named. It counts as a cluster, and is never asked.
    Absent,
}

impl EndKind {
    /// Returns true for a cluster that the run can ask.
    pub fn is_cluster(self) -> bool {
        self == Self::Cluster
    }

    /// Returns true for files, and for a snapshot, which a run treats as files. No controller acts on them, nothing is deleted from them, and
    /// they have neither leases nor records.
    pub fn is_files(self) -> bool {
        matches!(self, Self::Files | Self::HandoverFiles | Self::Snapshot)
    }

    /// Returns true for a cluster that the run goes without.
    pub fn is_absent(self) -> bool {
        self == Self::Absent
    }

    /// Returns true for a source that the run goes without, and that was files by its record.
    pub fn is_lost_files(self, record: &Record) -> bool {
        self.is_absent() && record.is_of_files()
    }
}

/// Both sides of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The side that the objects come from.
    pub source: EndKind,
    /// The side that the objects go to.
    pub target: EndKind,
}

impl Ends {
    /// The side whose leases keep other runs out. Files need no guard, and an absent side has none. Between files there is no lease.
    pub fn lease_side(self) -> Option<Side> {
        match (self.source, self.target) {
            (EndKind::Cluster, _) => Some(Side::Source),
            (_, EndKind::Cluster) => Some(Side::Target),
            _ => None,
        }
    }
}

/// The route of a move. Its ends and its record decide it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    ends: Ends,
    handover: bool,
}

/// A target of files for a move into a cluster, or the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherTarget {
    /// True if the move was begun into files, false if into a cluster.
    pub into_directory: bool,
}

impl Route {
    /// The route of a new move. `handover` says whether the user asked for one; without files there is none.
    pub fn of_new_move(ends: Ends, handover: bool) -> Self {
        Self { ends, handover: handover && ends.target.is_files() }
    }

    /// The route of a move that was begun.
    ///
    /// # Errors
    ///
    /// See [`Self::check_target`].
    pub fn of_record(ends: Ends, record: &Record) -> Result<Self, OtherTarget> {
        Self::check_target(record, ends.target)?;
        Ok(Self { ends, handover: record.handover.is_some() })
    }

    /// Checks whether a move that was begun can continue with such a target.
    ///
    /// # Errors
    ///
    /// The target must be of the kind that the move was begun with, unless it is absent. Files that a source was handed over in can be
    /// imported into any cluster.
    pub fn check_target(record: &Record, target: EndKind) -> Result<(), OtherTarget> {
        let is_other = record.into_directory != target.is_files() && record.handed_over().is_none();
        if is_other && !target.is_absent() {
            return Err(OtherTarget { into_directory: record.into_directory });
        }
        Ok(())
    }

    /// Returns true if the source is handed over in files. It stays paused until a cluster imports them.
    pub fn is_handover(self) -> bool {
        self.handover
    }

    /// Returns true if the source is a directory of a handover, loaded into a cluster or copied on.
    pub fn reads_handover_files(self) -> bool {
        self.ends.source == EndKind::HandoverFiles
    }

    /// Returns true if controllers reconcile the copies once they are unpaused. An absent target counts as one that runs, also if
    /// the move goes into files: what it is can't be asked.
    pub fn target_runs(self) -> bool {
        !self.ends.target.is_files()
    }

    /// Returns true if the target takes over, or a cluster that imports its files.
    pub fn has_takeover(self) -> bool {
        self.target_runs() || self.handover
    }

    /// Returns true if objects that move are paused in the source.
    pub fn pauses_source(self) -> bool {
        !self.ends.source.is_files()
    }

    /// Returns true if objects that move are deleted from the source. Files are left as they are, and so is a source that is only
    /// copied into files.
    pub fn deletes_from_source(self) -> bool {
        self.pauses_source() && self.has_takeover()
    }

    /// Returns true if files are loaded into a cluster.
    pub fn loads_files(self) -> bool {
        self.ends.source.is_files() && self.target_runs()
    }

    /// Returns true if a cluster that stays in service is backed up as it was at one version.
    pub fn is_backup(self) -> bool {
        self.ends.source == EndKind::Snapshot
    }

    /// Returns true if objects are paused in the reading alone, because the source can't be written to.
    pub fn pauses_in_reading(self) -> bool {
        self.loads_files() || self.is_backup()
    }

    /// Returns true if files are loaded into a cluster, and another cluster may run what they are copies of.
    pub fn source_may_run(self) -> bool {
        self.ends.source == EndKind::Files && self.target_runs()
    }

    /// Returns true if a move loads a backup, or loaded files that are lost. Those may have been files of a handover.
    pub fn may_restore(self, record: &Record) -> bool {
        self.source_may_run() || self.ends.source.is_lost_files(record)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::records::record::Phase;
    use crate::request::scope::{Namespaces, Scope};

    const KINDS: [EndKind; 4] = [EndKind::Cluster, EndKind::Files, EndKind::HandoverFiles, EndKind::Absent];

    /// The capabilities by which every phase decided for itself.
    #[derive(Clone, Copy)]
    struct Can {
        keeps_state: bool,
        has_leases: bool,
        has_controllers: bool,
        deletes: bool,
        may_live_on: bool,
    }

    fn can(kind: EndKind) -> Can {
        let all = |is: bool| Can {
            keeps_state: is,
            has_leases: is,
            has_controllers: is,
            deletes: is,
            may_live_on: false,
        };
        match kind {
            EndKind::Cluster | EndKind::Absent => all(true),
            EndKind::HandoverFiles | EndKind::Snapshot => all(false),
            EndKind::Files => Can { may_live_on: true, ..all(false) },
        }
    }

    fn all_ends() -> impl Iterator<Item = Ends> {
        KINDS.into_iter().flat_map(|source| KINDS.into_iter().map(move |target| Ends { source, target }))
    }

    fn record(phase: Phase, into_directory: bool, handover: Option<Option<&str>>) -> Record {
        let mut record = json!({
            "format": 5, "writtenBy": "0.1.0", "startedBy": "jane@laptop", "moveId": "m", "phase": phase,
            "scope": Scope::new(Namespaces::All), "startedAt": "", "createdNamespaces": [], "plugins": [], "kinds": [],
            "copiedNamespaces": [], "releaseChunks": 0, "intoDirectory": into_directory,
        });
        if let Some(files) = handover {
            record["handover"] = json!({ "files": files });
        }
        serde_json::from_value(record).unwrap()
    }

    #[test]
    fn leases_are_where_capabilities_had_them() {
        for ends in all_ends() {
            let (source, target) = (can(ends.source), can(ends.target));
            let (without_source, without_target) = (ends.source.is_absent(), ends.target.is_absent());
            let in_source = source.has_leases && !without_source;
            let (guarded, has_leases, gone) = match in_source {
                true => (Side::Source, source.has_leases, false),
                false => (Side::Target, target.has_leases, without_target),
            };
            assert_eq!(ends.lease_side(), Some(guarded).filter(|_| has_leases && !gone), "{ends:?}");
        }
    }

    #[test]
    fn each_end_is_a_cluster_or_files_or_absent() {
        for kind in KINDS {
            let answers = [kind.is_cluster(), kind.is_files(), kind.is_absent()];
            assert_eq!(answers.into_iter().filter(|is| *is).count(), 1, "{kind:?}");
            assert_eq!(kind.is_files(), !can(kind).has_controllers, "{kind:?}");
        }
    }

    fn check(route: Route, ends: Ends, handover: bool, context: &str) {
        let (source, target) = (can(ends.source), can(ends.target));
        let context = format!("{ends:?} {context}");
        assert_eq!(route.is_handover(), handover, "{context}");
        let is_handover = !source.has_controllers && !source.may_live_on;
        assert_eq!(route.reads_handover_files(), is_handover, "{context}");
        assert_eq!(route.target_runs(), target.has_controllers, "{context}");
        assert_eq!(route.has_takeover(), target.has_controllers || handover, "{context}");
        let hands_over = source.deletes && (target.has_controllers || handover);
        assert_eq!(route.deletes_from_source(), hands_over, "{context}");
        assert_eq!(route.source_may_run(), source.may_live_on && target.has_controllers, "{context}");
        let pause = match (source.has_controllers, target.has_controllers) {
            (true, _) => (true, false),
            (false, true) => (false, true),
            (false, false) => (false, false),
        };
        assert_eq!((route.pauses_source(), route.loads_files()), pause, "{context}");
    }

    #[test]
    fn backups_change_nothing_in_their_cluster() {
        let ends = Ends { source: EndKind::Snapshot, target: EndKind::Files };
        let route = Route::of_new_move(ends, false);
        assert!(route.is_backup() && route.pauses_in_reading());
        assert!(!route.pauses_source() && !route.deletes_from_source() && !route.has_takeover());
        assert_eq!(ends.lease_side(), None);
        let copy = Route::of_new_move(Ends { source: EndKind::Files, ..ends }, false);
        assert!(!copy.is_backup() && !copy.pauses_in_reading());
    }

    #[test]
    fn routes_of_new_moves_answer_as_phases_did() {
        for (ends, asked) in all_ends().flat_map(|ends| [(ends, false), (ends, true)]) {
            let into_directory = !can(ends.target).keeps_state;
            let route = Route::of_new_move(ends, asked);
            check(route, ends, asked && into_directory, &format!("handover: {asked}"));
            // Asked before there is a record.
            let (source, target) = (can(ends.source), can(ends.target));
            assert_eq!(route.deletes_from_source(), source.deletes && (target.has_controllers || asked));
        }
    }

    #[test]
    fn routes_of_records_answer_as_phases_did() {
        let handovers = [None, Some(None), Some(Some("files:0"))];
        let states = Phase::ALL.into_iter().flat_map(|phase| {
            let kinds = [true, false].into_iter();
            kinds.flat_map(move |into| handovers.into_iter().map(move |files| record(phase, into, files)))
        });
        for record in states {
            for ends in all_ends() {
                let into_directory = !can(ends.target).keeps_state;
                let other_end = record.into_directory != into_directory && record.handed_over().is_none();
                let refused = other_end && !ends.target.is_absent();
                match Route::of_record(ends, &record) {
                    Err(OtherTarget { into_directory }) => {
                        assert!(refused, "{ends:?} {record:?}");
                        assert_eq!(into_directory, record.into_directory);
                    }
                    Ok(route) => {
                        assert!(!refused, "{ends:?} {record:?}");
                        check(route, ends, record.handover.is_some(), &format!("{record:?}"));
                    }
                }
            }
        }
    }
}
