//! Flags that accept a risk: they are typed on purpose. No mistyped flag is answered with one of them.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};

/// The flags that accept a risk, or leave out what would show one.
pub(super) const RISKY_FLAGS: [&str; 23] = [
    "accept-changed",
    "accept-loss",
    "accept-old-namespace",
    "accept-plugin-change",
    "accept-shared",
    "accept-unprovisioned",
    "accept-unverified",
    "assume-paused",
    "drop-owner",
    "handover",
    "imported",
    "move-paused",
    "no-wait",
    "not-imported",
    "source-gone",
    "source-is-off",
    "take-over",
    "target-gone",
    "unlocked",
    "unpause",
    "use-existing",
    "without-plugin-for",
    "world-changed",
];

/// Flags by which other programs ask nothing any more.
const UNQUESTIONED: [&str; 2] = ["--force", "--yes"];

/// Removes the tips of an error that propose to accept a risk. `usage` is the text without a proposal.
pub(super) fn drop_risky_tips(mut error: clap::Error, usage: impl FnOnce() -> StyledStr) -> clap::Error {
    let is_unquestioned = |flag: &ContextValue| matches!(flag, ContextValue::String(flag) if UNQUESTIONED.contains(&flag.as_str()));
    if error.get(ContextKind::InvalidArg).is_some_and(is_unquestioned) {
        drop_tips(&mut error, usage());
        let tip = StyledStr::from("there is no such flag: read the plan first");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    } else if [ContextKind::SuggestedArg, ContextKind::Suggested]
        .into_iter()
        .any(|kind| error.get(kind).is_some_and(names_risk))
    {
        drop_tips(&mut error, usage());
    }
    error
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
