//! Output of a run that is under way. One stream of events, three forms: a bar per phase on a terminal, two lines per phase
//! in a pipe, and a line per event as JSON. With `-v` people see each event, with `-q` only warnings.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use pivot_core::plan::Plan;
use pivot_core::plugins::hooks::Severity;
use pivot_core::records::record::Phase;
use pivot_engine::{Event, LeaseState, MoveStatus, Verb, Watcher};

use super::events::Level;
use super::messages::Messages;
use super::phase_progress::{self, PhaseProgress, UndoProgress};
use super::reported::Reported;
use super::{Output, events, lock_mutex, plan, text};
use crate::args::{LogFormat, OutputFormat};

/// Bar of a phase whose number of changes is unknown.
const UNCOUNTED: &str = "{prefix:10} {spinner} {elapsed} {wide_msg}";
/// Bar of changes outside any phase.
const UNDOING: &str = "{prefix:10} {spinner} {pos} {elapsed} {wide_msg}";

/// The place at which people see the plan of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlanUse {
    /// A line of the progress counts its objects.
    Counted,
    /// Nowhere.
    Hidden,
    /// The plan is the result, with the risks and warnings that were reported meanwhile.
    Result,
}

/// Shows events as they arrive, and keeps the plan for later use.
pub(crate) struct Progress {
    output: Arc<Output>,
    source: String,
    target: String,
    plan_use: PlanUse,
    plan: Mutex<Option<Arc<Plan>>>,
    /// Moves that are under way while a plan is made.
    under_way: Mutex<Vec<MoveStatus>>,
    /// Events that the result shows.
    reported: Mutex<Reported>,
    /// The phase under way.
    phase: Mutex<Option<PhaseProgress>>,
    bar: Mutex<Option<ProgressBar>>,
    /// Changes outside any phase.
    undone: Mutex<Option<UndoProgress>>,
    messages: Mutex<Messages>,
}

impl Progress {
    pub(crate) fn new(output: Arc<Output>, (source, target): (&str, &str), plan_use: PlanUse) -> Arc<Self> {
        Arc::new(Self {
            output,
            source: source.to_owned(),
            target: target.to_owned(),
            plan_use,
            plan: Mutex::default(),
            under_way: Mutex::default(),
            reported: Mutex::default(),
            phase: Mutex::default(),
            bar: Mutex::default(),
            undone: Mutex::default(),
            messages: Mutex::default(),
        })
    }

    /// The plan, if the run got that far.
    pub(crate) fn plan(&self) -> Option<Arc<Plan>> {
        lock_mutex(&self.plan).clone()
    }

    /// The moves under way found so far.
    pub(crate) fn under_way(&self) -> Vec<MoveStatus> {
        lock_mutex(&self.under_way).clone()
    }

    /// Returns the accepted risks, warnings and findings so far.
    pub(crate) fn reported_so_far(&self) -> Reported {
        lock_mutex(&self.reported).clone()
    }

    /// Writes those that were left to the plan's text: there is none.
    pub(crate) fn show_reported(&self) {
        if self.output.settings().log == LogFormat::Json {
            return;
        }
        let reported = self.reported_so_far();
        reported.events().iter().filter(|event| self.leaves_to_result(event)).for_each(|event| match event {
            Event::Accepted { .. } => self.info(self.event_line(event)),
            _ => self.collect(event),
        });
        self.say_together();
    }

    /// Returns true if the text of the plan shows an event, so that it needs no line of its own.
    fn leaves_to_result(&self, event: &Event) -> bool {
        let is_text = self.output.settings().format == OutputFormat::Text;
        match event {
            Event::Planned { .. } | Event::UnderWay { .. } => self.plan_use != PlanUse::Counted,
            Event::Note { .. } => self.plan_use != PlanUse::Counted,
            Event::Finding { severity: Severity::Note, .. } => false,
            Event::Accepted { .. } | Event::Warning { .. } | Event::Finding { .. } => {
                self.plan_use == PlanUse::Result && is_text
            }
            _ => false,
        }
    }

    /// No more events come: removes the bar, and reports how far an unfinished phase got.
    pub(crate) fn end(&self) {
        if self.output.settings().log == LogFormat::Json {
            return;
        }
        self.say_together();
        self.lower_bar();
        let stopped = lock_mutex(&self.phase).take().and_then(|progress| progress.stopped_line());
        stopped.into_iter().for_each(|line| self.info(line));
        let undone = lock_mutex(&self.undone).take();
        undone.into_iter().for_each(|undone| self.info(undone.summarize()));
    }

    /// Text next to the bar.
    #[cfg(test)]
    pub(super) fn on_the_bar(&self) -> Option<String> {
        lock_mutex(&self.bar).as_ref().map(ProgressBar::message)
    }

    fn lower_bar(&self) {
        if let Some(bar) = lock_mutex(&self.bar).take() {
            bar.finish_and_clear();
        }
    }

    fn event_line(&self, event: &Event) -> String {
        events::event_line(event, (&self.source, &self.target))
    }

    fn verbose(&self) -> bool {
        self.output.settings().verbose > 0
    }

    /// Writes a line that `-q` leaves out.
    fn info(&self, line: impl Into<String>) {
        self.write_line(Level::Info, line.into());
    }

    fn write_line(&self, level: Level, line: String) {
        if level != Level::Info || !self.output.settings().quiet {
            self.output.write_line(level, line);
        }
    }

    /// Shows an event to people.
    fn show(&self, event: &Event) {
        if self.leaves_to_result(event) {
            return;
        }
        if let Event::Note { .. } | Event::Warning { .. } | Event::Finding { .. } = event {
            return self.collect(event);
        }
        self.say_together();
        match event {
            Event::Planned { plan, .. } => self.write_plan(event, plan),
            Event::PhaseBegun { phase, objects } => self.phase_begun(event, *phase, *objects),
            Event::PhaseDone { milliseconds, .. } => self.phase_done(*milliseconds),
            Event::Object { verb, .. } => self.object(event, *verb),
            Event::Waiting { .. } => self.on_bar(event),
            // Every namespace has such an event, and they all say the same.
            Event::Lease { state: LeaseState::Waiting, .. } => {
                let line = self.event_line(event);
                if lock_mutex(&self.messages).is_new(&line) {
                    self.info(line);
                }
            }
            other if events::is_shown(other, self.verbose()) => {
                self.write_line(events::event_level(other), self.event_line(other));
            }
            _ => {}
        }
    }

    /// Collects a note, a warning or a finding; those that say the same are shown together once another event comes.
    fn collect(&self, event: &Event) {
        match event {
            Event::Finding { severity: Severity::Stop, .. } => {}
            _ if self.verbose() => self.write_line(events::event_level(event), self.event_line(event)),
            _ => lock_mutex(&self.messages).push_event(event),
        }
    }

    fn say_together(&self) {
        let lines = lock_mutex(&self.messages).take();
        lines.into_iter().for_each(|(level, line)| self.write_line(level, line));
    }

    /// Shows an event on the bar, if there is one.
    fn on_bar(&self, event: &Event) {
        let line = self.event_line(event);
        match &*lock_mutex(&self.bar) {
            Some(bar) => bar.set_message(text::one_line(&line)),
            None => self.info(line),
        }
    }

    /// Thousands of objects get no line each, except with `-v`.
    fn object(&self, event: &Event, verb: Verb) {
        let far = match &mut *lock_mutex(&self.phase) {
            Some(progress) => progress.count_change(verb),
            None => {
                self.raise_undo_bar();
                lock_mutex(&self.undone).get_or_insert_with(UndoProgress::new).count_change(verb)
            }
        };
        let barred = lock_mutex(&self.bar).as_ref().map(|bar| bar.inc(1)).is_some();
        if barred {
            self.on_bar(event);
        }
        if self.verbose() {
            self.info(self.event_line(event));
        } else if let Some(far) = far.filter(|_| !barred) {
            self.info(far);
        }
    }

    fn phase_begun(&self, event: &Event, phase: Phase, objects: usize) {
        *lock_mutex(&self.phase) = Some(PhaseProgress::new(phase, objects));
        if self.output.settings().bars {
            self.raise_bar(phase, objects);
        } else {
            self.info(self.event_line(event));
        }
    }

    fn raise_bar(&self, phase: Phase, objects: usize) {
        self.lower_bar();
        let counted = matches!(phase, Phase::Copied | Phase::Released);
        let bar = if counted {
            let length = objects.try_into().unwrap_or(u64::MAX);
            ProgressBar::new(length)
                .with_style(progress_style("{prefix:10} {bar:30} {pos}/{len} {elapsed} {wide_msg}"))
        } else {
            ProgressBar::new_spinner().with_style(progress_style(UNCOUNTED))
        };
        self.raise(bar, &phase.to_string(), &events::doing_text(phase, objects, &self.target));
    }

    /// Shows a bar for changes outside any phase, if there is none yet.
    fn raise_undo_bar(&self) {
        if self.output.settings().bars && lock_mutex(&self.bar).is_none() {
            self.raise(
                ProgressBar::new_spinner().with_style(progress_style(UNDOING)),
                phase_progress::UNDONE,
                "",
            );
        }
    }

    fn raise(&self, bar: ProgressBar, head: &str, message: &str) {
        let bar = self.output.bars.add(bar.with_prefix(format!("{head}:")).with_message(message.to_owned()));
        bar.enable_steady_tick(Duration::from_millis(120));
        *lock_mutex(&self.bar) = Some(bar);
    }

    fn phase_done(&self, milliseconds: u64) {
        self.lower_bar();
        let done = lock_mutex(&self.phase).take().map(|progress| progress.finished_line(milliseconds));
        done.into_iter().for_each(|line| self.info(line));
    }

    fn write_plan(&self, event: &Event, plan: &Plan) {
        self.info(self.event_line(event));
        if self.verbose() {
            plan::kind_counts(plan).into_iter().for_each(|line| self.info(line));
            plan.stays.iter().for_each(|stay| self.info(format!("stays: {stay}")));
        }
    }
}

impl Watcher for Progress {
    fn event(&self, event: Event) {
        match &event {
            // A move has its own, and this one would stay as long as the move.
            Event::Planned { plan, .. } if self.plan_use != PlanUse::Counted => {
                *lock_mutex(&self.plan) = Some(plan.clone());
            }
            Event::UnderWay { status } => lock_mutex(&self.under_way).push(MoveStatus::clone(status)),
            _ => lock_mutex(&self.reported).keep_event(&event),
        }
        match self.output.settings().log {
            LogFormat::Json => self.output.json_event(&event, &self.event_line(&event)),
            LogFormat::Text => self.show(&event),
        }
    }
}

/// The templates are ours and tested; a broken one would fall back to the default.
fn progress_style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
