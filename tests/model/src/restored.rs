//! A side that is restored from a backup, as a state machine of its own: its records, its list and its objects are those of then.
//!
//! The backup is made at any step, and put back at any later one, once. Locks keep runs apart, as [`crate::Handover`] shows; so there is
//! one run, which may die between any two requests, and dies of a restore. A Cluster and an object that belongs to it represent
//! everything. No user pauses or unpauses anything by hand, so that copies that ran still run, and summaries are left out. A user whom `status` tells that the source is out of date switches it off.
//! A restore may itself lose an object, or make the Cluster run on both sides: what the program does afterwards is judged.
//!
//! Instead of a restore, an attacker may once replace one record by another, or remove it.

use stateright::{Model, Property};

use crate::pair::{Item, Items, OneOfTwo, Pair};
use crate::state::Phase;

/// Invariant 1.
pub const KEPT: &str = "restored, 1: no object that a restore left disappears";
/// Invariant 2.
pub const ONCE: &str = "restored, 2: no Cluster runs on both sides unless a restore made it";
/// Invariant 14.
pub const LEFT_ALONE: &str = "restored, 14: a copy that ran is not replaced, and its source not unpaused";
/// A move can end after a restore.
pub const MOVED: &str = "restored: a move ends";
/// A source that went back can be deleted from.
pub const DELETED: &str = "restored: a source that went back is deleted from";
/// A move can be rolled back after a restore.
pub const ROLLED_BACK: &str = "restored: a move is rolled back";
/// The verdicts that a restore must be able to bring about.
pub const SEEN: [(&str, Verdict); 5] = [
    ("restored: the source may be the last copy", Verdict::LastInSource),
    ("restored: the target's copies may be the last", Verdict::LastInTarget),
    ("restored: the source is out of date", Verdict::TakenOver),
    ("restored: the source is out of date, and runs", Verdict::WentBack),
    ("restored: copies are left of a move that was rolled back", Verdict::RolledBack),
];

/// The records that an attacker may write.
const LIES: [Option<Phase>; 5] =
    [None, Some(Phase::Copied), Some(Phase::Committed), Some(Phase::Live), Some(Phase::Released)];

/// The rules, each of which can be broken.
#[derive(Clone, Copy, Debug)]
pub struct RestoreRules {
    /// A source that says Committed is out of date only if its copies run.
    pub demands_running_copies: bool,
    /// If the source has no record of a move, its objects are looked for.
    pub looks_for_originals: bool,
    /// Before the source says Committed, a rollback and a resume look for copies that run.
    pub looks_for_running_copies: bool,
    /// A source without a record is moved only into a target without copies.
    pub refuses_existing_copies: bool,
}

impl RestoreRules {
    /// All of them.
    pub const KEPT: Self = Self {
        demands_running_copies: true,
        looks_for_originals: true,
        looks_for_running_copies: true,
        refuses_existing_copies: true,
    };
}

/// Meaning of the records and the objects of both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The records fit each other, or there is no move.
    Fits,
    /// The source is out of date, and paused.
    TakenOver,
    /// The source is out of date, and runs.
    WentBack,
    /// The source may be the last copy.
    LastInSource,
    /// The target's copies may be the last.
    LastInTarget,
    /// The move was rolled back, and left copies.
    RolledBack,
}

/// A side that is restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BackedUp {
    /// The source, as it was.
    Source(Origin),
    /// The target, as it was.
    Target(Copies),
}

/// The source's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The record.
    pub record: Option<Phase>,
    /// The objects that are there.
    pub objects: Items,
    /// Whether the move has paused the Cluster.
    pub paused: bool,
}

/// The target's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Copies {
    /// The record.
    pub record: Option<Phase>,
    /// Whether the list of the move is there.
    pub list: bool,
    /// The objects that are there.
    pub objects: Items,
    /// Whether the copy of the Cluster runs.
    pub runs: bool,
}

/// The next request of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// No run.
    Idle,
    /// The record is about to say Paused.
    EnterPaused,
    /// The Cluster is about to be paused.
    Pause,
    /// The source's record is about to say Copied.
    EnterCopied,
    /// An object is about to be created in the target, or updated there.
    Copy(Item),
    /// The target's record and list are about to be written.
    CommitTarget,
    /// The source's record is about to say Committed.
    CommitSource,
    /// The record of a source that went back is about to say Committed again.
    CommitAgain,
    /// The copy is about to be unpaused.
    Unpause,
    /// The copies are looked for once more.
    Check,
    /// The target's record is about to say Released.
    ReleaseTarget,
    /// The source's record is about to say Released.
    ReleaseSource,
    /// An object is about to be deleted from the source.
    Delete(Item),
    /// The source's record is about to be removed.
    CloseSource,
    /// The list is about to be removed.
    CloseList,
    /// The target's record is about to be removed.
    CloseTarget,
    /// A rollback is about to remove the target's record and list.
    ForgetTarget,
    /// A rollback is about to remove a copy.
    Remove(Item),
    /// A rollback is about to unpause the source.
    UnpauseSource,
    /// A rollback is about to remove the source's record.
    ForgetSource,
}

/// Everything that matters at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Restorable {
    /// The source.
    pub source: Origin,
    /// The target.
    pub target: Copies,
    /// The run.
    pub run: Request,
    /// Whether the run was told that the source is gone.
    pub without_source: bool,
    /// The backup, until it is put back.
    pub backup: Option<BackedUp>,
    /// Whether a backup can still be made.
    pub may_back_up: bool,
    /// Objects that the restore left on no side.
    pub lost: Items,
    /// Whether the restore made the Cluster run on both sides.
    pub twice: bool,
    /// Whether an attacker replaced a record.
    pub lied: bool,
    /// Whether the copy of the Cluster has ever run.
    pub ran: bool,
    /// Whether the program has replaced a copy that ran, or unpaused its source.
    pub wronged: bool,
    /// Whether a move has ended since the restore: forward, or back.
    pub ended: Pair<bool>,
}

/// A step of either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// `move`, or `resume`.
    Move,
    /// `rollback`.
    Rollback,
    /// `resume --without-source`, if `status` offers it.
    MoveWithoutSource,
    /// `resume --accept world-changed`, if the source went back: it is paused, or committed again if it is.
    EndOutdated,
    /// The run's next request.
    Do(Request),
    /// The run dies.
    Die,
    /// A backup of the source is made.
    BackUpSource,
    /// A backup of the target is made.
    BackUpTarget,
    /// The backup is put back.
    Restore,
    /// An attacker replaces the source's record, or removes it.
    LieInSource(Option<Phase>),
    /// An attacker replaces the target's record, or removes it.
    LieInTarget(Option<Phase>),
    /// A user switches off the source that is out of date.
    SwitchOff,
}

/// The model.
#[derive(Clone, Copy, Debug)]
pub struct Restored(pub RestoreRules);

impl Restorable {
    /// No move has begun.
    pub const UNMOVED: Self = Self {
        source: Origin { record: None, objects: Items::ALL, paused: false },
        target: Copies { record: None, list: false, objects: Items::NONE, runs: false },
        run: Request::Idle,
        without_source: false,
        backup: None,
        may_back_up: true,
        lost: Items::NONE,
        twice: false,
        lied: false,
        ran: false,
        wronged: false,
        ended: Pair(false, false),
    };

    fn source_runs(&self) -> bool {
        self.source.objects[Item::Cluster] && !self.source.paused
    }

    fn target_runs(&self) -> bool {
        self.target.objects[Item::Cluster] && self.target.runs
    }

    fn is_on_neither_side(&self, item: Item) -> bool {
        !self.source.objects[item] && !self.target.objects[item]
    }
}

impl Restored {
    /// Judges both sides as a command does before it does anything.
    pub fn judge(&self, state: &Restorable) -> Verdict {
        let Self(rules) = self;
        let out_of_date = if state.source_runs() { Verdict::WentBack } else { Verdict::TakenOver };
        let runs = state.target_runs() && rules.looks_for_running_copies;
        let moved_on = state.target.record > Some(Phase::Live) || runs;
        match (state.source.record, state.target.record) {
            (Some(phase), None) if phase >= Phase::Committed => {
                let proven = state.target_runs() || !rules.demands_running_copies;
                if proven { Verdict::TakenOver } else { Verdict::LastInSource }
            }
            (Some(phase), _) if phase < Phase::Committed => {
                if moved_on {
                    out_of_date
                } else {
                    Verdict::Fits
                }
            }
            (None, Some(phase)) => {
                let there = Item::BOTH.into_iter().any(|item| state.source.objects[item]);
                let orphaned = phase <= Phase::Live;
                match (state.target.list, there || !rules.looks_for_originals) {
                    (true, true) if moved_on => out_of_date,
                    (true, true) if orphaned => Verdict::RolledBack,
                    (_, false) | (false, _) if orphaned => Verdict::LastInTarget,
                    _ => Verdict::Fits,
                }
            }
            _ => Verdict::Fits,
        }
    }

    fn begin(&self, state: &mut Restorable) {
        if self.judge(state) != Verdict::Fits {
            return;
        }
        let copies = Item::BOTH.into_iter().any(|item| state.target.objects[item]);
        state.run = match (state.source.record, state.target.record) {
            (Some(phase), _) if phase < Phase::Committed => Request::EnterPaused,
            (_, Some(phase)) if phase <= Phase::Live => Request::Unpause,
            (Some(_), Some(_)) => Request::Check,
            (None, Some(_)) => Request::CloseList,
            (_, None) if !state.source.objects[Item::Cluster] => Request::Idle,
            (_, None) if copies && self.0.refuses_existing_copies => Request::Idle,
            (_, None) => Request::EnterPaused,
        };
    }

    /// Returns true if the source is out of date, and the target has a list and each copy, and runs.
    fn may_commit_again(&self, state: &Restorable) -> bool {
        let whole =
            Item::BOTH.into_iter().all(|item| state.target.objects[item] || !state.source.objects[item]);
        let uncommitted = state.source.record.is_some_and(|phase| phase < Phase::Committed);
        let proven = whole && state.target_runs() && state.target.list && state.target.record.is_some();
        self.judge(state) == Verdict::TakenOver && uncommitted && proven
    }

    fn end_outdated(&self, state: &mut Restorable) {
        if self.judge(state) == Verdict::WentBack {
            if state.source.record.is_some() && state.target_runs() {
                state.source.paused = true;
            }
        } else if self.may_commit_again(state) {
            state.run = Request::CommitAgain;
        }
    }

    fn roll_back(&self, state: &mut Restorable) {
        state.run = match (self.judge(state), state.source.record) {
            (Verdict::RolledBack, _) => Request::ForgetTarget,
            (Verdict::Fits, Some(phase)) if phase < Phase::Committed => Request::ForgetTarget,
            _ => Request::Idle,
        };
    }

    fn step(&self, state: &mut Restorable) {
        use Request as R;
        let (source, target) = (&mut state.source, &mut state.target);
        state.run = match state.run {
            R::Idle => R::Idle,
            R::EnterPaused => {
                source.record = source.record.or(Some(Phase::Paused));
                R::Pause
            }
            R::Pause => {
                source.paused = true;
                R::EnterCopied
            }
            R::EnterCopied => {
                source.record = Some(Phase::Copied);
                R::Copy(Item::Cluster)
            }
            R::Copy(item) => {
                if source.objects[item] {
                    state.wronged |= state.ran;
                    target.objects[item] = true;
                    target.runs &= item != Item::Cluster;
                }
                if item == Item::Cluster { R::Copy(Item::Host) } else { R::CommitTarget }
            }
            R::CommitTarget => {
                (target.record, target.list) = (target.record.or(Some(Phase::Live)), true);
                R::CommitSource
            }
            R::CommitSource => {
                source.record = Some(Phase::Committed);
                R::Unpause
            }
            R::CommitAgain => {
                source.record = Some(Phase::Committed);
                R::Check
            }
            R::Unpause => {
                if target.objects[Item::Cluster] {
                    (target.runs, state.ran) = (true, true);
                }
                if state.without_source { R::CloseList } else { R::Check }
            }
            R::Check => {
                let whole = Item::BOTH.into_iter().all(|item| target.objects[item] || !source.objects[item]);
                if whole && source.paused { R::ReleaseTarget } else { R::Idle }
            }
            R::ReleaseTarget => {
                target.record = Some(Phase::Released);
                R::ReleaseSource
            }
            R::ReleaseSource => {
                source.record = Some(Phase::Released);
                R::Delete(Item::Host)
            }
            R::Delete(item) => {
                source.objects[item] = false;
                if item == Item::Host { R::Delete(Item::Cluster) } else { R::CloseSource }
            }
            R::CloseSource => {
                source.record = None;
                R::CloseList
            }
            R::CloseList => {
                target.list = false;
                R::CloseTarget
            }
            R::CloseTarget => {
                (target.record, state.ended.0) = (None, true);
                R::Idle
            }
            R::ForgetTarget => {
                (target.record, target.list) = (None, false);
                R::Remove(Item::Host)
            }
            R::Remove(item) => {
                state.wronged |= state.ran && target.objects[item];
                target.objects[item] = false;
                target.runs &= item != Item::Cluster;
                if item == Item::Host { R::Remove(Item::Cluster) } else { R::UnpauseSource }
            }
            R::UnpauseSource => {
                // Without a record nothing in the source is the move's.
                if source.record.is_some() && source.paused {
                    (source.paused, state.wronged) = (false, state.wronged || state.ran);
                }
                R::ForgetSource
            }
            R::ForgetSource => {
                (source.record, state.ended.1) = (None, true);
                R::Idle
            }
        };
        if state.run == R::Idle {
            state.without_source = false;
        }
    }
}

fn restore(state: &mut Restorable) {
    match state.backup.take() {
        Some(BackedUp::Source(origin)) => state.source = origin,
        Some(BackedUp::Target(copies)) => state.target = copies,
        None => {}
    }
    (state.run, state.without_source, state.ended) = (Request::Idle, false, Pair(false, false));
    state.lost = Pair(state.is_on_neither_side(Item::Cluster), state.is_on_neither_side(Item::Host));
    state.twice = state.source_runs() && state.target_runs();
}

/// The run that was at work finds another record than its own, and ends.
fn lie(state: &mut Restorable) {
    (state.run, state.without_source) = (Request::Idle, false);
    (state.may_back_up, state.lied) = (false, true);
}

impl Model for Restored {
    type State = Restorable;
    type Action = Happening;

    fn init_states(&self) -> Vec<Restorable> {
        vec![Restorable::UNMOVED]
    }

    fn actions(&self, state: &Restorable, happenings: &mut Vec<Happening>) {
        match state.run {
            Request::Idle => {
                happenings.extend([Happening::Move, Happening::Rollback]);
                match self.judge(state) {
                    Verdict::LastInTarget => happenings.push(Happening::MoveWithoutSource),
                    // No user switches off a source whose Cluster doesn't run in the target.
                    Verdict::TakenOver => {
                        happenings.push(Happening::EndOutdated);
                        if state.target_runs() || !self.0.demands_running_copies {
                            happenings.push(Happening::SwitchOff);
                        }
                    }
                    Verdict::WentBack => happenings.push(Happening::EndOutdated),
                    _ => {}
                }
            }
            request => happenings.extend([Happening::Do(request), Happening::Die]),
        }
        if state.may_back_up {
            happenings.extend([Happening::BackUpSource, Happening::BackUpTarget]);
            happenings.extend(LIES.map(Happening::LieInSource));
            happenings.extend(LIES.map(Happening::LieInTarget));
        }
        if state.backup.is_some() {
            happenings.push(Happening::Restore);
        }
    }

    fn next_state(&self, before: &Restorable, happening: Happening) -> Option<Restorable> {
        let mut state = before.clone();
        match happening {
            Happening::Move => self.begin(&mut state),
            Happening::Rollback => self.roll_back(&mut state),
            Happening::MoveWithoutSource => {
                (state.run, state.without_source) = (Request::Unpause, true);
            }
            Happening::EndOutdated => self.end_outdated(&mut state),
            Happening::Do(_) => self.step(&mut state),
            Happening::Die => (state.run, state.without_source) = (Request::Idle, false),
            Happening::BackUpSource => {
                (state.backup, state.may_back_up) = (Some(BackedUp::Source(state.source)), false);
            }
            Happening::BackUpTarget => {
                (state.backup, state.may_back_up) = (Some(BackedUp::Target(state.target)), false);
            }
            Happening::Restore => restore(&mut state),
            Happening::LieInSource(record) => {
                state.source.record = record;
                lie(&mut state);
            }
            Happening::LieInTarget(record) => {
                state.target.record = record;
                lie(&mut state);
            }
            Happening::SwitchOff => state.source.objects = Items::NONE,
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always(KEPT, |_, state: &Restorable| {
                Item::BOTH.into_iter().all(|item| state.lost[item] || !state.is_on_neither_side(item))
            }),
            Property::always(ONCE, |_, state: &Restorable| {
                state.twice || !(state.source_runs() && state.target_runs())
            }),
            Property::always(LEFT_ALONE, |_, state: &Restorable| !state.wronged),
            Property::sometimes(MOVED, |_, state: &Restorable| has_gone_back(state) && state.ended.0),
            Property::sometimes(DELETED, |_, state: &Restorable| {
                has_gone_back(state) && state.run == Request::CommitAgain
            }),
            Property::sometimes(ROLLED_BACK, |_, state: &Restorable| has_gone_back(state) && state.ended.1),
        ];
        let shown: [fn(&Self, &Restorable) -> bool; SEEN.len()] =
            [shows::<0>, shows::<1>, shows::<2>, shows::<3>, shows::<4>];
        properties.extend(SEEN.iter().zip(shown).map(|((name, _), shown)| Property::sometimes(name, shown)));
        properties
    }
}

fn has_gone_back(state: &Restorable) -> bool {
    !state.may_back_up && state.backup.is_none() && !state.lied
}

/// Returns true if a restore has brought a verdict about.
fn shows<const NUMBER: usize>(model: &Restored, state: &Restorable) -> bool {
    let verdict = SEEN.get(NUMBER).map(|(_, verdict)| *verdict);
    has_gone_back(state) && state.run == Request::Idle && Some(model.judge(state)) == verdict
}
