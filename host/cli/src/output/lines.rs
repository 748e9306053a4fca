//! Text helpers: columns and counts.

use pivot_core::messages::grouping::format_number;

use super::text::{Text, one_line};
use super::width::{display_width, pad_to_width};

/// Rows under a head, columns as wide as needed, separated by two blanks.
pub(super) fn format_columns(head: &[&str], rows: &[Vec<String>]) -> Text {
    let head = head.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
    // In the form that is shown: escapes take room.
    let rows: Vec<Vec<String>> =
        [&head].into_iter().chain(rows).map(|row| row.iter().map(|cell| one_line(cell)).collect()).collect();
    let mut widths: Vec<usize> = Vec::new();
    for row in &rows {
        for (column, cell) in row.iter().enumerate() {
            let width = display_width(cell);
            match widths.get_mut(column) {
                Some(widest) => *widest = width.max(*widest),
                None => widths.push(width),
            }
        }
    }
    // Blanks before the first column and between columns.
    let last_column = widths.iter().rev().skip(1).map(|width| width + 2).sum::<usize>() + 2;
    let mut text = Text::default();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| pad_to_width(cell, *width));
        let line = cells.collect::<Vec<_>>().join("  ");
        text.row(format!("  {}", line.trim_end()), last_column);
    }
    text
}

/// `1 object`, `2 objects`.
pub(super) fn count_text(number: usize, one: &str) -> String {
    let plural = match one.strip_suffix('s') {
        Some(_) => format!("{one}es"),
        None => format!("{one}s"),
    };
    format!("{} {}", format_number(number), if number == 1 { one } else { &plural })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fit_their_content() {
        let rows = [vec!["a".into(), "1".into()], vec!["long".into(), "22".into()]];
        assert_eq!(format_columns(&["KIND", "N"], &rows).message(), "  KIND  N\n  a     1\n  long  22");
        let rows = [vec!["機械".into(), "1".into()], vec!["abc".into(), "22".into()]];
        assert_eq!(format_columns(&["KIND", "N"], &rows).message(), "  KIND  N\n  機械  1\n  abc   22");
        let rows = [vec!["a\nb".into(), "1".into()]];
        assert_eq!(format_columns(&["KIND", "N"], &rows).message(), "  KIND  N\n  a\\nb  1");
    }
}
