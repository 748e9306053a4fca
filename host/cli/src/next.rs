//! The command to type next, with the flags that name the same two sides. A command that could not be typed is not offered.

use std::ffi::OsString;
use std::path::Path;
use std::sync::OnceLock;

use pivot_core::messages::risk::Risk;
use pivot_core::messages::shell::quote;
use pivot_core::objects::names::RECORD_NAMESPACE;
use pivot_core::records::record::Phase;
use pivot_core::request::scope::ClusterName;
use pivot_core::{Key, Side};
use pivot_engine::{Failure, Next, Stop};

use super::args::{
    self, Choices, ConnectionArgs, FromCluster, PluginArgs, SourceEnd, TargetEnd, Task, ToCluster,
    ToDirectory,
};

/// The name under which this program was called, and its two sides.
#[derive(Clone, Debug)]
pub(crate) struct Commands {
    program: String,
    /// The command line of this run, for a move without a record.
    again: Vec<String>,
    /// Words of this run's command, as reports name it.
    command: &'static str,
    /// The flags of this run that name Clusters.
    cluster_flags: Vec<String>,
    /// The flags that name the two sides, except for a workload cluster.
    both: Vec<String>,
    /// The workload cluster that is the target.
    workload: Option<Workload>,
    /// The files of added objects. Once the move is committed, no command needs them.
    added: Vec<String>,
    /// Flags about plugins.
    with: Vec<String>,
    /// Flags that only a command that continues the move takes: a rollback needs no plugins and no files and doesn't wait, and
    /// neither does a status. Without the file of a report: the next run would replace this run's report.
    going_on: Vec<String>,
    /// Flags of a command that finishes a handover.
    finishing: Vec<String>,
    /// A source directory keeps no records: only repeating the same command continues the move.
    no_records: bool,
    /// The source was named as a directory.
    from_files: bool,
    /// True for a directory, false for a cluster, none without a target.
    target: Option<bool>,
    /// The side that the user declared gone for good.
    gone: Option<Side>,
    /// The user declared that the files of a handover were imported nowhere.
    not_imported: bool,
}

/// The subject of a command.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct About<'a> {
    /// The move, if several may be under way.
    pub(crate) move_id: Option<&'a str>,
    pub(crate) committed: bool,
    /// The Clusters that the command names.
    clusters: ClustersToName<'a>,
}

/// The Clusters that a suggested command names.
#[derive(Clone, Copy, Debug, Default)]
enum ClustersToName<'a> {
    /// The Clusters that this run named, if the command has the same verb: the run stopped on its way.
    #[default]
    SameAgain,
    /// One of the Clusters that stay paused until a command names them. Users look at each Cluster before they name it. So a suggested
    /// command names one, and none that differs from its nodes.
    StillPaused(Option<&'a Key>),
    /// None: the names were wrong, or users decide about each listed Cluster again.
    None,
}

impl<'a> About<'a> {
    /// Describes a move by its record.
    pub(crate) fn new(move_id: Option<&'a str>, committed: bool) -> Self {
        Self { move_id, committed, ..Self::default() }
    }

    /// The move that stopped.
    pub(crate) fn of_stop(stop: &'a Stop) -> Self {
        let clusters = match &stop.failure {
            Failure::LeftPaused { clusters, .. } => {
                let equal = clusters.iter().find(|paused| paused.reasons.is_empty());
                ClustersToName::StillPaused(equal.map(|paused| &paused.cluster))
            }
            Failure::UndoLost { clusters } => ClustersToName::StillPaused(clusters.first()),
            Failure::RestoreDiffers(_) | Failure::Declined(_) | Failure::NoCluster { .. } => {
                ClustersToName::None
            }
            _ => ClustersToName::SameAgain,
        };
        let committed = stop.phase.is_some_and(Phase::is_committed);
        Self { move_id: stop.move_id.as_deref(), committed, clusters }
    }
}

const RESUME: &[&str] = &["resume"];
const FINISH: &[&str] = &["handover", "finish"];
/// For a handover that was imported nowhere.
const CANCEL: &[&str] = &["handover", "cancel", "--accept", "maybe-imported"];
/// Deletes from a source that went back.
const DELETE: &[&str] = &["resume", "--accept", "world-changed"];

impl Commands {
    /// `again` has the words that the user typed after the program's name.
    pub(crate) fn new(program: &str, choices: &Choices, again: &[String]) -> Self {
        let Choices { connection, ends, add, plan, with, .. } = choices;
        let with = about_plugins(with);
        // It has what was decided about waiting, too.
        let plan = plan.iter().flat_map(|file| flag_words("--plan", &file.display().to_string()));
        let common: Vec<String> = plan.chain(with.clone()).collect();
        let finishing = [common.clone(), choices.flags_to_finish_handover()].concat();
        let going_on = [common, choices.flags_to_resume()].concat();
        let target_given = names_cluster(connection);
        let workload = match (&ends.target, &connection.to.to_workload) {
            (TargetEnd::Workload(workload), _) => Some(workload.display_name()),
            (_, typed) => typed.clone(),
        };
        Self {
            program: program.to_owned(),
            again: again.to_vec(),
            command: choices.command,
            cluster_flags: choices.cluster_flags.clone(),
            both: side_flags(connection),
            workload: workload.map(|typed| Workload { typed, found: OnceLock::new() }),
            added: add
                .iter()
                .flat_map(|file| flag_words("--with-manifest", &file.display().to_string()))
                .collect(),
            with,
            going_on,
            finishing,
            from_files: connection.from_directory.is_some(),
            no_records: matches!(ends.source, SourceEnd::Directory(_))
                && !matches!(ends.target, TargetEnd::Kube(_)),
            target: match ends.target {
                _ if connection.to_files.to_directory.is_some() => Some(true),
                TargetEnd::Kube(_) | TargetEnd::Workload(_) => Some(false),
                _ if target_given => Some(false),
                _ => None,
            },
            gone: match (&ends.source, &ends.target) {
                (SourceEnd::Gone, _) => Some(Side::Source),
                (_, TargetEnd::Gone) => Some(Side::Target),
                _ => None,
            },
            not_imported: choices.not_imported(),
        }
    }

    /// Names the workload cluster with its namespace, once that is known: other commands have none to look in.
    pub(crate) fn found_workload(&self, cluster: &str) {
        if let Some(workload) = &self.workload {
            // Each run opens its target once.
            let _ = workload.found.set(cluster.to_owned());
        }
    }

    /// The line for one command. `None` if this run's flags don't say enough for it.
    pub(crate) fn command_line(&self, next: Next, about: About<'_>) -> Option<String> {
        if self.no_records {
            let goes_on = next == Next::Resume;
            // The file of this run's recording exists, and is never overwritten.
            let words = without_flags(&self.again, &["--record"], &[]);
            return goes_on.then(|| self.join_words(words.iter().map(String::as_str)));
        }
        let words: &[&str] = match (next, self.gone) {
            (Next::Status, _) => &["status"],
            // Its flags declare the source gone, if it is.
            (Next::Resume, _) => RESUME,
            (Next::ResumeWithoutSource, Some(Side::Source)) => RESUME,
            (Next::ResumeWithoutSource, _) => &["resume", "--without-source"],
            (Next::FinishHandover, _) => FINISH,
            (Next::CancelHandover, _) => CANCEL,
            (Next::DeleteFromSource, _) => DELETE,
            (Next::Rollback, Some(Side::Target)) if self.not_imported => CANCEL,
            (Next::Rollback, Some(Side::Target)) | (Next::RollbackWithoutTarget, _) => {
                &["rollback", "--without-target"]
            }
            (Next::Rollback, Some(Side::Source)) => &["rollback", "--without-source"],
            (Next::Rollback, None) => &["rollback"],
        };
        let typable = match (next, self.target) {
            (Next::Status, _) => true,
            // The source has the workload cluster's kubeconfig.
            (Next::ResumeWithoutSource, target) => target == Some(false) && self.workload.is_none(),
            (Next::FinishHandover, target) => target == Some(false) && !self.from_files,
            (Next::DeleteFromSource, target) => target == Some(false) && self.gone != Some(Side::Source),
            _ if words == CANCEL => !self.from_files,
            (_, target) => target.is_some() || words.contains(&"--without-target"),
        };
        if !typable {
            return None;
        }
        let files = self.added.iter().filter(|_| !about.committed);
        let going_on: Vec<&String> = match words.first() {
            Some(&"resume") => files.chain(&self.going_on).collect(),
            _ if words == FINISH => files.chain(&self.finishing).collect(),
            _ => Vec::new(),
        };
        let mut going_on: Vec<&str> = going_on.into_iter().map(String::as_str).collect();
        if let ClustersToName::StillPaused(_) = about.clusters {
            // The move is recovered: only the names are missing.
            drop_risk(&mut going_on, Risk::WorldChanged);
        }
        let clusters = self.name_clusters(words, about.clusters);
        let going_on = going_on.into_iter().chain(clusters.iter().map(String::as_str));
        let which = about.move_id.filter(|_| next != Next::Status);
        let workload = self.workload.as_ref().map(|workload| ["--to-workload", workload.name()]);
        let both = self.both.iter().map(String::as_str).chain(workload.into_iter().flatten());
        Some(self.join_words(words.iter().copied().chain(both).chain(going_on).chain(which)))
    }

    /// Returns the flags that name Clusters, for a command that takes them.
    fn name_clusters(&self, words: &[&str], clusters: ClustersToName<'_>) -> Vec<String> {
        let verb = words.first().copied().unwrap_or_default();
        match clusters {
            ClustersToName::SameAgain if verb == self.command => self.cluster_flags.clone(),
            ClustersToName::StillPaused(Some(first)) if ["resume", "rollback"].contains(&verb) => {
                flag_words("--unpause", &ClusterName::from_key(first).to_string())
            }
            _ => Vec::new(),
        }
    }

    /// Returns the line that carries out the plan of this run, or the file that it was saved in.
    pub(crate) fn carry_out(&self, saved: Option<&Path>) -> Option<String> {
        let workload = self.workload.as_ref().map(|workload| ["--to-workload", workload.name()]);
        let workload = workload.into_iter().flatten().map(str::to_owned);
        let words: Vec<String> = match saved {
            Some(file) => std::iter::once("move".to_owned())
                .chain(self.both.iter().cloned())
                .chain(workload)
                .chain(flag_words("--plan", &file.display().to_string()))
                .chain(self.with.iter().chain(&self.added).cloned())
                .collect(),
            None => as_move(&self.again),
        };
        let whole: Vec<OsString> = std::iter::once(&self.program).chain(&words).map(Into::into).collect();
        let task = args::parse(&whole).ok().and_then(|parsed| args::check(parsed).ok());
        matches!(task, Some(Task::Move(_))).then(|| self.join_words(words.iter().map(String::as_str)))
    }

    /// Returns the line of this plan, without its format: a page on a terminal is of no use. If the plan has no target, the line has
    /// a placeholder.
    pub(crate) fn repeat_plan(&self, has_target: bool) -> String {
        let words = without_flags(&self.again, &["--output", "-o"], &[]);
        let target: &[&str] = if has_target { &[] } else { &["--to-kubeconfig", "TARGET.kubeconfig"] };
        self.join_words(words.iter().map(String::as_str).chain(target.iter().copied()))
    }

    fn join_words<'a>(&self, words: impl Iterator<Item = &'a str>) -> String {
        let mut line = self.program.clone();
        for word in words {
            line.push(' ');
            line.push_str(&quote(word));
        }
        line
    }
}

/// Drops the flag that accepts a risk.
fn drop_risk(words: &mut Vec<&str>, risk: Risk) {
    let accepts = ["--accept", risk.code()];
    if let Some(place) = words.windows(2).position(|pair| pair == accepts) {
        words.drain(place..place + 2);
    }
}

/// Returns the flags about plugins.
fn about_plugins(with: &PluginArgs) -> Vec<String> {
    let mut flags = Vec::new();
    if let Some(directory) = &with.plugins {
        flags.extend(flag_words("--plugins", &directory.display().to_string()));
    }
    if let Some(file) = &with.trust {
        flags.extend(flag_words("--trust", &file.display().to_string()));
    }
    if with.strict {
        flags.push("--strict".to_owned());
    }
    flags
}

/// Turns the words of a plan or of a dry run into the words of a move that shows its result as usual.
fn as_move(typed: &[String]) -> Vec<String> {
    let mut words = without_flags(typed, &["--report", "--output", "-o"], &["--tree", "--dry-run"]);
    if let Some(verb) = words.iter_mut().find(|word| *word == "plan") {
        *verb = "move".to_owned();
    }
    words
}

/// Returns the words without these flags, with or without a value.
fn without_flags(typed: &[String], with_value: &[&str], without_value: &[&str]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut rest = typed.iter();
    while let Some(word) = rest.next() {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        if with_value.contains(&word.as_str()) {
            rest.next();
        } else if !with_value.contains(&name) && !without_value.contains(&name) {
            words.push(word.clone());
        }
    }
    words
}

/// A workload cluster, as it was typed and as it was found.
#[derive(Clone, Debug)]
struct Workload {
    typed: String,
    found: OnceLock<String>,
}

impl Workload {
    fn name(&self) -> &str {
        self.found.get().unwrap_or(&self.typed)
    }
}

/// Returns true if the flags name a cluster as the target.
fn names_cluster(connection: &ConnectionArgs) -> bool {
    let ToCluster { to_kubeconfig, to_kubeconfig_context, to_workload, .. } = &connection.to;
    to_kubeconfig.is_some() || to_kubeconfig_context.is_some() || to_workload.is_some()
}

/// The flags that name the two sides, except for a workload cluster.
fn side_flags(connection: &ConnectionArgs) -> Vec<String> {
    let ConnectionArgs { from, to, from_directory, identity, to_files } = connection;
    let FromCluster { kubeconfig, kubeconfig_context, as_user, as_group, record_namespace } = from;
    // The namespace of a workload cluster may be found only later.
    let ToCluster { to_kubeconfig, to_kubeconfig_context, to_workload: _, to_as, to_as_group } = to;
    let ToDirectory { to_directory, encrypt_to } = to_files;
    let path = |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.display().to_string());
    // Other commands reject an identity for a target that isn't named.
    let to_kube = names_cluster(connection);
    let one = [
        ("--kubeconfig", path(kubeconfig)),
        ("--kubeconfig-context", kubeconfig_context.clone()),
        ("--as", as_user.clone()),
        ("--from-directory", path(from_directory)),
        ("--identity", path(identity)),
        ("--to-kubeconfig", path(to_kubeconfig)),
        ("--to-kubeconfig-context", to_kubeconfig_context.clone()),
        ("--to-as", to_as.clone().filter(|_| to_kube)),
        ("--to-directory", path(to_directory)),
        ("--encrypt-to", path(encrypt_to)),
        ("--record-namespace", Some(record_namespace.clone()).filter(|name| name != RECORD_NAMESPACE)),
    ];
    let to_groups: &[String] = if to_kube { to_as_group } else { &[] };
    let many = [("--as-group", as_group.as_slice()), ("--to-as-group", to_groups)];
    let many = many.into_iter().flat_map(|(flag, values)| values.iter().map(move |v| (flag, v.clone())));
    let one = one.into_iter().filter_map(|(flag, value)| Some((flag, value?)));
    one.chain(many).flat_map(|(name, value)| flag_words(name, &value)).collect()
}

/// A flag and its value: as one word if the value could be mistaken for a flag.
fn flag_words(name: &str, value: &str) -> Vec<String> {
    if value.starts_with('-') {
        vec![format!("{name}={value}")]
    } else {
        vec![name.to_owned(), value.to_owned()]
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::process::Command;

    use pivot_core::GroupKind;
    use pivot_engine::{Counts, Exit, Halt, PausedCluster};

    use super::*;

    const ALL: [Next; 8] = [
        Next::Status,
        Next::Resume,
        Next::Rollback,
        Next::ResumeWithoutSource,
        Next::RollbackWithoutTarget,
        Next::FinishHandover,
        Next::CancelHandover,
        Next::DeleteFromSource,
    ];

    const OF_ONE: About<'_> =
        About { move_id: Some("1234"), committed: false, clusters: ClustersToName::SameAgain };

    /// Fails to compile when a variant is added: [`ALL`] needs it, too.
    fn place(next: Next) -> usize {
        match next {
            Next::Status => 0,
            Next::Resume => 1,
            Next::Rollback => 2,
            Next::ResumeWithoutSource => 3,
            Next::RollbackWithoutTarget => 4,
            Next::FinishHandover => 5,
            Next::CancelHandover => 6,
            Next::DeleteFromSource => 7,
        }
    }

    fn commands(words: &[&str]) -> (Commands, Choices) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let choices = choices(&typed(&words));
        (Commands::new("pivot-host", &choices, &words), choices)
    }

    /// Parses a command line, or fails the test.
    pub(crate) fn typed(words: &[String]) -> Task {
        let typed: Vec<_> = ["pivot-host".to_owned()].iter().chain(words).map(Into::into).collect();
        let parsed = args::parse(&typed).unwrap_or_else(|error| panic!("{words:?}: {error}"));
        args::check(parsed).unwrap_or_else(|error| panic!("{words:?}: {error:?}"))
    }

    fn choices(task: &Task) -> Choices {
        match task {
            Task::Plan(choices)
            | Task::Move(choices)
            | Task::Status(choices, _)
            | Task::Resume(choices, _)
            | Task::Rollback(choices, _) => choices.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// Splits a line as a shell does.
    pub(crate) fn by_a_shell(line: &str) -> Vec<String> {
        let output = Command::new("sh").args(["-c", &format!("printf '%s\\n' {line}")]).output().unwrap();
        assert!(output.status.success(), "{line}");
        String::from_utf8(output.stdout).unwrap().lines().skip(1).map(str::to_owned).collect()
    }

    /// Runs of every verb, between all sorts of ends.
    const RUNS: [&[&str]; 41] = [
        &["plan"],
        &["plan", "--kubeconfig", "a b/it's", "-n", "ns"],
        &["plan", "--from-directory", "d"],
        &["move", "--to-kubeconfig", "b", "--with-manifest", "b o'm.yaml", "--with-manifest=-a.json"],
        &[
            "resume",
            "--to-kubeconfig",
            "b",
            "--with-manifest",
            "a.yaml",
            "--plan",
            "p o.json",
            "--plugins",
            "p",
        ],
        &["plan", "--to-kubeconfig", "b", "-A", "--plugins", "p", "--strict", "--trust", "t o.toml"],
        &["plan", "--to-directory=-d", "--kubeconfig-context", "x"],
        &["move", "--kubeconfig", "a", "--to-kubeconfig", "b", "-n", "ns"],
        &["move", "--kubeconfig", "both", "--context", "x", "--to-kubeconfig-context", "y", "-A"],
        &[
            "move",
            "--to-kubeconfig",
            "b",
            "--as",
            "jane",
            "--as-group",
            "ops",
            "--as-group",
            "d e v",
            "--to-as",
            "j",
        ],
        &[
            "move",
            "--to-kubeconfig",
            "b",
            "--to-as",
            "j",
            "--to-as-group",
            "g",
            "--record-namespace",
            "moves",
        ],
        &[
            "move",
            "--to-kubeconfig",
            "b",
            "--accept",
            "existing-differs",
            "--accept",
            "pause-unchecked",
            "--accept",
            "takeover-unchecked",
            "--plugins=-p",
        ],
        &[
            "move",
            "--to-kubeconfig",
            "b",
            "--accept",
            "owner-dropped=A.g",
            "--accept",
            "dependents-lost=B.g",
            "--accept",
            "already-paused",
        ],
        &["move", "--kubeconfig", "a", "--to-directory", "d"],
        &["move", "--from-directory", "it's", "--to-directory", "d", "-n", "ns"],
        &["move", "--dry-run=server", "--to-kubeconfig", "b"],
        &["status"],
        &["status", "--kubeconfig", "a"],
        &["status", "--to-kubeconfig", "b"],
        &["status", "--kubeconfig", "a", "--to-kubeconfig", "b"],
        &["resume", "--kubeconfig", "a", "--to-kubeconfig", "b", "--accept", "plugins-changed", "m"],
        &["resume", "--without-source", "--to-kubeconfig", "b", "--accept", "takeover-unchecked"],
        &["resume", "--from-directory", "d", "--to-kubeconfig", "b", "--drop", "ns/c", "--unpause", "ns/d"],
        &["rollback", "--kubeconfig", "a", "--to-kubeconfig", "b"],
        &["rollback", "--without-target", "--kubeconfig", "a", "--to-as", "j"],
        &["rollback", "--without-source", "--to-kubeconfig", "b"],
        &["move", "--from-directory", "d", "--to-kubeconfig", "b", "--accept", "source-may-run"],
        &["status", "--from-directory", "d", "--to-kubeconfig", "b"],
        &["move", "--kubeconfig", "a", "--to-workload", "ns/c", "--to-as", "j", "-A"],
        &["plan", "--to-workload", "c", "-A"],
        &["resume", "--to-workload", "ns/c", "m"],
        &["rollback", "--without-target", "--to-workload", "ns/c"],
        &["move", "--kubeconfig", "a", "--to-directory", "d", "--encrypt-to", "it's"],
        &["resume", "--to-directory", "d", "--encrypt-to=-r"],
        &[
            "move",
            "--from-directory",
            "d",
            "--identity",
            "k y",
            "--to-kubeconfig",
            "b",
            "--accept",
            "source-may-run",
        ],
        &["rollback", "--without-source", "--from-directory", "d", "--identity", "k", "--to-kubeconfig", "b"],
        &["handover", "start", "d", "--kubeconfig", "a"],
        &["handover", "finish", "--kubeconfig", "a", "--to-kubeconfig", "b", "--plugins", "p"],
        &["handover", "cancel", "--kubeconfig", "a", "--accept", "maybe-imported"],
        &["handover", "cancel", "--kubeconfig", "a", "--to-kubeconfig", "b", "--accept", "maybe-imported"],
        &["move", "--kubeconfig", "a", "--to-kubeconfig", "b", "--report", "r.html"],
    ];

    #[test]
    fn offered_commands_parse_and_keep_the_sides() {
        let mut offered = 0;
        for run in RUNS {
            let (commands, before) = commands(run);
            for (index, next) in ALL.into_iter().enumerate() {
                assert_eq!(place(next), index);
                for move_id in [None, Some("1234")] {
                    let Some(line) = commands.command_line(next, About { move_id, ..About::default() })
                    else {
                        continue;
                    };
                    offered += 1;
                    let task = typed(&by_a_shell(&line));
                    let (after, same) = (choices(&task), line.ends_with(&run.join(" ")));
                    let meant = match (&task, next) {
                        (Task::Status(..), Next::Status) | (Task::Resume(..), Next::Resume) => true,
                        (Task::Rollback(_, rollback), Next::Rollback) => {
                            let is_without = |absent: Option<Side>| absent == Some(Side::Source);
                            is_without(rollback.absent) == is_without(commands.gone)
                        }
                        (Task::Resume(_, resume), Next::ResumeWithoutSource) => resume.without_source,
                        (Task::Rollback(_, rollback), Next::RollbackWithoutTarget) => {
                            rollback.absent == Some(Side::Target)
                        }
                        (Task::Resume(_, resume), Next::FinishHandover) => resume.imported,
                        (Task::Rollback(..), Next::CancelHandover) => {
                            after.options(None).accept.contains(Risk::MaybeImported)
                        }
                        (Task::Resume(..), Next::DeleteFromSource) => {
                            after.options(None).accept.contains(Risk::WorldChanged)
                        }
                        (Task::Move(_) | Task::Plan(_), Next::Resume) => commands.no_records || same,
                        _ => false,
                    };
                    assert!(meant, "{run:?}: {line}: {task:?}");
                    assert_eq!(
                        side_flags(&after.connection),
                        side_flags(&before.connection),
                        "{run:?}: {line}"
                    );
                    let workload = |choices: &Choices| choices.connection.to.to_workload.clone();
                    assert_eq!(workload(&after), workload(&before), "{run:?}: {line}");
                    let (there, here) = (before.options(None), after.options(None));
                    assert_eq!(there.record_namespace, here.record_namespace, "{line}");
                    if let Task::Resume(_, resume) = &task {
                        assert_eq!((&after.with, &after.add), (&before.with, &before.add), "{line}");
                        let accepted = |choices: &Choices| {
                            let words = match next {
                                Next::FinishHandover => choices.flags_to_finish_handover(),
                                _ => choices.flags_to_resume(),
                            };
                            words.into_iter().skip_while(|word| word != "--accept").collect::<Vec<_>>()
                        };
                        let mut expected = accepted(&before);
                        if next == Next::DeleteFromSource {
                            expected.extend(["--accept".to_owned(), "world-changed".to_owned()]);
                        }
                        assert_eq!(accepted(&after), expected, "{line}");
                        assert_eq!(resume.move_id.as_deref(), move_id, "{line}");
                    }
                }
            }
        }
        assert!(offered > 100, "{offered}");
    }

    #[test]
    fn plan_offers_a_move_with_its_flags() {
        let move_of = |run: &[&str]| commands(run).0.carry_out(None);
        let plan = [
            "plan",
            "--kubeconfig",
            "a b",
            "--to-kubeconfig",
            "b",
            "-n",
            "plan",
            "--tree",
            "-o=yaml",
            "--report",
            "r.html",
            "--accept",
            "already-paused",
        ];
        let expected = "pivot-host move --kubeconfig 'a b' --to-kubeconfig b -n plan --accept already-paused";
        assert_eq!(move_of(&plan).unwrap(), expected);
        let again = "pivot-host plan --kubeconfig 'a b' --to-kubeconfig b -n plan --tree --report r.html --accept already-paused";
        assert_eq!(commands(&plan).0.repeat_plan(true), again);
        let without_target = commands(&["plan", "-A", "-o", "html"]).0.repeat_plan(false);
        assert_eq!(without_target, "pivot-host plan -A --to-kubeconfig TARGET.kubeconfig");
        let dry_run = ["move", "--dry-run=server", "--to-kubeconfig", "b"];
        assert_eq!(move_of(&dry_run).unwrap(), "pivot-host move --to-kubeconfig b");
        assert_eq!(move_of(&["plan", "--kubeconfig", "a"]), None, "a move needs a target");
    }

    #[test]
    fn saved_plan_offers_its_own_move() {
        let run = [
            "plan",
            "--to-kubeconfig",
            "b",
            "-A",
            "--out",
            "p o.json",
            "--plugins",
            "p",
            "--accept",
            "already-paused",
        ];
        let line = commands(&run).0.carry_out(Some(Path::new("p o.json"))).unwrap();
        assert_eq!(line, "pivot-host move --to-kubeconfig b --plan 'p o.json' --plugins p");
    }

    #[test]
    fn commands_lacking_a_flag_are_not_offered() {
        let lines =
            |run: &[&str]| ALL.map(|next| commands(run).0.command_line(next, About::default()).is_some());
        // status, resume, rollback; … without source, … without target; … imported, … not imported; delete from the source
        assert_eq!(
            lines(&["status", "--kubeconfig", "a"]),
            [true, false, false, false, true, false, true, false]
        );
        assert_eq!(
            lines(&["plan", "--to-directory", "d"]),
            [true, true, true, false, true, false, true, false]
        );
        assert_eq!(lines(&["plan", "--to-kubeconfig", "b"]), [true; 8]);
        assert_eq!(
            lines(&["rollback", "--without-target"]),
            [true, false, true, false, true, false, true, false]
        );
        assert_eq!(
            lines(&["handover", "cancel", "--accept", "maybe-imported"]),
            [true, false, true, false, true, false, true, false]
        );
        let from_files = [false, true, false, false, false, false, false, false];
        assert_eq!(lines(&["plan", "--from-directory", "d"]), from_files);
        let workload = [true, true, true, false, true, true, true, true];
        assert_eq!(lines(&["plan", "--to-workload", "c"]), workload);
    }

    #[test]
    fn workload_cluster_has_its_namespace() {
        let line = |run: &[&str], found: Option<&str>| {
            let (commands, _) = commands(run);
            found.into_iter().for_each(|found| commands.found_workload(found));
            commands.command_line(Next::Resume, About::default()).unwrap()
        };
        let resume = |workload| format!("pivot-host resume --kubeconfig a --to-workload {workload}");
        let run = ["move", "--kubeconfig", "a", "--to-workload", "c"];
        assert_eq!(line(&run, None), resume("c"), "nothing was looked up yet");
        assert_eq!(line(&run, Some("of-context/c")), resume("of-context/c"));
        assert_eq!(line(&[&run[..], &["-n", "ns"]].concat(), None), resume("ns/c"));
        let typed = ["move", "--kubeconfig", "a", "--to-workload", "elsewhere/c", "-n", "ns"];
        assert_eq!(line(&typed, None), resume("elsewhere/c"));
    }

    #[test]
    fn line_repeats_flags_of_both_sides() {
        let run = [
            "move",
            "--kubeconfig",
            "a b/it's",
            "--to-kubeconfig",
            "/k/to",
            "--as",
            "jane",
            "--as-group",
            "ops",
            "--as-group",
            "dev",
            "--record-namespace",
            "moves",
        ];
        assert_eq!(
            commands(&run).0.command_line(Next::Resume, About::default()).unwrap(),
            r"pivot-host resume --kubeconfig 'a b/it'\''s' --as jane --to-kubeconfig /k/to --record-namespace moves --as-group ops --as-group dev"
        );
    }

    #[test]
    fn stopped_runs_report_is_kept() {
        for verb in ["move", "resume", "rollback"] {
            let (next, before) = commands(&[verb, "--to-kubeconfig", "b", "--report", "r.html"]);
            assert_eq!(before.report.as_deref(), Some(std::path::Path::new("r.html")), "{verb}");
            for command in [Next::Resume, Next::Rollback] {
                let line = next.command_line(command, OF_ONE).unwrap();
                assert!(line.ends_with("--to-kubeconfig b 1234"), "{line}");
            }
        }
    }

    #[test]
    fn repeated_command_writes_no_recording() {
        let run = |record: &[&str]| {
            let run = ["move", "--from-directory", "a", "--to-directory", "d", "--plugins", "p"];
            commands(&[&run[..], record].concat()).0.command_line(Next::Resume, About::default()).unwrap()
        };
        let again = "pivot-host move --from-directory a --to-directory d --plugins p";
        assert_eq!(run(&["--record", "f.jsonl"]), again);
        assert_eq!(run(&["--record=f.jsonl"]), again);
        // A command that continues a move with records has no flag about the recording either.
        let (next, before) = commands(&["move", "--to-kubeconfig", "b", "--plugins", "p", "--record", "f"]);
        assert_eq!(before.record.as_deref(), Some(std::path::Path::new("f")));
        let line = next.command_line(Next::Resume, OF_ONE).unwrap();
        assert_eq!(line, "pivot-host resume --to-kubeconfig b --plugins p 1234");
    }

    fn cluster(name: &str) -> Key {
        Key::new(GroupKind::new("cluster.x-k8s.io", "Cluster"), Some("ns"), name)
    }

    fn stop(failure: Failure, next: Next) -> Stop {
        let (move_id, phase) = (Some("1234".to_owned()), Some(Phase::Live));
        let (exit, state, times, done) = (Exit::PastCommit, String::new(), Vec::new(), Counts::default());
        Stop { failure, phase, exit, state, next: vec![next], move_id, times, done }
    }

    #[test]
    fn commands_name_no_differing_cluster() {
        let paused_cluster = |name: &str, reasons: &[&str]| PausedCluster {
            cluster: cluster(name),
            reasons: reasons.iter().map(|reason| (*reason).to_owned()).collect(),
            can_be_named: true,
            can_be_dropped: false,
        };
        let line = |clusters| {
            let failure = Failure::LeftPaused { side: Side::Source, clusters, compared: true };
            let stop = stop(failure, Next::Rollback);
            let run = ["rollback", "--kubeconfig", "a", "--to-kubeconfig", "b"];
            commands(&run).0.command_line(Next::Rollback, About::of_stop(&stop)).unwrap()
        };
        let differing = paused_cluster("a", &["no provider ID yet: Machine ns/m"]);
        let rollback = "pivot-host rollback --kubeconfig a --to-kubeconfig b";
        let equal_too = vec![differing.clone(), paused_cluster("b", &[])];
        assert_eq!(line(equal_too), format!("{rollback} --unpause ns/b 1234"));
        assert_eq!(line(vec![differing]), format!("{rollback} 1234"));
    }

    #[test]
    fn commands_name_the_clusters_that_stay_paused() {
        let cluster = cluster("a");
        let about = About { clusters: ClustersToName::StillPaused(Some(&cluster)), ..OF_ONE };
        let run =
            ["resume", "--to-kubeconfig", "b", "--accept", "takeover-unchecked", "--accept", "world-changed"];
        let line = |next| commands(&run).0.command_line(next, about).unwrap();
        assert_eq!(
            line(Next::Resume),
            "pivot-host resume --to-kubeconfig b --accept takeover-unchecked --unpause ns/a 1234"
        );
        assert_eq!(line(Next::Rollback), "pivot-host rollback --to-kubeconfig b --unpause ns/a 1234");
        assert_eq!(line(Next::Status), "pivot-host status --to-kubeconfig b");
        for next in [Next::Resume, Next::Rollback] {
            let named = match typed(&by_a_shell(&line(next))) {
                Task::Resume(_, resume) => resume.unpause,
                Task::Rollback(_, rollback) => rollback.unpause,
                other => panic!("{other:?}"),
            };
            assert_eq!(named.len(), 1);
        }
    }

    #[test]
    fn stopped_runs_name_their_clusters_again() {
        let line = |run: &[&str], failure, next| {
            commands(run).0.command_line(next, About::of_stop(&stop(failure, next))).unwrap()
        };
        let resume = "pivot-host resume --from-directory d --to-kubeconfig b";
        let run = "resume --from-directory d --to-kubeconfig b --drop ns/b --unpause ns/a --drop ns/c";
        let run: Vec<&str> = run.split(' ').collect();
        let named = format!("{resume} --unpause ns/a --drop ns/b --drop ns/c");
        for halt in [Halt::Signal(2), Halt::LeaseLost("another run has it".into())] {
            assert_eq!(line(&run, Failure::Halted(halt), Next::Resume), format!("{named} 1234"));
        }
        // The user did not wait for a stop.
        let at_once = commands(&run).0.command_line(Next::Resume, About::default());
        assert_eq!(at_once, Some(named.clone()));
        let Task::Resume(_, again) = typed(&by_a_shell(&named)) else { panic!("{named}") };
        assert_eq!((again.unpause.len(), again.drop.len()), (1, 2));
        let unknown = || Failure::NoCluster { named: "ns/b".into(), there: Vec::new() };
        let differs = || Failure::RestoreDiffers(Vec::new());
        for failure in [differs(), Failure::Declined("no backup".into()), unknown()] {
            assert_eq!(line(&run, failure, Next::Resume), format!("{resume} 1234"));
        }
        let rollback = "pivot-host rollback --kubeconfig a --to-kubeconfig b --unpause ns/a";
        let run = ["rollback", "--kubeconfig", "a", "--to-kubeconfig", "b", "--unpause", "ns/a"];
        let killed = || Failure::Halted(Halt::Signal(2));
        assert_eq!(line(&run, killed(), Next::Rollback), format!("{rollback} 1234"));
        // Another verb unpauses other Clusters of these names.
        let resume = "pivot-host resume --kubeconfig a --to-kubeconfig b 1234";
        assert_eq!(line(&run, killed(), Next::Resume), resume);
    }

    #[test]
    fn continuing_commands_name_plugins_and_files() {
        let run = ["move", "--to-kubeconfig", "b", "--with-manifest", "bom.yaml"];
        let line = |next| commands(&run).0.command_line(next, About::default()).unwrap();
        assert_eq!(line(Next::Resume), "pivot-host resume --to-kubeconfig b --with-manifest bom.yaml");
        assert_eq!(line(Next::Rollback), "pivot-host rollback --to-kubeconfig b");
        // What is added is in the target then.
        let committed = About { committed: true, ..About::default() };
        let line = commands(&run).0.command_line(Next::Resume, committed).unwrap();
        assert_eq!(line, "pivot-host resume --to-kubeconfig b");
        let run = [
            "move",
            "--to-kubeconfig",
            "b",
            "--plugins",
            "./plugins",
            "--strict",
            "--accept",
            "takeover-unchecked",
        ];
        let (next, _) = commands(&run);
        let line = |command, id| next.command_line(command, id).unwrap();
        let resume =
            "pivot-host resume --to-kubeconfig b --plugins ./plugins --strict --accept takeover-unchecked";
        assert_eq!(line(Next::Resume, About::default()), resume);
        assert_eq!(line(Next::Status, OF_ONE), "pivot-host status --to-kubeconfig b");
        assert_eq!(line(Next::Rollback, OF_ONE), "pivot-host rollback --to-kubeconfig b 1234");
        assert_eq!(
            line(Next::RollbackWithoutTarget, About::default()),
            "pivot-host rollback --without-target --to-kubeconfig b"
        );
        let without = "pivot-host resume --without-source --to-kubeconfig b --plugins ./plugins --strict --accept takeover-unchecked";
        assert_eq!(line(Next::ResumeWithoutSource, About::default()), without);
    }
}
