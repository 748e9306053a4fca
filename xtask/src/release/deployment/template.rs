//! Makes Helm templates of manifests: wraps lines in actions, and quotes values.

use anyhow::{Result, bail};

/// Replaces a part that the text has exactly once.
pub(super) fn replace_once(text: &str, from: &str, to: &str) -> Result<String> {
    match text.matches(from).count() {
        1 => Ok(text.replace(from, to)),
        count => bail!("{from:?} should be there once, not {count} times, in:\n{text}"),
    }
}

/// Wraps consecutive lines, which the text has once, in an action such as `if` or `range`.
pub(super) fn wrap_lines(text: &str, lines: &[&str], action: &str) -> Result<String> {
    let all: Vec<&str> = text.lines().collect();
    let trimmed: Vec<&str> = all.iter().map(|line| line.trim_start()).collect();
    let found: Vec<usize> = trimmed
        .windows(lines.len())
        .enumerate()
        .filter(|(_, window)| *window == lines)
        .map(|(at, _)| at)
        .collect();
    match found.as_slice() {
        [at] => Ok(wrap(&all, *at, at + lines.len(), action)),
        _ => bail!("{lines:?} should be there once, not {} times, in:\n{text}", found.len()),
    }
}

/// Wraps a key of a mapping and all below it in an action.
pub(super) fn wrap_key(text: &str, key: &str, action: &str) -> Result<String> {
    let all: Vec<&str> = text.lines().collect();
    let (from, to) = find_key(&all, key)?;
    Ok(wrap(&all, from, to, action))
}

/// Wraps the only item of a key's list that has this line in an action.
pub(super) fn wrap_item(text: &str, key: &str, line: &str, action: &str) -> Result<String> {
    let all: Vec<&str> = text.lines().collect();
    let (from, to) = find_key(&all, key)?;
    let list = all.get(from + 1..to).unwrap_or_default();
    let starts: Vec<usize> = (0..list.len())
        .filter(|at| list.get(*at).is_some_and(|one| one.trim_start().starts_with("- ")))
        .chain([list.len()])
        .collect();
    for pair in starts.windows(2) {
        let [start, end] = *pair else { continue };
        let mut item = list.get(start..end).unwrap_or_default().iter();
        if item.any(|one| one.trim_start().trim_start_matches("- ") == line) {
            return Ok(wrap(&all, from + 1 + start, from + 1 + end, action));
        }
    }
    bail!("{key} has no item with {line:?} in:\n{text}")
}

/// Replaces all that is below a key, and returns the text with the replacement, and the lines that it replaced.
pub(super) fn replace_below(text: &str, key: &str, value: &str) -> Result<(String, Vec<String>)> {
    let all: Vec<&str> = text.lines().collect();
    let (from, to) = find_key(&all, key)?;
    let below = all.get(from + 1..to).unwrap_or_default().iter().map(|line| (*line).to_owned()).collect();
    let mut lines: Vec<String> = all.iter().map(|line| (*line).to_owned()).collect();
    lines.splice(from..to, [format!("{}{key}: {value}", indent_of(all.get(from).unwrap_or(&"")))]);
    Ok((lines.join("\n") + "\n", below))
}

/// Quotes values that are only an expression in the way of templates: a value may have any characters then.
pub(super) fn quote_values(text: &str) -> String {
    let quote = |line: &str| match line.split_once("\"{{ ") {
        Some((before, rest)) => match rest.strip_suffix(" }}\"") {
            Some(expression) if !expression.contains("}}") => {
                format!("{before}{{{{ {expression} | quote }}}}\n")
            }
            _ => format!("{line}\n"),
        },
        None => format!("{line}\n"),
    };
    text.lines().map(quote).collect()
}

fn wrap(all: &[&str], from: usize, to: usize, action: &str) -> String {
    let mut lines: Vec<String> = all.iter().map(|line| (*line).to_owned()).collect();
    let indent = indent_of(all.get(from).unwrap_or(&"")).to_owned();
    lines.insert(to, format!("{indent}{{{{- end }}}}"));
    lines.insert(from, format!("{indent}{{{{- {action} }}}}"));
    lines.join("\n") + "\n"
}

fn indent_of(line: &str) -> &str {
    line.get(..line.len() - line.trim_start().len()).unwrap_or_default()
}

/// The lines of a key that the text has once, with all below it.
fn find_key(all: &[&str], key: &str) -> Result<(usize, usize)> {
    let line = format!("{key}:");
    let is_key = |at: &usize| all.get(*at).is_some_and(|one| one.trim_start() == line);
    let found: Vec<usize> = (0..all.len()).filter(is_key).collect();
    let [from] = *found else { bail!("{line:?} should be there once, not {} times", found.len()) };
    let own = indent_of(all.get(from).unwrap_or(&"")).len();
    let is_below = |line: &&&str| {
        let indent = indent_of(line).len();
        indent > own || (indent == own && line.trim_start().starts_with("- ")) || line.contains("{{- ")
    };
    let below = all.get(from + 1..).unwrap_or_default().iter().take_while(is_below).count();
    Ok((from, from + 1 + below))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a:\n  list:\n  - name: b\n    more: 1\n  - name: c\n  next: \"{{ x }}\"\n";

    #[test]
    fn only_the_named_lines_become_conditional() {
        assert_eq!(
            wrap_item(TEXT, "list", "name: b", "if x").unwrap(),
            "a:\n  list:\n  {{- if x }}\n  - name: b\n    more: 1\n  {{- end }}\n  - name: c\n  next: \"{{ x }}\"\n"
        );
        assert_eq!(
            wrap_key(TEXT, "list", "if x").unwrap(),
            "a:\n  {{- if x }}\n  list:\n  - name: b\n    more: 1\n  - name: c\n  {{- end }}\n  next: \"{{ x }}\"\n"
        );
        assert_eq!(
            wrap_lines(TEXT, &["more: 1", "- name: c"], "range x").unwrap(),
            "a:\n  list:\n  - name: b\n    {{- range x }}\n    more: 1\n  - name: c\n    {{- end }}\n  next: \"{{ x }}\"\n"
        );
        let (text, below) = replace_below(TEXT, "list", "{{ y }}").unwrap();
        assert_eq!(text, "a:\n  list: {{ y }}\n  next: \"{{ x }}\"\n");
        assert_eq!(below, ["  - name: b", "    more: 1", "  - name: c"]);
        for missing in [wrap_key(TEXT, "other", "if x"), wrap_item(TEXT, "list", "name: d", "if x")] {
            missing.unwrap_err();
        }
    }

    #[test]
    fn values_are_quoted_by_the_template() {
        let text = "a: \"{{ x }}\"\nb: \"{{ x }}/{{ y }}\"\nc: \"1\"\n";
        assert_eq!(quote_values(text), "a: {{ x | quote }}\nb: \"{{ x }}/{{ y }}\"\nc: \"1\"\n");
    }
}
