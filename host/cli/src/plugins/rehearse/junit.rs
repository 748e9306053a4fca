//! A rehearsal as a report of tests in JUnit's format: a test case for each object and hook, and for the outcome.

use std::fmt::Write;

use super::report::Rehearsal;

pub(super) fn write_suite(rehearsal: &Rehearsal) -> String {
    let Rehearsal { calls, never_called, error, .. } = rehearsal;
    let mut cases = String::new();
    let (mut tests, mut failures) = (0, 0);
    let mut add = |class: &str, name: &str, content: String| {
        tests += 1;
        failures += usize::from(content.starts_with("<failure"));
        // A `String` takes any text.
        let _ = writeln!(
            cases,
            "    <testcase classname=\"{}\" name=\"{}\">{content}</testcase>",
            escape(class),
            escape(name)
        );
    };
    for (index, call) in calls.iter().enumerate() {
        // The last of several calls decides: a plugin that waited may have continued.
        if calls.iter().skip(index + 1).any(|later| later.has_subject_of(call)) {
            continue;
        }
        let failure = call.describe_failure();
        let output = format!("<system-out>{}</system-out>", escape(&call.decision_lines().join("\n")));
        let content = failure.map_or(output, |(code, message)| failure_element(&code, &message));
        add(&call.plugin, &call.subject(), content);
    }
    for one in never_called {
        add(&one.plugin, &one.name(), "<skipped message=\"never called\"/>".to_owned());
    }
    let outcome = error.as_ref().map(|error| failure_element("stopped", error)).unwrap_or_default();
    add("move", "outcome", outcome);
    let skipped = never_called.len();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"pivot-host plugin rehearse\" \
         tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">\n{cases}  </testsuite>\n</testsuites>\n"
    )
}

fn failure_element(code: &str, message: &str) -> String {
    format!("<failure type=\"{}\" message=\"{}\"/>", escape(code), escape(message))
}

/// Returns a text without characters that XML reserves or forbids.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {
                escaped.push('\u{fffd}')
            }
            letter => escaped.push(letter),
        }
    }
    escaped
}
