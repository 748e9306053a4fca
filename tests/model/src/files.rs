//! A source that is handed over in files, as a state machine of its own: nobody but users knows both ends.
//!
//! Locks keep runs of one source apart, as [`crate::Handover`] shows; so there is one run at the source, which may die between any two
//! requests. Another cluster imports the files, once, by a run that is not explored here, as soon as they are complete: their manifest
//! says that the source waits. Users who roll the source back don't begin an import any more: they are told to destroy the files. A
//! second import is left out: no rule could find it.

use stateright::{Model, Property};

use crate::pair::Content;

/// Invariant 1.
pub const KEPT: &str = "files, 1: the object exists on at least one side";
/// Invariant 2.
pub const ONCE: &str = "files, 2: the object is not active on both sides";
/// Invariant 3.
pub const AS_COPIED: &str = "files, 3: nothing is deleted in a state that was not copied";
/// A handover can end.
pub const RELEASED: &str = "files: a handover is released";
/// A handover can be undone.
pub const BACK: &str = "files: a handover is rolled back";

/// The rules, each of which can be broken.
#[derive(Clone, Copy, Debug)]
pub struct FileRules {
    /// The record says that the source is handed over before the files are complete.
    pub records_before_closing: bool,
    /// A release asks the target for an import that has ended.
    pub asks_for_import: bool,
    /// A release deletes an object only in the state that was copied.
    pub deletes_what_was_copied: bool,
    /// A rollback asks the target, and ends if that imported the files.
    pub asks_before_rollback: bool,
    /// A rollback writes down that it began before it resumes the source.
    pub withdraws_first: bool,
}

impl FileRules {
    /// All of them.
    pub const KEPT: Self = Self {
        records_before_closing: true,
        asks_for_import: true,
        deletes_what_was_copied: true,
        asks_before_rollback: true,
        withdraws_first: true,
    };
}

/// What the record at the source says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Waiting {
    /// Its files are being written.
    Writing,
    /// It waits, paused, for the import of its files.
    HandedOver,
    /// It is being resumed.
    Withdrawn,
    /// It is being released.
    Committed,
    /// The move was rolled back, or has ended.
    Nothing,
}

/// The run at the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtSource {
    /// There is none.
    Idle,
    /// The record is about to say that files which were not closed are being written again.
    Rewrite,
    /// The record is about to say that the source waits for the import of its files.
    HandOver,
    /// The files are about to be closed: complete from here on.
    Close,
    /// `handover finish`: the checks.
    Verify,
    /// The record is about to say that it is committed.
    Commit,
    /// The object is about to be deleted.
    Delete,
    /// `rollback`: the target is asked.
    Ask,
    /// The record is about to say that the source is being resumed.
    Withdraw,
    /// The object is about to be resumed.
    Unpause,
    /// The record is about to be removed.
    Forget,
}

/// Everything that matters at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Carried {
    /// The record.
    pub record: Waiting,
    /// The object in the source: its content, and whether it is active.
    pub source: Option<(Content, bool)>,
    /// The content in the files, and whether they are complete.
    pub files: (Content, bool),
    /// The copy: whether it is active.
    pub copy: Option<bool>,
    /// The run at the source.
    pub run: AtSource,
    /// A user edits it, once.
    pub may_edit: bool,
    /// It was deleted in a state that was not in the files.
    pub lost: bool,
}

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// `handover start`, for the first time or again.
    HandOver,
    /// `handover finish`.
    Resume,
    /// `rollback`.
    Rollback,
    /// The run's next request.
    Do(AtSource),
    /// The run dies.
    Die,
    /// The files are being imported: the copy is there, paused.
    Import,
    /// The import ends: the copy is active.
    EndImport,
    /// A user edits the object in the source.
    Edit,
}

/// The model.
#[derive(Clone, Copy, Debug)]
pub struct Files(pub FileRules);

impl Files {
    /// The first of the two writes that end a handover, once everything is copied.
    fn first(&self) -> AtSource {
        if self.0.records_before_closing { AtSource::HandOver } else { AtSource::Close }
    }

    /// `handover start` copies everything as it is now. Files that were closed are not written again once the record knows of them.
    fn hand_over(&self, state: &mut Carried) {
        let (content, _) = state.source.unwrap_or_default();
        (state.source, state.files) = (Some((content, false)), (content, false));
        state.run = if state.record == Waiting::Writing { self.first() } else { AtSource::Rewrite };
    }

    fn step(&self, state: &mut Carried) {
        let Self(rules) = self;
        let imported = state.copy == Some(true);
        let (copied, _) = state.files;
        let same = state.source.is_none_or(|(content, _)| content == copied);
        let as_copied = same || !rules.deletes_what_was_copied;
        state.run = match state.run {
            AtSource::Rewrite => {
                state.record = Waiting::Writing;
                self.first()
            }
            AtSource::HandOver => {
                state.record = Waiting::HandedOver;
                if rules.records_before_closing { AtSource::Close } else { AtSource::Idle }
            }
            AtSource::Close => {
                state.files.1 = true;
                if rules.records_before_closing { AtSource::Idle } else { AtSource::HandOver }
            }
            AtSource::Verify if state.record == Waiting::Committed => AtSource::Delete,
            AtSource::Verify if (imported || !rules.asks_for_import) && as_copied => AtSource::Commit,
            AtSource::Commit => {
                state.record = Waiting::Committed;
                AtSource::Delete
            }
            AtSource::Delete if as_copied => {
                state.lost = !same;
                (state.source, state.record) = (None, Waiting::Nothing);
                AtSource::Idle
            }
            AtSource::Ask if state.copy.is_none() || !rules.asks_before_rollback => {
                match rules.withdraws_first {
                    true => AtSource::Withdraw,
                    false => AtSource::Unpause,
                }
            }
            AtSource::Withdraw => {
                state.record = Waiting::Withdrawn;
                AtSource::Unpause
            }
            AtSource::Unpause => {
                state.source = state.source.map(|(content, _)| (content, true));
                AtSource::Forget
            }
            AtSource::Forget => {
                state.record = Waiting::Nothing;
                AtSource::Idle
            }
            // It stops.
            AtSource::Idle | AtSource::Verify | AtSource::Delete | AtSource::Ask => AtSource::Idle,
        };
    }
}

impl Model for Files {
    type State = Carried;
    type Action = Event;

    fn init_states(&self) -> Vec<Carried> {
        let (source, files) = (Some((0, false)), (0, false));
        let (record, run) = (Waiting::Writing, AtSource::Idle);
        vec![Carried { record, source, files, copy: None, run, may_edit: true, lost: false }]
    }

    fn actions(&self, state: &Carried, events: &mut Vec<Event>) {
        match (state.run, state.record) {
            (AtSource::Idle, Waiting::Writing) => events.extend([Event::HandOver, Event::Rollback]),
            (AtSource::Idle, Waiting::HandedOver) => {
                events.extend([Event::Resume, Event::Rollback]);
                if !state.files.1 {
                    events.push(Event::HandOver);
                }
            }
            (AtSource::Idle, Waiting::Committed) => events.push(Event::Resume),
            (AtSource::Idle, Waiting::Withdrawn) => events.push(Event::Rollback),
            (AtSource::Idle, Waiting::Nothing) => {}
            (step, _) => events.extend([Event::Do(step), Event::Die]),
        }
        let rolling_back =
            matches!(state.run, AtSource::Ask | AtSource::Withdraw | AtSource::Unpause | AtSource::Forget);
        let waits = matches!(state.record, Waiting::Writing | Waiting::HandedOver) && !rolling_back;
        match state.copy {
            None if state.files.1 && waits => events.push(Event::Import),
            Some(false) => events.push(Event::EndImport),
            _ => {}
        }
        if state.may_edit && state.source.is_some() {
            events.push(Event::Edit);
        }
    }

    fn next_state(&self, before: &Carried, event: Event) -> Option<Carried> {
        let mut state = before.clone();
        match event {
            Event::Resume => state.run = AtSource::Verify,
            Event::HandOver => self.hand_over(&mut state),
            // Nobody imports what is not complete: nobody is asked.
            Event::Rollback if state.record == Waiting::Writing => state.run = AtSource::Unpause,
            Event::Rollback => state.run = AtSource::Ask,
            Event::Do(_) => self.step(&mut state),
            Event::Die => state.run = AtSource::Idle,
            Event::Import => state.copy = Some(false),
            Event::EndImport => state.copy = Some(true),
            Event::Edit => {
                state.source = state.source.map(|(content, active)| (content + 1, active));
                state.may_edit = false;
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(KEPT, |_, state: &Carried| state.source.is_some() || state.copy.is_some()),
            Property::always(ONCE, |_, state: &Carried| {
                !state.source.is_some_and(|(_, active)| active) || state.copy != Some(true)
            }),
            Property::always(AS_COPIED, |_, state: &Carried| !state.lost),
            Property::sometimes(RELEASED, |_, state: &Carried| {
                state.source.is_none() && state.record == Waiting::Nothing
            }),
            Property::sometimes(BACK, |_, state: &Carried| {
                state.source.is_some_and(|(_, active)| active) && state.record == Waiting::Nothing
            }),
        ]
    }
}
