//! Checks everything, cheapest first, and stops at the first stage that fails.
//!
//! One stage after another, though Metal3's operators mostly wait: beside another stage's servers on two processors, they and
//! the limits of what waits for them took turns at being late.

mod stages;
mod tally;
mod tools;

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
    for stage in chosen {
        say(&format!("\n== {stage}: {}", stage.what()));
        let begun = Instant::now();
        let mut found = Tally::default();
        let result = stage.run(&mut found);
        if result.is_err() && found.failed == 0 {
            // A compile error counts as a failure, too.
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
    left_out.iter().for_each(|stage| say(&format!("{stage:10} left out, as asked for")));
    say("");
    say(&tally.to_string());
    if tally.failed > 0 { bail!("not everything passed") } else { Ok(()) }
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
}
