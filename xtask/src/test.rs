//! `cargo xtask test`: checks everything, cheapest first, and stops at the first step that fails.
//!
//! A step is one stage, or several of which each leaves the processors free for the others: two stages that keep them busy at the
//! same time are late in turns, and so are the tests that wait for their servers.

mod actions;
mod history;
mod inputs;
mod options;
mod results;
mod runner;
mod session;
mod stages;
mod step;
mod tally;
mod tools;
mod usage;

use anyhow::{Result, bail};

use crate::shell::say;
use options::Options;
use results::{MAX_SLOWEST, Results};
use session::Session;
use step::Step;

pub(crate) fn run(typed: &[&str]) -> Result<()> {
    let options = Options::parse(typed)?;
    if options.require_all {
        for stage in &options.stages {
            if let Some(reason) = stage.missing_part().or(stage.missing_data()?) {
                bail!("--require-all: {stage}: {reason}");
            }
        }
    }
    let ready: Vec<_> =
        options.stages.iter().copied().filter(|stage| stage.missing_part().is_none()).collect();
    tools::check(&ready)?;
    let mut session = Session::new(&ready, options.fresh);
    let (mut results, mut steps) = (Results::default(), Vec::new());
    for stages in options.stages.chunk_by(|earlier, next| earlier.runs_beside(*next)) {
        steps.push(Step::run(stages, &mut session, &mut results)?);
        if steps.last().is_some_and(Step::failed) {
            break;
        }
    }
    say("");
    results.tests.sort_by_key(|(_, took)| std::cmp::Reverse(*took));
    for (name, took) in results.tests.iter().take(MAX_SLOWEST) {
        say(&format!("{:>8.1} s  {name}", took.as_secs_f64()));
    }
    say("");
    steps.iter().flat_map(Step::lines).for_each(|line| say(&line));
    say("");
    say(&results.tally.to_string());
    let failed = results.tally.failed > 0 || steps.iter().any(Step::failed);
    if failed { bail!("not everything passed") } else { Ok(()) }
}
