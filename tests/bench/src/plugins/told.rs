//! The log of plugin calls that pivot-host writes with `-vv --log-format json`: one line per finished call.

use std::time::Duration;

use serde::Deserialize;

/// A logged call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) plugin: String,
    pub(crate) hook: String,
    /// From its turn to its answer. In a hook that may ask questions, this includes waiting for the answers.
    pub(crate) time: Duration,
    /// Bytes of linear memory.
    pub(crate) memory: u64,
}

#[derive(Deserialize)]
struct Line {
    fields: Fields,
    span: Span,
}

#[derive(Deserialize)]
struct Fields {
    message: String,
}

#[derive(Deserialize)]
struct Span {
    name: String,
    plugin: String,
    hook: String,
    time_us: u64,
    peak_memory: u64,
}

impl Call {
    /// Whether the hook may ask the host.
    pub(crate) fn asks(&self) -> bool {
        ["check", "settle"].contains(&self.hook.as_str())
    }
}

/// The calls among the lines.
pub(crate) fn calls(lines: &str) -> Vec<Call> {
    let lines = lines.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
    let ended = lines.filter(|line| line.fields.message == "answered" && line.span.name == "plugin");
    ended.map(call).collect()
}

fn call(Line { span, .. }: Line) -> Call {
    let Span { plugin, hook, time_us, peak_memory, name: _ } = span;
    Call { plugin, hook, time: Duration::from_micros(time_us), memory: peak_memory }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_is_over_is_read_and_nothing_else() {
        let line = r#"{"level":"DEBUG","fields":{"message":"answered"},"target":"t","span":{"hook":"relate","kind":"Secret","object":"Secret n/a","outcome":"ok","peak_memory":1114112,"plugin":"secrets","time_us":130,"name":"plugin"},"spans":[]}"#;
        let other = r#"{"level":"DEBUG","fields":{"message":"asked"},"target":"pivot_places"}"#;
        let call = Call {
            plugin: "secrets".into(),
            hook: "relate".into(),
            time: Duration::from_micros(130),
            memory: 1_114_112,
        };
        assert_eq!(calls(&format!("{other}\n{line}\nno json\n")), [call]);
    }
}
