//! Values that clap can't parse on its own.

use std::time::Duration;

use pivot_core::request::mapping::NamespaceMap;
use pivot_engine::Options;

use super::usage::{Result, usage};

/// A duration: `90`, `90s`, `5m`, `1h30m`.
pub(super) fn duration(flag: &str, text: &str) -> Result<Duration> {
    if let Ok(seconds) = text.parse::<u32>() {
        return Ok(Duration::from_secs(seconds.into()));
    }
    let parsed = text.parse::<jiff::SignedDuration>().ok().and_then(|parsed| parsed.try_into().ok());
    match parsed {
        Some(duration) => Ok(duration),
        None => usage(format!("{flag} {text:?} is not a duration; write 90s, 5m or 1h30m")),
    }
}

/// Parses the limit of a wait, which has the same maximum as in a Pivot.
pub(super) fn timeout(flag: &str, text: &str) -> Result<Duration> {
    let limit = duration(flag, text)?;
    if limit > Options::MAX_TIMEOUT {
        return usage(format!("{flag} {text:?} is longer than {}", format_duration(Options::MAX_TIMEOUT)));
    }
    Ok(limit)
}

/// Writes a duration of whole hours, minutes or seconds as users type it.
pub(super) fn format_duration(duration: Duration) -> String {
    match duration.as_secs() {
        seconds if seconds % 3_600 == 0 => format!("{}h", seconds / 3_600),
        seconds if seconds % 60 == 0 => format!("{}m", seconds / 60),
        seconds => format!("{seconds}s"),
    }
}

/// Namespaces with other names in the target: `OLD=NEW`.
pub(crate) fn namespace_map(typed: &[String], record_namespace: &str) -> Result<NamespaceMap> {
    let pairs = typed.iter().map(|text| match text.split_once('=') {
        Some((old, new)) if [old, new].contains(&record_namespace) => usage(format!(
            "--map-namespace {text:?}: the records of moves are in {record_namespace}, which keeps its name"
        )),
        Some((old, new)) => Ok((old.to_owned(), new.to_owned())),
        None => usage(format!("--map-namespace {text:?}: write OLD=NEW")),
    });
    match NamespaceMap::new(pairs.collect::<Result<Vec<_>>>()?) {
        Ok(map) => Ok(map),
        Err(error) => usage(format!("--map-namespace: {error}")),
    }
}
