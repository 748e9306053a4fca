//! JUnit reports, which CI systems show as tests.

use std::fmt::Write;

use pivot_core::messages::safe_text::is_hidden;

/// A test case.
pub(super) struct JunitCase {
    pub(super) class: String,
    pub(super) name: String,
    pub(super) result: JunitResult,
}

pub(super) enum JunitResult {
    /// The test passed, with this output.
    Passed(String),
    Failed {
        code: String,
        message: String,
    },
    Skipped(&'static str),
}

/// Returns the report of a test suite.
pub(super) fn junit_report(suite: &str, cases: &[JunitCase]) -> String {
    let count = |counts: fn(&JunitResult) -> bool| cases.iter().filter(|case| counts(&case.result)).count();
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" \
         skipped=\"{}\">\n",
        escape_xml(suite),
        cases.len(),
        count(|result| matches!(result, JunitResult::Failed { .. })),
        count(|result| matches!(result, JunitResult::Skipped(_))),
    );
    for JunitCase { class, name, result } in cases {
        let content = match result {
            JunitResult::Passed(output) if output.is_empty() => String::new(),
            JunitResult::Passed(output) => format!("<system-out>{}</system-out>", escape_xml(output)),
            JunitResult::Failed { code, message } => {
                format!("<failure type=\"{}\" message=\"{}\"/>", escape_xml(code), escape_xml(message))
            }
            JunitResult::Skipped(why) => format!("<skipped message=\"{}\"/>", escape_xml(why)),
        };
        let (class, name) = (escape_xml(class), escape_xml(name));
        // A `String` takes any text.
        let _ = writeln!(xml, "    <testcase classname=\"{class}\" name=\"{name}\">{content}</testcase>");
    }
    xml + "  </testsuite>\n</testsuites>\n"
}

/// Returns a text without characters that XML reserves or forbids, or that are not visible.
fn escape_xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            letter if is_hidden(letter) => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_and_markup_are_written() {
        let case =
            |name: &str, result| JunitCase { class: "a.yaml".to_owned(), name: name.to_owned(), result };
        let failed = JunitResult::Failed {
            code: "trap".to_owned(),
            message: "x & \u{1b}\u{202e}\u{ffff}\ny".to_owned(),
        };
        let report = junit_report(
            "p",
            &[
                case("hold \"<a>\"", JunitResult::Passed(String::new())),
                case("relate", JunitResult::Passed("nothing".to_owned())),
                case("adapt", failed),
                case("settle", JunitResult::Skipped("never called")),
            ],
        );
        let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<testsuites>
  <testsuite name=\"p\" tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"1\">
    <testcase classname=\"a.yaml\" name=\"hold &quot;&lt;a&gt;&quot;\"></testcase>
    <testcase classname=\"a.yaml\" name=\"relate\"><system-out>nothing</system-out></testcase>
    <testcase classname=\"a.yaml\" name=\"adapt\"><failure type=\"trap\" message=\"x &amp; \u{fffd}\u{fffd}\u{fffd}&#10;y\"/></testcase>
    <testcase classname=\"a.yaml\" name=\"settle\"><skipped message=\"never called\"/></testcase>
  </testsuite>
</testsuites>
";
        assert_eq!(report, expected);
    }
}
