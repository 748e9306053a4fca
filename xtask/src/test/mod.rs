//! Checks everything, cheapest first, and stops at the first stage that fails.

mod stages;
mod tally;
mod tools;

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::shell::say;
use stages::Stage;
use tally::Tally;

pub(crate) fn run(typed: &[&str]) -> Result<()> {
    let (chosen, left_out) = choose(typed)?;
    tools::check(&chosen)?;
    let mut tally = Tally::default();
    let mut times = Vec::new();
    for side_by_side in chosen.chunk_by(|one, next| one.beside(*next)) {
        let ended = run_all(side_by_side);
        let failed = ended.iter().any(|one| one.result.is_err());
        for Ended { stage, found, took, result } in ended {
            tally.add(&found);
            times.push((stage, took));
            match result {
                Ok(()) => say(&format!("== {stage} passed in {}", seconds(took))),
                Err(error) => say(&format!("== {stage} FAILED after {}: {error:#}", seconds(took))),
            }
        }
        if failed {
            break;
        }
    }
    say("");
    times.iter().for_each(|(stage, time)| say(&format!("{stage:10} {:>8}", seconds(*time))));
    left_out.iter().for_each(|stage| say(&format!("{stage:10} left out, as asked for")));
    say("");
    say(&tally.to_string());
    if tally.failed > 0 { bail!("not everything passed") } else { Ok(()) }
}

struct Ended {
    stage: Stage,
    found: Tally,
    took: Duration,
    result: Result<()>,
}

/// Runs stages concurrently. The first prints its output live, the others when they have ended.
fn run_all(stages: &[Stage]) -> Vec<Ended> {
    let Some((first, others)) = stages.split_first() else { return Vec::new() };
    thread::scope(|scope| {
        let others: Vec<_> = others
            .iter()
            .map(|stage| {
                scope.spawn(|| {
                    let mut said = Vec::new();
                    (run_one(*stage, &mut |line| said.push(line.to_owned())), said)
                })
            })
            .collect();
        let mut ended = vec![run_one(*first, &mut say)];
        for other in others {
            match other.join() {
                Ok((one, said)) => {
                    said.iter().for_each(|line| say(line));
                    ended.push(one);
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        ended
    })
}

fn run_one(stage: Stage, out: &mut dyn FnMut(&str)) -> Ended {
    out(&format!("\n== {stage}: {}", stage.what()));
    let begun = Instant::now();
    let mut found = Tally::default();
    let result = stage.run(&mut found, out);
    if result.is_err() && found.failed == 0 {
        // A compile error counts as a failure, too.
        found.failed = 1;
    }
    Ended { stage, found, took: begun.elapsed(), result }
}

/// The stages that need what can't be had everywhere.
const OPTIONAL: [(&str, Stage); 3] = [
    ("--without-metal3", Stage::Metal3),
    ("--without-providers", Stage::Providers),
    ("--without-release", Stage::Release),
];

/// The stages to run, and those that were excluded.
fn choose(typed: &[&str]) -> Result<(Vec<Stage>, Vec<Stage>)> {
    if let ["--only", name] = typed {
        return match Stage::ALL.into_iter().find(|stage| stage.to_string() == *name) {
            Some(stage) => Ok((vec![stage], Vec::new())),
            None => {
                bail!("{name:?} is not a stage; they are {}", Stage::ALL.map(|s| s.to_string()).join(", "))
            }
        };
    }
    let mut without = Vec::new();
    for flag in typed {
        match OPTIONAL.iter().find(|(known, _)| known == flag) {
            Some((_, stage)) => without.push(*stage),
            None => bail!(
                "cargo xtask test [--only STAGE | --without-metal3 --without-providers --without-release]"
            ),
        }
    }
    Ok(Stage::ALL.into_iter().partition(|stage| !without.contains(stage)))
}

fn seconds(time: Duration) -> String {
    format!("{:.1}s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_out_but_on_request() {
        assert_eq!(choose(&[]).unwrap(), (Stage::ALL.to_vec(), vec![]));
        let (chosen, left_out) = choose(&["--without-metal3"]).unwrap();
        assert_eq!((chosen.len(), left_out), (Stage::ALL.len() - 1, vec![Stage::Metal3]));
        assert_eq!(
            choose(&["--without-providers", "--without-metal3"]).unwrap().0.len(),
            Stage::ALL.len() - 2
        );
        assert_eq!(choose(&["--only", "metal3"]).unwrap().0, [Stage::Metal3]);
        assert!(choose(&["--only", "metal4"]).is_err());
    }

    #[test]
    fn what_mostly_waits_runs_beside_what_mostly_works() {
        let groups: Vec<&[Stage]> = Stage::ALL.chunk_by(|one, next| one.beside(*next)).collect();
        assert_eq!(groups.len(), Stage::ALL.len() - 1);
        assert_eq!(groups.last().copied(), Some([Stage::Scenarios, Stage::Metal3].as_slice()));
    }
}
