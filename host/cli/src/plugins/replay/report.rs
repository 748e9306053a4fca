//! The result of a replay: the first call that differs, and counts.

use std::path::Path;

use pivot_core::messages::safe_text::to_line;
use pivot_core::plugins::expectations::Difference;
use pivot_core::plugins::hooks::Hook;
use pivot_runtime::Plugin;
use serde_json::{Value, json};

use super::super::junit::{JunitCase, JunitResult, junit_report};
use super::super::recording::format::{RecordedCall, RecordedPlugin};
use super::super::test_scenes::difference_line;
use crate::args::OutputFormat;
use crate::output::{Document, Output, Text};

/// The most differing calls whose differences are listed.
const MAX_LISTED_CALLS: usize = 100;
/// The longest question, the longest path and the longest call in a report, in bytes.
const MAX_TEXT_BYTES: usize = 300;
/// The longest value in a document, in bytes of JSON.
const MAX_VALUE_BYTES: usize = 4 << 10;

/// Replaces the differences of each call after [`MAX_LISTED_CALLS`].
const NOT_LISTED: &str = "the differences are listed for the first 100 calls that differ";

/// The comparison of one call.
pub(super) struct CallDifference {
    pub(super) differences: Vec<Difference>,
    /// Questions that the recording has no answer to.
    pub(super) unrecorded: Vec<String>,
    /// True if the result depends on data of Secrets that is not in the recording.
    pub(super) is_unjudged: bool,
}

impl CallDifference {
    fn differs(&self) -> bool {
        let is_same = self.differences.is_empty() && self.unrecorded.is_empty();
        !is_same && !self.is_unjudged
    }

    /// Cuts long paths, values and questions: anyone may have written the recording.
    fn cut_long_parts(self) -> Self {
        let cut_difference = |Difference { path, expected, actual }| Difference {
            path: cut_text(path, MAX_TEXT_BYTES),
            expected: expected.map(cut_value),
            actual: actual.map(cut_value),
        };
        let unrecorded = self.unrecorded.into_iter().map(|question| cut_text(question, MAX_TEXT_BYTES));
        Self {
            differences: self.differences.into_iter().map(cut_difference).collect(),
            unrecorded: unrecorded.collect(),
            is_unjudged: self.is_unjudged,
        }
    }

    fn lines(&self) -> Vec<String> {
        let unrecorded = self.unrecorded.iter().map(|question| to_line(question, MAX_TEXT_BYTES));
        let unrecorded = unrecorded.map(|question| format!("a question that was not recorded: {question}"));
        self.differences.iter().map(difference_line).chain(unrecorded).collect()
    }
}

fn cut_text(text: String, most: usize) -> String {
    if text.len() > most { to_line(&text, most) } else { text }
}

/// Returns a long value as the beginning of its JSON.
fn cut_value(value: Value) -> Value {
    let text = value.to_string();
    if text.len() > MAX_VALUE_BYTES { to_line(&text, MAX_VALUE_BYTES).into() } else { value }
}

/// A call that differs from the recording.
struct DifferingCall {
    line: u64,
    call: String,
    hook: Hook,
    difference: CallDifference,
}

/// The result of a replay.
#[derive(Default)]
pub(super) struct Replay {
    /// True if the report has a test case for each call.
    has_cases: bool,
    recorded: Option<RecordedPlugin>,
    pub(super) calls: usize,
    pub(super) differing: usize,
    unjudged: usize,
    pub(super) omitted: usize,
    /// True if the recording ends with a whole line.
    pub(super) is_complete: bool,
    /// The first calls that differ.
    first: Vec<DifferingCall>,
    cases: Vec<JunitCase>,
}

impl Replay {
    /// Begins a replay whose result has this format.
    pub(super) fn new(format: OutputFormat) -> Self {
        Self { has_cases: format == OutputFormat::Junit, ..Self::default() }
    }

    /// Adds the plugin as it was recorded.
    pub(super) fn add_recorded(&mut self, recorded: RecordedPlugin) {
        self.recorded.get_or_insert(recorded);
    }

    /// Adds a call.
    pub(super) fn add(&mut self, line: u64, call: &RecordedCall, difference: CallDifference) {
        self.calls += 1;
        self.unjudged += usize::from(difference.is_unjudged);
        let is_listed = difference.differs() && self.differing < MAX_LISTED_CALLS;
        self.differing += usize::from(difference.differs());
        if !is_listed && !self.has_cases {
            return;
        }
        let name = to_line(&call.to_string(), MAX_TEXT_BYTES);
        let difference = if is_listed { difference.cut_long_parts() } else { difference };
        if self.has_cases {
            let result = if difference.is_unjudged {
                JunitResult::Skipped("data of Secrets is not in the recording")
            } else if difference.differs() {
                let message = if is_listed { difference.lines().join("\n") } else { NOT_LISTED.to_owned() };
                JunitResult::Failed { code: "differs".to_owned(), message }
            } else {
                JunitResult::Passed(String::new())
            };
            self.cases.push(JunitCase { class: format!("line {line}"), name: name.clone(), result });
        }
        if is_listed {
            self.first.push(DifferingCall { line, call: name, hook: call.hook, difference });
        }
    }

    /// Prints the result.
    pub(super) fn show(&self, (recording, file): (&Path, &Path), plugin: &Plugin, output: &Output) {
        let name = &plugin.description().name;
        if self.has_cases {
            return output.own(&junit_report(name, &self.cases));
        }
        let recorded = self.recorded.as_ref().map(|RecordedPlugin { name, version, digest, .. }| {
            json!({"name": name, "version": version, "digest": digest})
        });
        let differences = self.first.iter().map(|DifferingCall { line, call, hook, difference }| {
            let CallDifference { differences, unrecorded, .. } = difference;
            let differences = differences
                .iter()
                .map(|one| json!({"path": one.path, "expected": one.expected, "actual": one.actual}));
            json!({
                "line": line, "call": call, "hook": hook,
                "differences": differences.collect::<Vec<Value>>(), "unrecordedQuestions": unrecorded,
            })
        });
        let content = json!({
            "recording": recording, "file": file, "sha256": plugin.file_digest(), "name": name,
            "version": plugin.description().version, "recorded": recorded, "calls": self.calls,
            "differing": self.differing, "unjudged": self.unjudged, "omitted": self.omitted,
            "complete": self.is_complete, "differences": differences.collect::<Vec<Value>>(),
        });
        output.result(&Document::new("PluginReplay", content), || self.text(name));
    }

    fn text(&self, name: &str) -> Text {
        let mut text = Text::default();
        match self.first.first() {
            Some(DifferingCall { line, call, difference, .. }) => {
                text.add_line(format!("first difference: {call} (line {line})"));
                difference.lines().iter().for_each(|line| text.add_line(format!("  {line}")));
            }
            None => {
                text.add_line(format!("{name}: {} calls answered as recorded", self.calls - self.unjudged))
            }
        }
        for (count, why) in [
            (self.unjudged, "calls can't be judged, because data of Secrets is not in the recording"),
            (self.omitted, "calls are not in the recording, because they did not fit"),
        ] {
            if count > 0 {
                text.add_line(format!("{count} {why}"));
            }
        }
        if !self.is_complete {
            text.add_line(
                "the last line of the recording is cut off: the run was killed, or the disk was full",
            );
        }
        text
    }
}
