//! The limits of calls.

use std::time::Duration;

use serde::Deserialize;

/// The limits of one call of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall clock, including waits for the host.
    pub time: Duration,
    /// Bytes of linear memory.
    pub memory: usize,
    /// Elements of tables.
    pub table_elements: usize,
    /// Bytes of stack.
    pub stack: usize,
    /// Bytes passed to the host at once: an answer, or the questions in one call of a host function.
    pub output: usize,
    /// Bytes of objects and bodies in the host's answers, in total.
    pub input: usize,
    /// Questions to the host: each query, each probe and each log line counts.
    pub host_calls: u32,
    /// Wall clock of all calls of one run together, for hooks that may not ask questions: a little for each of a thousand objects
    /// adds up.
    pub total: Duration,
}

impl Default for Limits {
    /// Returns ten times the bundled plugins' use, with room for components of languages that ship an engine.
    fn default() -> Self {
        Self {
            time: Duration::from_secs(10),
            memory: 128 << 20,
            table_elements: 100_000,
            stack: 512 << 10,
            output: 4 << 20,
            input: 32 << 20,
            host_calls: 1_000,
            total: Duration::from_secs(600),
        }
    }
}

/// The `limits` of `plugins.toml`: a missing field keeps its default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LimitsText {
    time: Option<Span>,
    memory: Option<Size>,
    table_elements: Option<usize>,
    stack: Option<Size>,
    output: Option<Size>,
    input: Option<Size>,
    host_calls: Option<u32>,
    total: Option<Span>,
}

impl LimitsText {
    /// These limits, with `base` for those that are missing.
    pub(crate) fn with_defaults(self, base: Limits) -> Limits {
        let Self { time, memory, table_elements, stack, output, input, host_calls, total } = self;
        Limits {
            time: time.map_or(base.time, |span| span.0),
            memory: memory.map_or(base.memory, |size| size.0),
            table_elements: table_elements.unwrap_or(base.table_elements),
            stack: stack.map_or(base.stack, |size| size.0).clamp(STACK.0, STACK.1),
            output: output.map_or(base.output, |size| size.0),
            input: input.map_or(base.input, |size| size.0),
            host_calls: host_calls.unwrap_or(base.host_calls),
            total: total.map_or(base.total, |span| span.0),
        }
    }
}

/// The smallest and the largest stack: nothing runs with less, and more is always a mistake.
const STACK: (usize, usize) = (64 << 10, 16 << 20);

/// `500ms`, `10s`, `2m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct Span(Duration);

impl TryFrom<String> for Span {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (number, unit) = split_number(&text);
        let span = match unit {
            "ms" => number.map(Duration::from_millis),
            "s" => number.map(Duration::from_secs),
            "m" => number.map(|minutes| Duration::from_secs(minutes.saturating_mul(60))),
            _ => None,
        };
        span.filter(|span| !span.is_zero())
            .map(Self)
            .ok_or_else(|| format!("`{text}` is no time; write `500ms`, `10s` or `2m`"))
    }
}

/// `64KiB`, `128MiB`, `1GiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct Size(usize);

impl TryFrom<String> for Size {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (number, unit) = split_number(&text);
        let unit = match unit {
            "KiB" => Some(1u64 << 10),
            "MiB" => Some(1 << 20),
            "GiB" => Some(1 << 30),
            _ => None,
        };
        number
            .zip(unit)
            .and_then(|(number, unit)| usize::try_from(number.checked_mul(unit)?).ok())
            .filter(|size| *size > 0)
            .map(Self)
            .ok_or_else(|| format!("`{text}` isn't a size; write `64KiB`, `128MiB` or `1GiB`"))
    }
}

fn split_number(text: &str) -> (Option<u64>, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number.parse().ok(), unit.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_have_units() {
        let text: LimitsText = toml::from_str("time = '500ms'\nmemory = '64MiB'\nhost-calls = 3").unwrap();
        let limits = text.with_defaults(Limits::default());
        assert_eq!(limits.time, Duration::from_millis(500));
        assert_eq!(limits.memory, 64 << 20);
        assert_eq!(limits.host_calls, 3);
        assert_eq!(limits.output, Limits::default().output);
        for (bad, said) in [
            ("time = '5'", "is no time"),
            ("time = '0s'", "is no time"),
            ("memory = '64MB'", "isn't a size"),
            ("memory = '99999999999GiB'", "isn't a size"),
            ("fuel = 1", "expected one of `time`, `memory`, `table-elements`"),
        ] {
            let error = toml::from_str::<LimitsText>(bad).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
