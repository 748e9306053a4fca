//! Checks everything, cheapest first; the first stage that fails ends it.

mod stages;
mod tally;
mod tools;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::shell::say;
use stages::Stage;
use tally::Tally;

pub(crate) fn run(typed: &[&str]) -> Result<()> {
    let chosen = choose(typed)?;
    tools::check(&chosen)?;
    let mut tally = Tally::default();
    let mut times = Vec::new();
    for stage in chosen {
        say(&format!("\n== {stage}: {}", stage.what()));
        let begun = Instant::now();
        let mut found = Tally::default();
        let result = stage.run(&mut found);
        if result.is_err() && found.failed == 0 {
            // What does not compile has failed, too.
            found.failed = 1;
        }
        tally.add(&found);
        times.push((stage, begun.elapsed()));
        match result {
            Ok(()) => say(&format!("== {stage} passed in {}", seconds(begun.elapsed()))),
            Err(error) => {
                say(&format!("== {stage} FAILED after {}: {error:#}", seconds(begun.elapsed())));
                break;
            }
        }
    }
    say("");
    times.iter().for_each(|(stage, time)| say(&format!("{stage:10} {:>8}", seconds(*time))));
    say("");
    say(&tally.to_string());
    if tally.failed > 0 { bail!("not everything passed") } else { Ok(()) }
}

fn choose(typed: &[&str]) -> Result<Vec<Stage>> {
    match typed {
        [] => Ok(Stage::ALL.to_vec()),
        ["--only", name] => match Stage::ALL.into_iter().find(|stage| stage.to_string() == *name) {
            Some(stage) => Ok(vec![stage]),
            None => {
                bail!("{name:?} is not a stage; they are {}", Stage::ALL.map(|s| s.to_string()).join(", "))
            }
        },
        _ => bail!("cargo xtask test [--only STAGE]"),
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1}s", time.as_secs_f64())
}
