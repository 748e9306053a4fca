//! Numbers for Prometheus, in its text format. A page of it is a pure function of what was counted.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pivot_core::records::record::Phase;
use pivot_link::Agents;

use crate::serve::Pages;

/// Obstacles to a controller's work, as `/readyz` names them.
pub(crate) const PIVOTS_UNREADABLE: &str = "the Pivots can't be read";
pub(crate) const LEASE_UNUSABLE: &str = "the controllers' Lease can't be read or written";

/// Numbers of a controller, and the obstacles to its work.
#[derive(Debug, Default)]
pub struct Metrics {
    numbers: Mutex<Numbers>,
    agents: Option<Arc<Agents>>,
}

#[derive(Debug, Default)]
struct Numbers {
    leads: bool,
    /// Number of Pivots by the phase that they show.
    pivots: BTreeMap<&'static str, usize>,
    running: usize,
    stalled: usize,
    /// Obstacles to the controller's work, with their causes.
    blocked: BTreeMap<&'static str, String>,
    /// Ended attempts, by how they ended.
    attempts: BTreeMap<&'static str, u64>,
    /// Number of times that a phase was done, and the sum of its milliseconds.
    phases: BTreeMap<Phase, (u64, u64)>,
}

impl Metrics {
    /// Creates metrics that count connected agents, if the controller accepts any.
    pub fn with_agents(agents: Option<Arc<Agents>>) -> Self {
        Self { agents, ..Self::default() }
    }

    pub(crate) fn set_leading(&self, leads: bool) {
        self.lock_numbers().leads = leads;
    }

    /// Sets the Pivots, each with the phase that it shows and whether it has stalled, and the number of attempts at work.
    pub(crate) fn set_pivots(&self, pivots: impl Iterator<Item = (&'static str, bool)>, running: usize) {
        let mut numbers = self.lock_numbers();
        numbers.pivots.clear();
        (numbers.stalled, numbers.running) = (0, running);
        for (phase, stalled) in pivots {
            *numbers.pivots.entry(phase).or_default() += 1;
            numbers.stalled += usize::from(stalled);
        }
    }

    pub(crate) fn add_obstacle(&self, what: &'static str, why: String) {
        self.lock_numbers().blocked.insert(what, why);
    }

    pub(crate) fn remove_obstacle(&self, what: &'static str) {
        self.lock_numbers().blocked.remove(what);
    }

    pub(crate) fn count_attempt(&self, ended: &'static str) {
        *self.lock_numbers().attempts.entry(ended).or_default() += 1;
    }

    pub(crate) fn count_phase(&self, phase: Phase, milliseconds: u64) {
        let mut numbers = self.lock_numbers();
        let (times, sum) = numbers.phases.entry(phase).or_default();
        (*times, *sum) = (*times + 1, *sum + milliseconds);
    }

    /// Returns the page that Prometheus reads.
    pub fn render_page(&self) -> String {
        let Numbers { leads, pivots, running, stalled, blocked: _, attempts, phases } = &*self.lock_numbers();
        let mut page = String::new();
        let mut metric = |name: &str, of: &str, help: &str, lines: Vec<(String, String)>| {
            // Writing to a String can't fail.
            let _ = writeln!(page, "# HELP pivot_host_{name} {help}\n# TYPE pivot_host_{name} {of}");
            for (labels, value) in lines {
                let _ = writeln!(page, "pivot_host_{name}{labels} {value}");
            }
        };
        let plain = |value: usize| vec![(String::new(), value.to_string())];
        let labelled = |label: &str, value: &str| format!("{{{label}=\"{value}\"}}");
        metric("leader", "gauge", "Whether this controller works: 1 or 0.", plain((*leads).into()));
        let connected = self.agents.as_ref().map_or(0, |agents| agents.connected_count());
        metric("agents_connected", "gauge", "Agents that are connected.", plain(connected));
        let lines =
            pivots.iter().map(|(phase, count)| (labelled("phase", phase), count.to_string())).collect();
        metric("pivots", "gauge", "Pivots, by the phase that they show.", lines);
        metric(
            "pivots_stalled",
            "gauge",
            "Pivots that go on only when a person changes something.",
            plain(*stalled),
        );
        metric("attempts_running", "gauge", "Attempts at work.", plain(*running));
        let lines = attempts.iter().map(|(how, count)| (labelled("ended", how), count.to_string())).collect();
        metric("attempts_total", "counter", "Attempts, by how they ended.", lines);
        let lines = phases
            .iter()
            .map(|(phase, (times, _))| (labelled("phase", &phase.to_string()), times.to_string()));
        metric("phases_total", "counter", "Phases that were done.", lines.collect());
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of hundreds of thousands of years")]
        let seconds = |milliseconds: u64| milliseconds as f64 / 1_000.0;
        let lines = phases
            .iter()
            .map(|(phase, (_, sum))| (labelled("phase", &phase.to_string()), seconds(*sum).to_string()));
        metric("phase_seconds_total", "counter", "Seconds that phases took.", lines.collect());
        page
    }

    fn lock_numbers(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pages for Metrics {
    fn metrics(&self) -> Option<String> {
        Some(self.render_page())
    }

    /// Returns the obstacles to the controller's work. A controller that stands by is as ready as the one that leads.
    fn obstacles(&self) -> Vec<String> {
        self.lock_numbers().blocked.iter().map(|(what, why)| format!("{what}: {why}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::Verdict::{self, Done, Gone, Halted, Over, Retry, Stalled, Suspended, Waits};

    #[test]
    fn page_has_every_number_with_its_type() {
        let metrics = Metrics::default();
        metrics.set_leading(true);
        let pivots = [("Copied", true), ("Copied", false), ("Succeeded", false)];
        metrics.set_pivots(pivots.into_iter(), 2);
        metrics.count_attempt("done");
        metrics.count_phase(Phase::Copied, 1_500);
        metrics.count_phase(Phase::Copied, 500);
        let page = metrics.render_page();
        for line in [
            "pivot_host_leader 1",
            "pivot_host_agents_connected 0",
            "pivot_host_pivots{phase=\"Copied\"} 2",
            "pivot_host_pivots_stalled 1",
            "pivot_host_attempts_running 2",
            "pivot_host_attempts_total{ended=\"done\"} 1",
            "pivot_host_phases_total{phase=\"Copied\"} 2",
            "pivot_host_phase_seconds_total{phase=\"Copied\"} 2",
        ] {
            assert!(page.lines().any(|there| there == line), "{line}\n{page}");
        }
        assert_eq!(page.matches("# TYPE").count(), 8);
    }

    const PAGE: &str = include_str!("../../../docs/metrics.md");

    /// Returns the cells of the table with this heading.
    fn rows(heading: &str) -> Vec<Vec<&str>> {
        let (_, table) = PAGE.split_once(heading).unwrap();
        let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
        rows.map(|row| row.split('|').map(|cell| cell.trim().trim_matches('`')).collect()).collect()
    }

    #[test]
    fn documentation_lists_each_metric() {
        let metrics = Metrics::default();
        metrics.set_pivots([("Copied", false)].into_iter(), 1);
        metrics.count_attempt("done");
        metrics.count_phase(Phase::Copied, 1);
        let rendered = metrics.render_page();
        let of_metric = |metric: &str| {
            let mut lines = metric.lines();
            let (name, help) = lines.next().unwrap().split_once(' ').unwrap();
            let of = lines.next().unwrap().rsplit(' ').next().unwrap();
            let label = lines.next().unwrap().split_once('{').map_or("", |(_, rest)| {
                let (label, _) = rest.split_once('=').unwrap();
                label
            });
            ["", name, of, label, help, ""].map(str::to_owned).to_vec()
        };
        let expected: Vec<_> = rendered.split("# HELP ").skip(1).map(of_metric).collect();
        assert_eq!(rows("| metric | type | label | meaning |"), expected);
    }

    #[test]
    fn documentation_lists_each_end() {
        let ends: Vec<_> = [Done, Over, Gone, Waits, Suspended, Retry, Stalled, Halted]
            .into_iter()
            .filter_map(Verdict::metrics_label)
            .collect();
        let listed: Vec<_> = rows("| `ended` | meaning |").iter().map(|row| row[1]).collect();
        assert_eq!(listed, ends);
    }
}
