//! Checks that a plugin's description makes sense, and that the plugin stays within it.

use std::collections::BTreeSet;

use super::pattern;
use crate::objects::Query;
use crate::{About, Hook, Object, Relation};

/// Panics if the host would refuse to load the plugin.
pub(super) fn assert_valid(about: &About, hooks: &[Hook]) {
    if let Err(wrong) = check_about(about, hooks) {
        panic!("about(): {wrong}");
    }
}

fn check_about(about: &About, hooks: &[Hook]) -> Result<(), String> {
    let About { name, version, summary, reach, changes, probes, .. } = about;
    let word =
        |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    if name.len() > 63 || !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.split('-').all(word) {
        return Err(format!(
            "the name `{name}` is not lower-case words joined by dashes, 63 characters at most"
        ));
    }
    let core = version.split(['-', '+']).next().unwrap_or_default();
    if core.split('.').count() != 3 || !core.split('.').all(|part| part.parse::<u64>().is_ok()) {
        return Err(format!("`{version}` is no semantic version"));
    }
    if summary.trim().is_empty() {
        return Err("it has no summary; with about!() that is `description` in Cargo.toml".into());
    }
    for change in changes {
        if !hooks.contains(&change.hook) {
            let hook = change.hook.as_str();
            return Err(format!("{hook} changes {}, but export! does not name {hook}", change.kind));
        }
    }
    let silent =
        |hook: &&Hook| hook.changed_side().is_some() && !changes.iter().any(|change| change.hook == **hook);
    if let Some(hook) = hooks.iter().find(silent) {
        let hook = hook.as_str();
        return Err(format!("export! names {hook}, but nothing says what that changes: add .{hook}s(kind)"));
    }
    if let Some(reach) = reach.first().filter(|_| !hooks.contains(&Hook::Relate)) {
        return Err(format!("its relations reach {}, but export! does not name relate", reach.kind));
    }
    let looks = hooks.iter().any(|hook| *hook != Hook::Check);
    if looks && about.kinds.is_empty() {
        return Err("it sees no kind, so its hooks are never called: add .sees(kind)".into());
    }
    if about.secret_data && !probes.is_empty() {
        return Err("no plugin gets both the data of Secrets and endpoints to probe".into());
    }
    match probes.iter().find(|probe| !pattern::is_valid_pattern(probe)) {
        Some(probe) => Err(format!("`{probe}` is no `host:port` to probe")),
        None => Ok(()),
    }
}

/// Checks that a needed object is in a namespace that moves, or within the declared reach. The error names the missing
/// declaration.
pub(super) fn check_relation(
    about: &About,
    object: &Object,
    relation: &Relation,
    moving: &BTreeSet<String>,
) -> Result<(), String> {
    let (Relation::Need(what) | Relation::Share(what)) = relation else { return Ok(()) };
    let namespace = what.namespace.as_deref();
    let inside = namespace.is_some_and(|name| object.namespace() == Some(name) || moving.contains(name));
    let reached = about.reach.iter().any(|reach| {
        reach.kind.matches(&what.kind)
            && (reach.namespace == "*" || namespace == Some(reach.namespace.as_str()))
    });
    if inside || reached {
        return Ok(());
    }
    let place = namespace.unwrap_or("*");
    Err(format!(
        "it needs {what}, which does not move, without saying so: about() needs .reaches(kind, \"{place}\")"
    ))
}

/// Checks that a query was declared. The error names the missing declaration.
pub(super) fn check_query(about: &About, query: &Query, moving: &BTreeSet<String>) -> Result<(), String> {
    let declared = about.reads.iter().any(|read| {
        let there = match (read.namespace.as_deref(), query.namespace.as_deref()) {
            (Some("*"), _) | (None, None) => true,
            (Some(declared), asked) => asked == Some(declared),
            (None, Some(asked)) => moving.contains(asked),
        };
        there && read.side == query.side && read.kind.matches(&query.kind)
    });
    if declared {
        return Ok(());
    }
    let (side, kind) = (query.side, &query.kind);
    let place = match query.namespace.as_deref() {
        Some(namespace) if !moving.contains(namespace) => {
            format!(".reads_in(Side::{side:?}, kind, \"{namespace}\")")
        }
        _ => format!(".reads(Side::{side:?}, kind)"),
    };
    Err(format!("it reads {kind} in the {} without saying so: about() needs {place}", side.as_str()))
}
