//! Turns runs into a table, and into the page that explains it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use crate::contender::Took;
use crate::rounds::{Measured, Run, Scenario};

/// The text of the page around the numbers.
const PAGE: &str = include_str!("page.md");

/// Columns for phases: as many as pivot-host has without controllers.
const PHASES: usize = 7;

/// The table, as Markdown.
pub(crate) fn table(all: &[Measured]) -> String {
    let mut table = String::from(
        "| | wall, s | pause window, s | × floor | clusterctl ÷ it | mutating / object | lease and record | reading / object | CPU, s | peak RSS, MiB |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for measured in all {
        let floor = wall(&measured.floor);
        let peer = measured.contenders.iter().find(|(agent, _)| *agent == "clusterctl");
        let peer = peer.map(|(_, runs)| wall(runs));
        let objects = measured.scenario.objects;
        let name = format!("floor, {} side by side", measured.side_by_side);
        let mut rows = Vec::new();
        if !measured.floor.is_empty() {
            rows.push((name.as_str(), &measured.floor));
        }
        rows.extend(measured.contenders.iter().map(|(agent, runs)| (*agent, runs)));
        let _ = writeln!(table, "| **{objects} objects, {}** | | | | | | | | | |", measured.scenario.name);
        for (who, runs) in rows {
            let wall = wall(runs);
            let ratio = peer.map_or_else(|| "–".to_owned(), |peer| format!("{:.1}", peer / wall));
            let each = |count: f64| format!("{:.2}", count / objects as f64);
            let _ = writeln!(
                table,
                "| {who} | {wall:.2} | {} | {} | {ratio} | {} | {} | {} | {} | {} |",
                window(runs),
                if measured.floor.is_empty() { "–".to_owned() } else { format!("{:.2}", wall / floor) },
                each(median(runs.iter().map(|run| run.tally.mutating as f64))),
                median(runs.iter().map(|run| (run.tally.lease + run.tally.record) as f64)),
                each(median(runs.iter().map(|run| (run.tally.read + run.tally.dry_run) as f64))),
                own(runs, |took| took.cpu.as_secs_f64(), 2),
                own(runs, |took| took.peak as f64 / 1024.0, 0),
            );
        }
    }
    table
}

/// Returns the phases of pivot-host and of the floor with their times, as Markdown.
pub(crate) fn phases(all: &[Measured]) -> String {
    let mut text =
        String::from("| | phase, ms | | | | | | | rest |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    for measured in all {
        let Scenario { objects, name, .. } = measured.scenario;
        let own = measured.contenders.iter().filter(|(agent, _)| *agent == "pivot-host");
        for (who, runs) in
            std::iter::once(("floor", &measured.floor)).chain(own.map(|(agent, runs)| (*agent, runs)))
        {
            if !runs.is_empty() {
                let _ = writeln!(text, "| {objects} objects, {name}, {who} |{}", phases_of(runs));
            }
        }
    }
    text
}

/// The cells of one row: the medians of the phases, in order, and of the rest.
fn phases_of(runs: &[Run]) -> String {
    let mut times: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (phase, time) in runs.iter().flat_map(|run| &run.took.phases) {
        times.entry(phase).or_default().push(*time as f64);
    }
    let order = runs.first().map(|run| run.took.phases.as_slice()).unwrap_or_default();
    let mut cells = String::new();
    let mut sum = 0.0;
    for (phase, _) in order {
        let time = median(times.get(phase.as_str()).into_iter().flatten().copied());
        sum += time;
        let _ = write!(cells, " {phase} {time:.0} |");
    }
    let empty = " |".repeat(PHASES.saturating_sub(order.len()));
    format!("{cells}{empty} {:.0} |", wall(runs) * 1000.0 - sum)
}

/// The page.
pub(crate) fn page(all: &[Measured], command: &str) -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let rounds = all.iter().map(|measured| measured.scenario.rounds).max().unwrap_or_default();
    let page = PAGE.replace("{rounds}", &rounds.to_string()).replace("{cores}", &cores.to_string());
    let page = page.replace("{command}", command);
    let versions = format!(
        "kube-apiserver {}, etcd {}, clusterctl {}",
        pivot_lab::assets::KUBERNETES,
        pivot_lab::assets::ETCD,
        pivot_lab::assets::CLUSTER_API
    );
    page.replace("{versions}", &versions)
        .replace("{table}", table(all).trim_end())
        .replace("{phases}", phases(all).trim_end())
        .replace("{spread}", spread(all).trim_end())
}

/// Every run, so that a median hides nothing.
fn spread(all: &[Measured]) -> String {
    let mut text = String::new();
    for measured in all {
        let floor = std::iter::once(("floor", &measured.floor)).filter(|(_, runs)| !runs.is_empty());
        for (who, runs) in floor.chain(measured.contenders.iter().map(|(agent, runs)| (*agent, runs))) {
            let walls: Vec<_> =
                runs.iter().map(|run| format!("{:.2}", run.took.wall.as_secs_f64())).collect();
            let Scenario { objects, name, .. } = measured.scenario;
            let _ = writeln!(text, "- {objects} objects, {name}, {who}: {} s", walls.join(", "));
        }
    }
    text
}

fn wall(runs: &[Run]) -> f64 {
    median(runs.iter().map(|run| Duration::as_secs_f64(&run.took.wall)))
}

/// How long nothing was reconciled; the floor pauses nothing.
fn window(runs: &[Run]) -> String {
    let paused: Vec<f64> = runs.iter().filter_map(|run| Some(run.paused?.as_secs_f64())).collect();
    if paused.is_empty() { "–".to_owned() } else { format!("{:.2}", median(paused.into_iter())) }
}

/// A value of the process itself; the floor has none.
fn own(runs: &[Run], of: impl Fn(&Took) -> f64, digits: usize) -> String {
    match median(runs.iter().map(|run| of(&run.took))) {
        none if none <= 0.0 => "–".to_owned(),
        value => format!("{value:.digits$}"),
    }
}

/// The median; of an even number, the mean of the middle two.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { at(half) } else { (at(half.wrapping_sub(1)) + at(half)) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_window_is_that_of_the_runs_that_pause() {
        let run = |paused| Run { paused, ..Run::default() };
        assert_eq!(window(&[run(None)]), "–");
        assert_eq!(window(&[run(None), run(Some(Duration::from_millis(1500)))]), "1.50");
    }

    #[test]
    fn rows_of_phases_have_equal_lengths() {
        let run = |names: &[&str]| {
            let phases = names.iter().map(|name| ((*name).to_owned(), 10)).collect();
            Run {
                took: Took { wall: Duration::from_millis(100), phases, ..Took::default() },
                ..Run::default()
            }
        };
        let floor = phases_of(&[run(&["Created", "Patched", "Deleted"])]);
        assert_eq!(floor, " Created 10 | Patched 10 | Deleted 10 | | | | | 70 |");
        assert_eq!(
            phases_of(&[run(&["a", "b", "c", "d", "e", "f", "g"])]).matches('|').count(),
            floor.matches('|').count()
        );
    }

    #[test]
    fn one_bad_run_does_not_change_the_median() {
        assert_eq!(median([3.0, 90.0, 1.0].into_iter()), 3.0);
        assert_eq!(median([4.0, 2.0].into_iter()), 3.0);
        assert!(median(std::iter::empty()).is_nan());
    }
}
