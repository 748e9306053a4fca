//! Verdicts, by the objects, about a move of which one side went back.

use pivot_core::Key;
use pivot_core::messages::grouping::MAX_LISTED_NAMES;
use pivot_core::messages::refusal::some_of;

/// A move of which one side went back, according to the objects. A missing or an older record alone shows nothing: either cluster may
/// have been restored from a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OneSidedMove {
    /// The target took over, so that the objects of the source are out of date; with the proof.
    TakenOver(String),
    /// As [`TakenOver`](Self::TakenOver), and the target has the list of copied objects. The source can be compared with that list, and
    /// deleted: its record is of before the commit, and its Clusters are paused.
    SourceOutOfDate(String),
    /// A copy was unpaused and paused again, or lost its undo annotation: in the first case, the target took over. With a description.
    PausedAgain(String),
    /// The target went on, with the proof, and the source is back in an earlier state, or was unpaused since: these of its Clusters run.
    SourceWentBack {
        /// Proof that the target went on.
        proof: String,
        /// The source's Clusters that nothing pauses.
        awake: Vec<Key>,
        /// True if the source has a record of the move. Without a record, only the target says which Clusters moved, and only those that
        /// the user names are paused.
        is_recorded: bool,
    },
    /// As [`SourceWentBack`](Self::SourceWentBack), but only the target says that it took these Clusters: anyone who controls it can name
    /// any.
    ClaimedByTarget {
        /// The target's words.
        claim: String,
        /// The source's Clusters that it names, and that run.
        clusters: Vec<Key>,
    },
    /// By the source's record it is committed, and nothing in the target shows that: the source may be the last copy.
    LastCopyInSource,
    /// As [`LastCopyInSource`](Self::LastCopyInSource), but part of the copies run: only of the others the source may be the last copy.
    PartTakenOver {
        /// Proof that a copy runs.
        proof: String,
        /// The source's Clusters that have no complete copy that runs.
        without: Vec<Key>,
        /// The source's Clusters that run in the target without a mark of the move.
        unmarked: Vec<Key>,
    },
    /// The source's record says that it is committed, and has deleted nothing; the target has closed it, except for the last write.
    ClosedInTarget {
        /// Proof that each of its Clusters runs in the target, if there is one.
        proof: Option<String>,
    },
    /// As [`ClosedInTarget`](Self::ClosedInTarget) without a proof, but a Cluster runs in the target, or ran there: only of the others the
    /// source may be the last copy. With a description.
    ClosedInPart(String),
    /// The source has none of the objects, and the target says that nothing was deleted yet: the target's copies may be the last.
    LastCopyInTarget,
    /// As [`LastCopyInTarget`](Self::LastCopyInTarget), but the source has these Clusters under the same names with other UIDs: it may
    /// have been restored by a tool that creates new objects, and may run them.
    SourceReplaced(Vec<Key>),
}

impl OneSidedMove {
    /// The verdict's name in documents.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TakenOver(_) => "taken-over",
            Self::SourceOutOfDate(_) => "source-out-of-date",
            Self::PausedAgain(_) => "paused-again",
            Self::SourceWentBack { .. } => "source-went-back",
            Self::ClaimedByTarget { .. } => "claimed-by-target",
            Self::LastCopyInSource => "last-copy-in-source",
            Self::PartTakenOver { .. } => "part-taken-over",
            Self::ClosedInTarget { .. } => "closed-in-target",
            Self::ClosedInPart(_) => "closed-in-part",
            Self::LastCopyInTarget => "last-copy-in-target",
            Self::SourceReplaced(_) => "source-replaced",
        }
    }

    /// Describes the evidence of the objects, and the conclusion.
    pub fn describe(&self, move_id: &str) -> String {
        match self {
            Self::TakenOver(proof) | Self::SourceOutOfDate(proof) => format!(
                "{proof}: the target has taken over, and what the source has is out of date; keep its Clusters paused"
            ),
            Self::PausedAgain(what) => format!(
                "{what}: in the first case the target has taken over, and what the source has is out of date; keep both sides as they are"
            ),
            Self::SourceWentBack { proof, awake, .. } => format!(
                "{proof}, and the source is in a state of before that, as after a restore from a backup: {} may be managed twice; \
                 pause what the source has of them at once",
                some_of(awake, MAX_LISTED_NAMES)
            ),
            Self::ClaimedByTarget { claim, clusters } => format!(
                "{claim}, and nothing in the source confirms that. If it is true, the source is in a state of before that, as after a restore from \
                 a backup: {} may be managed twice",
                some_of(clusters, MAX_LISTED_NAMES)
            ),
            Self::LastCopyInSource => format!(
                "the source says that move {move_id} is committed, and the target has no record of it, and no complete copy that \
                 runs: the target may have been restored from a backup, and the source may be the last copy"
            ),
            Self::PartTakenOver { proof, without, unmarked } => {
                let lost = match (without.is_empty(), unmarked.is_empty()) {
                    (true, true) => {
                        ", and the source no longer shows whether all of it runs there".to_owned()
                    }
                    (true, false) => String::new(),
                    (false, _) => format!(
                        ", and no complete copy that runs of {}: of those the source may be the last copy",
                        some_of(without, MAX_LISTED_NAMES)
                    ),
                };
                let unmarked = match unmarked.is_empty() {
                    true => String::new(),
                    false => format!(
                        "; {} there without its mark, and nothing shows whether anything is missing",
                        describe_running(unmarked)
                    ),
                };
                format!(
                    "{proof}, but the target has no record of move {move_id}{lost}{unmarked}; keep both sides as they are"
                )
            }
            Self::ClosedInTarget { proof } => {
                let closed = describe_closed(move_id);
                match proof {
                    Some(proof) => format!(
                        "{closed}. {proof}: the target has taken over, and what the source has is out of date, as after a restore from a backup; \
                         keep its Clusters paused"
                    ),
                    None => format!(
                        "{closed}; nothing shows that each Cluster runs in the target, so that the source may be the last copy"
                    ),
                }
            }
            Self::ClosedInPart(what) => format!(
                "{}. {what}. Nothing shows that each Cluster of it runs there: of the others the source may be the last copy. Keep both sides as they are",
                describe_closed(move_id)
            ),
            Self::LastCopyInTarget => format!(
                "the target says that move {move_id} has deleted nothing yet, and its source has neither a record nor any of the \
                 objects: the source seems to have been released, and the target restored from a backup of before that, so that \
                 its copies are the last"
            ),
            Self::SourceReplaced(clusters) => format!(
                "the target says that move {move_id} has deleted nothing yet, and its source has no record of it, and others of the same \
                 names: {}; it may have been restored with new UIDs, and may run them",
                some_of(clusters, MAX_LISTED_NAMES)
            ),
        }
    }
}

fn describe_closed(move_id: &str) -> String {
    format!(
        "the source says that move {move_id} has deleted nothing yet, but in the target it is all but closed: its release list is missing"
    )
}

/// `Cluster ns/a runs`, or `Cluster ns/a, Cluster ns/b run`.
fn describe_running(clusters: &[Key]) -> String {
    let verb = if clusters.len() == 1 { "runs" } else { "run" };
    format!("{} {verb}", some_of(clusters, MAX_LISTED_NAMES))
}
