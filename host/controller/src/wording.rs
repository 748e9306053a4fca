//! Words of the engine as a Pivot shows them: in one line, and with the options of a Pivot for the flags of a terminal.

use pivot_core::messages::risk::{AcceptedBy, Risk};
use serde_json::Value;

use crate::resource::MoveOptions;

/// Writes why a move stopped, and what state that leaves both sides in, in one line: columns of kubectl and Events end at the first
/// line break.
pub fn describe_stop(why: &str, state: &str) -> String {
    let mut text = String::new();
    for line in why.lines() {
        let words = line.trim();
        let words = words.strip_prefix("- ").unwrap_or(words);
        if words.is_empty() {
            continue;
        }
        text.push_str(if text.is_empty() {
            ""
        } else if text.ends_with(':') {
            " "
        } else if line.starts_with(' ') && !text.contains(HEADING_ENDS) {
            HEADING_ENDS
        } else {
            "; "
        });
        text.push_str(words);
    }
    // In parentheses, apart from an option that is copied.
    let state = state.replace("this command", "this attempt");
    format!("{} ({state})", name_options(&text))
}

/// Separates the heading of a list from its first item.
const HEADING_ENDS: &str = ": ";

/// Writes flags of `pivot-host move` as options of a Pivot, which have the same names: `--exclude KIND` is
/// `options.exclude: [KIND]`, and `--accept CODE=KIND` is `options.accept: [{code: CODE, kinds: [KIND]}]`.
fn name_options(text: &str) -> String {
    let options = serde_json::to_value(MoveOptions::default()).unwrap_or_default();
    let mut words = text.split(' ').peekable();
    let mut named = Vec::new();
    while let Some(word) = words.next() {
        let Some((before, flag)) = word.split_once("--") else {
            named.push(word.to_owned());
            continue;
        };
        let end = flag.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(flag.len());
        let (flag, after) = flag.split_at(end);
        let name = camel_case(flag);
        // Risks that only a command can accept.
        if flag == "accept" && words.peek().is_some_and(|value| !is_risk_of_pivots(trim_end(value))) {
            named.push(word.to_owned());
            continue;
        }
        named.push(match options.get(&name) {
            Some(Value::Array(_)) if after.is_empty() && words.peek().is_some() => {
                let value = words.next().unwrap_or_default();
                let bare = trim_end(value);
                let entry = if flag == "accept" { risk_entry(bare) } else { bare.to_owned() };
                format!("{before}options.{name}: [{entry}]{}", value.get(bare.len()..).unwrap_or_default())
            }
            Some(_) => format!("{before}options.{name}{after}"),
            None => word.to_owned(),
        });
    }
    named.join(" ")
}

/// Returns a word without the punctuation after it.
fn trim_end(word: &str) -> &str {
    word.trim_end_matches([',', ';', ':', '.', ')', '`'])
}

/// Returns true if a Pivot can accept the risk with this code, or if it is no code of a risk.
fn is_risk_of_pivots(value: &str) -> bool {
    let code = value.split_once('=').map_or(value, |(code, _)| code);
    let known: Option<Risk> = code.parse().ok();
    known.is_none_or(|risk| risk.is_accepted_by(AcceptedBy::Pivot))
}

/// Writes `CODE` or `CODE=KIND` as an entry of a list.
fn risk_entry(value: &str) -> String {
    match value.split_once('=') {
        Some((code, kind)) => format!("{{code: {code}, kinds: [{kind}]}}"),
        None => format!("{{code: {value}}}"),
    }
}

fn camel_case(flag: &str) -> String {
    let mut words = flag.split('-');
    let mut name = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_is_described_in_one_line() {
        let refused = "refused, for 2 reasons\n  - source: a is bad\n    fix it, or accept the danger: --accept \
                       no-plugin=Host.metal3.io\n  - target: b is taken";
        assert_eq!(
            describe_stop(refused, "nothing is changed on either side by this command"),
            "refused, for 2 reasons: source: a is bad; fix it, or accept the danger: options.accept: \
             [{code: no-plugin, kinds: [Host.metal3.io]}]; target: b is taken (nothing is changed on either side by this attempt)"
        );
        let waited = "nothing is deleted, because the target's controllers have not taken over:\n  Machine a/m\nfix: wait";
        assert_eq!(
            describe_stop(waited, "s"),
            "nothing is deleted, because the target's controllers have not taken over: Machine a/m; fix: wait (s)"
        );
        assert_eq!(describe_stop("no answer", "s"), "no answer (s)");
    }

    #[test]
    fn flags_become_options_of_the_same_name() {
        for (flags, options) in [
            (
                "resume with --accept unverified=KIND.group for that kind",
                "resume with options.accept: [{code: unverified, kinds: [KIND.group]}] for that kind",
            ),
            ("one: --exclude A.b or --exclude C.d", "one: options.exclude: [A.b] or options.exclude: [C.d]"),
            (
                "move it paused: --accept already-paused, or don't",
                "move it paused: options.accept: [{code: already-paused}], or don't",
            ),
            ("(--exclude), `--also-copy Secret`", "(options.exclude), `options.alsoCopy: [Secret]`"),
            ("resume with --accept world-changed, which", "resume with --accept world-changed, which"),
            // A Pivot has no option for it.
            ("add --cluster a/b -- or --exclude", "add --cluster a/b -- or options.exclude"),
        ] {
            assert_eq!(name_options(flags), options);
        }
    }
}
