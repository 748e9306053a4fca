//! Runs a command: opens both sides, calls the engine, prints the result.

mod backup_job;
mod doctor;
mod kinds;
mod planning;
mod rbac;
mod waiting;

use std::future::Future;
use std::sync::{Arc, OnceLock};

use pivot_core::discovery::implicit_links::kubeconfig_of;
use pivot_core::records::route::{EndKind, Route};
use pivot_core::request::manifest_object::Addition;
use pivot_core::request::scope::Namespaces;
use pivot_core::{Both, Key, Side};
use pivot_engine::{
    DryRun, Event, Exit, Failure, Halt, Halter, MoveStatus, Next, Options, Resume, Rollback, Setup,
    Situation, Status, Stop, Watcher,
};
use pivot_engine::{back_up, run};
use serde::Serialize;

use crate::approval::{self, Approved};
use crate::args::{Choices, ConnectionArgs, FromCluster, Picture, TargetEnd, Within};
use crate::authorship::Authors;
use crate::ends::{self, OpenError, QueriedSides, SourceAndTarget};
use crate::exit;
use crate::next::{About, Commands};
use crate::output::{
    self, Advice, AlreadyShown, ErrorDocument, Output, PlanPage, PlanUse, Progress, ReportDocument,
    StatusDocument, Text,
};
use crate::plugins::{Loading, RecordingFile};
use crate::private_file::PrivateFile;
use crate::reporting::Reporting;
use crate::signals;
use crate::workload;
use crate::workload_nodes::WorkloadServers;

/// The program knows nothing about a move under way until both sides are opened.
const UNTOUCHED: &str = "nothing is changed on either side by this command";

/// The state after a run that did not stop at a safe point: its lease must expire first.
const INTERRUPTED: &str = "not known; wait 15 seconds before the next command";

/// The warning of a plan that was made of one side only.
const NO_TARGET: &str = "no target is named, so its providers, kinds, permissions and contents are not checked, nor the plugins for kinds that are dangerous to \
                         move";

/// A kubeconfig in the source has the address by which the source's controllers reach the cluster.
const FROM_INSIDE: &str = "note: the source may reach this address where this machine can't: run pivot-host inside its network, or name a kubeconfig \
                           with an address that can be reached from here (--to-kubeconfig)";

#[derive(Clone, Copy)]
pub(crate) enum MoveOrResume<'a> {
    Move,
    Resume(&'a Resume),
}

/// A command, with the values that it needs to run.
pub(crate) struct Command<'a> {
    choices: &'a Choices,
    commands: Commands,
    output: &'a Arc<Output>,
    halter: Halter,
    report: Option<Reporting>,
    /// Gets the calls of plugins.
    recording: Option<Arc<RecordingFile>>,
    /// The kubectl flags that name each side, once both are open.
    kubectl_flags: OnceLock<Both<Vec<String>>>,
}

impl<'a> Command<'a> {
    pub(crate) fn new(
        choices: &'a Choices,
        commands: Commands,
        output: &'a Arc<Output>,
        halter: Halter,
    ) -> Self {
        Self {
            choices,
            commands,
            output,
            halter,
            report: None,
            recording: None,
            kubectl_flags: OnceLock::new(),
        }
    }

    /// Reserves the file of the report, if there is to be one; otherwise returns the exit code.
    pub(crate) fn reporting(self, command: &'static str) -> Result<Self, u8> {
        match Reporting::begin(command, self.choices, self.output) {
            Ok(report) => Ok(Self { report, ..self }),
            Err(why) => Err(self.report_failure(Exit::Refused, &why.into(), UNTOUCHED)),
        }
    }

    /// Creates the file of the recording, if the user wants one. On failure, returns the exit code.
    pub(crate) fn recording(self) -> Result<Self, u8> {
        let Some(path) = &self.choices.record else { return Ok(self) };
        match RecordingFile::create(path, self.output) {
            Ok(file) => Ok(Self { recording: Some(file), ..self }),
            Err(why) => Err(self.report_failure(Exit::Refused, &why.into(), UNTOUCHED)),
        }
    }

    /// Removes a recording without calls, so that a refused command can be repeated.
    pub(crate) fn discard_empty_recording(&self) {
        self.recording.iter().for_each(|recording| recording.remove_if_empty());
    }

    /// The user did not wait for the run to stop at a safe point.
    pub(crate) fn report_forced_exit(&self) {
        let message = Text::from("exited at once, as requested");
        self.output.fail(message.clone());
        let next = self.command_lines(&[Next::Status, Next::Resume], About::default());
        self.output.state(INTERRUPTED, &next);
        if let Some(report) = &self.report {
            let document = ErrorDocument::outside_engine(Exit::Unexpected, &message, INTERRUPTED, next);
            report.report_failure(Exit::Unexpected, &document, &message);
        }
    }

    /// The command lines that make sense after a stop. A status would ask the same silent source, and a plan has changed nothing.
    fn next_commands(&self, stop: &Stop) -> Vec<String> {
        let silent = matches!(stop.failure, Failure::Unreachable { side: Side::Source, .. });
        let next = stop.next.iter().copied().filter(|next| !(silent && *next == Next::Status));
        self.command_lines(&next.collect::<Vec<_>>(), About::of_stop(stop))
    }

    /// The command lines for the next steps, for the same two sides.
    fn command_lines(&self, next: &[Next], about: About<'_>) -> Vec<String> {
        next.iter().filter_map(|next| self.commands.command_line(*next, about)).collect()
    }

    pub(crate) async fn plan(&self) -> u8 {
        if let Some(code) = self.refuse_without_kind(MoveOrResume::Move).await {
            return code;
        }
        let out = self.choices.out.as_deref();
        let out = out.map(|file| PrivateFile::reserve(file, "the plan", self.choices.inputs()));
        let out = match out.transpose() {
            Ok(out) => out,
            Err(why) => return self.report_failure(Exit::Refused, &why.into(), UNTOUCHED),
        };
        let plugins = Loading::begin(&self.choices.with);
        let read = async {
            let authors = self.authors(MoveOrResume::Move);
            let opened = ends::to_read(&self.choices.ends, Some(&authors));
            Ok((ends::read_additions(&self.choices.add).await?, opened.await?))
        };
        let (added, opened) = match read.await {
            Ok(read) => read,
            Err(error) => return self.not_opened(&error, &plugins).await,
        };
        let options = self.options(&opened).with_additions(added);
        let (scope, decisions, operator) =
            (options.scope.clone(), options.decisions(), options.operator.clone());
        let has_dry_run = options.dry_run == DryRun::Server;
        let has_target = !matches!(self.choices.ends.target, TargetEnd::None);
        let (source, target) = opened.labels();
        let progress = Progress::new(self.output.clone(), (source, target), PlanUse::Result);
        if !has_target {
            progress.event(Event::Warning {
                code: "no-target".to_owned(),
                object: None,
                text: NO_TARGET.to_owned(),
                remedies: Vec::new(),
            });
        }
        let result = run::plan(self.setup(&opened, options, &progress, &plugins)).await;
        let result = result.map_err(|stop| self.name_kubeconfigs(stop));
        progress.end();
        if let Some(code) = self.plugins_refused(result.as_ref().err(), &plugins).await {
            progress.show_reported();
            return code;
        }
        let decided = (scope, decisions, operator);
        let planning = self.finish_planning(&opened, &plugins, &progress, decided, has_dry_run);
        match result {
            Ok(plan) => {
                if let Some(code) = planning.save(out, &plan).await {
                    return code;
                }
                planning.show(plan, &[], true);
                exit::DONE
            }
            Err(stop) => match self.show_stopped_plan(&planning, out, &progress, &stop).await {
                Ok(shown) => self.report_stop(&stop, shown, &plugins.disabled_plugins()),
                Err(code) => code,
            },
        }
    }

    /// Writes a plan where a move would write its report. The plan is shown all the same if that fails.
    fn write_report(&self, file: PrivateFile, page: &PlanPage<'_>, document: &impl Serialize) {
        let path = file.path().to_owned();
        let text = if file.is_page() {
            Ok(output::draw_plan(Picture::Html, page))
        } else {
            serde_json::to_string_pretty(document).map(|text| text + "\n")
        };
        match text.map_err(std::io::Error::from).and_then(|text| file.write_text(&text)) {
            Ok(()) => self.output.note(format!("report: {}", path.display())),
            Err(error) => {
                self.output.warn(format!("the report can't be written to {}: {error}", path.display()))
            }
        }
    }

    /// Reports the success of the run.
    fn report_success(&self, outcome: &'static str, move_id: Option<&str>, document: &impl Serialize) {
        if let Some(report) = &self.report {
            report.report_success(outcome, move_id, document);
        }
    }

    /// The moves under way that were found while the plan was made.
    fn under_way(&self, progress: &Progress) -> Vec<MoveStatus> {
        let missing = matches!(self.choices.ends.target, TargetEnd::None).then_some(Side::Target);
        let moves = progress.under_way().into_iter();
        let moves = moves.map(|one| MoveStatus { missing: one.missing.or(missing), ..one });
        moves.map(|one| self.with_place_of_files(one)).collect()
    }

    /// If a cluster was given as target, a move into a directory goes elsewhere; and the other way round.
    fn with_place_of_files(&self, one: MoveStatus) -> MoveStatus {
        let target = match &self.choices.connection.to_files.to_directory {
            _ if one.missing.is_some() => EndKind::Absent,
            Some(_) => EndKind::Files,
            None => EndKind::Cluster,
        };
        let is_other = Route::check_target(&one.record, target).is_err();
        MoveStatus { elsewhere: one.elsewhere || is_other, ..one }
    }

    pub(crate) async fn move_or_resume(&self, command: MoveOrResume<'_>) -> u8 {
        if let Some(code) = self.refuse_without_kind(command).await {
            return code;
        }
        if let Some(patience) = self.choices.wait
            && let Err(code) = self.until_built(patience).await
        {
            return code;
        }
        let plugins = Loading::begin_recorded(&self.choices.with, self.recording.clone());
        let opening = async {
            let approved = self.read_approved(command)?;
            let within = approved.plan.as_ref().map(|plan| &plan.decisions.scope.namespaces);
            Ok((
                self.read_additions(&plugins).await?,
                self.open_sides(Some(command), &plugins, within).await?,
                approved,
            ))
        };
        let (added, opened, approved) = match self.unless_halted(opening).await {
            Ok(opened) => opened,
            Err(code) => return code,
        };
        let options = self.options(&opened).with_additions(added);
        let Approved { plan, notes } = approved;
        let notes = opened.signed.iter().cloned().chain(notes);
        let options = match plan {
            Some(plan) => options.with_approved_plan(plan),
            None => options,
        };
        let labels = opened.labels();
        let progress = Progress::new(self.output.clone(), labels, PlanUse::Counted);
        let setup = self.setup(&opened, options, &progress, &plugins);
        notes.for_each(|note| setup.watcher.event(note.into()));
        let result = match command {
            MoveOrResume::Move if self.choices.backs_up() => back_up(setup).await,
            MoveOrResume::Move => run::start(setup).await,
            MoveOrResume::Resume(resume) => run::resume(setup, resume.clone()).await,
        };
        let result = result.map_err(|stop| self.name_kubeconfigs(stop));
        progress.end();
        self.recording.iter().for_each(|recording| recording.report_end());
        if let Some(code) = self.plugins_refused(result.as_ref().err(), &plugins).await {
            return code;
        }
        let disabled = plugins.disabled_plugins();
        let report = match result {
            Ok(report) => report,
            Err(stop) => return self.report_stop(&stop, AlreadyShown::Nothing, &disabled),
        };
        let copied = self.choices.ends.of_files();
        let outcome = match copied {
            _ if report.done.handed_over => "HandedOver",
            true => "Copied",
            false => "Moved",
        };
        let all = self.output.settings().verbose > 0;
        let document = ReportDocument::done(outcome, &report, labels)
            .with_reported(&progress.reported_so_far())
            .with_disabled_plugins(&disabled);
        self.report_success(outcome, Some(&report.move_id), &document);
        self.output.result(&document, || match copied {
            _ if report.done.handed_over => output::handed_over(&report, labels, all),
            true => output::copy_result(&report, labels, all),
            false => output::move_result(&report, labels, all),
        });
        exit::DONE
    }

    pub(crate) async fn roll_back(&self, rollback: &Rollback) -> u8 {
        let options = self.choices.options(None);
        let plugins = Loading::begin(&self.choices.with);
        let opened = match self.unless_halted(self.open_sides(None, &plugins, None)).await {
            Ok(opened) => opened,
            Err(code) => return code,
        };
        self.found_workload(&opened);
        let labels = opened.labels();
        let progress = Progress::new(self.output.clone(), labels, PlanUse::Counted);
        let result = run::rollback(self.setup(&opened, options, &progress, &plugins), rollback.clone()).await;
        let result = result.map_err(|stop| self.name_kubeconfigs(stop));
        progress.end();
        if let Some(code) = self.plugins_refused(result.as_ref().err(), &plugins).await {
            return code;
        }
        match result {
            Ok(rolled_back) => {
                let document = ReportDocument::rolled_back(&rolled_back, labels)
                    .with_reported(&progress.reported_so_far());
                self.report_success("RolledBack", None, &document);
                self.output.result(&document, || output::rolled_back(&rolled_back, labels));
                exit::DONE
            }
            Err(stop) => self.report_stop(&stop, AlreadyShown::Nothing, &plugins.disabled_plugins()),
        }
    }

    /// Prints the state of all moves, or of the move with this id.
    pub(crate) async fn status(&self, move_id: Option<&str>) -> u8 {
        let FromCluster { kubeconfig, kubeconfig_context, as_user, .. } = &self.choices.connection.from;
        let source_given = kubeconfig.is_some() || kubeconfig_context.is_some() || as_user.is_some();
        let plugins = Loading::without_plugins();
        let (opened, one) = match ends::to_ask(&self.choices.ends, source_given).await {
            Ok(QueriedSides::Both(opened)) => (*opened, None),
            Ok(QueriedSides::One(side, place)) => {
                let (source, target) = (place.clone(), place);
                (
                    SourceAndTarget { source, target, namespace: None, workload: None, signed: None },
                    Some(side),
                )
            }
            Err(error) => return self.not_opened(&error, &plugins).await,
        };
        self.found_workload(&opened);
        let labels = opened.labels();
        let progress = Progress::new(self.output.clone(), labels, PlanUse::Counted);
        let setup = self.setup(&opened, self.choices.options(None), &progress, &plugins);
        let result = match one {
            None => run::status(setup).await,
            Some(side) => run::status_of_one(setup, side).await,
        };
        let result = result.map_err(|stop| self.name_kubeconfigs(stop));
        match result {
            Ok(mut status) => {
                if let Some(id) = move_id
                    && let Err(why) = status.select_move(id)
                {
                    return self.report_failure(Exit::Refused, &why.into(), UNTOUCHED);
                }
                status.moves = status.moves.into_iter().map(|one| self.with_place_of_files(one)).collect();
                let next: Vec<Vec<String>> =
                    status.moves.iter().map(|one| self.ways_of(&status, one)).collect();
                self.output.result(&StatusDocument::new(&status, labels, &next), || {
                    output::status_text(&status, labels, &next)
                });
                exit::DONE
            }
            Err(stop) => self.report_stop(&stop, AlreadyShown::Nothing, &[]),
        }
    }

    /// The engine's options for a move, or for one that is planned.
    fn options(&self, opened: &SourceAndTarget) -> Options {
        let options = self.choices.options(opened.namespace.as_deref());
        let Some(cluster) = self.found_workload(opened) else { return options };
        if workload::may_move(cluster, &options.scope) && !self.output.settings().quiet {
            let save = workload::kubeconfig_command(cluster, &self.choices.connection.from);
            self.output.say(format!(
                "note: the kubeconfig of {cluster} moves with it, out of the source; if you have no other access to it: {save}"
            ));
        }
        Options { found_by: Some(kubeconfig_of(cluster)), ..options }
    }

    /// Lets the next commands name the workload cluster that was found.
    fn found_workload<'o>(&self, opened: &'o SourceAndTarget) -> Option<&'o Key> {
        let cluster = opened.workload.as_ref()?;
        self.commands.found_workload(&workload::typed_name(cluster));
        Some(cluster)
    }

    /// Reads the plan to carry out, if there is one, and who approved it; otherwise returns the exit code.
    fn read_approved(&self, command: MoveOrResume<'_>) -> Result<Approved, u8> {
        let Choices { plan, with, .. } = self.choices;
        let begins = matches!(command, MoveOrResume::Move);
        let read = approval::read_approved_plan(plan.as_deref(), with.trust.as_deref(), begins, |plan| {
            self.choices.unapproved_risk_flags(plan)
        });
        let approved = read.map_err(|error| self.report_failure(Exit::Refused, &error, UNTOUCHED))?;
        match &approved.plan {
            Some(plan) if begins && plan.decisions.handover != self.choices.hands_over() => {
                let verb = if plan.decisions.handover { "handover start" } else { "move" };
                let why = format!("the plan is not for this command: carry it out with `{verb} --plan`");
                Err(self.report_failure(Exit::Refused, &why.into(), UNTOUCHED))
            }
            _ => Ok(approved),
        }
    }

    /// Reads the files of objects to add; otherwise returns the exit code.
    async fn read_additions(&self, plugins: &Loading) -> Result<Vec<Addition>, u8> {
        match ends::read_additions(&self.choices.add).await {
            Ok(added) => Ok(added),
            Err(error) => Err(self.not_opened(&error, plugins).await),
        }
    }

    /// The rule for the files of the source. A rollback creates nothing from them, and has none.
    fn authors(&self, command: MoveOrResume<'_>) -> Authors {
        Authors { trust: self.choices.with.trust.clone(), begins: matches!(command, MoveOrResume::Move) }
    }

    /// Opens both sides to work on; otherwise returns the exit code. `within` is the scope of a saved plan.
    async fn open_sides(
        &self,
        command: Option<MoveOrResume<'_>>,
        plugins: &Loading,
        within: Option<&Namespaces>,
    ) -> Result<SourceAndTarget, u8> {
        // Don't create a directory for a move that is refused because of its plugins.
        if matches!(self.choices.ends.target, TargetEnd::Directory(_))
            && let Some(errors) = plugins.wait_for_refusal().await
        {
            return Err(self.report_failure(Exit::Plugin, &errors, UNTOUCHED));
        }
        let mut ends = self.choices.ends.clone();
        // Unless its own namespace was typed, the target is looked for where the objects are that move.
        if let (TargetEnd::Workload(workload), Some(Namespaces::One(name))) = (&mut ends.target, within)
            && workload.within == Within::OfContext
        {
            workload.within = Within::Namespace(name.clone());
        }
        let authors = command.map(|command| self.authors(command));
        match ends::to_write(&ends, authors.as_ref()).await {
            Ok(opened) => Ok(opened),
            Err(error) => Err(self.not_opened(&error, plugins).await),
        }
    }

    /// The exit code if plugins are refused. It is reported whatever else went wrong.
    async fn plugins_refused(&self, stop: Option<&Stop>, plugins: &Loading) -> Option<u8> {
        // A user who stops the run shouldn't have to wait for plugins to load.
        if matches!(stop?.failure, Failure::Halted(_)) {
            return None;
        }
        let errors = plugins.wait_for_refusal().await?;
        Some(self.report_failure(Exit::Plugin, &errors, UNTOUCHED))
    }

    /// Before the engine starts there is no safe point to reach: the first signal ends the program.
    async fn unless_halted<T>(&self, opening: impl Future<Output = Result<T, u8>>) -> Result<T, u8> {
        let halt = tokio::select! {
            opened = opening => return opened,
            halt = self.halter.wait() => halt,
        };
        let exit = match halt {
            Halt::Signal(signals::TERMINATE) => Exit::Terminated,
            Halt::Signal(_) | Halt::LeaseLost(_) => Exit::Interrupted,
        };
        Err(self.report_failure(exit, &"stopped as asked".into(), UNTOUCHED))
    }

    /// Completes the kubectl commands of a stop.
    fn name_kubeconfigs(&self, stop: Stop) -> Stop {
        let ConnectionArgs { from_directory, to_files, .. } = &self.choices.connection;
        let is_directory = Both::new(from_directory.is_some(), to_files.to_directory.is_some());
        output::name_kubeconfigs(stop, self.kubectl_flags.get().unwrap_or(&Both::default()), &is_directory)
    }

    fn setup(
        &self,
        opened: &SourceAndTarget,
        options: Options,
        progress: &Arc<Progress>,
        plugins: &Loading,
    ) -> Setup {
        let watcher: Arc<dyn Watcher> = match &self.report {
            Some(report) => report.watching(opened.labels(), progress),
            None => progress.clone(),
        };
        // Each run opens its sides once.
        let flags = self.kubectl_flags.get_or_init(|| opened.kubectl_flags(&self.choices.connection));
        let plugin_directory = self.choices.with.directory_name();
        let options = Options { kubectl_flags: flags.clone(), plugin_directory, ..options };
        let told = watcher.clone();
        Setup {
            sides: opened.sides(),
            options,
            plugins: plugins.participating(move |notes| {
                notes.iter().for_each(|note| told.event(note.clone().into()));
            }),
            watcher,
            halter: self.halter.clone(),
            parking: Default::default(),
            workload_clusters: Some(Arc::<WorkloadServers>::default()),
        }
    }

    async fn not_opened(&self, error: &OpenError, plugins: &Loading) -> u8 {
        if let Some(errors) = plugins.wait_for_refusal().await {
            return self.report_failure(Exit::Plugin, &errors, UNTOUCHED);
        }
        // With its sources, each separate from the error that it caused.
        tracing::debug!(error = error as &dyn std::error::Error, "not opened");
        self.report_failure(error.exit(), &error.to_string().into(), UNTOUCHED)
    }

    /// Returns the lines for a move of a status: none while a run is at work on it.
    fn ways_of(&self, status: &Status, one: &MoveStatus) -> Vec<String> {
        if status.is_at_work(&one.record.move_id) {
            return Vec::new();
        }
        let silent = status.silent.as_ref().map(|(side, _)| *side);
        self.ways(silent, one, status.moves.len() > 1)
    }

    /// The command lines that the user can type next about one of the moves under way.
    fn ways(&self, silent: Option<Side>, one: &MoveStatus, several: bool) -> Vec<String> {
        // From other files than the move's, it has to be named.
        let named = several || one.record.is_of_files();
        let into_directory = self.choices.connection.to_files.to_directory.is_some();
        let move_id = Some(one.record.move_id.as_str()).filter(|_| named);
        let about = About::new(move_id, one.record.phase.is_committed());
        self.command_lines(Situation::from_status(one, silent, into_directory).next(), about)
    }

    /// Reports a failure outside the engine.
    fn report_failure(&self, exit: Exit, message: &Text, state: &str) -> u8 {
        let document = ErrorDocument::outside_engine(exit, message, state, Vec::new());
        if self.output.settings().format.is_document() {
            self.output.result(&document, Text::default);
        }
        self.output.fail(message.clone());
        self.output.state(state, &[]);
        if let Some(report) = &self.report {
            report.report_failure(exit, &document, message);
        }
        exit::exit_code(exit)
    }

    /// Reports why the engine stopped, in a run without some of the installed plugins.
    fn report_stop(&self, stop: &Stop, shown: AlreadyShown, disabled: &[String]) -> u8 {
        let next = self.next_commands(stop);
        let advice = Advice::new(stop, self.kubectl_flags.get().unwrap_or(&Both::default()), next);
        let document = ErrorDocument::stop(stop, advice.clone()).with_disabled_plugins(disabled);
        if shown == AlreadyShown::Nothing && self.output.settings().format.is_document() {
            self.output.result(&document, Text::default);
        }
        let code = exit::exit_code(stop.exit);
        if let Some(report) = &self.report {
            report.report_stop(stop, code, &document);
        }
        self.output.report_stop(stop, shown, &advice);
        if let (TargetEnd::Workload(_), Failure::Unreachable { side: Side::Target, .. }) =
            (&self.choices.ends.target, &stop.failure)
        {
            self.output.say(FROM_INSIDE);
        }
        code
    }
}
