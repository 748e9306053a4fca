//! A plugin's messages to people: they must be worth reading.

use crate::{Error, Finding, Problem, Relation, Settlement, Severity};

/// The host cuts longer sentences.
const SENTENCE: usize = 1_000;
/// The host refuses an answer with more parts.
const MANY: usize = 1_000;

pub(super) fn relations(relations: &[Relation]) -> Result<(), String> {
    few(relations.len())?;
    for relation in relations {
        match relation {
            Relation::Link(_) | Relation::Need(_) | Relation::Share(_) => {}
            Relation::Leave(reason) | Relation::Keep(reason) => sentence("a reason", reason)?,
        }
    }
    Ok(())
}

pub(super) fn findings(findings: &[Finding]) -> Result<(), String> {
    few(findings.len())?;
    findings.iter().try_for_each(finding)
}

pub(super) fn settlement(settlement: &Settlement) -> Result<(), String> {
    match settlement {
        Settlement::Done | Settlement::Patch(_) => Ok(()),
        Settlement::Wait(said) | Settlement::Stop(said) => problem(said, true),
    }
}

pub(super) fn error(error: &Error) -> Result<(), String> {
    code(&error.code)?;
    sentence("an error's message", &error.message)
}

fn finding(finding: &Finding) -> Result<(), String> {
    problem(&finding.problem, finding.severity != Severity::Note)
}

fn problem(problem: &Problem, needs_remedy: bool) -> Result<(), String> {
    code(&problem.code)?;
    sentence("a finding's message", &problem.message)?;
    if problem.command.as_ref().is_some_and(|command| command.arguments.is_empty()) {
        return Err(format!("`{}`: a kubectl command has no arguments", problem.code));
    }
    if !needs_remedy && problem.remedy.is_empty() {
        return Ok(());
    }
    sentence("a remedy", &problem.remedy).map_err(|wrong| format!("`{}`: {wrong}", problem.code))
}

fn few(count: usize) -> Result<(), String> {
    if count > MANY { Err(format!("its answer has {count} parts; the host takes {MANY}")) } else { Ok(()) }
}

fn code(code: &str) -> Result<(), String> {
    let fine = !code.is_empty()
        && code.len() <= 48
        && code.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if fine {
        Ok(())
    } else {
        Err(format!("`{code}` is no code: lower-case words joined by dashes, 48 characters at most"))
    }
}

fn sentence(what: &str, words: &str) -> Result<(), String> {
    if words.trim().is_empty() {
        return Err(format!("{what} is empty: say what a person can make of it"));
    }
    if words.contains(char::is_control) || words.len() > SENTENCE {
        return Err(format!("{what} is not one line of {SENTENCE} bytes at most: {words:?}"));
    }
    Ok(())
}
