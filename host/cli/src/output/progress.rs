//! What is shown while a run is under way. One stream of events, three readers: a bar per phase on a terminal, otherwise a
//! line per event, for people or as JSON.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use pivot_core::plan::Plan;
use pivot_core::record::Phase;
use pivot_engine::{Event, MoveStatus, Watcher};

use super::lines::count;
use super::{Output, events, lock, plan, text};
use crate::args::LogFormat;

/// Shows events as they come, and keeps the plan for who wants it afterwards.
pub(crate) struct Progress {
    output: Arc<Output>,
    source: String,
    target: String,
    /// Whether the plan itself is the result, and needs no mention here.
    planning: bool,
    plan: Mutex<Option<Arc<Plan>>>,
    /// Moves that are under way while a plan is made.
    under_way: Mutex<Vec<MoveStatus>>,
    bar: Mutex<Option<Bar>>,
    /// Notes that came, by code.
    notes: Mutex<BTreeMap<String, usize>>,
}

struct Bar {
    bar: ProgressBar,
    objects: usize,
}

impl Progress {
    pub(crate) fn new(output: Arc<Output>, (source, target): (&str, &str), planning: bool) -> Arc<Self> {
        Arc::new(Self {
            output,
            source: source.to_owned(),
            target: target.to_owned(),
            planning,
            plan: Mutex::default(),
            under_way: Mutex::default(),
            bar: Mutex::default(),
            notes: Mutex::default(),
        })
    }

    /// The plan, if it came so far.
    pub(crate) fn plan(&self) -> Option<Arc<Plan>> {
        lock(&self.plan).clone()
    }

    /// The moves under way that came up so far.
    pub(crate) fn under_way(&self) -> Vec<MoveStatus> {
        lock(&self.under_way).clone()
    }

    /// Nothing more comes: takes the bar away, if a phase was not done.
    pub(crate) fn end(&self) {
        self.more_notes();
        self.lower_bar();
    }

    /// What is written beside the bar.
    #[cfg(test)]
    pub(super) fn on_the_bar(&self) -> Option<String> {
        lock(&self.bar).as_ref().map(|Bar { bar, .. }| bar.message())
    }

    fn lower_bar(&self) {
        if let Some(Bar { bar, .. }) = lock(&self.bar).take() {
            bar.finish_and_clear();
        }
    }

    fn line(&self, event: &Event) -> String {
        events::line(event, (&self.source, &self.target))
    }

    fn verbose(&self) -> bool {
        self.output.manner().verbose > 0
    }

    /// For people.
    fn show(&self, event: &Event) {
        if !matches!(event, Event::Note { .. }) {
            self.more_notes();
        }
        match event {
            // The plan shows both.
            Event::Planned { .. } | Event::Note { .. } | Event::UnderWay { .. } if self.planning => {}
            Event::Planned { plan, .. } => self.planned(event, plan),
            Event::Note { code, .. } if !self.verbose() && !self.has_room(code) => {}
            Event::PhaseBegun { phase, objects } if self.output.manner().bars => {
                self.raise_bar(*phase, *objects);
            }
            Event::PhaseDone { phase, milliseconds } => self.phase_done(*phase, *milliseconds),
            Event::Object { .. } | Event::Waiting { .. } => self.on_bar(event),
            other if events::shown(other, self.verbose()) => {
                self.output.line(events::level(other), self.line(other));
            }
            _ => {}
        }
    }

    /// On the bar, where there is one.
    fn on_bar(&self, event: &Event) {
        let line = self.line(event);
        match &*lock(&self.bar) {
            Some(Bar { bar, .. }) => {
                if let Event::Object { .. } = event {
                    bar.inc(1);
                }
                bar.set_message(text::one_line(&line));
            }
            None => self.output.say(line),
        }
    }

    fn raise_bar(&self, phase: Phase, objects: usize) {
        self.lower_bar();
        let counted = matches!(phase, Phase::Copied | Phase::Released);
        let bar = if counted {
            let length = objects.try_into().unwrap_or(u64::MAX);
            ProgressBar::new(length)
                .with_style(style("{prefix:10} {bar:30} {pos}/{len} {elapsed} {wide_msg}"))
        } else {
            ProgressBar::new_spinner().with_style(style("{prefix:10} {spinner} {elapsed} {wide_msg}"))
        };
        let message = events::doing(phase, objects);
        let bar = self.output.bars.add(bar.with_prefix(format!("{phase}:")).with_message(message));
        bar.enable_steady_tick(Duration::from_millis(120));
        *lock(&self.bar) = Some(Bar { bar, objects });
    }

    fn phase_done(&self, phase: Phase, milliseconds: u64) {
        let done = lock(&self.bar).take();
        if let Some(Bar { bar, objects }) = done {
            bar.finish_and_clear();
            let text = format!("{}, {:.1}s", count(objects, "object"), events::seconds(milliseconds));
            self.output.say(events::headed(&phase.to_string(), &text));
        }
    }

    fn planned(&self, event: &Event, plan: &Plan) {
        self.output.say(self.line(event));
        if self.verbose() {
            plan::kinds(plan).iter().for_each(|line| self.output.say(line));
            plan.stays.iter().for_each(|stay| self.output.say(format!("stays: {stay}")));
        }
    }

    /// Whether one more note of a sort is shown: a plugin can cause one for each pair of objects.
    fn has_room(&self, code: &str) -> bool {
        let mut notes = lock(&self.notes);
        let seen = notes.entry(code.to_owned()).or_default();
        *seen += 1;
        *seen <= plan::NOTES
    }

    /// How many notes were not shown.
    fn more_notes(&self) {
        for (code, seen) in std::mem::take(&mut *lock(&self.notes)) {
            if let Some(line) = plan::more_notes(&code, seen) {
                self.output.say(format!("note: {line}"));
            }
        }
    }
}

impl Watcher for Progress {
    fn event(&self, event: Event) {
        match &event {
            Event::Planned { plan, .. } => *lock(&self.plan) = Some(plan.clone()),
            Event::UnderWay { status } => lock(&self.under_way).push(MoveStatus::clone(status)),
            _ => {}
        }
        match self.output.manner().log {
            LogFormat::Json => self.output.json_event(&event, &self.line(&event)),
            LogFormat::Text => self.show(&event),
        }
    }
}

/// The templates are our own and tested; a broken one would fall back to the default.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
