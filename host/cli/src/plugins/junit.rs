//! JUnit reports, which CI systems show as tests.

use std::fmt::Write;

/// A test case.
pub(super) struct JunitCase {
    pub(super) class: String,
    pub(super) name: String,
    /// None if it passed.
    pub(super) failure: Option<String>,
}

/// Returns the report of a test suite.
pub(super) fn junit_report(suite: &str, cases: &[JunitCase]) -> String {
    let failures = cases.iter().filter(|case| case.failure.is_some()).count();
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\">\n",
        escape_xml(suite),
        cases.len()
    );
    for JunitCase { class, name, failure } in cases {
        let _ = write!(xml, "  <testcase classname=\"{}\" name=\"{}\"", escape_xml(class), escape_xml(name));
        xml += &match failure {
            Some(why) => format!(">\n    <failure>{}</failure>\n  </testcase>\n", escape_xml(why)),
            None => "/>\n".to_owned(),
        };
    }
    xml + "</testsuite>\n"
}

/// Escapes markup. XML has no form for most control characters.
fn escape_xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push(c),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_and_markup_are_written() {
        let case = |name: &str, failure: Option<&str>| JunitCase {
            class: "a.yaml".to_owned(),
            name: name.to_owned(),
            failure: failure.map(str::to_owned),
        };
        let report = junit_report("p", &[case("hold \"<a>\"", None), case("adapt", Some("x & \u{1b}\ny"))]);
        let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"p\" tests=\"2\" failures=\"1\">\n  \
            <testcase classname=\"a.yaml\" name=\"hold &quot;&lt;a&gt;&quot;\"/>\n  \
            <testcase classname=\"a.yaml\" name=\"adapt\">\n    <failure>x &amp; \u{fffd}\ny</failure>\n  </testcase>\n</testsuite>\n";
        assert_eq!(report, expected);
    }
}
