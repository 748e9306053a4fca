//! A step of the run: one stage, or several at the same time.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::history::Passed;
use super::results::{Results, seconds};
use super::runner::Outcome;
use super::session::{self, Session};
use super::stages::Stage;
use super::{actions, usage};
use crate::nightly::is_nightly;
use crate::shell::say;

/// How a stage ended.
pub(super) enum Ended {
    Passed {
        took: Duration,
    },
    /// The stage passed earlier with the same inputs.
    PassedEarlier(Passed),
    Failed {
        took: Duration,
    },
    /// Something that this machine can't get is missing.
    NotRun(String),
}

/// Stages that ran at the same time.
pub(super) struct Step {
    pub(super) stages: Vec<(Stage, Ended)>,
    took: Duration,
    /// Processor time. It is known of all stages together only.
    cpu: Duration,
}

/// A stage whose executables are built.
struct Ready {
    stage: Stage,
    /// The key of its inputs.
    key: Option<String>,
    built_in: Duration,
}

/// A run of one stage.
struct Run {
    took: Duration,
    result: Result<()>,
    outcome: Outcome,
}

impl Step {
    /// Runs these stages, and adds up their results.
    pub(super) fn run(stages: &[Stage], session: &mut Session, results: &mut Results) -> Result<Self> {
        let (begun, cpu) = (Instant::now(), usage::children_cpu());
        let (mut ended, mut ready) = (Vec::new(), Vec::new());
        for stage in stages {
            match prepare(*stage, session) {
                Ok(stage) => ready.push(stage),
                Err(known) => ended.push((*stage, known)),
            }
        }
        let runs = run_at_once(&ready, session);
        let cpu = usage::children_cpu().saturating_sub(cpu);
        let own_cpu = (stages.len() == 1).then_some(cpu);
        for (ready, run) in ready.into_iter().zip(runs) {
            let stage = ready.stage;
            let Ok(run) = run else { bail!("the stage {stage} panicked") };
            ended.push((stage, record(ready, run, own_cpu, session, results)));
        }
        // Written once, when no stage runs: a checkout beside this one may read it.
        session.history.write()?;
        Ok(Self { stages: ended, took: begun.elapsed(), cpu })
    }

    pub(super) fn failed(&self) -> bool {
        self.stages.iter().any(|(_, ended)| matches!(ended, Ended::Failed { .. }))
    }

    /// Lines of the summary: one for each stage, and the processor time.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<_> = self.stages.iter().map(|(stage, ended)| line(*stage, ended)).collect();
        if self.stages.iter().any(|(_, ended)| matches!(ended, Ended::Passed { .. })) {
            let busy = self.cpu.as_secs_f64() / self.took.as_secs_f64().max(0.001);
            let used = format!("{:>8} of processors, {busy:.1} busy", seconds(self.cpu));
            match &mut lines[..] {
                [line] => line.push_str(&format!("  {used}")),
                _ => lines.push(format!("{:12} {:>8}  {used}", "  together", seconds(self.took))),
            }
        }
        lines
    }
}

/// Builds what a stage runs, or returns how the stage ended without running.
fn prepare(stage: Stage, session: &mut Session) -> Result<Ready, Ended> {
    if let Some(reason) = stage.missing_part() {
        return Err(Ended::NotRun(reason));
    }
    let begun = Instant::now();
    let key = session.build_for(stage).and_then(|()| session.key(stage)).map_err(|error| {
        say(&format!("== {stage} FAILED: {error:#}"));
        Ended::Failed { took: begun.elapsed() }
    })?;
    match key.as_ref().and_then(|key| session.passed_earlier(stage, key)) {
        Some(passed) => {
            say(&format!(
                "\n== {stage} passed at {} with the same inputs ({} tests)",
                passed.commit, passed.tests
            ));
            Err(Ended::PassedEarlier(passed))
        }
        None => Ok(Ready { stage, key, built_in: begun.elapsed() }),
    }
}

fn run_at_once(ready: &[Ready], session: &Session) -> Vec<thread::Result<Run>> {
    let several = ready.len() > 1;
    thread::scope(|scope| {
        let threads: Vec<_> =
            ready.iter().map(|ready| scope.spawn(move || run(ready.stage, session, several))).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    })
}

/// Runs one stage. Its lines begin with its name if it is one of several.
fn run(stage: Stage, session: &Session, several: bool) -> Run {
    let usual = session.history.usual_time(&stage.to_string());
    let hint = usual.map(|usual| format!(" (usually {})", seconds(usual))).unwrap_or_default();
    say(&format!("\n== {stage}: {}{hint}", stage.question()));
    let begun = Instant::now();
    let mut outcome = Outcome::default();
    let print = |line: &str| match several && !line.is_empty() {
        true => say(&format!("{stage}: {line}")),
        false => say(line),
    };
    let result = warn_when_late(stage, usual, || actions::run_stage(stage, session, &mut outcome, &print));
    let took = begun.elapsed();
    match &result {
        Ok(()) => say(&format!("== {stage} passed in {}", seconds(took))),
        Err(error) => say(&format!("== {stage} FAILED after {}: {error:#}", seconds(took))),
    }
    Run { took, result, outcome }
}

/// Remembers a run, with the processor time of its stage if it ran alone, and adds its results to those of the others.
fn record(
    ready: Ready,
    run: Run,
    cpu: Option<Duration>,
    session: &mut Session,
    results: &mut Results,
) -> Ended {
    let (name, took) = (ready.stage.to_string(), ready.built_in + run.took);
    let Run { result, mut outcome, .. } = run;
    let slowest = outcome.slowest();
    let ended = match result {
        Ok(()) => {
            // A nightly run takes longer than the next landing will.
            if !is_nightly() {
                session.history.add_times(&name, &outcome.executables, &slowest);
                let passed = ready.key.map(|key| session::passed_now(key, outcome.tally.passed));
                session.history.add(&name, took, cpu, passed);
            }
            Ended::Passed { took }
        }
        Err(_) => {
            // A compile error counts as a failure, too.
            outcome.tally.failed = outcome.tally.failed.max(1);
            Ended::Failed { took }
        }
    };
    results.tally.add(&outcome.tally);
    results.tests.extend(slowest);
    ended
}

/// Runs something, and prints a line if it takes twice as long as usual.
fn warn_when_late<T>(stage: Stage, usual: Option<Duration>, act: impl FnOnce() -> T) -> T {
    let (done, waiting) = mpsc::channel::<()>();
    thread::scope(|scope| {
        if let Some(usual) = usual {
            scope.spawn(move || {
                let limit = usual.max(Duration::from_secs(5)) * 2;
                if waiting.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                    let limit = seconds(limit);
                    say(&format!("== {stage} takes more than {limit}, twice as long as usual"));
                }
            });
        }
        let result = act();
        drop(done);
        result
    })
}

fn line(stage: Stage, ended: &Ended) -> String {
    match ended {
        Ended::Passed { took } => format!("{stage:12} {:>8}", seconds(*took)),
        Ended::PassedEarlier(passed) => {
            format!(
                "{stage:12}  not run: passed at {} with the same inputs ({} tests)",
                passed.commit, passed.tests
            )
        }
        Ended::Failed { took } => format!("{stage:12} {:>8}  FAILED", seconds(*took)),
        Ended::NotRun(reason) => format!("{stage:12}  not run here: {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_stages_are_awaited() {
        assert_eq!(warn_when_late(Stage::Fmt, Some(Duration::ZERO), || 7), 7);
        assert_eq!(warn_when_late(Stage::Fmt, None, || 8), 8);
    }

    #[test]
    fn stages_that_were_not_run_say_why() {
        let line = line(Stage::Metal3, &Ended::NotRun("no operators".into()));
        assert_eq!(line, "metal3        not run here: no operators");
    }

    #[test]
    fn processors_of_several_stages_are_counted_together() {
        let passed = |seconds| Ended::Passed { took: Duration::from_secs(seconds) };
        let step = |stages| Step { stages, took: Duration::from_secs(8), cpu: Duration::from_secs(12) };
        let one = step(vec![(Stage::Fmt, passed(8))]).lines();
        assert_eq!(one, ["fmt             8.0 s    12.0 s of processors, 1.5 busy"]);
        let two = step(vec![(Stage::Managers, passed(8)), (Stage::Metal3, passed(5))]).lines();
        assert_eq!(two.len(), 3);
        assert_eq!(two[1], "metal3          5.0 s");
        assert_eq!(two[2], "  together      8.0 s    12.0 s of processors, 1.5 busy");
    }
}
