//! The program's output: text for people, and documents for programs.
//!
//! All output contains names, paths and messages from other sources. Each of them may hold a line break followed by an
//! imitation of one of our lines, or characters that drive a terminal. So a text consists of lines, not of characters: only our code
//! begins a line. Each line is made harmless here, where it is written, whatever its parts are.

use anstyle::Style;
use pivot_core::messages::safe_text::{escape_line, is_hidden};
use serde::Serialize;
use serde_saphyr::SerializerOptions;

use super::wrap;

const STRONG: Style = Style::new().bold();
/// The longest line.
const LINE: usize = 2_000;
/// The longest message; the rest is cut. Results are not cut: the user asked for them.
const MESSAGE: usize = 20_000;

/// Lines for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text {
    lines: Vec<Line>,
}

/// Words, each in its style.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    spans: Vec<(Style, String)>,
    /// Start of the last column, in a row of a table.
    column: Option<usize>,
    /// True if the line may be copied into a file or a program, and so must not be changed.
    is_verbatim: bool,
}

impl Line {
    fn plain(words: impl Into<String>) -> Self {
        Self::of_spans(vec![(Style::new(), words.into())])
    }

    fn of_spans(spans: Vec<(Style, String)>) -> Self {
        Self { spans, column: None, is_verbatim: false }
    }

    /// Without styles.
    fn without_styles(&self) -> String {
        self.spans.iter().map(|(_, words)| escape_line(words, LINE)).collect()
    }

    /// Breaks the line at words. `used` is the room that something else takes before it.
    fn wrap(self, width: usize, used: usize) -> Vec<Self> {
        if self.is_verbatim {
            return vec![self];
        }
        let (rows, indent) = wrap::row_ranges(&self.without_styles(), width, used, self.column);
        if rows.len() < 2 {
            return vec![self];
        }
        let spans: Vec<(Style, String)> =
            self.spans.iter().map(|(style, words)| (*style, escape_line(words, LINE))).collect();
        let lines_of_rows = rows.into_iter().enumerate().map(|(index, row)| {
            let indentation = " ".repeat(if index == 0 { 0 } else { indent });
            let mut cut = vec![(Style::new(), indentation)];
            let mut begin = 0;
            for (style, words) in &spans {
                let end = begin + words.chars().count();
                let (from, to) = (row.start.max(begin), row.end.min(end));
                if from < to {
                    cut.push((*style, words.chars().skip(from - begin).take(to - from).collect()));
                }
                begin = end;
            }
            Self::of_spans(cut)
        });
        lines_of_rows.collect()
    }
}

impl Text {
    /// Adds a line.
    pub(crate) fn add_line(&mut self, words: impl Into<String>) {
        self.lines.push(Line::plain(words));
    }

    /// Adds a line that begins with a highlighted word of ours.
    pub(crate) fn strong(&mut self, head: &'static str, words: impl Into<String>) {
        let plain = Style::new();
        self.add_styled_line(vec![(STRONG, head.to_owned()), (plain, " ".to_owned()), (plain, words.into())]);
    }

    /// Adds a line of words in styles.
    pub(crate) fn add_styled_line(&mut self, spans: Vec<(Style, String)>) {
        self.lines.push(Line::of_spans(spans));
    }

    /// Adds a row of a table, whose last column begins at `column`.
    pub(super) fn row(&mut self, words: impl Into<String>, column: usize) {
        self.lines.push(Line { column: Some(column), ..Line::plain(words) });
    }

    /// Keeps the lines as they are, however narrow the terminal is.
    pub(super) fn verbatim(self) -> Self {
        Self { lines: self.lines.into_iter().map(|line| Line { is_verbatim: true, ..line }).collect() }
    }

    /// Breaks lines that a terminal is too narrow for at words. `used` is the room that something else takes before the first.
    pub(super) fn wrap(self, width: Option<usize>, used: usize) -> Self {
        let Some(width) = width else { return self };
        let lines = self.lines.into_iter().enumerate();
        let wrapped = lines.flat_map(|(index, line)| line.wrap(width, if index == 0 { used } else { 0 }));
        Self { lines: wrapped.collect() }
    }

    /// Adds an empty line.
    pub(crate) fn gap(&mut self) {
        self.add_line("");
    }

    pub(crate) fn append(&mut self, other: impl Into<Self>) {
        self.lines.extend(other.into().lines);
    }

    /// Splits it into one text per line.
    pub(crate) fn split(self) -> Vec<Self> {
        self.lines.into_iter().map(|line| Self { lines: vec![line] }).collect()
    }

    /// A text that is all ours: its line breaks count.
    pub(crate) fn from_own_text(text: &str) -> Self {
        text.lines().map(str::to_owned).collect::<Self>().verbatim()
    }

    /// As a message without colours: for a log or a document.
    pub(crate) fn message(&self) -> String {
        let mut lines = Vec::new();
        let mut room = MESSAGE;
        for (index, line) in self.lines.iter().enumerate() {
            let line = line.without_styles();
            let Some(left) = room.checked_sub(line.len()) else {
                lines.push(format!("… {} lines left out", self.lines.len() - index));
                break;
            };
            room = left;
            lines.push(line);
        }
        lines.join("\n")
    }
}

/// As a result on a terminal.
impl std::fmt::Display for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for Line { spans, .. } in &self.lines {
            for (style, words) in spans.iter().filter(|(_, words)| !words.is_empty()) {
                write!(f, "{style}{}{style:#}", escape_line(words, LINE))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl From<String> for Text {
    fn from(line: String) -> Self {
        Self { lines: vec![Line::plain(line)] }
    }
}

impl From<&str> for Text {
    fn from(line: &str) -> Self {
        Self::from(line.to_owned())
    }
}

impl From<&String> for Text {
    fn from(line: &String) -> Self {
        Self::from(line.clone())
    }
}

impl FromIterator<String> for Text {
    fn from_iter<T: IntoIterator<Item = String>>(lines: T) -> Self {
        Self { lines: lines.into_iter().map(Line::plain).collect() }
    }
}

/// Text as one line: of a log, on a bar, in a cell.
pub(super) fn one_line(words: &str) -> String {
    escape_line(words, LINE)
}

/// Replaces all hidden characters in JSON by escapes, which doesn't change its meaning.
pub(super) fn escape_json(json: &str) -> String {
    escape_text(json, |c, out| {
        let mut units = [0; 2];
        out.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
    })
}

/// A document as YAML.
pub(super) fn to_yaml(document: &impl Serialize) -> Result<String, String> {
    let mut options = SerializerOptions::default();
    // A block scalar would show a string's lines as lines of the document.
    options.prefer_block_scalars = false;
    let yaml = serde_saphyr::to_string_with_options(document, options).map_err(|error| error.to_string())?;
    if !yaml.contains(is_concealed) {
        return Ok(yaml);
    }
    // Only quoted strings can have escapes. In JSON, which is also YAML, all strings are quoted.
    let json = serde_json::to_string_pretty(document).map_err(|error| error.to_string())?;
    Ok(escape_text(&json, |c, out| out.push_str(&format!("\\U{:08X}", u32::from(c)))) + "\n")
}

fn escape_text(text: &str, escape: impl Fn(char, &mut String)) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_concealed(c) { escape(c, &mut out) } else { out.push(c) }
    }
    out
}

/// The hidden characters of a document. Its line breaks are ours: those in strings are escaped already.
fn is_concealed(c: char) -> bool {
    c != '\n' && is_hidden(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pivot_host_begins_a_line() {
        let mut text = Text::from("a\nerror: b");
        text.strong("Plan:", "c\r\u{1b}[2J");
        text.append(Text::from_own_text("d\n  e\u{202e}\n"));
        assert_eq!(text.message(), "a\\nerror: b\nPlan: c\\r\\u{1b}[2J\nd\n  e\\u{202e}");
        assert_eq!(anstream::adapter::strip_str(&text.to_string()).to_string(), text.message() + "\n");
    }

    #[test]
    fn lines_and_messages_are_bounded() {
        let long = Text::from("x".repeat(3_000_000)).message();
        assert!(long.len() < LINE + 100 && long.contains(" characters left out "), "{long}");
        let many: Text = (0..1_000_000).map(|n| format!("line {n}")).collect();
        let message = many.message();
        assert!(message.len() < MESSAGE + 5_000, "{}", message.len());
        assert!(message.ends_with(" lines left out"), "{}", message.lines().last().unwrap());
        assert_eq!(many.to_string().lines().count(), 1_000_000, "a result is whole");
    }

    #[test]
    fn escaping_keeps_a_documents_meaning() {
        for name in
            ["plain ä", "a\nerror: b", "\u{9b}2J\u{7f}\u{85}", "\u{202e}x\u{2066}", "\u{e0041}\u{3164}\u{1b}"]
        {
            let document = serde_json::json!({name: [name, 1, true, null], "k": {"long": name.repeat(200)}});
            let json = escape_json(&serde_json::to_string_pretty(&document).unwrap());
            let yaml = to_yaml(&document).unwrap();
            for text in [&json, &yaml] {
                assert!(!text.contains(is_concealed), "{text:?}");
                assert!(!text.lines().any(|line| line.trim_start().starts_with("error:")), "{text}");
            }
            assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), document);
            assert_eq!(serde_saphyr::from_str::<serde_json::Value>(&yaml).unwrap(), document, "{yaml}");
        }
    }
}
