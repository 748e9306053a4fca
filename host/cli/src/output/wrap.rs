//! Wraps lines at words. A terminal that is too narrow would break them anywhere.

use std::ops::Range;

use super::width::char_width;

/// Narrowest terminal that lines are wrapped for.
const MIN_WIDTH: usize = 40;
/// Room that a column needs to be wrapped in place.
const MIN_COLUMN: usize = 24;
/// Programs whose commands can be pasted as long as they are one line.
const PROGRAMS: [&str; 3] = ["pivot-host ", "kubectl ", "clusterctl "];

/// Returns the rows of a line, as ranges of its characters, and the indentation of all rows but the first, in cells. `used` is the
/// room that something else takes before the line. Text before `column` is not wrapped. Code between backticks and commands stay
/// whole.
pub(super) fn row_ranges(
    line: &str,
    width: usize,
    used: usize,
    column: Option<usize>,
) -> (Vec<Range<usize>>, usize) {
    let all: Vec<char> = line.chars().collect();
    let offsets = cell_offsets(&all);
    let cells = |at: usize| offsets.get(at).copied().unwrap_or_default();
    let indentation = all.iter().take_while(|c| **c == ' ').count();
    let hanging = indentation + 2;
    let first_break = column.unwrap_or(hanging);
    let indent = if first_break + MIN_COLUMN > width { hanging } else { first_break };
    if width < MIN_WIDTH || cells(all.len()) + used <= width || is_command(line) {
        return (std::iter::once(0..all.len()).collect(), indent);
    }
    let spaces = break_places(&all, offsets.partition_point(|before| *before < first_break));
    let (mut rows, mut start, mut room) = (Vec::new(), 0, width.saturating_sub(used));
    while cells(all.len()) - cells(start) > room {
        let mut after = spaces.iter().filter(|at| **at > start);
        let fitting = after.clone().take_while(|at| cells(**at) <= cells(start) + room).last();
        let Some(at) = fitting.or_else(|| after.next()) else { break };
        rows.push(start..*at);
        start = all.iter().skip(*at).position(|c| *c != ' ').map_or(all.len(), |blanks| at + blanks);
        room = width - indent;
    }
    rows.push(start..all.len());
    (rows, indent)
}

/// Returns the number of cells before each character, and before the end.
fn cell_offsets(all: &[char]) -> Vec<usize> {
    let mut sum = 0;
    let sums = all.iter().map(|c| {
        sum += char_width(*c);
        sum
    });
    std::iter::once(0).chain(sums.collect::<Vec<_>>()).collect()
}

/// Returns the places where a row may end.
fn break_places(all: &[char], first: usize) -> Vec<usize> {
    let mut is_code = false;
    let places = all.iter().enumerate().filter_map(|(at, c)| {
        is_code ^= *c == '`';
        (at >= first && *c == ' ' && !is_code).then_some(at)
    });
    places.collect()
}

fn is_command(line: &str) -> bool {
    PROGRAMS.iter().any(|program| line.starts_with(program) || line.contains(&format!("  {program}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrap_line(line: &str, width: usize, used: usize, column: Option<usize>) -> Vec<String> {
        let (rows, indent) = row_ranges(line, width, used, column);
        let text = |row: Range<usize>| line.chars().skip(row.start).take(row.len()).collect::<String>();
        let mut lines: Vec<String> = rows.into_iter().map(text).collect();
        lines.iter_mut().skip(1).for_each(|row| *row = format!("{}{row}", " ".repeat(indent)));
        lines
    }

    #[test]
    fn lines_are_wrapped_at_words() {
        let line = "  - one two three four five six seven eight nine ten";
        assert_eq!(
            wrap_line(line, 40, 0, None),
            ["  - one two three four five six seven", "    eight nine ten"]
        );
        assert_eq!(wrap_line(line, 40, 9, None).first().unwrap(), "  - one two three four five six");
        assert_eq!(wrap_line(line, 52, 0, None), [line], "exactly as wide");
        assert_eq!(wrap_line(line, 39, 0, None), [line], "too narrow");
        let long = "x".repeat(50);
        assert_eq!(wrap_line(&format!("a {long} b"), 40, 0, None), [format!("a {long}"), "  b".to_owned()]);
    }

    #[test]
    fn a_column_is_wrapped_in_place() {
        let row = "  shop/c  1,033  344 Secrets, 113 Machines and 13 more kinds";
        let expected = ["  shop/c  1,033  344 Secrets, 113 Machines", "                 and 13 more kinds"];
        assert_eq!(wrap_line(row, 42, 0, Some(17)), expected);
        let narrow = ["  shop/c  1,033  344 Secrets, 113", "    Machines and 13 more kinds"];
        assert_eq!(wrap_line(row, 40, 0, Some(17)), narrow);
    }

    #[test]
    fn wide_characters_are_wrapped_by_cells() {
        let row = "  機械  1,033  344 Secrets, 113 Machines and 13 more kinds";
        let expected = ["  機械  1,033  344 Secrets, 113 Machines", "               and 13 more kinds"];
        assert_eq!(wrap_line(row, 40, 0, Some(15)), expected);
        let line = "機械機械機械機械 機械機械機械機械 機械";
        assert_eq!(wrap_line(line, 40, 0, None), [line]);
        assert_eq!(wrap_line(line, 40, 3, None), ["機械機械機械機械 機械機械機械機械", "  機械"]);
    }

    #[test]
    fn what_can_be_pasted_stays_whole() {
        let command = "next:  pivot-host resume --kubeconfig boot.kubeconfig --to-kubeconfig prod.kubeconfig";
        assert_eq!(wrap_line(command, 40, 0, None), [command]);
        let code = "fix:   look at the deployments: `kubectl get deployments -A -o wide` or resume";
        assert_eq!(
            wrap_line(code, 50, 0, None),
            ["fix:   look at the deployments:", "  `kubectl get deployments -A -o wide` or resume"]
        );
    }
}
