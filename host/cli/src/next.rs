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
pub(crate) mod tests;
