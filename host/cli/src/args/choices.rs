//! Choices for a task that concerns a move.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use pivot_core::messages::risk::{AcceptedBy, Risk};
use pivot_core::records::saved_plan::Decisions;
use pivot_core::request::scope::Namespaces;
use pivot_engine::Options;

use super::between::{Ends, SourceEnd, TargetEnd};
use super::clusters::{Cluster, Namespace};
use super::flags::ConnectionArgs;
use super::plugins::PluginArgs;
use super::risks;
use super::usage::{Result, usage};
use crate::operator;

/// Words of the command that backs up a cluster in service.
pub(super) const BACKUP: &str = "backup";

/// The choices for a task that concerns a move.
#[derive(Clone, Debug)]
pub(crate) struct Choices {
    /// Words of the command, as reports name it.
    pub(crate) command: &'static str,
    /// As typed, for the lines that suggest the next command.
    pub(crate) connection: ConnectionArgs,
    pub(crate) ends: Ends,
    /// Whether a plan names each object.
    pub(crate) tree: bool,
    /// Where the report of the run goes.
    pub(crate) report: Option<PathBuf>,
    /// File of the recording.
    pub(crate) record: Option<PathBuf>,
    /// Where a plan is saved.
    pub(crate) out: Option<PathBuf>,
    /// The saved plan to carry out.
    pub(crate) plan: Option<PathBuf>,
    /// How long to wait for what is still being built.
    pub(crate) wait: Option<Duration>,
    /// The target is the current context, although no flag names it.
    pub(crate) target_is_implied: bool,
    /// The risks that take kinds, and were accepted without one: a usage error that names kinds.
    pub(crate) without_kind: Vec<Risk>,
    pub(crate) namespace: Namespace,
    /// The named Clusters; if none is, everything moves.
    pub(super) clusters: Vec<Cluster>,
    /// The files whose objects are added.
    pub(crate) add: Vec<PathBuf>,
    /// The plugins that take part.
    pub(crate) with: PluginArgs,
    /// The flags of a resume or a rollback that name Clusters.
    pub(crate) cluster_flags: Vec<String>,
    pub(super) options: Options,
}

impl Choices {
    pub(super) fn new(
        command: &'static str,
        connection: ConnectionArgs,
        ends: Ends,
        options: Options,
    ) -> Self {
        Self {
            command,
            connection,
            ends,
            tree: false,
            report: None,
            record: None,
            out: None,
            plan: None,
            wait: None,
            target_is_implied: false,
            without_kind: Vec::new(),
            namespace: Namespace::All,
            clusters: Vec::new(),
            add: Vec::new(),
            with: PluginArgs::default(),
            cluster_flags: Vec::new(),
            options,
        }
    }

    /// The engine's options, once the context's namespace is known.
    pub(crate) fn options(&self, of_context: Option<&str>) -> Options {
        let mut options = Options { operator: operator::user_name(), ..self.options.clone() };
        options.scope.namespaces = match &self.namespace {
            Namespace::All => Namespaces::All,
            Namespace::Named(name) => Namespaces::One(name.clone()),
            Namespace::OfContext => Namespaces::One(of_context.unwrap_or("default").to_owned()),
        };
        let namespaces = &options.scope.namespaces;
        options.scope.clusters =
            self.clusters.iter().filter_map(|cluster| cluster.full_name(namespaces)).collect();
        options
    }

    /// The files that the command reads: none of them may be written to.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &PathBuf> {
        let ConnectionArgs { from, to, from_directory: _, identity, to_files } = &self.connection;
        self.plan
            .iter()
            .chain(&self.add)
            .chain(&from.kubeconfig)
            .chain(&to.to_kubeconfig)
            .chain(identity)
            .chain(&to_files.encrypt_to)
    }

    /// Names the context that is the target, in the commands that are suggested, too.
    pub(crate) fn with_target_context(mut self, name: &str) -> Self {
        let to = &mut self.connection.to;
        to.to_kubeconfig_context = Some(name.to_owned());
        if let TargetEnd::Kube(options) = &mut self.ends.target {
            options.context = Some(name.to_owned());
        }
        self
    }

    /// Copies a cluster that stays in service, without a pause.
    pub(crate) fn backs_up(&self) -> bool {
        self.command == BACKUP
    }

    /// Leaves the source paused after a copy into a directory.
    pub(crate) fn hands_over(&self) -> bool {
        self.options.handover
    }

    /// Whether the user declared that the files of a handover were imported nowhere.
    pub(crate) fn not_imported(&self) -> bool {
        self.options.accept.contains(Risk::MaybeImported)
    }

    /// The flags that accept dangers which a plan doesn't have.
    pub(crate) fn unapproved_risk_flags(&self, plan: &Decisions) -> Vec<String> {
        let beyond = self.options.accept.difference(&plan.accept);
        risks::words(&beyond).chunks(2).map(|words| words.join(" ")).collect()
    }

    /// The flags that a run that continues this move needs too: without them it would stop, or wait, where this run did not.
    pub(crate) fn flags_to_resume(&self) -> Vec<String> {
        let gone = matches!(self.ends.source, SourceEnd::Gone).then(|| "--without-source".to_owned());
        let accepted = self.accept_flags(AcceptedBy::Resume);
        gone.into_iter().chain(self.batch_flag()).chain(accepted).collect()
    }

    /// Returns these flags for a run that finishes the handover.
    pub(crate) fn flags_to_finish_handover(&self) -> Vec<String> {
        self.batch_flag().into_iter().chain(self.accept_flags(AcceptedBy::FinishHandover)).collect()
    }

    /// The flag for another number of held objects than the usual one.
    fn batch_flag(&self) -> Vec<String> {
        let usual = Options::new(self.options.scope.clone()).unpause_batch;
        let batch = self.options.unpause_batch;
        if batch == usual { Vec::new() } else { vec!["--unpause-batch".to_owned(), batch.to_string()] }
    }

    /// The flags for the accepted risks among these.
    fn accept_flags(&self, by: AcceptedBy) -> Vec<String> {
        let mut accepted = self.options.accept.clone();
        Risk::ALL.into_iter().filter(|risk| !risk.is_accepted_by(by)).for_each(|risk| accepted.remove(risk));
        risks::words(&accepted)
    }
}

/// Fails if a risk that takes kinds is accepted without one.
pub(super) fn refuse_without_kind(choices: &Choices) -> Result<()> {
    match choices.without_kind.first() {
        Some(risk) => usage(risks::needs_kinds(*risk, &BTreeSet::new())),
        None => Ok(()),
    }
}
