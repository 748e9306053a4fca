//! `cargo xtask test`: checks everything, cheapest first, and stops at the first stage that fails.
//!
//! Stages run one after another: servers of two stages on two processors are late in turns, and so are the tests that wait for them.

mod actions;
mod history;
mod inputs;
mod options;
mod runner;
mod session;
mod stages;
mod tally;
mod tools;
mod usage;

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::metal3;
use crate::shell::say;
use history::Passed;
use options::Options;
use runner::Outcome;
use session::Session;
use stages::Stage;
use tally::Tally;

/// Slowest tests that the summary lists.
const MAX_SLOWEST: usize = 12;

/// How a stage ended.
enum Ended {
    Passed {
        took: Duration,
        cpu: Duration,
    },
    /// The stage passed earlier with the same inputs.
    PassedEarlier(Passed),
    Failed {
        took: Duration,
    },
    LeftOut,
    /// Something that this machine can't get is missing.
    NotRun(String),
}

pub(crate) fn run(typed: &[&str]) -> Result<()> {
    let options = Options::parse(typed)?;
    let (ready, absent): (Vec<_>, Vec<_>) =
        options.stages.iter().copied().partition(|stage| missing_part(*stage).is_none());
    if options.require_all
        && let Some(reason) = absent.iter().find_map(|stage| missing_part(*stage))
    {
        bail!("--require-all: {reason}");
    }
    tools::check(&ready)?;
    let mut session = Session::new(&ready);
    let mut tally = Tally::default();
    let mut tests = Vec::new();
    let mut summary = Vec::new();
    for stage in Stage::ALL {
        let ended = if !options.stages.contains(&stage) {
            Ended::LeftOut
        } else if let Some(reason) = missing_part(stage) {
            Ended::NotRun(reason)
        } else {
            run_stage(stage, &mut session, options.fresh, &mut tally, &mut tests)?
        };
        let failed = matches!(ended, Ended::Failed { .. });
        summary.push((stage, ended));
        if failed {
            break;
        }
    }
    say("");
    tests.sort_by_key(|(_, took)| std::cmp::Reverse(*took));
    for (name, took) in tests.iter().take(MAX_SLOWEST) {
        say(&format!("{:>8.1} s  {name}", took.as_secs_f64()));
    }
    say("");
    summary.iter().filter_map(|(stage, ended)| line(*stage, ended)).for_each(|line| say(&line));
    say("");
    say(&tally.to_string());
    if tally.failed > 0 { bail!("not everything passed") } else { Ok(()) }
}

/// Returns why a stage can't run here, and how to get the missing part.
fn missing_part(stage: Stage) -> Option<String> {
    if stage == Stage::Metal3 { metal3::missing() } else { None }
}

fn run_stage(
    stage: Stage,
    session: &mut Session,
    fresh: bool,
    tally: &mut Tally,
    tests: &mut Vec<(String, Duration)>,
) -> Result<Ended> {
    let name = stage.to_string();
    let usual = session.history.usual_time(&name);
    let hint = usual.map(|usual| format!(" (usually {})", seconds(usual))).unwrap_or_default();
    say(&format!("\n== {stage}: {}{hint}", stage.question()));
    let (begun, cpu) = (Instant::now(), usage::children_cpu());
    let mut outcome = Outcome::default();
    let result = warn_when_late(usual, || match session.key(stage)? {
        Some(key) if !fresh => match session.history.passed_with(&name, &key) {
            Some(passed) => Ok((Some(passed.clone()), Some(key))),
            None => actions::run_stage(stage, session, &mut outcome).map(|()| (None, Some(key))),
        },
        key => actions::run_stage(stage, session, &mut outcome).map(|()| (None, key)),
    });
    let (took, cpu) = (begun.elapsed(), usage::children_cpu().saturating_sub(cpu));
    outcome.tests.sort_by_key(|(_, took)| std::cmp::Reverse(*took));
    tests.extend(outcome.tests.iter().take(MAX_SLOWEST).cloned());
    let ended = match result {
        Ok((Some(passed), _)) => {
            say(&format!(
                "== {stage} passed at {} with the same inputs ({} tests)",
                passed.commit, passed.tests
            ));
            return Ok(Ended::PassedEarlier(passed));
        }
        Ok((None, key)) => {
            say(&format!("== {stage} passed in {}", seconds(took)));
            let slowest = outcome.tests.get(..MAX_SLOWEST).unwrap_or(&outcome.tests);
            session.history.add_times(&name, &outcome.executables, slowest);
            let passed = key.map(|key| session::passed_now(key, outcome.tally.passed));
            session.history.add(&name, took, cpu, passed);
            session.history.write()?;
            Ended::Passed { took, cpu }
        }
        Err(error) => {
            say(&format!("== {stage} FAILED after {}: {error:#}", seconds(took)));
            // A compile error counts as a failure, too.
            outcome.tally.failed = outcome.tally.failed.max(1);
            Ended::Failed { took }
        }
    };
    tally.add(&outcome.tally);
    Ok(ended)
}

/// Runs something, and prints a line if it takes twice as long as usual.
fn warn_when_late<T>(usual: Option<Duration>, act: impl FnOnce() -> T) -> T {
    let (done, waiting) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        if let Some(usual) = usual {
            scope.spawn(move || {
                let limit = usual.max(Duration::from_secs(5)) * 2;
                if waiting.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                    say(&format!("== this takes more than {}, twice as long as usual", seconds(limit)));
                }
            });
        }
        let result = act();
        drop(done);
        result
    })
}

/// Returns the line of the summary about a stage; none for a stage that was not asked for.
fn line(stage: Stage, ended: &Ended) -> Option<String> {
    Some(match ended {
        Ended::Passed { took, cpu } => {
            let busy = cpu.as_secs_f64() / took.as_secs_f64().max(0.001);
            format!("{stage:12} {:>8}  {:>8} of processors, {busy:.1} busy", seconds(*took), seconds(*cpu))
        }
        Ended::PassedEarlier(passed) => {
            format!(
                "{stage:12}  not run: passed at {} with the same inputs ({} tests)",
                passed.commit, passed.tests
            )
        }
        Ended::Failed { took } => format!("{stage:12} {:>8}  FAILED", seconds(*took)),
        Ended::NotRun(reason) => format!("{stage:12}  not run here: {reason}"),
        Ended::LeftOut => return None,
    })
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_stages_are_awaited() {
        assert_eq!(warn_when_late(Some(Duration::ZERO), || 7), 7);
        assert_eq!(warn_when_late(None, || 8), 8);
    }

    #[test]
    fn stages_that_were_not_run_say_why() {
        let reason = || "no operators".to_owned();
        let line = line(Stage::Metal3, &Ended::NotRun(reason())).unwrap();
        assert_eq!(line, "metal3        not run here: no operators");
    }
}
