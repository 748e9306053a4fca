//! A Cluster as a tree in columns.
//!
//! The lines of the tree and the columns are those of clusterctl, so that operators recognise them and scripts keep working.

use anstyle::{AnsiColor, Style};
use jiff::Timestamp;
use pivot_core::describe::{
    Columns, Condition, NamedObject, Node, Problem, Replicas, Subject, Tone, Tree, format_age,
};
use pivot_core::messages::safe_text::escape_line;
use serde::Serialize;

use super::document::Document;
use super::text::Text;
use super::width::display_width;

const HEAD: [&str; 9] =
    ["NAME", "REPLICAS", "AVAILABLE", "READY", "UP TO DATE", "STATUS", "REASON", "SINCE", "MESSAGE"];
/// Most characters of a message in one line.
const MESSAGE: usize = 100;
/// Most characters of another cell. A server stores fewer; a file may have more.
const CELL: usize = 400;
/// Most names of Machines in a shared row.
const NAMES: usize = 2;

const PLAIN: Style = Style::new();
const STRONG: Style = Style::new().bold();
const FAINT: Style = AnsiColor::BrightBlack.on_default();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const UNSURE: Style = AnsiColor::Yellow.on_default();
const CONDITION: Style = AnsiColor::Cyan.on_default();

/// A text in a style.
type Span = (Style, String);

/// The lines that lead to a row: to one that others follow, and to the last one.
const MORE: &str = "├─";
const LAST: &str = "└─";
/// Glyph beside rows below.
const PIPE: &str = "│ ";
const NOTHING: &str = "  ";
/// Glyph before further lines of a message, if no row is below.
const ALONE: &str = "┆";
/// Indentation of conditions.
const INDENT: &str = "          ";

/// A tree, and when it was read.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DescribeDocument<'a> {
    place: &'a str,
    read_at: String,
    cluster: &'a Node,
}

impl<'a> DescribeDocument<'a> {
    pub(crate) fn new(place: &'a str, tree: &'a Tree, now: Timestamp) -> Document<Self> {
        let read_at = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        Document::new("Describe", Self { place, read_at, cluster: &tree.root })
    }
}

/// The tree for people.
pub(crate) fn tree_text(tree: &Tree, now: Timestamp) -> Text {
    let [name, cells @ ..] = HEAD.map(plain_span);
    let mut rows = vec![Row { name: vec![name], cells: cells.to_vec() }];
    add_rows(&mut rows, "", &tree.root, now);
    in_columns(rows)
}

/// Filters that select nothing.
pub(crate) fn no_match_text(typed: &[String]) -> Text {
    Text::from(format!(
        "nothing that is shown is selected by --show-conditions {}; --grouping=false, --echo and --show-machinesets show more",
        typed.join(",")
    ))
}

/// A row: its name in several styles, and a cell for each other column.
struct Row {
    name: Vec<Span>,
    cells: Vec<Span>,
}

fn plain_span(words: &str) -> Span {
    (PLAIN, words.to_owned())
}

fn add_rows(rows: &mut Vec<Row>, prefix: &str, node: &Node, now: Timestamp) {
    let Columns { replicas, available, ready, up_to_date, condition } = &node.columns;
    let replicas = replicas.map_or_else(String::new, |Replicas { current, desired }| match desired {
        Some(desired) => format!("{current}/{desired}"),
        None => current.to_string(),
    });
    let number = |number: &Option<i64>| number.map_or_else(String::new, |number| number.to_string());
    let counters =
        [replicas, number(available), number(ready), number(up_to_date)].map(|cell| plain_span(&cell));
    let (mut state, mut message) =
        condition.as_ref().map(|one| condition_cells(one, now)).unwrap_or_default();
    match &node.what {
        Subject::Machines(names) => message = vec![(FAINT, see_names(names))],
        Subject::Object(NamedObject { problem: Some(Problem { reason, message: why }), .. }) => {
            state = [plain_span(""), (BAD, (*reason).to_owned()), plain_span("")];
            message = wrap_message(why, MESSAGE).iter().map(|line| plain_span(line)).collect();
        }
        Subject::Object(_) | Subject::Heading(_) => {}
    }
    let has_children = !node.children.is_empty();
    let below = format!("{}{}", carried_on(prefix), if has_children { PIPE } else { "" });
    push_block(
        rows,
        title_spans(prefix, node),
        [counters.to_vec(), state.to_vec()].concat(),
        message,
        &below,
    );

    let conditions = node.conditions.as_deref().unwrap_or_default();
    let indent = format!("{}{}{INDENT}", carried_on(prefix), if has_children { PIPE } else { NOTHING });
    for (index, condition) in conditions.iter().enumerate() {
        let is_last = index + 1 == conditions.len();
        let name =
            vec![(FAINT, format!("{indent}{}", lead_of(is_last))), (CONDITION, condition.kind.clone())];
        let (state, message) = condition_cells(condition, now);
        let below = format!("{indent}{}", if is_last { "" } else { PIPE });
        push_block(rows, name, [vec![plain_span(""); 4], state.to_vec()].concat(), message, &below);
    }
    for (index, child) in node.children.iter().enumerate() {
        let is_last = index + 1 == node.children.len();
        add_rows(rows, &format!("{}{}", carried_on(prefix), lead_of(is_last)), child, now);
    }
}

/// A row, and one below it for each further line of its message.
fn push_block(rows: &mut Vec<Row>, name: Vec<Span>, cells: Vec<Span>, message: Vec<Span>, below: &str) {
    let mut message = message.into_iter();
    let first = message.next().unwrap_or_else(|| plain_span(""));
    rows.push(Row { name, cells: [cells, vec![first]].concat() });
    // A line always begins with something of ours.
    let below = if below.trim().is_empty() { format!("{below}{ALONE}") } else { below.to_owned() };
    for line in message {
        let empty = vec![plain_span(""); HEAD.len() - 2];
        rows.push(Row { name: vec![(FAINT, below.clone())], cells: [empty, vec![line]].concat() });
    }
}

fn lead_of(is_last: bool) -> &'static str {
    if is_last { LAST } else { MORE }
}

/// The lines that go on below a row.
fn carried_on(prefix: &str) -> String {
    prefix.replace(MORE, PIPE).replace(LAST, NOTHING)
}

fn title_spans(prefix: &str, node: &Node) -> Vec<Span> {
    let [deleted, kind, name, version] = node.title_parts();
    vec![(FAINT, prefix.to_owned()), (BAD, deleted), (PLAIN, kind), (STRONG, name), (PLAIN, version)]
}

/// Status, reason and age of a condition, and the lines of its message.
fn condition_cells(condition: &Condition, now: Timestamp) -> ([Span; 3], Vec<Span>) {
    let style = match condition.tone() {
        Tone::Good => GOOD,
        Tone::Bad => BAD,
        Tone::Unsure => UNSURE,
    };
    let Condition { status, reason, message, last_transition_time, .. } = condition;
    let age = last_transition_time.as_ref().and_then(|time| format_age(time, now)).unwrap_or_default();
    let message = wrap_message(message, MESSAGE).iter().map(|line| plain_span(line)).collect();
    ([(style, status.clone()), plain_span(reason), plain_span(&age)], message)
}

/// `See m1, m2, ...`
fn see_names(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMES).map(String::as_str).collect();
    let more = if names.len() > NAMES { ", ..." } else { "" };
    format!("See {}{more}", shown.join(", "))
}

/// Returns the lines of a message, each cut at words. The items of a list stay below its first line.
fn wrap_message(message: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in message.lines() {
        let begin: String = line.chars().take_while(|c| *c == ' ').collect();
        let hang = if line.trim_start().starts_with("* ") { format!("{begin}  ") } else { begin.clone() };
        let mut text = begin;
        for word in line.split_whitespace() {
            let is_begun = !text.trim().is_empty();
            if is_begun && display_width(&text) + display_width(word) >= width {
                lines.push(std::mem::replace(&mut text, format!("{hang}{word}")));
            } else {
                text = if is_begun { format!("{text} {word}") } else { format!("{text}{word}") };
            }
        }
        lines.push(text);
    }
    lines
}

/// Columns as wide as needed, two blanks between them.
fn in_columns(rows: Vec<Row>) -> Text {
    // In the form that is shown: escapes take room.
    let shown = |(style, words): Span| (style, escape_line(&words, CELL));
    let rows: Vec<Vec<Vec<Span>>> = rows
        .into_iter()
        .map(|Row { name, cells }| {
            let cells = cells.into_iter().map(|cell| vec![cell]);
            [name].into_iter().chain(cells).map(|cell| cell.into_iter().map(shown).collect()).collect()
        })
        .collect();
    let width = |cell: &Vec<Span>| cell.iter().map(|(_, words)| display_width(words)).sum::<usize>();
    let mut widths = vec![0; HEAD.len()];
    for row in &rows {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = width(cell).max(*widest);
        }
    }
    let mut text = Text::default();
    for row in rows {
        let used = row.iter().rposition(|cell| width(cell) > 0).map_or(0, |last| last + 1);
        let mut line = Vec::new();
        for (index, (cell, widest)) in row.into_iter().zip(&widths).take(used).enumerate() {
            let gap = widest - width(&cell) + 2;
            line.extend(cell);
            if index + 1 < used {
                line.push(plain_span(&" ".repeat(gap)));
            }
        }
        text.add_styled_line(line);
    }
    text.verbatim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_is_cut_at_words() {
        let cut = |message: &str| wrap_message(message, 20).join("|");
        assert_eq!(cut(""), "");
        assert_eq!(cut("short"), "short");
        assert_eq!(cut("one two three four five six"), "one two three four|five six");
        assert_eq!(cut("* one two three four five\n  * six"), "* one two three four|  five|  * six");
        assert_eq!(
            cut("a-word-that-is-longer-than-a-line and more"),
            "a-word-that-is-longer-than-a-line|and more"
        );
    }
}
