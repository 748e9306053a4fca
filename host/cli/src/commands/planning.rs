//! The result of planning: shows a plan as text, document or picture, and saves it in a file.

use pivot_core::plan::{Note, Plan};
use pivot_core::records::saved_plan::Decisions;
use pivot_core::request::scope::Scope;
use pivot_engine::{Exit, Failure, MoveStatus, Stop};

use super::{Command, UNTOUCHED};
use crate::args::{Ends, OutputFormat, Picture, SourceEnd, TargetEnd};
use crate::ends::SourceAndTarget;
use crate::output::{self, AlreadyShown, Document, Outlook, PlanDocument, PlanPage, Progress, Reported};
use crate::plugins::Loading;
use crate::private_file::PrivateFile;
use crate::reporting::Reporting;
use crate::saved;

/// The facts for showing and saving the plan of a finished planning.
pub(super) struct Planning<'a> {
    command: &'a Command<'a>,
    opened: &'a SourceAndTarget,
    plugins: &'a Loading,
    /// The command that carries out the plan, if there is one.
    carry_out: Option<String>,
    scope: Scope,
    decisions: Decisions,
    operator: String,
    has_target: bool,
    has_dry_run: bool,
    /// The moves under way, and the commands for each.
    moves: Vec<MoveStatus>,
    next: Vec<Vec<String>>,
    /// The move under way with the same scope.
    begun: Option<String>,
    reported: Reported,
}

impl Command<'_> {
    /// Collects the facts for showing and saving the plan.
    pub(super) fn finish_planning<'a>(
        &'a self,
        opened: &'a SourceAndTarget,
        plugins: &'a Loading,
        progress: &Progress,
        (scope, decisions, operator): (Scope, Decisions, String),
        has_dry_run: bool,
    ) -> Planning<'a> {
        let moves = self.under_way(progress);
        let next = moves.iter().map(|one| self.ways(None, one, moves.len() > 1)).collect();
        let begun = moves.iter().find(|one| one.record.scope == scope).map(|one| one.record.move_id.clone());
        let has_target = !matches!(self.choices.ends.target, TargetEnd::None);
        let carry_out = self.commands.carry_out(self.choices.out.as_deref());
        Planning {
            command: self,
            opened,
            plugins,
            carry_out: carry_out.filter(|_| has_target && begun.is_none()),
            scope,
            decisions,
            operator,
            has_target,
            has_dry_run,
            moves,
            next,
            begun,
            reported: progress.reported_so_far(),
        }
    }

    /// Saves and shows a plan with problems, which can be looked at and compared, too. Otherwise returns the exit code.
    pub(super) async fn show_stopped_plan(
        &self,
        planning: &Planning<'_>,
        out: Option<PrivateFile>,
        progress: &Progress,
        stop: &Stop,
    ) -> Result<AlreadyShown, u8> {
        if let (Some(plan), Failure::Refused(refusals)) = (progress.plan(), &stop.failure)
            && let Some(code) =
                planning.save(out, &Plan { refusals: refusals.clone(), ..Plan::clone(&plan) }).await
        {
            return Err(code);
        }
        // An older plan of this name must not pass for this one.
        if let (Failure::Empty(_), Some(file)) = (&stop.failure, &self.choices.out) {
            progress.show_reported();
            let why = format!("{stop}, so that no plan is saved; {} is as it was", file.display());
            return Err(self.report_failure(Exit::Empty, &why.into(), UNTOUCHED));
        }
        Ok(planning.show_stop(progress, stop))
    }
}

impl Planning<'_> {
    /// Shows a plan, and writes the report if one is requested. `failed` are the lines of a failure that ended planning early.
    pub(super) fn show(&self, mut plan: Plan, failed: &[String], is_complete: bool) {
        let settings = self.command.output.settings();
        plan.notes = self.notes();
        let plan = &plan;
        let all = settings.verbose > 0;
        let tree = all || self.command.choices.tree;
        let (source, target) = self.opened.labels();
        let outlook = Outlook {
            has_failed: !failed.is_empty(),
            has_target: self.has_target,
            has_dry_run: self.has_dry_run,
            command: self.carry_out.as_deref(),
        };
        let verdict = output::judge_plan(plan, &self.reported, outlook);
        let page = PlanPage {
            plan,
            sides: (source, target),
            scope: &self.scope,
            files: self.command.choices.ends.of_files(),
            pause: self.pause(),
            verdict: &verdict,
            moves: &self.moves,
            next: &self.next,
            again: self.command.commands.repeat_plan(self.has_target),
            reported: &self.reported,
            failed,
            now: output::current_time(),
        };
        let moves = (self.moves.as_slice(), self.next.as_slice());
        let document = PlanDocument::new(plan, source, target, &self.scope, &self.reported, moves);
        if let Some(file) = self.command.report.as_ref().and_then(Reporting::take_file) {
            self.command.write_report(file, &page, &document);
        }
        if let OutputFormat::Picture(picture) = settings.format {
            return self.command.output.own(&output::draw_plan(picture, &page));
        }
        self.command.output.result(&document, || {
            let mut text = Document::<PlanDocument<'_>>::text(
                plan,
                &self.reported,
                (source, target),
                &self.scope.namespace_map,
                (tree, all),
            );
            text.append(output::under_way(&self.moves, &self.next));
            if is_complete {
                text.append(verdict.to_text());
            }
            text
        });
    }

    /// Returns the notes of the opened sides, of plugins' loading, of the plan and of checks.
    fn notes(&self) -> Vec<Note> {
        self.opened.signed.iter().cloned().chain(self.reported.notes()).collect()
    }

    /// Describes the time for which the source's Clusters will be paused.
    fn pause(&self) -> Option<&'static str> {
        let Ends { source, target, .. } = &self.command.choices.ends;
        let runs = (matches!(source, SourceEnd::Kube(_)), !matches!(target, TargetEnd::Directory(_)));
        output::describe_pause(runs.0, runs.1, self.decisions.handover)
    }

    /// Saves a plan in the file that the user named. Returns the exit code if that fails.
    pub(super) async fn save(&self, file: Option<PrivateFile>, plan: &Plan) -> Option<u8> {
        let file = file?;
        // What its plugins hold already, and what it has copied, would be in no plan of a move that begins.
        if let Some(id) = &self.begun {
            let why = format!(
                "move {id} of this is under way: finish it or roll it back, and plan then; no plan is saved"
            );
            return Some(self.command.report_failure(Exit::Refused, &why.into(), UNTOUCHED));
        }
        let with = saved::PlanCircumstances {
            decisions: self.decisions.clone(),
            operator: self.operator.clone(),
            opened: self.opened,
            has_target: self.has_target,
            plugins: self.plugins,
            warnings: self.reported.warning_notes(),
        };
        let plan = Plan { notes: self.notes(), ..plan.clone() };
        match saved::save_plan(file, &plan, with).await {
            Ok(saved) => {
                self.command.output.note(saved);
                None
            }
            Err(error) => Some(self.command.report_failure(Exit::Refused, &error, UNTOUCHED)),
        }
    }

    /// Shows the results so far, with every problem. A document has either them or the failure.
    pub(super) fn show_stop(&self, progress: &Progress, stop: &Stop) -> AlreadyShown {
        let format = self.command.output.settings().format;
        match (progress.plan(), &stop.failure) {
            (Some(plan), Failure::Refused(refusals)) => {
                self.show(Plan { refusals: refusals.clone(), ..Plan::clone(&plan) }, &[], true);
                // A graph shows which objects have problems, and no words about them.
                match format {
                    OutputFormat::Picture(Picture::Dot | Picture::Mermaid) => AlreadyShown::Plan,
                    _ => AlreadyShown::Refusals,
                }
            }
            (Some(plan), failure) if !format.is_document() || matches!(failure, Failure::Empty(_)) => {
                // A page has findings of their own, and says by itself that there is nothing.
                let said = matches!(failure, Failure::Gate(_) | Failure::Empty(_));
                let failed = if said { Vec::new() } else { output::failure_lines(stop) };
                self.show(Plan::clone(&plan), &failed, false);
                AlreadyShown::Plan
            }
            _ => {
                progress.show_reported();
                let lines = output::under_way(&self.moves, &self.next).split();
                lines.into_iter().for_each(|line| self.command.output.say(line));
                AlreadyShown::Nothing
            }
        }
    }
}
