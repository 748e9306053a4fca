//! Rounds: every contender once, in turn, so that a temporary load affects all of them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, ensure};
use pivot_lab::assets::CLUSTER_API;
use pivot_lab::audit::Tally;
use pivot_lab::{Audit, Crds, Pair, Relay, say};

use crate::contender::{Contender, Took};
use crate::floor::{self, Floor};
use crate::shape;

/// How many concurrent requests are tried for the floor.
const SIDE_BY_SIDE: [usize; 6] = [8, 16, 32, 64, 128, 256];
/// Concurrent requests of the floor where a try would take minutes.
const USUAL: usize = 64;
/// From this many objects on, the floor has its own servers.
pub(crate) const LARGE: usize = 20_000;

/// What pivot-host is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    Everybody,
    Floor,
    Nobody,
}

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) objects: usize,
    /// Added to every round trip, by a wire that all use; none: no wire.
    pub(crate) delay: Option<Duration>,
    pub(crate) rounds: usize,
    pub(crate) beside: Beside,
}

/// One run of one contender.
#[derive(Debug, Clone, Default)]
pub(crate) struct Run {
    pub(crate) took: Took,
    /// Requests to both servers.
    pub(crate) tally: Tally,
    /// From the first pause in the source to the last resume in the target; none for the floor.
    pub(crate) paused: Option<Duration>,
}

/// All runs of a scenario.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) scenario: Scenario,
    /// The best concurrency for the floor.
    pub(crate) side_by_side: usize,
    pub(crate) floor: Vec<Run>,
    /// In the order in which they were given.
    pub(crate) contenders: Vec<(&'static str, Vec<Run>)>,
}

/// A pair of servers to move between.
pub(crate) struct ServerPair {
    pair: Pair,
    // Kept: they close on drop.
    _wires: Vec<Relay>,
    source: PathBuf,
    target: PathBuf,
    objects: usize,
}

/// Runs a scenario on servers of its own.
pub(crate) async fn measure(scenario: Scenario, contenders: &[Contender]) -> Result<Measured> {
    let mut servers = ServerPair::new(&scenario).await?;
    let is_large = scenario.objects >= LARGE;
    let contenders: Vec<&Contender> = match scenario.beside {
        Beside::Everybody => contenders.iter().collect(),
        Beside::Floor | Beside::Nobody => {
            contenders.iter().filter(|one| matches!(one, Contender::PivotHost(_))).collect()
        }
    };
    let with_floor = scenario.beside != Beside::Nobody;
    let mut tries = Vec::new();
    for side_by_side in SIDE_BY_SIDE.into_iter().filter(|_| with_floor && !is_large) {
        let run = servers.floor(&format!("try-{side_by_side}"), side_by_side).await?;
        say(format_args!("{}: floor, {side_by_side} side by side: {:.2?}", scenario.name, run.took.wall));
        tries.push((run.took.wall, side_by_side));
    }
    let side_by_side = tries.iter().min().map_or(USUAL, |(_, side_by_side)| *side_by_side);
    let mut measured = Measured {
        side_by_side,
        floor: Vec::new(),
        contenders: contenders.iter().map(|one| (one.agent(), Vec::new())).collect(),
        scenario,
    };
    for round in 0..measured.scenario.rounds {
        if with_floor {
            let run = servers.floor(&format!("floor-{round}"), side_by_side).await?;
            say(format_args!("{}: floor {:.2?} {:?}", scenario.name, run.took.wall, run.took.phases));
            measured.floor.push(run);
            if is_large {
                // The target still has the copies.
                drop(servers);
                servers = ServerPair::new(&scenario).await?;
            }
        }
        for (contender, (agent, runs)) in contenders.iter().zip(&mut measured.contenders) {
            let run = servers.contender(contender, &format!("{agent}-{round}")).await?;
            say(format_args!(
                "{}, round {}: {agent} {:.2?}, paused {:.2?} {:?} {:?}",
                measured.scenario.name,
                round + 1,
                run.took.wall,
                run.paused.unwrap_or_default(),
                run.took.phases,
                run.tally
            ));
            runs.push(run);
        }
    }
    Ok(measured)
}

impl ServerPair {
    pub(crate) async fn new(scenario: &Scenario) -> Result<Self> {
        let crds = Crds::cluster_api(CLUSTER_API).await?.and(Crds::parse(&[shape::crds()])?);
        let pair = Pair::start_with(&crds).await?;
        let (mut source, mut target) = (path(pair.source.kubeconfig()), path(pair.target.kubeconfig()));
        let mut wires = Vec::new();
        if let Some(delay) = scenario.delay {
            for (server, kubeconfig) in [(&pair.source, &mut source), (&pair.target, &mut target)] {
                let (wire, through) = Relay::to_server(server).await?;
                wire.delay(delay);
                *kubeconfig = through;
                wires.push(wire);
            }
        }
        Ok(Self { pair, _wires: wires, source, target, objects: scenario.objects })
    }

    async fn floor(&self, namespace: &str, side_by_side: usize) -> Result<Run> {
        self.fill(namespace).await?;
        let namespaced = format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}}}}}");
        self.pair.target.apply(&namespaced).await?;
        let floor = Floor::prepare(&self.pair.source, namespace).await?;
        ensure!(floor.objects() == self.objects, "{} objects to send", floor.objects());
        self.counted(floor::AGENT, namespace, floor.run(&self.source, &self.target, side_by_side)).await
    }

    /// Fills a namespace and has a contender move it.
    pub(crate) async fn contender(&self, contender: &Contender, namespace: &str) -> Result<Run> {
        self.fill(namespace).await?;
        self.counted(contender.agent(), namespace, contender.run(&self.source, &self.target, namespace)).await
    }

    async fn fill(&self, namespace: &str) -> Result<()> {
        self.pair.source.apply_values(shape::objects(namespace, self.objects)).await.map(drop)
    }

    /// Counts the requests of a run, and checks its result: a fast run that moved nothing doesn't count.
    async fn counted(
        &self,
        agent: &str,
        namespace: &str,
        run: impl Future<Output = Result<Took>>,
    ) -> Result<Run> {
        let Pair { source, target } = &self.pair;
        let marks = (source.audit_mark().await?, target.audit_mark().await?);
        let took = run.await?;
        let there = source.audit_since(marks.0).await?.of(agent);
        let here = target.audit_since(marks.1).await?.of(agent);
        let (left, made) = (source.keys_in(namespace).await?, target.keys_in(namespace).await?);
        let all = shape::keys(namespace, self.objects);
        let missing = all.difference(&made).count();
        ensure!(
            left.is_empty() && made == all,
            "{agent} left {} objects, and {missing} are missing",
            left.len()
        );
        Ok(Run { took, tally: sum(there.tally(), here.tally()), paused: Audit::pause_window(&there, &here) })
    }
}

fn path(path: &Path) -> PathBuf {
    path.to_owned()
}

fn sum(one: Tally, other: Tally) -> Tally {
    Tally {
        mutating: one.mutating + other.mutating,
        dry_run: one.dry_run + other.dry_run,
        lease: one.lease + other.lease,
        record: one.record + other.record,
        read: one.read + other.read,
    }
}
