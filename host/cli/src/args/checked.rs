//! The command line, checked and resolved as far as possible without contacting a server.
//!
//! Every flag is named where it is destructured, so that a new one can't be forgotten.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use pivot_core::Side;
use pivot_core::messages::risk::{AcceptedBy, Risk};
use pivot_core::objects::names::RECORD_NAMESPACE;
use pivot_core::records::saved_plan::Decisions;
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_engine::{DryRun, Options, Resume, Rollback};

use super::between::{DirectoryEnd, Ends, SourceEnd, TargetEnd, ends};
use super::clusters::{Cluster, Namespace, clusters, full_names, name_with_flags};
use super::describe::{DescribeArgs, description};
use super::flags::{
    BackupArgs, BackupContent, BackupJobArgs, Cli, ConnectionArgs, Describe, DoctorArgs, Dry, DryRunArgs,
    Generate, HandoverCancel, HandoverFinish, HandoverStart, HandoverVerb, Kept, MoveOrAsk, OutputFormat,
    PauseWaits, Picture, PlanArgs, PlanVerb, Rbac, RecordArgs, ResumeArgs, RollbackArgs, SelectionArgs,
    Shell, StatusArgs, StopStep, TakeoverWaits, Taking, ToCluster, ToDirectory, Verb, VerifyArgs, WaitArgs,
    Which,
};
use super::parts::parts;
use super::plugins::{PluginArgs, PluginVerb, Signing};
use super::protection::Protection;
use super::risks::{self, accepted_risks, read_risks};
use super::service::{AgentManifests, AgentVerb, ControllerManifests, ControllerVerb};
use super::side::OneSide;
use super::usage::{Result, usage};
use super::values::{duration, namespace_map, timeout};
use crate::operator;
use crate::private_file::has_form;

/// What to do.
#[derive(Debug)]
pub(crate) enum Task {
    Plan(Choices),
    SavedPlan(PlanVerb),
    Doctor(Choices),
    Move(Choices),
    /// The state of all moves, or of the named one.
    Status(Choices, Option<String>),
    Resume(Choices, Resume),
    Rollback(Choices, Rollback),
    Describe(DescribeArgs),
    Rbac(Choices, Roles),
    BackupJob(Choices, BackupJob),
    /// The risk to explain; none: all.
    Explain(Option<Risk>),
    /// Examines a directory. The flag is true if the directory is also restored into memory, with these plugins.
    Verify(DirectoryEnd, PluginArgs, bool),
    Sign(Signing),
    Plugin(PluginVerb),
    Controller(ControllerVerb),
    ControllerManifests(ControllerManifests),
    Agent(AgentVerb),
    AgentManifests(AgentManifests),
    Protection(Protection),
    Version,
    Completion(Shell),
    Manual(PathBuf),
}

/// The roles to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Roles {
    pub(crate) side: Side,
    pub(crate) bind_to: Option<String>,
    pub(crate) finish_alone: bool,
    pub(crate) guard: bool,
}

/// The CronJob to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BackupJob {
    pub(crate) image: String,
    pub(crate) namespace: String,
    pub(crate) schedule: String,
    pub(crate) storage: String,
    pub(crate) encrypt_to: Option<PathBuf>,
    pub(crate) has_plugins: bool,
    /// Arguments of the backup that select its objects and plugins, except for its namespaces.
    pub(crate) selection: Vec<String>,
}

/// Words of the command that backs up a cluster in service.
const BACKUP: &str = "backup";

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
    clusters: Vec<Cluster>,
    /// The files whose objects are added.
    pub(crate) add: Vec<PathBuf>,
    /// The plugins that take part.
    pub(crate) with: PluginArgs,
    /// The flags of a resume or a rollback that name Clusters.
    pub(crate) cluster_flags: Vec<String>,
    options: Options,
}

impl Choices {
    fn new(command: &'static str, connection: ConnectionArgs, ends: Ends, options: Options) -> Self {
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

/// Turns flags into a task.
pub(crate) fn check(typed: Cli) -> Result<Task> {
    // Output flags are read before the rest, so that errors are formatted as asked, too.
    let Cli { look, verb } = typed;
    let task = task(verb)?;
    let is_drawn = match look.output {
        OutputFormat::Picture(picture) => match task {
            Task::Plan(_) => true,
            Task::SavedPlan(PlanVerb::Show { .. }) => picture == Picture::Html,
            _ => false,
        },
        _ => true,
    };
    if !is_drawn {
        return usage("-o dot, mermaid and html draw a plan: they go with `plan` and `move --dry-run`");
    }
    let makes_reports =
        matches!(task, Task::Plugin(PluginVerb::Rehearse(_) | PluginVerb::Replay(_) | PluginVerb::Test(_)));
    if look.output == OutputFormat::Junit && !makes_reports {
        return usage(
            "-o junit is a report of tests: it goes with `plugin rehearse`, `plugin replay` and `plugin test`",
        );
    }
    Ok(task)
}

fn task(verb: Verb) -> Result<Task> {
    Ok(match verb {
        Verb::Plan(typed) => {
            let PlanArgs { connection, handover, selection, tree, kept, out, saved } = *typed;
            match saved {
                Some(verb) => Task::SavedPlan(verb),
                None => {
                    // A plan that is saved accepts for the run that carries it out.
                    let by = if out.is_some() { AcceptedBy::Move } else { AcceptedBy::Plan };
                    let choices = build_move_choices(connection, selection, handover, DryRun::Plan, by)?;
                    Task::Plan(Choices { tree, out, report: report_file(kept)?, ..choices })
                }
            }
        }
        Verb::Doctor(typed) => doctor(*typed)?,
        Verb::Move(typed) => move_task(*typed)?,
        Verb::Status(typed) => {
            let StatusArgs { connection, which: Which { which } } = *typed;
            Task::Status(about_a_move("status", connection, false, None)?, which)
        }
        Verb::Backup(typed) => backup(*typed)?,
        Verb::Handover(HandoverVerb::Start(typed)) => start_handover(*typed)?,
        Verb::Handover(HandoverVerb::Finish(typed)) => finish_handover(*typed)?,
        Verb::Handover(HandoverVerb::Cancel(typed)) => cancel_handover(*typed)?,
        Verb::Resume(typed) => resume_task(*typed)?,
        Verb::Rollback(typed) => rollback_task(*typed)?,
        Verb::Describe(Describe::Cluster(typed)) => Task::Describe(description(*typed)?),
        Verb::Generate(Generate::Rbac(typed)) => rbac(*typed)?,
        Verb::Generate(Generate::Backup(typed)) => backup_job(*typed)?,
        Verb::Generate(Generate::Protection(typed)) => Task::Protection(typed),
        Verb::Generate(Generate::Controller(typed)) => Task::ControllerManifests(typed),
        Verb::Generate(Generate::Agent(typed)) => Task::AgentManifests(typed),
        Verb::Explain { code } => Task::Explain(code.as_deref().map(risks::risk).transpose()?),
        Verb::Verify(VerifyArgs { directory, identity, restore, with }) => {
            Task::Verify(DirectoryEnd { path: directory, keys: identity }, with, restore)
        }
        Verb::Sign(signing) => Task::Sign(signing),
        Verb::Plugin(verb) => Task::Plugin(verb),
        Verb::Controller(verb) => Task::Controller(verb),
        Verb::Agent(verb) => Task::Agent(verb),
        Verb::Version => Task::Version,
        Verb::Completion { shell } => Task::Completion(shell),
        Verb::Man { directory } => Task::Manual(directory),
    })
}

/// A move, or a plan if it is a dry run.
fn move_task(typed: MoveOrAsk) -> Result<Task> {
    let MoveOrAsk {
        connection,
        selection,
        waits,
        taking: Taking { break_lease },
        guard,
        dry_run_args,
        plan,
        wait_for_provisioning,
        kept,
        recorded,
    } = typed;
    let (report, dry_run) = (report_file(kept)?, dry_run_args.dry_run());
    let record = recording_file(recorded, dry_run, report.as_ref())?;
    // As clusterctl does: a command of its name without a target is about the current context.
    let is_implied = connection.from_directory.is_some() && !names_target(&connection);
    let choices = match is_implied {
        true => moving_to_current_context(connection, selection, dry_run)?,
        false => build_move_choices(connection, selection, false, dry_run, AcceptedBy::Move)?,
    };
    let options = waiting(Options { break_lease, guard, ..choices.options }, &waits)?;
    let choices = Choices { report, record, options, ..choices };
    if dry_run != DryRun::Off {
        return Ok(Task::Plan(choices));
    }
    let wait = wait_for_provisioning.map(|typed| duration("--wait-for-provisioning", &typed)).transpose()?;
    Ok(Task::Move(Choices { plan, wait, ..choices }))
}

/// A diagnosis of a cluster, in which everything would move.
fn doctor(typed: DoctorArgs) -> Result<Task> {
    let DoctorArgs {
        from,
        to_kubeconfig,
        to_kubeconfig_context,
        namespace,
        all_namespaces,
        exclude,
        also_copy,
        accept,
        with,
    } = typed;
    let to = ToCluster { to_kubeconfig, to_kubeconfig_context, ..ToCluster::default() };
    let connection = ConnectionArgs { from, to, ..ConnectionArgs::default() };
    let all_namespaces = all_namespaces || namespace.is_none();
    let selection = SelectionArgs {
        namespace,
        all_namespaces,
        cluster: Vec::new(),
        map_namespace: Vec::new(),
        exclude,
        also_copy,
        with_manifest: Vec::new(),
        accept,
        with,
    };
    let choices = build_move_choices(connection, selection, false, DryRun::Plan, AcceptedBy::Plan)?;
    refuse_without_kind(&choices)?;
    Ok(Task::Doctor(Choices { command: "doctor", ..choices }))
}

/// Fails if a risk that takes kinds is accepted without one.
fn refuse_without_kind(choices: &Choices) -> Result<()> {
    match choices.without_kind.first() {
        Some(risk) => usage(risks::needs_kinds(*risk, &BTreeSet::new())),
        None => Ok(()),
    }
}

/// The permissions of one side of a move; only a server has any.
fn rbac(typed: Rbac) -> Result<Task> {
    let Rbac {
        from,
        to,
        from_directory,
        identity,
        to_directory,
        handover,
        selection,
        side,
        bind_to,
        finish_alone,
        guard,
    } = typed;
    let to_files = ToDirectory { to_directory, encrypt_to: None };
    let connection = ConnectionArgs { from, to, from_directory, identity, to_files };
    let choices = build_move_choices(connection, selection, handover, DryRun::Plan, AcceptedBy::Plan)?;
    refuse_without_kind(&choices)?;
    let (side, judged) = match (side, &choices.ends) {
        (OneSide::Source, ends) => (Side::Source, matches!(ends.source, SourceEnd::Kube(_))),
        (OneSide::Target, ends) => {
            (Side::Target, matches!(ends.target, TargetEnd::Kube(_) | TargetEnd::Workload(_)))
        }
    };
    // A copy into a directory deletes nothing: its roles would not do for a move.
    if matches!(choices.ends.target, TargetEnd::None) {
        return usage(format!(
            "--side {side}: what a move needs depends on where it goes; name the target with --to-kubeconfig, --to-workload or \
             --to-directory"
        ));
    }
    if !judged {
        let flags = if side == Side::Source { "--kubeconfig" } else { "--to-kubeconfig or --to-workload" };
        return usage(format!("--side {side}: only a cluster has roles; name it with {flags}"));
    }
    Ok(Task::Rbac(choices, Roles { side, bind_to, finish_alone, guard }))
}

/// The file of a report, whose name says in which form.
fn report_file(Kept { report }: Kept) -> Result<Option<PathBuf>> {
    match report {
        Some(path) if !has_form(&path) => {
            usage(format!("--report {:?}: the name has to end in .html or .json", path.display().to_string()))
        }
        report => Ok(report),
    }
}

/// Returns the file of a recording. Only a run that changes something is recorded.
fn recording_file(
    RecordArgs { record }: RecordArgs,
    dry_run: DryRun,
    report: Option<&PathBuf>,
) -> Result<Option<PathBuf>> {
    match record {
        Some(_) if dry_run != DryRun::Off => usage("--record records a move, so it excludes --dry-run"),
        Some(path) if report == Some(&path) => usage("--record and --report need different files"),
        record => Ok(record),
    }
}

/// Whether any flag names a target.
fn names_target(connection: &ConnectionArgs) -> bool {
    let ConnectionArgs { to, to_files, .. } = connection;
    to.to_kubeconfig.is_some()
        || to.to_kubeconfig_context.is_some()
        || to.to_workload.is_some()
        || to_files.to_directory.is_some()
}

impl DryRunArgs {
    fn dry_run(self) -> DryRun {
        match self.dry_run {
            Some(Dry::Client) => DryRun::Plan,
            Some(Dry::Server) => DryRun::Server,
            Some(Dry::None) | None => DryRun::Off,
        }
    }
}

/// A copy of a cluster that stays in service.
fn backup(typed: BackupArgs) -> Result<Task> {
    let BackupArgs { directory, content, kept } = typed;
    let report = report_file(kept)?;
    let choices = backup_choices(directory, content, DryRun::Off)?;
    Ok(Task::Move(Choices { command: BACKUP, report, ..choices }))
}

/// Backups that a cluster makes of itself. Their directories are in a volume of that cluster.
fn backup_job(typed: BackupJobArgs) -> Result<Task> {
    let BackupJobArgs { content, image, job_namespace, schedule, storage } = typed;
    let BackupContent { from, encrypt_to, cluster, exclude, also_copy, accept, with, .. } = &content;
    if from.record_namespace != RECORD_NAMESPACE {
        return usage("--record-namespace: backups have no record");
    }
    if with.trust.is_some() || with.strict {
        return usage("--trust, --strict: the Job loads the plugins of its image");
    }
    let lists =
        [("--cluster", cluster), ("--exclude", exclude), ("--also-copy", also_copy), ("--accept", accept)];
    let selection = lists
        .into_iter()
        .flat_map(|(flag, values)| values.iter().flat_map(move |value| [flag.to_owned(), value.clone()]))
        .collect();
    let job = BackupJob {
        image,
        namespace: job_namespace,
        schedule,
        storage,
        encrypt_to: encrypt_to.clone(),
        has_plugins: with.plugins.is_some(),
        selection,
    };
    let choices = backup_choices(PathBuf::from("backup"), content, DryRun::Plan)?;
    refuse_without_kind(&choices)?;
    Ok(Task::BackupJob(choices, job))
}

fn backup_choices(directory: PathBuf, content: BackupContent, dry_run: DryRun) -> Result<Choices> {
    let BackupContent {
        from,
        encrypt_to,
        namespace,
        all_namespaces,
        cluster,
        exclude,
        also_copy,
        accept,
        with,
    } = content;
    let to_files = ToDirectory { to_directory: Some(directory), encrypt_to };
    let connection = ConnectionArgs { from, to_files, ..ConnectionArgs::default() };
    let selection = SelectionArgs {
        namespace,
        all_namespaces,
        cluster,
        map_namespace: Vec::new(),
        exclude,
        also_copy,
        with_manifest: Vec::new(),
        accept,
        with,
    };
    build_move_choices(connection, selection, false, dry_run, AcceptedBy::Move)
}

/// A copy into a directory that leaves the source paused.
fn start_handover(typed: HandoverStart) -> Result<Task> {
    let HandoverStart {
        directory,
        from,
        encrypt_to,
        selection,
        dry_run_args,
        plan,
        pauses,
        taking,
        kept,
        recorded,
    } = typed;
    let to_files = ToDirectory { to_directory: Some(directory), encrypt_to };
    let connection = ConnectionArgs { from, to_files, ..ConnectionArgs::default() };
    let report = report_file(kept)?;
    let dry_run = dry_run_args.dry_run();
    let record = recording_file(recorded, dry_run, report.as_ref())?;
    let choices = build_move_choices(connection, selection, true, dry_run, AcceptedBy::StartHandover)?;
    if dry_run != DryRun::Off {
        return Ok(Task::Plan(Choices { report, ..choices }));
    }
    let Taking { break_lease } = taking;
    let options = wait_before_takeover(Options { break_lease, ..choices.options }, &pauses)?;
    Ok(Task::Move(Choices { command: "handover start", plan, report, record, options, ..choices }))
}

/// The end of a handover in the cluster that imported the directory.
fn finish_handover(typed: HandoverFinish) -> Result<Task> {
    let HandoverFinish { from, to, which, with_manifest, plan, accept, waits, taking, with, kept, recorded } =
        typed;
    let connection = ConnectionArgs { from, to, ..ConnectionArgs::default() };
    let (Which { which }, Taking { break_lease }) = (which, taking);
    let choices = about_a_move("handover finish", connection, false, None)?;
    if matches!(choices.ends.target, TargetEnd::None) {
        return usage("name the cluster that imported the directory: --to-kubeconfig or --to-workload");
    }
    let (accept, without_kind) = read_risks(&accept, AcceptedBy::FinishHandover)?;
    let options = Options { accept, break_lease, ..choices.options };
    let (report, options) = (report_file(kept)?, waiting(options, &waits)?);
    let record = recording_file(recorded, DryRun::Off, report.as_ref())?;
    let choices =
        Choices { options, without_kind, add: with_manifest, plan, with, report, record, ..choices };
    Ok(Task::Resume(choices, Resume { move_id: which, imported: true, ..Resume::default() }))
}

/// The end of a handover whose directory no cluster imported.
fn cancel_handover(typed: HandoverCancel) -> Result<Task> {
    let HandoverCancel { from, to, to_files, which, accept, taking, with, kept } = typed;
    let connection = ConnectionArgs { from, to, to_files, ..ConnectionArgs::default() };
    // A directory that was imported nowhere has no target, unless one is named to be asked.
    let absent = (!names_target(&connection)).then_some(Side::Target);
    let accept = accepted_risks(&accept, AcceptedBy::CancelHandover)?;
    let (Which { which }, Taking { break_lease }) = (which, taking);
    let choices = about_a_move("handover cancel", connection, true, absent)?;
    let rollback = Rollback { move_id: which, absent, ..Rollback::default() };
    let options = Options { break_lease, accept, ..choices.options };
    Ok(Task::Rollback(Choices { options, report: report_file(kept)?, with, ..choices }, rollback))
}

/// A move out of a directory into the cluster of the current context.
fn moving_to_current_context(
    connection: ConnectionArgs,
    selection: SelectionArgs,
    dry_run: DryRun,
) -> Result<Choices> {
    // An empty file name is none: the usual rules find the kubeconfig.
    let to = ToCluster { to_kubeconfig: Some(PathBuf::new()), ..connection.to };
    let choices =
        build_move_choices(ConnectionArgs { to, ..connection }, selection, false, dry_run, AcceptedBy::Move)?;
    let to = ToCluster { to_kubeconfig: None, ..choices.connection.to.clone() };
    let connection = ConnectionArgs { to, ..choices.connection };
    Ok(Choices { connection, target_is_implied: true, ..choices })
}

fn build_move_choices(
    connection: ConnectionArgs,
    selection: SelectionArgs,
    handover: bool,
    dry_run: DryRun,
    by: AcceptedBy,
) -> Result<Choices> {
    let SelectionArgs {
        namespace,
        all_namespaces,
        cluster,
        map_namespace,
        exclude,
        also_copy,
        with_manifest,
        accept,
        with,
    } = selection;
    let mut ends = ends(&connection, None)?;
    check_target(&ends.target, dry_run)?;
    if handover && matches!(ends.source, SourceEnd::Directory(_)) {
        return usage("a handover leaves its source paused; no controller runs the objects of a directory");
    }
    let namespace = moved_namespace(namespace, all_namespaces, &ends.source)?;
    let (namespace, clusters) = clusters(&cluster, namespace)?;
    if let TargetEnd::Workload(workload) = &mut ends.target {
        workload.must_exist = true;
        workload.search_moved_namespace(&namespace);
    }
    let (accept, without_kind) = read_risks(&accept, by)?;
    let (of_scope, accept) = accept.split_scope();
    // The namespace and the manifests are filled in when files are read.
    let scope = Scope {
        exclude: parts("--exclude", &exclude)?,
        also_copy: parts("--also-copy", &also_copy)?,
        namespace_map: namespace_map(&map_namespace, &connection.from.record_namespace)?,
        accept: of_scope,
        ..Scope::new(Namespaces::All)
    };
    let options = Options {
        record_namespace: connection.from.record_namespace.clone(),
        dry_run,
        accept,
        handover,
        ..Options::new(scope)
    };
    let choices = Choices::new("move", connection, ends, options);
    Ok(Choices { without_kind, namespace, clusters, add: with_manifest, with, ..choices })
}

/// Fails if the kind of target doesn't suit the command.
fn check_target(target: &TargetEnd, dry_run: DryRun) -> Result<()> {
    match (target, dry_run) {
        (TargetEnd::None, DryRun::Off) => usage(
            "a target is required: --to-kubeconfig, --to-kubeconfig-context, --to-workload or --to-directory",
        ),
        (TargetEnd::None | TargetEnd::Directory(_), DryRun::Server) => {
            usage("--dry-run=server asks the target's server, so it needs --to-kubeconfig or --to-workload")
        }
        _ => Ok(()),
    }
}

/// Returns the namespaces that move, from the two flags about them.
fn moved_namespace(named: Option<String>, all: bool, source: &SourceEnd) -> Result<Namespace> {
    match (named, all, source) {
        (Some(_), true, _) => usage("--namespace and --all-namespaces exclude each other"),
        (Some(name), false, _) => Ok(Namespace::Named(name)),
        // A directory has no context, and was made to be moved as a whole.
        (None, true, _) | (None, false, SourceEnd::Directory(_)) => Ok(Namespace::All),
        (None, false, _) => Ok(Namespace::OfContext),
    }
}

fn resume_task(typed: ResumeArgs) -> Result<Task> {
    let ResumeArgs {
        connection,
        which,
        with_manifest,
        plan,
        accept,
        waits,
        taking,
        with,
        without_source,
        unpause,
        drop,
        pause,
        kept,
        recorded,
    } = typed;
    let Which { which } = which;
    let Taking { break_lease } = taking;
    let choices = about_a_move("resume", connection, true, without_source.then_some(Side::Source))?;
    let (accept, without_kind) = read_risks(&accept, AcceptedBy::Resume)?;
    if without_source && accept.contains(Risk::WorldChanged) {
        return usage("--accept world-changed goes back to the source, so it excludes --without-source");
    }
    let resume = Resume {
        move_id: which,
        without_source,
        imported: false,
        unpause: full_names("--unpause", &unpause)?,
        drop: full_names("--drop", &drop)?,
        pause: full_names("--pause", &pause)?,
    };
    if let Some(cluster) = resume.drop.intersection(&resume.unpause).next() {
        return usage(format!("--unpause runs {cluster} as it is, so it excludes --drop"));
    }
    let Resume { unpause, drop, pause, .. } = &resume;
    let cluster_flags = name_with_flags(&[("--unpause", unpause), ("--drop", drop), ("--pause", pause)]);
    let options = Options { accept, break_lease, ..choices.options };
    let report = report_file(kept)?;
    let record = recording_file(recorded, DryRun::Off, report.as_ref())?;
    let options = waiting(options, &waits)?;
    let choices = Choices { cluster_flags, options, without_kind, plan, with, report, record, ..choices };
    Ok(Task::Resume(Choices { add: with_manifest, ..choices }, resume))
}

/// A rollback, with a side that may be lost.
fn rollback_task(typed: RollbackArgs) -> Result<Task> {
    let RollbackArgs {
        connection,
        which,
        taking,
        without_target,
        accept,
        without_source,
        unpause,
        with,
        kept,
    } = typed;
    let accept = accepted_risks(&accept, AcceptedBy::Rollback)?;
    let (Which { which }, Taking { break_lease }) = (which, taking);
    let absent = without_target.then_some(Side::Target).or(without_source.then_some(Side::Source));
    let choices = about_a_move("rollback", connection, true, absent)?;
    let rollback = Rollback { move_id: which, absent, unpause: full_names("--unpause", &unpause)? };
    let cluster_flags = name_with_flags(&[("--unpause", &rollback.unpause)]);
    let options = Options { break_lease, accept, ..choices.options };
    let choices = Choices { cluster_flags, options, report: report_file(kept)?, with, ..choices };
    Ok(Task::Rollback(choices, rollback))
}

/// The choices for commands about a move under way: its record has the rest.
fn about_a_move(
    command: &'static str,
    connection: ConnectionArgs,
    target_needed: bool,
    gone: Option<Side>,
) -> Result<Choices> {
    let ends = ends(&connection, gone)?;
    if matches!(
        (&ends.source, &ends.target),
        (SourceEnd::Directory(_), TargetEnd::Directory(_) | TargetEnd::None)
    ) {
        return usage(
            "a directory keeps no record of a move; a copy into another directory is continued by the same `move`",
        );
    }
    match &ends.target {
        TargetEnd::None if target_needed => {
            return usage("the move's target is required: --to-kubeconfig, --to-workload or --to-directory");
        }
        TargetEnd::Directory(_) if gone == Some(Side::Source) => {
            return usage(
                "a move into a directory leaves the source unchanged, so --without-source doesn't apply",
            );
        }
        _ => {}
    }
    let options = Options {
        record_namespace: connection.from.record_namespace.clone(),
        ..Options::new(Scope::new(Namespaces::All))
    };
    Ok(Choices::new(command, connection, ends, options))
}

fn waiting(options: Options, WaitArgs { pauses, takeover }: &WaitArgs) -> Result<Options> {
    let TakeoverWaits { takeover_timeout, unpause_batch, stop_before } = takeover;
    Ok(Options {
        takeover_timeout: timeout("--takeover-timeout", takeover_timeout)?,
        unpause_batch: usize::from(*unpause_batch),
        stop_before_release: *stop_before == Some(StopStep::Release),
        ..wait_before_takeover(options, pauses)?
    })
}

fn wait_before_takeover(options: Options, pauses: &PauseWaits) -> Result<Options> {
    let PauseWaits { pause_timeout, check_timeout } = pauses;
    Ok(Options {
        pause_timeout: timeout("--pause-timeout", pause_timeout)?,
        check_timeout: timeout("--check-timeout", check_timeout)?,
        ..options
    })
}
