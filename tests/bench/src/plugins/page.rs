//! Turns measurements into tables, and into the page that explains them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use super::calls::{CONTENDERS, Calls};
use super::moves::Moves;
use super::start::Start;
use super::told::Call;
use crate::report::median;
use crate::rounds::Run;

const PAGE: &str = include_str!("page.md");
/// The most time that the start of all bundled plugins together should take.
const START_GOAL: Duration = Duration::from_millis(250);

/// Everything that was measured.
pub(crate) struct Measured {
    pub(crate) calls: Vec<Calls>,
    /// All bundled plugins together.
    pub(crate) start: Vec<Start>,
    /// Each bundled plugin: its name, the size of its file, and its runs.
    pub(crate) alone: Vec<(String, u64, Vec<Start>)>,
    pub(crate) moves: Moves,
    /// The machine's load average before each part.
    pub(crate) load: Vec<String>,
}

/// All tables, as Markdown.
pub(crate) fn tables(all: &Measured) -> String {
    [calls(all), starts(all), moves(all), hooks(all)].join("\n")
}

/// The page.
pub(crate) fn page(all: &Measured) -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let number = |count: usize| count.to_string();
    let called =
        all.calls.first().map_or(0, |calls| calls.took.iter().map(Vec::len).min().unwrap_or_default());
    [
        ("{calls}", calls(all)),
        ("{starts}", starts(all)),
        ("{moves}", moves(all)),
        ("{hooks}", hooks(all)),
        ("{cores}", number(cores)),
        ("{called}", number(called)),
        ("{started}", number(all.start.len())),
        ("{moved}", number(all.moves.with.len())),
        ("{load}", all.load.join(", ")),
        ("{reached}", (if is_goal_reached(&all.start) { "reached" } else { "not reached" }).to_owned()),
    ]
    .into_iter()
    .fold(PAGE.to_owned(), |page, (place, text)| page.replace(place, text.trim_end()))
}

fn is_goal_reached(start: &[Start]) -> bool {
    median(start.iter().map(|start| start.wall.as_secs_f64())) <= START_GOAL.as_secs_f64()
}

fn calls(all: &Measured) -> String {
    let mut table = String::from("| | bytes |");
    for name in CONTENDERS {
        let _ = write!(table, " {name}, µs |");
    }
    table.push_str(" pivot-host ÷ wasmtime | ÷ wasmtime, epochs |\n|---|--:|--:|--:|--:|--:|--:|--:|\n");
    for calls in &all.calls {
        let times = calls.took.each_ref().map(|took| middle(took.iter().copied()) * 1e6);
        let _ = write!(table, "| {} | {} |", calls.name, calls.bytes);
        for time in times {
            let _ = write!(table, " {time:.1} |");
        }
        let [_, bare, epochs, product] = times;
        let _ = writeln!(table, " {:.2} | {:.2} |", product / bare, product / epochs);
    }
    table
}

fn starts(all: &Measured) -> String {
    let mut table = String::from(
        "| | component, KB | wall, ms | CPU, ms | first load, MiB | each further, MiB | peak, MiB |\n|---|--:|--:|--:|--:|--:|--:|\n",
    );
    let size = all.alone.iter().map(|(_, size, _)| size).sum();
    let together = format!("all {}", all.alone.len());
    let alone = all.alone.iter().map(|(name, size, starts)| (name, *size, starts));
    for (name, size, starts) in alone.chain([(&together, size, &all.start)]) {
        let of = |field: fn(&Start) -> f64| median(starts.iter().map(field));
        let _ = writeln!(
            table,
            "| {name} | {:.0} | {:.0} | {:.0} | {:.1} | {:.2} | {:.0} |",
            size as f64 / 1e3,
            of(|start| start.wall.as_secs_f64() * 1e3),
            of(|start| start.cpu.as_secs_f64() * 1e3),
            of(|start| start.first as f64 / 1024.0),
            of(|start| start.each / 1024.0),
            of(|start| start.peak as f64 / 1024.0),
        );
    }
    table
}

fn moves(all: &Measured) -> String {
    let mut table =
        String::from("| | wall, s | CPU, s | peak RSS, MiB | every run, s |\n|---|--:|--:|--:|---|\n");
    let rows = [
        ("without plugins", &all.moves.without),
        ("with all", &all.moves.with),
        ("with all, each call told", &all.moves.told),
    ];
    for (name, runs) in rows {
        let walls: Vec<_> = runs.iter().map(|run| format!("{:.2}", run.took.wall.as_secs_f64())).collect();
        let _ = writeln!(
            table,
            "| {} objects, {name} | {:.2} | {:.2} | {:.0} | {} |",
            all.moves.objects,
            wall(runs),
            middle(runs.iter().map(|run| run.took.cpu)),
            median(runs.iter().map(|run| run.took.peak as f64 / 1024.0)),
            walls.join(", "),
        );
    }
    let mut quotients: Vec<f64> = all.moves.without.iter().zip(&all.moves.with).map(quotient).collect();
    quotients.sort_by(f64::total_cmp);
    let at = |index: usize| quotients.get(index).copied().unwrap_or(f64::NAN);
    let quarter = quotients.len() / 4;
    let _ = writeln!(
        table,
        "\nWith all plugins, a move takes {:.2} times as long: the median of {} pairs of moves. Half of the pairs are between {:.2} and \
         {:.2}.",
        median(quotients.iter().copied()),
        quotients.len(),
        at(quarter),
        at(quotients.len().saturating_sub(1 + quarter)),
    );
    let share = |asks: bool| {
        let time =
            |run: &Run| run.took.calls.iter().filter(|call| call.asks() == asks).map(|call| call.time).sum();
        middle(all.moves.told.iter().map(time)) / wall(&all.moves.with) * 100.0
    };
    let _ = writeln!(
        table,
        "\nCalls of hooks that may not ask, together: {:.1} % of the wall clock of the move with plugins. Calls of hooks that \
         may, waiting for answers included: {:.1} %. The start is not among it; it is in the table above.",
        share(false),
        share(true),
    );
    table
}

/// Where that time goes; each cell is a median over the runs.
fn hooks(all: &Measured) -> String {
    let mut table = String::from(
        "| plugin | hook | calls | together, ms | per call, µs | memory of a call, KiB |\n|---|---|--:|--:|--:|--:|\n",
    );
    let mut cells: BTreeMap<(&str, &str), Vec<Vec<&Call>>> = BTreeMap::new();
    for run in &all.moves.told {
        let mut hooks: BTreeMap<(&str, &str), Vec<&Call>> = BTreeMap::new();
        for call in &run.took.calls {
            hooks.entry((&call.plugin, &call.hook)).or_default().push(call);
        }
        for (hook, calls) in hooks {
            cells.entry(hook).or_default().push(calls);
        }
    }
    for ((plugin, hook), runs) in cells {
        let count = median(runs.iter().map(|run| run.len() as f64));
        let most = runs.iter().flatten().map(|call| call.memory).max().unwrap_or_default();
        let time = middle(runs.iter().map(|run| run.iter().map(|call| call.time).sum()));
        let _ = writeln!(
            table,
            "| {plugin} | {hook} | {count:.0} | {:.1} | {:.0} | {} |",
            time * 1e3,
            time * 1e6 / count,
            most / 1024,
        );
    }
    table
}

/// The time of a pair's second move in relation to the first.
fn quotient((without, with): (&Run, &Run)) -> f64 {
    with.took.wall.as_secs_f64() / without.took.wall.as_secs_f64()
}

/// Seconds of the wall clock.
fn wall(runs: &[Run]) -> f64 {
    middle(runs.iter().map(|run| run.took.wall))
}

/// The median, in seconds.
fn middle(times: impl Iterator<Item = Duration>) -> f64 {
    median(times.map(|time| time.as_secs_f64()))
}
