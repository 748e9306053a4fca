//! What a run reports while it works, and what of it a stop keeps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pivot_core::records::record::Phase;
use pivot_core::{Key, Side};
use pivot_engine::{Counts, Event, Exit, LeaseState, Setup, Verb, Watcher};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::PlaceError;
use tokio::time::Instant;

use crate::run;
use crate::stage::{Stage, key};

/// Keeps all events.
#[derive(Default)]
struct Recorder(Mutex<Vec<Event>>);

impl Watcher for Recorder {
    fn event(&self, event: Event) {
        self.0.lock().unwrap().push(event);
    }
}

impl Recorder {
    fn of(stage: &Stage) -> (Arc<Self>, Setup) {
        let recorder = Arc::new(Self::default());
        (recorder.clone(), Setup { watcher: recorder, ..stage.setup() })
    }

    fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap().clone()
    }

    /// What was done to which objects where; each once.
    fn objects(&self) -> BTreeSet<(Verb, Side, Key)> {
        let mut all = BTreeSet::new();
        for event in self.events() {
            if let Event::Object { verb, object, side, .. } = event {
                assert!(all.insert((verb, side, object.clone())), "{verb:?} {object} twice");
            }
        }
        all
    }

    fn count(&self, verb: Verb) -> usize {
        self.objects().iter().filter(|(done, ..)| *done == verb).count()
    }

    fn counts(&self) -> Counts {
        let mut counts = Counts::new();
        for (verb, _, key) in self.objects() {
            *counts.entry(verb).or_default().entry(key.group_kind).or_default() += 1;
        }
        counts
    }
}

#[tokio::test(start_paused = true)]
async fn a_move_reports_its_phases_in_order_and_each_object_once() {
    let stage = Stage::new();
    let (recorder, setup) = Recorder::of(&stage);
    let report = run::start(setup).await.unwrap();
    let mut open = None;
    let mut done = Vec::new();
    for event in recorder.events() {
        match event {
            Event::PhaseBegun { phase, objects } => {
                // Nothing is held.
                let expected = if phase == Phase::Settled { 0 } else { 12 };
                assert_eq!((open.replace(phase), objects), (None, expected));
            }
            Event::PhaseDone { phase, .. } => {
                assert_eq!(open.take(), Some(phase));
                done.push(phase);
            }
            Event::Object { phase, .. } => assert_eq!(open, Some(phase)),
            _ => {}
        }
    }
    assert_eq!(done, report.times.iter().map(|(phase, _)| *phase).collect::<Vec<_>>());
    assert_eq!(done.len(), 7);

    let counts: BTreeMap<Verb, usize> =
        recorder.counts().iter().map(|(verb, kinds)| (*verb, kinds.values().sum())).collect();
    let expected = [(Verb::Paused, 3), (Verb::Created, 12), (Verb::Unpaused, 3), (Verb::Deleted, 12)];
    assert_eq!(counts, expected.into());
    let events = recorder.events();
    let planned = |event: &Event| matches!(event, Event::Planned { summary, plan } if summary.objects == 12 && plan.steps.len() == 12);
    assert!(events.iter().any(planned));
    let taken = |event: &Event| matches!(event, Event::Lease { side: Side::Source, state: LeaseState::Acquired, holder, .. } if !holder.is_empty());
    assert_eq!(events.iter().filter(|event| taken(event)).count(), 1);
    let accepted = |event: &&Event| matches!(event, Event::Accepted { .. });
    assert_eq!(
        events.iter().filter(accepted).count(),
        2,
        "that the stage takes a lease over, and waits for nobody"
    );
}

fn refuse(place: &MemoryPlace, verb: &'static str, name: &'static str) {
    place.on_call(move |called, key| {
        (called == verb && key.name == name).then(|| Fault::Before(PlaceError::Invalid("no".into())))
    });
}

#[tokio::test(start_paused = true)]
async fn a_stop_in_the_middle_keeps_times_and_counts() {
    let stage = Stage::new();
    refuse(&stage.target, "create", "m1-bootstrap");
    let (recorder, setup) = Recorder::of(&stage);
    let stop = run::start(setup).await.unwrap_err();
    assert_eq!(stop.exit, Exit::PartWay, "{stop}");
    let phases: Vec<Phase> = stop.times.iter().map(|(phase, _)| *phase).collect();
    assert_eq!(phases, [Phase::Checked, Phase::Paused]);
    assert_eq!(stop.done, recorder.counts());
    let created = recorder.count(Verb::Created);
    assert!((6..12).contains(&created), "{created}");
    assert!(!recorder.objects().contains(&(Verb::Created, Side::Target, key("", "Secret", "m1-bootstrap"))));

    // The way back is reported too.
    let (undone, setup) = Recorder::of(&stage);
    let taken = run::rollback(setup).await.unwrap();
    assert_eq!((undone.count(Verb::Removed), undone.count(Verb::Unpaused)), (taken.removed, taken.unpaused));
    assert_eq!((taken.removed, taken.unpaused), (created, recorder.count(Verb::Paused)));
}

#[tokio::test(start_paused = true)]
async fn a_stop_counts_what_was_undone_too() {
    let stage = Stage::new();
    refuse(&stage.source, "patch", "p");
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(stop.exit, Exit::Refused, "{stop}");
    assert!(!stop.done[&Verb::Paused].is_empty());
    assert_eq!(stop.done[&Verb::Paused], stop.done[&Verb::Unpaused]);
    let refused = run::resume(stage.setup()).await.unwrap_err();
    assert!(refused.done.is_empty() && refused.times.is_empty(), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_side_that_does_not_answer_is_reported_once() {
    let stage = Stage::new();
    let since: Arc<Mutex<Option<Instant>>> = Arc::default();
    stage.target.on_call(move |verb, _| {
        let mut since = since.lock().unwrap();
        if verb != "create" && since.is_none() {
            return None;
        }
        let silent = since.get_or_insert_with(Instant::now).elapsed() < Duration::from_secs(10);
        silent.then(|| Fault::Before(PlaceError::Unavailable("no route".into())))
    });
    let (recorder, setup) = Recorder::of(&stage);
    run::start(setup).await.unwrap();
    let events = recorder.events();
    let retrying: Vec<_> = events.iter().filter(|event| matches!(event, Event::Retrying { .. })).collect();
    let [Event::Retrying { side: Side::Target, attempt, error }] = retrying.as_slice() else {
        panic!("{retrying:?}")
    };
    assert!(*attempt > 3 && error.contains("no route"), "{attempt} {error}");
}

#[tokio::test(start_paused = true)]
async fn a_side_that_asks_for_fewer_requests_is_reported_once_a_second() {
    let stage = Stage::new();
    let turned_away = Arc::new(AtomicUsize::new(0));
    let count = turned_away.clone();
    stage.target.on_call(move |verb, _| {
        let busy = verb == "create" && count.load(Ordering::SeqCst) < 8;
        busy.then(|| {
            count.fetch_add(1, Ordering::SeqCst);
            Fault::Before(PlaceError::TooManyRequests { retry_after: Some(Duration::from_millis(500)) })
        })
    });
    let (recorder, setup) = Recorder::of(&stage);
    run::start(setup).await.unwrap();
    let throttled: Vec<u64> = recorder
        .events()
        .iter()
        .filter_map(|event| match event {
            Event::Throttled { side: Side::Target, requests, after_milliseconds: 500 } => Some(*requests),
            _ => None,
        })
        .collect();
    assert_eq!(turned_away.load(Ordering::SeqCst), 8);
    assert!(throttled.first() == Some(&1) && throttled.len() < 8, "{throttled:?}");
}
