//! A plugin's messages to people: they must be worth reading.

use crate::{Error, Finding, Problem, Relation, Settlement, Severity};

/// The host cuts longer sentences.
const MAX_SENTENCE_BYTES: usize = 1_000;
/// The host refuses an answer with more parts.
const MAX_PARTS: usize = 1_000;

pub(super) fn check_relations(relations: &[Relation]) -> Result<(), String> {
    check_count(relations.len())?;
    for relation in relations {
        match relation {
            Relation::Link(_) | Relation::Need(_) | Relation::Share(_) => {}
            Relation::Leave(reason) | Relation::Keep(reason) => check_sentence("a reason", reason)?,
        }
    }
    Ok(())
}

pub(super) fn check_findings(findings: &[Finding]) -> Result<(), String> {
    check_count(findings.len())?;
    findings.iter().try_for_each(check_finding)
}

pub(super) fn check_settlement(settlement: &Settlement) -> Result<(), String> {
    match settlement {
        Settlement::Done | Settlement::Patch(_) => Ok(()),
        Settlement::Wait(said) | Settlement::Stop(said) => check_problem(said, true),
    }
}

pub(super) fn check_error(error: &Error) -> Result<(), String> {
    check_code(&error.code)?;
    check_sentence("an error's message", &error.message)
}

fn check_finding(finding: &Finding) -> Result<(), String> {
    check_problem(&finding.problem, finding.severity != Severity::Note)
}

fn check_problem(problem: &Problem, needs_remedy: bool) -> Result<(), String> {
    check_code(&problem.code)?;
    check_sentence("a finding's message", &problem.message)?;
    if problem.command.as_ref().is_some_and(|command| command.arguments.is_empty()) {
        return Err(format!("`{}`: a kubectl command has no arguments", problem.code));
    }
    if !needs_remedy && problem.remedy.is_empty() {
        return Ok(());
    }
    check_sentence("a remedy", &problem.remedy).map_err(|wrong| format!("`{}`: {wrong}", problem.code))
}

fn check_count(count: usize) -> Result<(), String> {
    if count > MAX_PARTS {
        Err(format!("its answer has {count} parts; the host takes {MAX_PARTS}"))
    } else {
        Ok(())
    }
}

fn check_code(code: &str) -> Result<(), String> {
    let fine = !code.is_empty()
        && code.len() <= 48
        && code.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if fine {
        Ok(())
    } else {
        Err(format!("`{code}` is no code: lower-case words joined by dashes, 48 characters at most"))
    }
}

fn check_sentence(what: &str, words: &str) -> Result<(), String> {
    if words.trim().is_empty() {
        return Err(format!("{what} is empty: say what a person can make of it"));
    }
    if words.contains(char::is_control) || words.len() > MAX_SENTENCE_BYTES {
        return Err(format!("{what} is not one line of {MAX_SENTENCE_BYTES} bytes at most: {words:?}"));
    }
    Ok(())
}
