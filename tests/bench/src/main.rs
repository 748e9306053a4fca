//! pivot-host compared with clusterctl, and both with the minimum that any move has to send.
//!
//! `cargo xtask bench` builds what is measured and calls this. `pivot-bench plugins` measures the cost of plugins.

mod contender;
mod floor;
mod plugins;
mod report;
mod rounds;
mod scale;
mod shape;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use contender::Contender;
use rounds::{Beside, Scenario};

const USAGE: &str = "usage: pivot-bench --pivot-host BINARY [--quick | --large | --huge] [--write FILE]";
const FAR: Duration = Duration::from_millis(20);

struct Arguments {
    pivot_host: PathBuf,
    which: Which,
    write: Option<PathBuf>,
}

/// Which scenarios are measured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    /// Small ones, without clusterctl.
    Quick,
    /// 20,000 objects alone, to see how much memory they take.
    Large,
    /// 100,000 objects after 20,000: time and memory must grow in proportion at most.
    Huge,
}

fn arguments() -> Result<Arguments> {
    let (mut pivot_host, mut which, mut write) = (None, Which::All, None);
    let mut words = std::env::args_os().skip(1);
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--pivot-host") => pivot_host = words.next().map(PathBuf::from),
            Some("--write") => write = words.next().map(PathBuf::from),
            Some("--quick") => which = Which::Quick,
            Some("--large") => which = Which::Large,
            Some("--huge") => which = Which::Huge,
            _ => bail!(USAGE),
        }
    }
    Ok(Arguments { pivot_host: pivot_host.context(USAGE)?, which, write })
}

#[tokio::main]
async fn main() -> Result<()> {
    if std::env::args_os().nth(1).is_some_and(|word| word == "plugins") {
        return plugins::run(std::env::args_os().skip(2)).await;
    }
    let Arguments { pivot_host, which, write } = arguments()?;
    let mut contenders = vec![Contender::PivotHost(pivot_host)];
    if which == Which::All {
        contenders.push(Contender::Clusterctl(pivot_lab::assets().await?.clusterctl().await?));
    }
    let near = Scenario { name: "near", objects: 200, delay: None, rounds: 1, beside: Beside::Everybody };
    let far = Scenario { name: "20 ms", delay: Some(FAR), ..near };
    let large = Scenario { objects: rounds::LARGE, beside: Beside::Floor, ..near };
    let huge = Scenario { objects: scale::HUGE, ..large };
    let scenarios = match which {
        Which::Quick => vec![near, far],
        Which::Large => vec![Scenario { beside: Beside::Nobody, ..large }],
        Which::Huge => vec![large, Scenario { beside: Beside::Nobody, ..huge }],
        Which::All => vec![
            Scenario { objects: 1000, rounds: 3, ..near },
            Scenario { rounds: 3, ..far },
            // clusterctl would need six minutes for each round.
            Scenario { objects: 1000, rounds: 3, beside: Beside::Floor, ..far },
            large,
            huge,
        ],
    };
    let mut all = Vec::new();
    for scenario in scenarios {
        all.push(rounds::measure(scenario, &contenders).await?);
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}\n{}", report::table(&all), report::phases(&all))?;
    if let Some(file) = write {
        std::fs::write(&file, report::page(&all, "cargo xtask bench"))
            .with_context(|| format!("write {}", file.display()))?;
    }
    let points = scale::points(&all);
    if which == Which::Huge {
        writeln!(out, "{}", scale::line(&points))?;
    }
    scale::check(&points)
}
