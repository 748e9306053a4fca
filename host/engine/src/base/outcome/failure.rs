//! The failures of a run, with their messages.
//!
//! At the edge of the engine a failure becomes a [`Stop`](crate::Stop), which adds the state of both sides, the next commands and
//! the exit code.

use std::fmt;

use pivot_core::messages::grouping::{MAX_LISTED_NAMES, group_items};
use pivot_core::messages::refusal::{Refusal, some_of};
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::safe_text::did_you_mean_object;
use pivot_core::plugins::hooks::{Finding, Hook, PluginFinding};
use pivot_core::records::record::Phase;
use pivot_core::{Key, ObjectError, Side};
use pivot_places::PlaceError;
use serde::Serialize;

use crate::base::events::Awaited;
use crate::base::outcome::one_sided::OneSidedMove;
use crate::base::outcome::paused_cluster::PausedCluster;
use crate::base::plugins::hooks::HookError;
use crate::base::requests::halt::Halt;

/// Exit codes, as documented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Exit {
    /// Unexpected error.
    Unexpected = 1,
    /// The command line is invalid.
    Usage = 2,
    /// Refused; nothing was changed, or everything was undone.
    Refused = 3,
    /// Stopped part-way; the source is still authoritative.
    PartWay = 4,
    /// Stopped after the point of no return.
    PastCommit = 5,
    /// A plugin was refused.
    Plugin = 6,
    /// Nothing to move, or no such Cluster to show.
    Empty = 7,
    /// A wait timed out before the first target write; everything is undone.
    Timeout = 8,
    /// A server doesn't answer; nothing was changed, or everything was undone.
    Unreachable = 9,
    /// The compared plans or plugins differ.
    Differs = 10,
    /// SIGINT, after stopping at a safe point.
    Interrupted = 130,
    /// SIGTERM, after stopping at a safe point.
    Terminated = 143,
}

impl Exit {
    /// All of them, by their codes.
    pub const ALL: [Self; 12] = [
        Self::Unexpected,
        Self::Usage,
        Self::Refused,
        Self::PartWay,
        Self::PastCommit,
        Self::Plugin,
        Self::Empty,
        Self::Timeout,
        Self::Unreachable,
        Self::Differs,
        Self::Interrupted,
        Self::Terminated,
    ];

    /// The state in which a command leaves both clusters when it ends with this code, and why it ended.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Unexpected => "An unexpected error. Please report it.",
            Self::Usage => "The command line is invalid. Nothing was changed.",
            Self::Refused => {
                "Refused. Nothing was changed, or everything was undone. `verify` found problems in a directory."
            }
            Self::PartWay => "Stopped part-way. The source is authoritative, and may be paused.",
            Self::PastCommit => "Stopped after the point of no return. The move can only be resumed.",
            Self::Plugin => "A plugin was refused. Nothing was changed.",
            Self::Empty => "Nothing to move, no such move, or no such Cluster. Nothing was changed.",
            Self::Timeout => "A wait timed out before the first write to the target. Everything was undone.",
            Self::Unreachable => {
                "A server, or a webhook that it calls, doesn't answer. Nothing was changed, or everything was undone."
            }
            Self::Differs => "`plan diff` or `plugin diff` found a difference. Nothing was changed.",
            Self::Interrupted => "Interrupted by SIGINT (Ctrl-C), at a safe point.",
            Self::Terminated => "Terminated by SIGTERM, at a safe point.",
        }
    }
}

/// The code of the refusal if another run is active.
pub(crate) const RUN_ACTIVE: &str = "run-active";

/// The failure of a run.
#[derive(Debug)]
pub enum Failure {
    /// Checks refused the move.
    Refused(Vec<Refusal>),
    /// Nothing to move, and why.
    Empty(String),
    /// There is no move to resume or to roll back.
    NoMove,
    /// There are several moves, and the command must name one; a description of each.
    Several(Vec<String>),
    /// There is no such Cluster.
    NoCluster {
        /// As it was named.
        named: String,
        /// The Clusters that there are.
        there: Vec<Key>,
    },
    /// Several Clusters have the name.
    SeveralClusters(Vec<Key>),
    /// A request failed, after any retries.
    Place {
        /// On which side.
        side: Side,
        /// The operation: `creating`, `listing secrets`.
        doing: String,
        /// The object.
        object: Option<Box<Key>>,
        /// The error.
        error: PlaceError,
    },
    /// A side has never answered.
    Unreachable {
        /// The side.
        side: Side,
        /// Name of the side: the server.
        place: String,
        /// The kubeconfig and context in which the user named the side.
        named_in: Option<String>,
        /// The last error.
        why: String,
    },
    /// A body could not be read.
    Object(Side, ObjectError),
    /// A wait timed out.
    TimedOut(Vec<Awaited>),
    /// A plugin's check says stop.
    Gate(Vec<PluginFinding>),
    /// A plugin's hook failed, or its answer was out of bounds.
    Hook {
        /// Name of the plugin.
        plugin: String,
        /// The hook.
        hook: Hook,
        /// For which object.
        object: Option<Box<Key>>,
        /// Error of the hook.
        error: HookError,
    },
    /// The target did not keep fields that were sent.
    Lost {
        /// The object.
        object: Key,
        /// The fields.
        fields: Vec<String>,
    },
    /// A source object changed after it was copied.
    Changed {
        /// The object.
        object: Key,
        /// The fields that changed.
        fields: Vec<String>,
    },
    /// A stop was requested.
    Halted(Halt),
    /// The command can't apply to the move under way; nothing was done.
    Declined(String),
    /// A Pivot has the scope of another author's move; nothing was done.
    BegunByOther {
        /// The move under way.
        move_id: String,
        /// Phase of that move.
        phase: Phase,
        /// Name of the author, in one line.
        author: String,
    },
    /// The command names a target of another type (directory or cluster) than the move's; nothing was done.
    OtherEnd {
        /// The move under way.
        move_id: String,
        /// Whether that move copies into a directory.
        into_directory: bool,
    },
    /// The manifests or the plan of the move differ from those that it began with; nothing was done.
    Inputs(String),
    /// The source was handed over in files, which the target imported; nothing was done.
    Imported(String),
    /// The source was handed over in files, and the user did not confirm that they were imported nowhere; nothing was done.
    MayBeImported {
        /// The move.
        move_id: String,
    },
    /// The two sides don't fit each other: one side has no record of the move, or no objects that fit the other's record.
    OneSidedMove {
        /// The move.
        move_id: String,
        /// Verdict from the objects.
        one_sided: OneSidedMove,
    },
    /// The target has the record of a move that its source has no record of.
    Orphan(String),
    /// The commit was sent, and pivot-host does not know whether the server wrote it.
    Undecided(Box<Failure>),
    /// The record is unusable.
    Record(String),
    /// The plugins were refused. The caller that loads them knows why.
    PluginsRefused,
    /// The plugins differ from the record's.
    Plugins {
        /// The move.
        move_id: String,
        /// The plugins that the move was begun with, in words.
        begun: String,
        /// Remedy.
        remedy: Box<Remedy>,
    },
    /// The target's controllers did not show in time that they see these copies. The move is not committed.
    NotSeen(Vec<Awaited>),
    /// The target's controllers did not show in time that they took over these objects.
    NotTakenOver(Vec<Awaited>),
    /// The run was to stop before anything is deleted from the source, and the target has taken over.
    StoppedBeforeRelease,
    /// The source went back to before the commit, and these of its Clusters, which ran, were paused.
    SourcePaused {
        /// Proof that the target went on.
        proof: String,
        /// The Clusters.
        clusters: Vec<Key>,
    },
    /// The move was recovered, and these Clusters stay paused until they are named.
    LeftPaused {
        /// On which side.
        side: Side,
        /// The Clusters. If they were compared with their nodes, a Cluster without reasons has no difference.
        clusters: Vec<PausedCluster>,
        /// True if the Clusters were compared with their nodes.
        compared: bool,
    },
    /// The backup was restored, and these Clusters stay paused: their machines may have changed since.
    RestoreDiffers(Vec<PausedCluster>),
    /// The move was rolled back, except for these Clusters of the source. They are paused, without the annotation that undoes it.
    UndoLost {
        /// The Clusters.
        clusters: Vec<Key>,
    },
    /// Some objects could not be released; everything else is done.
    Unsettled(Vec<HeldObject>),
    /// An internal error: a bug in pivot-host.
    Bug(String),
}

/// An object that could not be released.
#[derive(Clone, Debug, Serialize)]
pub struct HeldObject {
    /// The object.
    pub object: Key,
    /// The reason.
    pub why: String,
}

/// A failure as users read it, split into lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// The message, then a line for each item.
    pub lines: Vec<String>,
    /// Number of further items.
    pub more: usize,
}

impl Failure {
    /// One refusal.
    pub fn from_refusal(refusal: Refusal) -> Self {
        Self::Refused(vec![refusal])
    }

    /// Returns the message, and a line for each item. Foreign text must not break lines, because callers rely on the line ends. Items
    /// with the same text about several objects share a line. Unless `all` is set, the line has only the first few names.
    pub fn lines(&self, all: bool) -> Lines {
        let (most, names) = if all { (usize::MAX, usize::MAX) } else { (MAX_LINES, MAX_LISTED_NAMES) };
        match self {
            Self::Refused(refusals) if refusals.len() != 1 => {
                let groups = Refusal::group_similar(refusals);
                let lines = groups.iter().map(|group| group.line(&group.first.to_string(), names)).collect();
                list_items(&format!("{} problems:", groups.len()), lines, most)
            }
            Self::Several(moves) => {
                list_items("several moves are under way; name one of them:", moves.clone(), most)
            }
            Self::NoCluster { named, there } if !there.is_empty() => {
                let lines = there.iter().map(ToString::to_string).collect();
                let similar = did_you_mean_object(named, there);
                list_items(&format!("there is no Cluster {named}{similar}, but:"), lines, most)
            }
            Self::SeveralClusters(there) => {
                let lines = there.iter().map(ToString::to_string).collect();
                list_items(
                    "several Clusters have this name; name one of them with its namespace:",
                    lines,
                    most,
                )
            }
            Self::TimedOut(what) => list_items("timed out:", Awaited::lines(what, names), most),
            Self::NotSeen(what) => {
                let head =
                    "the move is not committed, because the target's controllers have not seen the copies:";
                list_items(head, Awaited::lines(what, names), most)
            }
            Self::NotTakenOver(what) => {
                let head = "nothing is deleted, because the target's controllers have not taken over:";
                list_items(head, Awaited::lines(what, names), most)
            }
            Self::LeftPaused { side, clusters, compared } => {
                let head = format!(
                    "these Clusters are still paused in the {side}, because the target may have changed their machines:"
                );
                let line = |paused: &PausedCluster| match paused.reasons.is_empty() {
                    true if *compared => format!("{}: no difference from its nodes", paused.cluster),
                    true => paused.cluster.to_string(),
                    false => paused.describe(),
                };
                list_items(&head, clusters.iter().map(line).collect(), most)
            }
            Self::RestoreDiffers(clusters) => {
                let head = "the copies are in the target, and these Clusters stay paused there, because their machines may have \
                            changed since the backup:";
                list_items(head, clusters.iter().map(PausedCluster::describe).collect(), most)
            }
            Self::UndoLost { clusters } => {
                let head = "these Clusters are still paused in the source, without the annotation that undoes a pause of the move: \
                            somebody removed it, or paused them since:";
                list_items(head, clusters.iter().map(ToString::to_string).collect(), most)
            }
            Self::Gate(findings) => list_items("a check says stop:", finding_lines(findings, names), most),
            Self::Undecided(why) => {
                let mut found = why.lines(all);
                if let Some(head) = found.lines.first_mut() {
                    *head = format!("the commit was sent, and no answer came: {head}");
                }
                found
            }
            Self::Unsettled(what) => {
                let head = "moved, but these objects could not be released and stay paused:";
                let groups = group_items(what, |held| (Some(&held.object), vec![held.why.clone()]));
                let lines = groups.iter().map(|held| match held.objects.len() {
                    1 => format!("{}: {}", held.first.object, held.first.why),
                    _ => held.line(&held.first.why, names),
                });
                list_items(head, lines.collect(), most)
            }
            other => Lines { lines: vec![other.to_string()], more: 0 },
        }
    }

    /// The first lines, and how many more there are.
    fn first_lines(&self) -> String {
        let Lines { mut lines, more } = self.lines(false);
        if more > 0 {
            lines.push(format!("  and {more} more"));
        }
        lines.join("\n")
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusals) => match refusals.as_slice() {
                [one] => write!(f, "{one}"),
                _ => f.write_str(&self.first_lines()),
            },
            Self::NoCluster { named, there } if there.is_empty() => {
                write!(f, "there is no Cluster {named}, nor any other")
            }
            Self::Several(_)
            | Self::NoCluster { .. }
            | Self::SeveralClusters(_)
            | Self::TimedOut(_)
            | Self::NotSeen(_)
            | Self::NotTakenOver(_)
            | Self::Gate(_)
            | Self::LeftPaused { .. }
            | Self::RestoreDiffers(_)
            | Self::UndoLost { .. }
            | Self::Undecided(_)
            | Self::Unsettled(_) => f.write_str(&self.first_lines()),
            Self::Empty(why) => write!(f, "nothing to move: {why}"),
            Self::NoMove => f.write_str("no move is under way between these two clusters"),
            Self::Place { side, doing, object: Some(object), error } => {
                write!(f, "{doing} {object} in the {side}: {error}")
            }
            Self::Place { side, doing, object: None, error } => write!(f, "{doing} in the {side}: {error}"),
            Self::Unreachable { side, place, named_in, why } => {
                write!(f, "no answer from the {side}, {place}")?;
                if let Some(named_in) = named_in {
                    write!(f, " of {named_in}")?;
                }
                write!(f, ": {why}")
            }
            Self::Object(side, error) => write!(f, "{side}: {error}"),
            Self::Hook { plugin, hook, object, error } => {
                write!(f, "plugin {plugin} failed in {hook}")?;
                if let Some(object) = object {
                    write!(f, " for {object}")?;
                }
                write!(f, ": {error}")
            }
            Self::Lost { object, fields } => write!(
                f,
                "the target did not keep what was sent for {object}: {} (its CRD is older, or a webhook changed it)",
                fields.join(", ")
            ),
            Self::Changed { object, fields } => {
                write!(
                    f,
                    "{object} changed in the source after it was copied: {}; restore that as the copy in the target has it, then resume",
                    fields.join(", ")
                )
            }
            Self::Halted(Halt::Signal(_)) => f.write_str("stopped as asked"),
            Self::Halted(Halt::LeaseLost(why)) => write!(f, "stopped, because the lease is lost: {why}"),
            Self::OneSidedMove { move_id, one_sided } => f.write_str(&one_sided.describe(move_id)),
            Self::Orphan(move_id) => write!(
                f,
                "the target has a record of move {move_id}, of which its source has none: it was rolled back while this target \
                 could not be reached; another rollback removes the rest of it here"
            ),
            Self::Declined(why) | Self::Inputs(why) | Self::Imported(why) | Self::Record(why) => {
                f.write_str(why)
            }
            Self::BegunByOther { move_id, phase, author } => {
                write!(f, "another move ({move_id}, {phase}) is under way, which {author:?} began")
            }
            Self::OtherEnd { move_id, into_directory: true } => {
                write!(f, "move {move_id} copies into a directory")
            }
            Self::OtherEnd { move_id, into_directory: false } => {
                write!(f, "move {move_id} goes to a cluster")
            }
            Self::MayBeImported { move_id } => write!(
                f,
                "move {move_id} handed this source over in files: where those were imported, another management cluster is at \
                 work on the same machines"
            ),
            Self::StoppedBeforeRelease => f.write_str(
                "stopped as asked, before anything is deleted from the source: the target has taken over; back it up, then resume",
            ),
            Self::PluginsRefused => f.write_str("the plugins were refused"),
            Self::Plugins { move_id, begun, remedy: _ } => write!(
                f,
                "move {move_id} was begun with {begun}, and this run has others (or others of the same name)"
            ),
            Self::SourcePaused { proof, clusters } => write!(
                f,
                "{proof}: the target has taken over, and what the source has is out of date; {} ran in the source, too, and {} paused now",
                some_of(clusters, MAX_LISTED_NAMES),
                if clusters.len() == 1 { "is" } else { "are" }
            ),
            Self::Bug(what) => write!(f, "unexpected: {what}; please report it"),
        }
    }
}

/// Number of items that are listed unless all are requested.
const MAX_LINES: usize = 20;

fn list_items(head: &str, lines: Vec<String>, most: usize) -> Lines {
    let more = lines.len().saturating_sub(most);
    let lines = lines.into_iter().take(most).map(|line| format!("  - {line}"));
    Lines { lines: [head.to_owned()].into_iter().chain(lines).collect(), more }
}

/// Returns the lines of findings of plugins, with one line for all that say the same.
fn finding_lines(findings: &[PluginFinding], names: usize) -> Vec<String> {
    let groups = group_items(findings, |PluginFinding { plugin, finding }| {
        let Finding { severity: _, code, message, object, remedy } = finding;
        (object.as_ref(), vec![plugin.clone(), code.clone(), message.clone(), remedy.clone()])
    });
    let lines = groups.iter().map(|group| {
        let PluginFinding { plugin, finding: Finding { code, message, remedy, .. } } = group.first;
        let remedy = if remedy.is_empty() { String::new() } else { format!("; {remedy}") };
        format!("plugin {plugin}: {}{remedy}", group.line(&format!("{message} ({code})"), names))
    });
    lines.collect()
}
