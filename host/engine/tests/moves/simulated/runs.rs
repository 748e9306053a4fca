//! One seed from beginning to end: runs that suffer, one after the other or beside one another; then runs that nothing
//! disturbs any more, until all is moved or as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use pivot_core::messages::risk::Risk;
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_core::{Key, Side};
use pivot_engine::{Exit, Failure, Options, Setup, Sides, Stop};
use pivot_memory::MemoryPlace;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::network::{End, Line, Luck, Meanwhile};
use super::paused;
use super::sabotage::Sabotage;
use super::world::{Bustle, MOST_REQUESTS, Reader, Shape, World};
use crate::run::{self, With};
use crate::stage::{Stage, is_summary, picture};
use pivot_worlds::Dice;

/// How often an undisturbed run may stop, for which a human is asked, before that counts as no end.
const ATTEMPTS: usize = 12;
/// How long a seed may take on its own clock before that counts as no end; the usual ones take some minutes.
const LONGEST_GAME: Duration = Duration::from_hours(1);

type Picture = BTreeMap<String, Value>;

#[derive(Clone, Copy, Debug)]
enum Command {
    Start,
    Resume,
    Rollback,
}

pub(super) struct Game {
    stage: Stage,
    /// The namespaces that can be moved one by one.
    namespaces: Vec<String>,
    dice: Dice,
    world: Arc<World>,
    before: (Picture, Picture),
    /// Both sides after a move that nothing disturbed.
    moved: (Picture, Picture),
}

/// What a seed came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Played {
    pub(super) trace: Vec<String>,
    pub(super) deaths: usize,
    pub(super) stood_still: usize,
    pub(super) rolled_back: bool,
}

impl Game {
    pub(super) async fn new(seed: u64, sabotage: Option<Sabotage>) -> Arc<Self> {
        let dice = Dice::new(seed);
        let shape = Shape::of(dice.about("shape"));
        let stage = shape.stage();
        let quiet = dice.about("quiet").percent(30);
        let bustle = Bustle {
            controllers: if quiet { 0 } else { dice.about("controllers").below(15) },
            edits: match sabotage {
                Some(Sabotage::Preconditions) => 20,
                _ if quiet => 0,
                _ => dice.about("edits").below(4),
            },
            strangers: if dice.about("strangers").percent(10) { 4 } else { 0 },
            takes_over: dice.about("takes over").pick(&[2, 20, 100]),
        };
        let before = (picture(&stage.source), picture(&stage.target));
        let straight = shape.stage();
        let options =
            Options { accept: Risk::TakeoverUnchecked.into(), ..options(Scope::new(Namespaces::All)) };
        run::start(Setup { options, ..straight.setup() }).await.unwrap();
        assert!(straight.source.collect_garbage().is_empty() && straight.target.collect_garbage().is_empty());
        let moved = (picture(&straight.source), picture(&straight.target));
        let left: BTreeSet<Key> = straight.source.keys().into_iter().collect();
        let moves = stage.source.keys().into_iter().filter(|key| !left.contains(key)).collect();
        let world = Arc::new(World::new(&stage, moves, dice.about("world"), bustle, sabotage));
        Arc::new(Self { stage, namespaces: shape.namespaces(), dice, world, before, moved })
    }

    /// Leaves the runs no requests.
    pub(super) fn use_up_requests(&self) {
        self.world.use_up_requests();
    }

    /// What happened last.
    pub(super) fn last_lines(&self) -> String {
        let trace = self.world.trace.lock().unwrap();
        trace[trace.len().saturating_sub(400)..].join("\n")
    }

    /// Plays it; an error says which invariant was broken.
    pub(super) async fn play(self: &Arc<Self>) -> Result<Played, String> {
        let controllers = self.controllers();
        let played = timeout(LONGEST_GAME, self.play_rounds()).await;
        controllers.abort();
        let ended = played.ok().filter(|_| self.world.count_requests() <= MOST_REQUESTS);
        ended.unwrap_or_else(|| Err(self.describe_endless("the seed")))
    }

    /// Describes a seed or a run that takes longer than it may.
    fn describe_endless(&self, what: &str) -> String {
        let (requests, seconds) = (self.world.count_requests(), self.world.now().as_secs());
        format!("invariant 10: {what} does not end: {requests} requests in {seconds} seconds")
    }

    async fn play_rounds(self: &Arc<Self>) -> Result<Played, String> {
        let mut played = Played::default();
        for round in 0..1 + self.dice.about("rounds").below(3) {
            played.deaths += self.round(round).await?;
            sleep(Duration::from_secs(self.dice.about(&format!("rest {round}")).below(30))).await;
        }
        self.world.calms_down();
        if self.dice.about("back").percent(30) {
            played.rolled_back = self.roll_back().await?;
        }
        self.move_all().await?;
        played.trace = std::mem::take(&mut *self.world.trace.lock().unwrap());
        played.stood_still = played.trace.iter().filter(|line| line.contains("stands still after")).count();
        // What happens in the same millisecond happens in any order.
        played.trace.sort();
        Ok(played)
    }

    /// A run with bad luck, at times another beside it; says how many died.
    async fn round(self: &Arc<Self>, round: u64) -> Result<usize, String> {
        let dice = self.dice.about(&format!("round {round}"));
        let (name, first) = (format!("run {round}"), dice.about("first"));
        let deaths = if dice.about("beside").percent(30) {
            let first = self.suffer(name, first, round == 0, None);
            let later = async {
                sleep(Duration::from_millis(dice.about("later").below(2500))).await;
                self.suffer(format!("run {round}, too"), dice.about("second"), false, None).await
            };
            let (one, other) = tokio::join!(first, later);
            usize::from(one) + usize::from(other)
        } else {
            let meanwhile = self.meanwhile(format!("run {round}, too"), dice.about("second"));
            usize::from(self.suffer(name, first, round == 0, Some(meanwhile)).await)
        };
        self.intact()?;
        Ok(deaths)
    }

    /// Controllers of the target, until they are aborted.
    fn controllers(&self) -> JoinHandle<()> {
        let world = self.world.clone();
        tokio::spawn(async move { world.controllers_take_over().await })
    }

    /// Plays another run to its end while no task of this runtime gets to do anything.
    fn meanwhile(self: &Arc<Self>, name: String, dice: Dice) -> Meanwhile {
        let game = self.clone();
        Box::new(move || {
            let before = game.world.now();
            let run = || {
                paused().block_on(async {
                    let began = Instant::now();
                    game.world.set_time(before);
                    let controllers = game.controllers();
                    let suffered = timeout(LONGEST_GAME, game.suffer(name.clone(), dice, false, None)).await;
                    if suffered.is_err() {
                        let endless = game.describe_endless(&name);
                        game.world.witness.lock().unwrap().broken.push(endless);
                    }
                    // What it sent arrives.
                    sleep(Duration::from_secs(2)).await;
                    controllers.abort();
                    began.elapsed()
                })
            };
            // One thread can't have two runtimes. A debug program's futures need almost the 2 MiB that a thread has by default.
            let thread = std::thread::Builder::new().stack_size(8 << 20);
            let ran = std::thread::scope(|scope| thread.spawn_scoped(scope, run).unwrap().join().unwrap());
            let stood = ran + Duration::from_secs(dice.about("longer").below(30));
            game.world.set_time(before + stood);
            stood
        })
    }

    async fn suffer(&self, name: String, dice: Dice, first: bool, meanwhile: Option<Meanwhile>) -> bool {
        let mut luck = Luck::new(name, dice.about("luck"));
        luck.meanwhile = meanwhile;
        luck.faults = dice.about("faults").pick(&[0, 0, 2, 8]);
        luck.slow = dice.about("slow").pick(&[0, 0, 2, 10]);
        if dice.about("ends").percent(80) {
            let side = dice.about("side").pick(&[Side::Source, Side::Target]);
            let silence = End::Silence(side, dice.about("silence").below(150));
            let mut ends = vec![End::CutBefore, End::CutAfter, End::CutAfter, End::Signal, silence];
            if luck.meanwhile.is_some() {
                ends.extend([End::Freeze, End::Freeze, End::Sleep]);
            }
            let end = dice.about("end").pick(&ends);
            luck.end = Some((dice.about("soon").pick(&[4, 8, 16, 30]), end));
        }
        let luck = Arc::new(luck);
        let command = match dice.about("command").below(20) {
            _ if first => Command::Start,
            0..=13 => Command::Start,
            14..=16 => Command::Resume,
            _ => Command::Rollback,
        };
        let scope = self.scope(dice.about("scope"));
        let options = Options { break_lease: dice.about("take over").percent(30), ..options(scope) };
        let died = tokio::select! {
            biased;
            () = luck.died() => true,
            result = self.run(command, None, options, luck.clone()) => {
                let how = result.map_or_else(|stop| format!("stops: {stop}"), |()| "ends".to_owned());
                self.world.note(&luck.name, &format!("{command:?} {how}"));
                false
            }
        };
        // Others work until its process would have gone on.
        luck.stands_no_more().await;
        died
    }

    fn scope(&self, dice: Dice) -> Scope {
        let namespaces: Vec<&String> = self.namespaces.iter().collect();
        Scope::new(match namespaces.is_empty() || dice.percent(20) {
            true => Namespaces::All,
            false => Namespaces::One(dice.about("namespace").pick(&namespaces).clone()),
        })
    }

    async fn run(
        &self,
        command: Command,
        move_id: Option<String>,
        options: Options,
        luck: Arc<Luck>,
    ) -> Result<(), Stop> {
        let line = |side| {
            let (place, luck, world) = (self.world.place(side).clone(), luck.clone(), self.world.clone());
            Arc::new(Line { side, place, luck, world })
        };
        let sides = Sides { source: line(Side::Source), target: line(Side::Target) };
        let watcher = Arc::new(Reader(self.world.clone()));
        let setup = Setup { sides, options, watcher, halter: luck.halter.clone(), ..self.stage.setup() };
        let ended = match command {
            Command::Start => run::start(setup).await.map(|report| format!("{report:?}")),
            Command::Resume => {
                run::resume(With { move_id, ..setup.into() }).await.map(|report| format!("{report:?}"))
            }
            Command::Rollback => {
                run::rollback(With { move_id, ..setup.into() }).await.map(|report| format!("{report:?}"))
            }
        };
        match &ended {
            Ok(report) => self.world.told("a report", report),
            Err(stop) => self.world.told("a stop", &format!("{stop} {stop:?}")),
        }
        ended.map(drop)
    }

    /// A run that nothing disturbs.
    async fn undisturbed(
        &self,
        command: Command,
        move_id: Option<String>,
        options: Options,
    ) -> Result<(), Stop> {
        let luck = Arc::new(Luck::new("at rest".into(), self.dice));
        let result = self.run(command, move_id, options, luck).await;
        let how = result.as_ref().map_or_else(|stop| format!("stops: {stop}"), |()| "ends".to_owned());
        self.world.note("at rest", &format!("{command:?} {how}"));
        result
    }

    /// The moves under way, with whether they can only go forward.
    async fn under_way(&self) -> Vec<(String, bool)> {
        let status = run::status(self.stage.setup()).await.unwrap();
        self.world.told("a status", &format!("{status:?}"));
        status.moves.into_iter().map(|one| (one.record.move_id, one.record.phase.is_committed())).collect()
    }

    /// Rolls back what can be rolled back; says whether all is as it was then.
    async fn roll_back(&self) -> Result<bool, String> {
        let mut attempts = 0;
        while let Some((id, _)) = self.under_way().await.into_iter().find(|(_, committed)| !committed) {
            let options = options(Scope::new(Namespaces::All));
            if let Err(stop) = self.undisturbed(Command::Rollback, Some(id), options).await {
                self.ask_a_human(&stop);
            }
            self.intact()?;
            attempts += 1;
            if attempts > ATTEMPTS {
                return Err("invariant 10: rolling back does not end".into());
            }
        }
        if self.world.witness.lock().unwrap().committed {
            return Ok(false);
        }
        let mut before = self.before.clone();
        self.edit(&mut before.0);
        self.same("the source after a rollback", &self.world.source, &before.0)?;
        self.same("the target after a rollback", &self.world.target, &before.1)?;
        Ok(true)
    }

    /// Resumes what is under way, then moves what is left, until nothing is.
    async fn move_all(&self) -> Result<(), String> {
        let mut scopes = vec![Namespaces::All];
        scopes.extend(self.namespaces.iter().cloned().map(Namespaces::One));
        let mut stops = Vec::new();
        while let Some(next) = scopes.last().cloned() {
            let under_way = self.under_way().await;
            let result = match under_way.into_iter().next() {
                Some((id, _)) => self.undisturbed(Command::Resume, Some(id), options(Scope::new(next))).await,
                None => match self.undisturbed(Command::Start, None, options(Scope::new(next))).await {
                    Err(stop) if stop.exit != Exit::Empty => Err(stop),
                    _ => {
                        scopes.pop();
                        Ok(())
                    }
                },
            };
            self.intact()?;
            if let Err(stop) = result {
                self.ask_a_human(&stop);
                stops.push(format!("{stop} ({})", stop.state));
                if stops.len() > ATTEMPTS {
                    return Err(format!("invariant 10: running again does not end: {stops:#?}"));
                }
            }
        }
        let (source, mut target) = self.moved.clone();
        self.edit(&mut target);
        self.same("the target", &self.world.target, &target)?;
        self.same("the source", &self.world.source, &source)?;
        for place in [&self.world.source, &self.world.target] {
            let ours = place.keys().into_iter().find(|key| {
                let body = place.body(key).unwrap();
                key.namespace.as_deref() == Some("pivot-host-records") && !is_summary(&body)
            });
            if let Some(key) = ours {
                return Err(format!("invariant 10: {key} is left behind: {:?}", place.body(&key)));
            }
        }
        Ok(())
    }

    /// What a run can't decide: whose object it is, and which of two states is meant.
    fn ask_a_human(&self, stop: &Stop) {
        if let Failure::Changed { object, .. } = &stop.failure {
            let mut edits = self.world.edits.lock().unwrap();
            if let Some(last) = edits.iter().rposition(|edit| edit.key == *object) {
                let edit = edits.remove(last);
                self.world.source.edit(object, |body| edit.undo(body)).unwrap();
                self.world.note("user", &format!("takes the edit of {object} back"));
            }
        }
        let stranger = self.world.stranger.lock().unwrap().take();
        let still = |key: &Key| self.world.target.body(key).is_some_and(|body| World::is_a_strangers(&body));
        if let Some(key) = stranger.filter(still) {
            self.world.target.remove(&key).unwrap();
            self.world.note("stranger", &format!("takes {key} away"));
        }
    }

    /// Makes the users' edits in a picture.
    fn edit(&self, picture: &mut Picture) {
        for edit in self.world.edits.lock().unwrap().iter() {
            if let Some(body) = picture.get_mut(&edit.key.to_string()) {
                edit.make(body);
            }
        }
    }

    fn intact(&self) -> Result<(), String> {
        let broken = self.world.witness.lock().unwrap().broken.clone();
        if broken.is_empty() { Ok(()) } else { Err(broken.join("\n")) }
    }

    fn same(&self, what: &str, place: &MemoryPlace, wanted: &Picture) -> Result<(), String> {
        let mut there = picture(place);
        there.retain(|_, body| !World::is_a_strangers(body));
        if there == *wanted {
            return Ok(());
        }
        let keys = there.keys().chain(wanted.keys());
        let unlike = keys.filter(|key| there.get(*key) != wanted.get(*key));
        let unlike: Vec<String> = unlike
            .map(|key| format!("{key}: {:?}\n  instead of {:?}", there.get(key), wanted.get(key)))
            .collect();
        Err(format!("invariant 10: {what} is not as it should be:\n{}", unlike.join("\n")))
    }
}

/// Nothing is deleted without evidence, and nobody waits long for it.
fn options(scope: Scope) -> Options {
    Options { takeover_timeout: Duration::from_secs(60), ..Options::new(scope) }
}
