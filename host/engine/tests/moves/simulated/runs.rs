//! One seed from beginning to end: runs that suffer, one after the other or beside one another; then runs that nothing
//! disturbs any more, until all is moved or as it was.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pivot_core::scope::{Namespaces, Scope};
use pivot_core::{Key, Side};
use pivot_engine::{Exit, Failure, Options, Setup, Sides, Stop, run};
use pivot_places::MemoryPlace;
use serde_json::Value;
use tokio::time::sleep;

use super::network::{End, Line, Luck};
use super::sabotage::Sabotage;
use super::world::{Bustle, Shape, World};
use crate::stage::{Stage, picture};
use pivot_worlds::Dice;

/// How often an undisturbed run may stop, for which a human is asked, before that counts as no end.
const ATTEMPTS: usize = 12;

type Picture = BTreeMap<String, Value>;

#[derive(Clone, Copy, Debug)]
enum Command {
    Start,
    Resume,
    Rollback,
}

pub(super) struct Game {
    stage: Stage,
    shape: Shape,
    dice: Dice,
    world: Arc<World>,
    before: (Picture, Picture),
}

/// What a seed came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Played {
    pub(super) trace: Vec<String>,
    pub(super) deaths: usize,
    pub(super) rolled_back: bool,
}

impl Game {
    pub(super) fn new(seed: u64, sabotage: Option<Sabotage>) -> Self {
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
        };
        let world = Arc::new(World::new(&stage, dice.about("world"), bustle, sabotage));
        let before = (picture(&stage.source), picture(&stage.target));
        Self { stage, shape, dice, world, before }
    }

    /// What happened last.
    pub(super) fn last_lines(&self) -> String {
        let trace = self.world.trace.lock().unwrap();
        trace[trace.len().saturating_sub(400)..].join("\n")
    }

    /// Plays it; an error says which invariant was broken.
    pub(super) async fn play(&self) -> Result<Played, String> {
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
        // What happens in the same millisecond happens in any order.
        played.trace.sort();
        Ok(played)
    }

    /// A run with bad luck, at times another beside it; says how many died.
    async fn round(&self, round: u64) -> Result<usize, String> {
        let dice = self.dice.about(&format!("round {round}"));
        let first = self.suffer(format!("run {round}"), dice.about("first"), round == 0);
        let deaths = if dice.about("beside").percent(30) {
            let later = async {
                sleep(Duration::from_millis(dice.about("later").below(2500))).await;
                self.suffer(format!("run {round}, too"), dice.about("second"), false).await
            };
            let (one, other) = tokio::join!(first, later);
            usize::from(one) + usize::from(other)
        } else {
            usize::from(first.await)
        };
        self.intact()?;
        Ok(deaths)
    }

    async fn suffer(&self, name: String, dice: Dice, first: bool) -> bool {
        let mut luck = Luck::new(name, dice.about("luck"));
        luck.faults = dice.about("faults").pick(&[0, 0, 2, 8]);
        luck.slow = dice.about("slow").pick(&[0, 0, 2, 10]);
        if dice.about("ends").percent(80) {
            let side = dice.about("side").pick(&[Side::Source, Side::Target]);
            let silence = End::Silence(side, dice.about("silence").below(150));
            let end =
                dice.about("end").pick(&[End::CutBefore, End::CutAfter, End::CutAfter, End::Signal, silence]);
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
        let options = Options { take_over: dice.about("take over").percent(30), ..options(scope) };
        tokio::select! {
            biased;
            () = luck.died() => true,
            result = self.run(command, options, luck.clone()) => {
                let how = result.map_or_else(|stop| format!("stops: {stop}"), |()| "ends".to_owned());
                self.world.note(&luck.name, &format!("{command:?} {how}"));
                false
            }
        }
    }

    fn scope(&self, dice: Dice) -> Scope {
        let other = self.shape.other_namespace;
        Scope::new(match dice.below(10) {
            0 => Namespaces::All,
            1..=3 if other => Namespaces::One("other".into()),
            _ => Namespaces::One("ns".into()),
        })
    }

    async fn run(&self, command: Command, options: Options, luck: Arc<Luck>) -> Result<(), Stop> {
        let line = |side| {
            let (place, luck, world) = (self.world.place(side).clone(), luck.clone(), self.world.clone());
            Arc::new(Line { side, place, luck, world })
        };
        let sides = Sides { source: line(Side::Source), target: line(Side::Target) };
        let setup = Setup { sides, options, halter: luck.halter.clone(), ..self.stage.setup() };
        match command {
            Command::Start => run::start(setup).await.map(drop),
            Command::Resume => run::resume(setup).await.map(drop),
            Command::Rollback => run::rollback(setup).await.map(drop),
        }
    }

    /// A run that nothing disturbs.
    async fn undisturbed(&self, command: Command, options: Options) -> Result<(), Stop> {
        let luck = Arc::new(Luck::new("at rest".into(), self.dice));
        let result = self.run(command, options, luck).await;
        let how = result.as_ref().map_or_else(|stop| format!("stops: {stop}"), |()| "ends".to_owned());
        self.world.note("at rest", &format!("{command:?} {how}"));
        result
    }

    /// The moves under way, with whether they can only go forward.
    async fn under_way(&self) -> Vec<(String, bool)> {
        let status = run::status(self.stage.setup()).await.unwrap();
        status.moves.into_iter().map(|one| (one.record.move_id, one.record.phase.committed())).collect()
    }

    /// Rolls back what can be rolled back; says whether all is as it was then.
    async fn roll_back(&self) -> Result<bool, String> {
        let mut attempts = 0;
        while let Some((id, _)) = self.under_way().await.into_iter().find(|(_, committed)| !committed) {
            let options = Options { which: Some(id), ..options(Scope::new(Namespaces::All)) };
            if let Err(stop) = self.undisturbed(Command::Rollback, options).await {
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
        let mut scopes = vec![Namespaces::One("ns".into()), Namespaces::One("other".into()), Namespaces::All];
        scopes.reverse();
        let mut stops = Vec::new();
        while let Some(next) = scopes.last().cloned() {
            let under_way = self.under_way().await;
            let result = match under_way.into_iter().next() {
                Some((id, _)) => {
                    let options = Options { which: Some(id), ..options(Scope::new(next)) };
                    self.undisturbed(Command::Resume, options).await
                }
                None => match self.undisturbed(Command::Start, options(Scope::new(next))).await {
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
        let (source, mut target) = moved(self.shape).await;
        self.edit(&mut target);
        self.same("the target", &self.world.target, &target)?;
        self.same("the source", &self.world.source, &source)?;
        for place in [&self.world.source, &self.world.target] {
            let ours = place.keys().into_iter().find(|key| {
                let body = place.body(key).unwrap();
                let finished = body["metadata"]["labels"].get("pivot-host.io/finished").is_some();
                key.namespace.as_deref() == Some("kube-system") && !finished
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

/// Both sides after a move that nothing disturbed.
async fn moved(shape: Shape) -> (Picture, Picture) {
    static KNOWN: Mutex<BTreeMap<Shape, (Picture, Picture)>> = Mutex::new(BTreeMap::new());
    if let Some(known) = KNOWN.lock().unwrap().get(&shape) {
        return known.clone();
    }
    let stage = shape.stage();
    let options = options(Scope::new(Namespaces::All));
    run::start(Setup { options, ..stage.setup() }).await.unwrap();
    let pictures = (picture(&stage.source), picture(&stage.target));
    KNOWN.lock().unwrap().insert(shape, pictures.clone());
    pictures
}

/// Nobody is at work in the target.
fn options(scope: Scope) -> Options {
    Options { no_wait: true, ..Options::new(scope) }
}
