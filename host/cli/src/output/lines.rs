//! Small shapes of text: columns, and a log line as JSON.

use jiff::Timestamp;
use serde_json::json;

/// One log line, shaped as the libraries' are.
pub(super) fn json(level: &str, text: &str) -> String {
    let line = json!({
        "timestamp": Timestamp::now().to_string(),
        "level": level.to_uppercase(),
        "fields": {"message": text},
        "target": "pivot_host",
    });
    format!("{line}\n")
}

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
    fn a_log_line_is_one_line_of_json() {
        let line = json("info", "two\nlines");
        let value: serde_json::Value = serde_json::from_str(line.trim_end()).unwrap();
        assert_eq!((line.lines().count(), &value["fields"]["message"]), (1, &json!("two\nlines")));
    }
}
