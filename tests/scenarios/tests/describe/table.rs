//! What a program printed, as rows: each by its way down the tree, with its cells.

use std::fmt;

/// The columns, as both programs head them.
pub(crate) const COLUMNS: [&str; 9] =
    ["NAME", "REPLICAS", "AVAILABLE", "READY", "UP TO DATE", "STATUS", "REASON", "SINCE", "MESSAGE"];
/// How far conditions are indented, beyond what is below the same object.
const CONDITION: usize = 10;

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// The names from the Cluster down to this.
    pub(crate) path: Vec<String>,
    /// The lines of the tree that lead to it, as drawn.
    pub(crate) drawn: String,
    /// A cell for each column but the first; the lines of a message are its lines.
    pub(crate) cells: Vec<String>,
}

impl Row {
    pub(crate) fn name(&self) -> &str {
        self.path.last().unwrap()
    }

    /// The name of what is so many steps above it.
    pub(crate) fn above(&self, steps: usize) -> &str {
        self.path.iter().rev().nth(steps).map_or("", String::as_str)
    }
}

impl fmt::Display for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path.join(" > "), self.cells.join(" | "))
    }
}

/// The rows of a table.
pub(crate) fn rows(text: &str) -> Vec<Row> {
    let (head, body) = text.split_once('\n').unwrap_or((text, ""));
    let mut from = 0;
    let starts = COLUMNS.map(|column| {
        from += head[from..].find(column).unwrap_or_else(|| panic!("no {column} in {head:?}"));
        from
    });
    let mut rows: Vec<Row> = Vec::new();
    // The way to the latest row, and how deep each of it is.
    let mut open: Vec<(usize, String)> = Vec::new();
    for line in body.lines().filter(|line| !line.trim().is_empty()) {
        let chars: Vec<char> = line.chars().collect();
        let cell = |index: usize| -> String {
            let end = starts.get(index + 1).copied().unwrap_or(usize::MAX).min(chars.len());
            let cell: String = chars.iter().take(end).skip(starts[index]).collect();
            cell.trim_end().to_owned()
        };
        let first = cell(0);
        let drawn: String = first.chars().take_while(|c| "│├└─┆ ".contains(*c)).collect();
        let cells: Vec<String> = (1..COLUMNS.len()).map(cell).collect();
        let mut name = first[drawn.len()..].trim_end().to_owned();
        // Several groups of as many Machines, of which clusterctl shows any first, are told apart by whom they name.
        if name.ends_with(" Machines...") {
            name = format!("{name} {}", cells[cells.len() - 1]);
        }
        if name.is_empty() {
            let message = rows.last_mut().unwrap().cells.last_mut().unwrap();
            message.push('\n');
            message.push_str(cells.last().unwrap());
            continue;
        }
        let depth = drawn.chars().count();
        while open.last().is_some_and(|(deeper, _)| *deeper >= depth) {
            open.pop();
        }
        // Conditions are deeper than what is below the same object.
        if depth > CONDITION {
            while open.last().is_some_and(|(deeper, _)| *deeper + CONDITION > depth) && open.len() > 1 {
                open.pop();
            }
        }
        open.push((depth, name));
        let path = open.iter().map(|(_, name)| name.clone()).collect();
        rows.push(Row { path, drawn, cells });
    }
    rows
}
