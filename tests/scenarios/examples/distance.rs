//! How long moves take over an agent's link, beside straight ones at the same distance. `cargo xtask links distance` calls this.
//!
//! Both are Pivots of one controller, whose cluster is near. Straight, the relay is between the controller and the target's API server;
//! over a link it is between the controller and the agent, which is beside that server.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use pivot_lab::managers::workload_kubeconfig;
use pivot_lab::{Crds, Pair, Relay, say};
use pivot_scenarios::host::Run;
use pivot_scenarios::link::Link;
use pivot_scenarios::pivots::{Pivots, condition};
use pivot_scenarios::shape;
use serde_json::{Value, json};
use tokio::time::sleep;

const DISTANCES: [u64; 3] = [0, 20, 200];
/// Machines, and so objects; and how often each is moved.
const SIZES: [(usize, usize); 2] = [(3, 5), (110, 3)];
const LIMIT: Duration = Duration::from_secs(300);

struct Lab {
    pair: Pair,
    link: Link,
    controller: Run,
    made: usize,
}

impl Lab {
    async fn start() -> Result<Self> {
        let pair = Pair::start_with(&Crds::parse(&shape::crds()?)?).await?;
        Pivots::install_with(&pair.source, &[]).await?;
        let link = Link::new()?;
        let controller = link.controller(pair.source.kubeconfig()).await?;
        Ok(Self { pair, link, controller, made: 0 })
    }

    /// A namespace with a cluster of so many machines; how many objects it has.
    async fn filled(&mut self, machines: usize) -> Result<(String, usize)> {
        self.made += 1;
        let (namespace, objects) = (format!("ns-{}", self.made), |name: &str| shape::cluster(name, machines));
        let all = objects(&namespace);
        let count = all.iter().filter(|object| object["kind"] != "Namespace").count();
        self.pair.source.apply_values(all).await?;
        Ok((namespace, count))
    }

    /// From the Pivot to its end.
    async fn moved(&mut self, namespace: &str, to: Value) -> Result<Duration> {
        let pivots = Pivots::of(&self.pair.source);
        let options = json!({"accept": [{"code": "takeover-unchecked"}, {"code": "unprovisioned"}, {"code": "no-plugin", "kinds": ["BareMetalHost.metal3.io"]}]});
        let begun = Instant::now();
        pivots.ask(namespace, json!({"to": to, "options": options})).await?;
        loop {
            let shown = pivots.shown(namespace).await?.unwrap_or_default();
            if condition(&shown, "Succeeded").is_some_and(|one| one["status"] == "True") {
                return Ok(begun.elapsed());
            }
            ensure!(begun.elapsed() < LIMIT && self.controller.still_runs()?, "{shown:#}");
            sleep(Duration::from_millis(20)).await;
        }
    }

    async fn straight(&mut self, machines: usize, distance: Duration) -> Result<(usize, Duration)> {
        let (namespace, count) = self.filled(machines).await?;
        let text = String::from_utf8(workload_kubeconfig(&self.pair.target)?)?;
        let kubeconfig: Value = serde_json::from_str(&text)?;
        let server = kubeconfig.pointer("/clusters/0/cluster/server").and_then(Value::as_str);
        let server =
            server.and_then(|url| url.strip_prefix("https://")).context("a kubeconfig names no server")?;
        let at: SocketAddr = server.replace("localhost", "127.0.0.1").parse()?;
        let wire = Relay::start(at).await?;
        wire.delay(distance);
        let text = text.replace(server, &wire.address().to_string());
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "far", "namespace": namespace},
            "stringData": {"value": text},
        });
        self.pair.source.apply_values(vec![secret]).await?;
        Ok((count, self.moved(&namespace, json!({"kubeconfig": {"name": "far"}})).await?))
    }

    async fn over_a_link(&mut self, machines: usize, distance: Duration) -> Result<(usize, Duration)> {
        let (namespace, count) = self.filled(machines).await?;
        let wire = Relay::start(self.link.address()).await?;
        wire.delay(distance);
        let beside = self.pair.target.kubeconfig();
        let more = ["--keep-answering"];
        let mut agent = self.link.calling(&namespace, beside, wire.address(), &more).await?;
        agent.until_it_says("linked to ").await?;
        Ok((count, self.moved(&namespace, json!({"agent": "edge"})).await?))
    }
}

fn median(mut all: Vec<Duration>) -> f64 {
    all.sort_unstable();
    all.get(all.len() / 2).map_or(0.0, Duration::as_secs_f64)
}

#[tokio::main]
async fn main() -> Result<()> {
    let page = PathBuf::from(std::env::args().nth(1).context("usage: distance PAGE")?);
    let mut lab = Lab::start().await?;
    let mut rows = String::new();
    for (machines, rounds) in SIZES {
        for milliseconds in DISTANCES {
            let distance = Duration::from_millis(milliseconds);
            let (mut straight, mut linked, mut objects) = (Vec::new(), Vec::new(), 0);
            // The first of each is not counted.
            for round in 0..=rounds {
                let (count, one) = lab.straight(machines, distance).await?;
                let (_, other) = lab.over_a_link(machines, distance).await?;
                say(format_args!(
                    "{count} objects, {milliseconds} ms: straight {one:.2?}, linked {other:.2?}"
                ));
                objects = count;
                if round > 0 {
                    straight.push(one);
                    linked.push(other);
                }
            }
            let (one, other) = (median(straight), median(linked));
            writeln!(rows, "| {objects} | {milliseconds} | {one:.2} | {other:.2} | {:.2} |", other / one)?;
        }
    }
    std::fs::write(&page, include_str!("distance.md").replace("ROWS\n", &rows))?;
    say(rows);
    Ok(())
}
