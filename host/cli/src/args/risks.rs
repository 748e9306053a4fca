//! Risks on the command line: `--accept CODE[=KIND.group]`, and flags that no tip proposes.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, StyledStr, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use pivot_core::GroupKind;
use pivot_core::messages::risk::{AcceptedBy, AcceptedRisks, Risk};
use pivot_core::request::selector_syntax;

use super::usage::{Result, usage};

/// Flags that accept a risk, or leave out what would show one: they are typed on purpose. No mistyped flag is answered with one of
/// them, and no variable sets one.
pub(super) const RISKY_FLAGS: [&str; 9] = [
    "accept",
    "handover",
    "without-source",
    "break-lease",
    "without-target",
    "allow-unlocked",
    "unpause",
    "drop",
    "pause",
];

/// Flags by which other programs ask nothing any more.
const UNQUESTIONED: [&str; 2] = ["--force", "--yes"];

/// Flags that people try because other programs have them, and what is typed here instead.
const FLAGS_OF_OTHERS: [(&str, &str); 4] = [
    ("--to", "name the target with --to-kubeconfig or --to-directory"),
    ("--target", "name the target with --to-kubeconfig or --to-directory"),
    ("--all", "for all namespaces, type --all-namespaces"),
    ("--selector", "name Clusters one by one, with --cluster NAMESPACE/NAME"),
];

/// Reads codes as text, and completes those that a command can use; without one, all.
#[derive(Clone)]
pub(super) struct RiskParser(pub(super) Option<AcceptedBy>);

impl TypedValueParser for RiskParser {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> std::result::Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let usable = Risk::ALL.into_iter().filter(|risk| self.0.is_none_or(|by| risk.is_accepted_by(by)));
        Some(Box::new(usable.map(|risk| PossibleValue::new(risk.code()).help(risk.summary()))))
    }
}

/// Reads `CODE` and `CODE=KIND.group`, as the command can use them.
pub(super) fn accepted_risks(typed: &[String], by: AcceptedBy) -> Result<AcceptedRisks> {
    let (accepted, without_kind) = read_risks(typed, by)?;
    match without_kind.first() {
        None => Ok(accepted),
        Some(risk) => usage(needs_kinds(*risk, &BTreeSet::new())),
    }
}

/// The error for a risk that takes kinds and wasn't accepted for exactly one. `found` are the kinds that need it.
pub(crate) fn needs_kinds(risk: Risk, found: &BTreeSet<GroupKind>) -> String {
    match found.is_empty() {
        true => {
            format!("--accept {risk}: write {risk}=KIND.group for each kind; the refusal names the kinds")
        }
        false => {
            let flags: Vec<String> = found.iter().map(|kind| format!("--accept {risk}={kind}")).collect();
            format!("--accept {risk}: name each kind that it is accepted for: {}", flags.join(" "))
        }
    }
}

/// Returns the error for such a risk of a move under way, which has these kinds.
pub(crate) fn needs_kinds_of_move(risk: Risk, kinds: &BTreeSet<GroupKind>) -> String {
    if kinds.is_empty() {
        return needs_kinds(risk, kinds);
    }
    let kinds: Vec<String> = kinds.iter().map(ToString::to_string).collect();
    format!(
        "--accept {risk}: write {risk}=KIND.group for each kind; the kinds of the move are {}",
        kinds.join(", ")
    )
}

/// Reads codes, and returns the risks that take kinds and don't have exactly one. A plan finds the kinds.
pub(super) fn read_risks(typed: &[String], by: AcceptedBy) -> Result<(AcceptedRisks, Vec<Risk>)> {
    let mut accepted = AcceptedRisks::default();
    let mut without_kind = Vec::new();
    for text in typed {
        let (code, kind) = match text.split_once('=') {
            Some((code, kind)) => (code, Some(kind)),
            None => (text.as_str(), None),
        };
        let risk = risk(code)?;
        if !risk.is_accepted_by(by) {
            if by == AcceptedBy::Plan && risk.is_accepted_by(AcceptedBy::Move) {
                return usage(format!(
                    "--accept {code}: a move uses it, or a plan that is saved with --out; leave it out here"
                ));
            }
            let codes: Vec<&str> = Risk::accepted_by(by).map(Risk::code).collect();
            return usage(format!(
                "--accept {code}: this command can't use it; it can use {}",
                codes.join(", ")
            ));
        }
        match (risk.takes_kinds(), kind) {
            (false, None) => accepted.insert(risk),
            (false, Some(_)) => return usage(format!("--accept {text:?}: {code} takes no kind")),
            (true, None | Some("*")) => without_kind.push(risk),
            (true, Some(list)) if list.contains([',', ' ']) => without_kind.push(risk),
            (true, Some(kind)) => match selector_syntax::parse_kind(kind) {
                Ok(kind) => accepted.insert_kind(risk, kind),
                Err(why) => return usage(format!("--accept {text:?}: {why}")),
            },
        }
    }
    Ok((accepted, without_kind))
}

/// Finds the risk of a code.
pub(crate) fn risk(code: &str) -> Result<Risk> {
    code.parse().or_else(|error| usage(format!("{code:?} is {error}; `explain` lists all of them")))
}

/// The flag that accepts a risk.
pub(crate) fn to_accept(risk: Risk) -> String {
    match risk {
        Risk::LeaseBroken => "--break-lease".to_owned(),
        Risk::WithoutSource => "--without-source".to_owned(),
        Risk::WithoutTarget => "--without-target".to_owned(),
        _ if risk.takes_kinds() => format!("--accept {risk}=KIND.group"),
        _ => format!("--accept {risk}"),
    }
}

/// Writes accepted risks as they are typed, one word each.
pub(crate) fn words(accepted: &AcceptedRisks) -> Vec<String> {
    let values = accepted.iter().flat_map(|(risk, kinds)| match kinds.is_empty() {
        true => vec![risk.to_string()],
        false => kinds.iter().map(|kind| format!("{risk}={kind}")).collect(),
    });
    values.flat_map(|value| ["--accept".to_owned(), value]).collect()
}

/// Replaces the tips of an error that propose to accept a risk, or that miss what another program's flag is for. `usage` is the text without a proposal.
pub(super) fn drop_risky_tips(mut error: clap::Error, usage: impl FnOnce() -> StyledStr) -> clap::Error {
    if let Some(tip) = find_tip(&error) {
        drop_tips(&mut error, usage());
        let tip = StyledStr::from(format!("there is no such flag: {tip}"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    } else if [ContextKind::SuggestedArg, ContextKind::Suggested]
        .into_iter()
        .any(|kind| error.get(kind).is_some_and(names_risk))
    {
        drop_tips(&mut error, usage());
    }
    error
}

/// Returns what to do instead of a flag that only other programs have.
fn find_tip(error: &clap::Error) -> Option<&'static str> {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return None };
    if UNQUESTIONED.contains(&flag.as_str()) {
        return Some("read the plan first");
    }
    FLAGS_OF_OTHERS.into_iter().find(|(other, _)| other == flag).map(|(_, tip)| tip)
}

/// The usage text of the error repeats the proposal.
fn drop_tips(error: &mut clap::Error, usage: StyledStr) {
    error.remove(ContextKind::SuggestedArg);
    error.remove(ContextKind::Suggested);
    error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
}

/// Returns true if a tip names one of the flags.
fn names_risk(tip: &ContextValue) -> bool {
    let is_risky = |word: &str| {
        let flag = word.trim_matches('\'').strip_prefix("--");
        flag.is_some_and(|flag| RISKY_FLAGS.contains(&flag))
    };
    match tip {
        ContextValue::String(tip) => tip.split_whitespace().any(is_risky),
        ContextValue::StyledStrs(tips) => {
            tips.iter().any(|tip| tip.to_string().split_whitespace().any(is_risky))
        }
        _ => false,
    }
}
