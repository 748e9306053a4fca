//! Small shapes of text: columns, and what a terminal can be shown.

use std::borrow::Cow;

/// Rows under a head, columns as wide as they need to be, two blanks between them.
pub(super) fn columns(head: &[&str], rows: &[Vec<String>]) -> String {
    let head = head.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
    let mut widths: Vec<usize> = Vec::new();
    for row in rows.iter().chain([&head]) {
        for (column, cell) in row.iter().enumerate() {
            let width = cell.chars().count();
            match widths.get_mut(column) {
                Some(widest) => *widest = width.max(*widest),
                None => widths.push(width),
            }
        }
    }
    let mut text = String::new();
    for row in [&head].into_iter().chain(rows) {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        text.push_str(&format!("  {}\n", line.trim_end()));
    }
    text
}

/// A text that does nothing to a terminal but colour it. Words of servers, of webhooks and of whoever may write an object's
/// status are in it; none of them may clear the screen or write over what stood there.
pub(super) fn tame(text: &str) -> Cow<'_, str> {
    let wild = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(wild) {
        return Cow::Borrowed(text);
    }
    let mut tame = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(wild) {
        let (before, from) = rest.split_at(at);
        tame.push_str(before);
        let colour = colour(from);
        tame.push_str(if colour.is_empty() { " " } else { colour });
        let taken =
            if colour.is_empty() { from.chars().next().map_or(0, char::len_utf8) } else { colour.len() };
        rest = from.get(taken..).unwrap_or_default();
    }
    tame.push_str(rest);
    Cow::Owned(tame)
}

/// The escape sequence for a colour that a text begins with, or nothing.
fn colour(text: &str) -> &str {
    let Some(codes) = text.strip_prefix("\u{1b}[") else { return "" };
    let end = codes.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(codes.len());
    // Not what hides or blinks: a text from elsewhere must not make the lines below it unreadable.
    let shown =
        |code: &str| matches!(code, "" | "0" | "1") || code.parse().is_ok_and(|n: u8| (30..40).contains(&n));
    let fine = codes.get(end..).is_some_and(|rest| rest.starts_with('m'))
        && codes.get(..end).is_some_and(|codes| codes.split(';').all(shown));
    if fine { text.get(..end + 3).unwrap_or_default() } else { "" }
}

/// `1 object`, `2 objects`.
pub(super) fn count(number: usize, one: &str) -> String {
    let plural = match one.strip_suffix('s') {
        Some(_) => format!("{one}es"),
        None => format!("{one}s"),
    };
    format!("{number} {}", if number == 1 { one } else { &plural })
}

/// Indents all lines of a text but the first.
pub(super) fn hanging(text: &str, indent: &str) -> String {
    text.replace('\n', &format!("\n{indent}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_they_need_to_be() {
        let rows = [vec!["a".into(), "1".into()], vec!["long".into(), "22".into()]];
        assert_eq!(columns(&["KIND", "N"], &rows), "  KIND  N\n  a     1\n  long  22\n");
    }

    #[test]
    fn a_text_can_colour_the_terminal_and_nothing_else() {
        for (text, shown) in [
            ("two\nlines\tä", "two\nlines\tä"),
            ("\u{1b}[1;31mred\u{1b}[0m", "\u{1b}[1;31mred\u{1b}[0m"),
            ("gone\u{1b}[2J\r\u{1b}[1A", "gone [2J  [1A"),
            ("hidden\u{1b}[8m\u{1b}[31;5m", "hidden [8m [31;5m"),
            ("\u{1b}]0;title\u{7}", " ]0;title "),
            ("\u{9b}2J\u{1b}[1", " 2J [1"),
        ] {
            assert_eq!(tame(text), shown);
        }
    }
}
