//! What people see while a run is under way: on a terminal one bar per phase, otherwise one line per event.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use pivot_core::plan::Plan;
use pivot_core::record::Phase;
use pivot_core::refusal::some_of;
use pivot_engine::{Event, Watcher};

use super::{Output, count, lines, lock, plan};

/// Shows events as they come, and keeps the plan for who wants it afterwards.
pub(crate) struct Progress {
    output: Arc<Output>,
    source: String,
    target: String,
    /// Whether the plan itself is the result, and needs no mention here.
    planning: bool,
    plan: Mutex<Option<Plan>>,
    bar: Mutex<Option<Bar>>,
}

struct Bar {
    bar: ProgressBar,
    phase: Phase,
    objects: usize,
    begun: Instant,
}

impl Progress {
    pub(crate) fn new(output: Arc<Output>, (source, target): (&str, &str), planning: bool) -> Arc<Self> {
        let (source, target) = (source.to_owned(), target.to_owned());
        Arc::new(Self { output, source, target, planning, plan: Mutex::default(), bar: Mutex::default() })
    }

    /// The plan, if it came so far.
    pub(crate) fn plan(&self) -> Option<Plan> {
        lock(&self.plan).clone()
    }

    /// Takes the bar away. What was under way is done, or not.
    pub(crate) fn end(&self, well: bool) {
        let bar = lock(&self.bar).take();
        if let Some(bar) = bar {
            self.close(bar, well);
        }
    }

    fn close(&self, Bar { bar, phase, objects, begun }: Bar, well: bool) {
        bar.finish_and_clear();
        if well {
            let time = begun.elapsed().as_secs_f64();
            self.output.say(&format!("{:<10} {}, {time:.1}s", format!("{phase}:"), count(objects, "object")));
        }
    }

    fn phase(&self, phase: Phase, objects: usize) {
        let text = doing(phase, objects);
        if !self.output.manner().bars {
            return self.output.say(&format!("{:<10} {text}", format!("{phase}:")));
        }
        self.end(true);
        let counted = matches!(phase, Phase::Copied | Phase::Released);
        let bar = if counted {
            let length = objects.try_into().unwrap_or(u64::MAX);
            ProgressBar::new(length)
                .with_style(style("{prefix:10} {bar:30} {pos}/{len} {elapsed} {wide_msg}"))
        } else {
            ProgressBar::new_spinner().with_style(style("{prefix:10} {spinner} {elapsed} {wide_msg}"))
        };
        let bar = self.output.bars.add(bar.with_prefix(format!("{phase}:")).with_message(text));
        bar.enable_steady_tick(Duration::from_millis(120));
        *lock(&self.bar) = Some(Bar { bar, phase, objects, begun: Instant::now() });
    }

    fn done(&self, line: &str) {
        match &*lock(&self.bar) {
            Some(Bar { bar, .. }) => {
                bar.inc(1);
                bar.set_message(line.to_owned());
            }
            None => self.output.say(line),
        }
    }

    fn planned(&self, plan: &Plan) {
        *lock(&self.plan) = Some(plan.clone());
        if self.planning {
            return;
        }
        self.output.say(&format!("{:<10} {}", "Planned:", plan::head(plan, &self.source, &self.target)));
        if self.output.manner().verbose > 0 {
            plan::kinds(plan).iter().for_each(|line| self.output.say(line));
            plan.stays.iter().for_each(|stay| self.output.say(&format!("stays: {stay}")));
        }
        let all = self.output.manner().verbose > 0;
        plan::notes(plan, all).iter().for_each(|note| self.output.say(&format!("note: {note}")));
    }
}

impl Watcher for Progress {
    fn event(&self, event: Event<'_>) {
        match event {
            Event::Looking(at) => self.output.say(at),
            Event::Planned(plan) => self.planned(plan),
            Event::Phase(phase, objects) => self.phase(phase, objects),
            Event::Done(_, key, what, side) => self.done(&format!("{what} {key} in the {side}")),
            Event::Waiting { what, left } => {
                let text = format!("waiting, {left}s left: {}", some_of(what, 3));
                match &*lock(&self.bar) {
                    Some(Bar { bar, .. }) => bar.set_message(lines::tame(&text).into_owned()),
                    None => self.output.say(&text),
                }
            }
            Event::Note(text) => self.output.say(&format!("note: {text}")),
            Event::Warning(text) => self.output.warn(text),
        }
    }
}

fn doing(phase: Phase, objects: usize) -> String {
    let objects = count(objects, "object");
    match phase {
        Phase::Checked => format!("checking what could speak against moving {objects}"),
        Phase::Paused => format!("pausing what is responsible for {objects}"),
        Phase::Copied => format!("creating {objects} in the target"),
        Phase::Committed => format!("comparing {objects} with the source once more"),
        Phase::Live => "resuming in the target, and waiting for its controllers".to_owned(),
        Phase::Released => format!("deleting {objects} from the source"),
        Phase::Settled => "letting go of what is still held".to_owned(),
    }
}

/// The templates are our own and tested; a broken one would fall back to the default.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
