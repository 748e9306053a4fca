//! Makes text from elsewhere (a plugin, a server's field names) safe for a terminal, a log or a document.

use crate::Key;

/// Returns true if a character is neither visible nor a plain space: it controls a terminal, reverses text, or can't be seen.
pub fn is_hidden(c: char) -> bool {
    match c {
        ' '..='~' => false,
        // Letters, marks and symbols that draw nothing: fillers, mark joiners, variation selectors.
        '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' => true,
        '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{e0100}'..='\u{e01ef}' => true,
        // Controls, formats, separators, spaces of other widths, private and unassigned characters: the standard library knows
        // them. It would escape a mark as well, but not after a letter.
        _ => format!("a{c}").escape_debug().count() > 2,
    }
}

/// Returns a text in one line of at most `most` bytes, with spaces in place of hidden characters. For texts of people, as plugins
/// return them.
pub fn to_line(words: &str, most: usize) -> String {
    let mut out = String::with_capacity(words.len().min(most));
    for c in words.trim().chars() {
        let c = if is_hidden(c) { ' ' } else { c };
        if out.len() + c.len_utf8() > most {
            out.push('…');
            break;
        }
        out.push(c);
    }
    out.trim().to_owned()
}

/// Returns a text in one line with hidden characters escaped (`\n`, `\u{202e}`). If it has more than `most` characters, the middle
/// is left out: a message begins with the event and ends with its remedy.
pub fn escape_line(words: &str, most: usize) -> String {
    if words.len() <= most && words.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return words.to_owned();
    }
    let Some(_) = find_overflow(words.char_indices(), most) else { return escape_hidden(words) };
    let head = find_overflow(words.char_indices(), most / 3 * 2).map_or(0, |(at, _)| at);
    let tail = find_overflow(words.char_indices().rev(), most / 3).map_or(0, |(at, c)| at + c.len_utf8());
    let [head, middle, tail] =
        [words.get(..head), words.get(head..tail), words.get(tail..)].map(Option::unwrap_or_default);
    format!(
        "{} … {} characters left out … {}",
        escape_hidden(head),
        middle.chars().count(),
        escape_hidden(tail)
    )
}

/// Returns ` (did you mean NAME?)` for the known name that is most like the typed one; empty if none is, or if it is typed right.
pub fn did_you_mean(typed: &str, known: &[&str]) -> String {
    find_similar(typed, known).map(|name| format!(" (did you mean {name}?)")).unwrap_or_default()
}

/// Returns the known name that is most like the typed one; none if none is, or if it is typed right.
pub fn find_similar<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    let near = known.iter().filter_map(|name| Some((near_distance(typed, name)?, *name)));
    near.min().filter(|(far, _)| *far > 0).map(|(_, name)| name)
}

/// Returns ` (did you mean NAMESPACE/NAME?)` for the known object whose name is most like the last part of the typed `NAMESPACE/NAME` or
/// `NAME`. Among objects with equally similar names, the object with the most similar namespace is proposed.
pub fn did_you_mean_object(typed: &str, known: &[Key]) -> String {
    let (namespace, name) = typed.rsplit_once('/').map_or((None, typed), |(space, name)| (Some(space), name));
    let difference = |key: &Key| {
        let of_namespace = match (namespace, key.namespace.as_deref()) {
            (Some(typed), Some(known)) => near_distance(typed, known).unwrap_or(usize::MAX),
            _ => 0,
        };
        Some((near_distance(name, &key.name)?, of_namespace))
    };
    let near = known.iter().filter_map(|key| Some((difference(key)?, key)));
    match near.min() {
        Some((difference, key)) if difference != (0, 0) => {
            let namespace =
                key.namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
            format!(" (did you mean {namespace}{}?)", key.name)
        }
        _ => String::new(),
    }
}

/// Returns the number of differences between two names; none if there are too many for a typing error.
fn near_distance(typed: &str, known: &str) -> Option<usize> {
    let most = (typed.chars().count() / 3).min(2);
    Some(edit_distance(typed, known)).filter(|difference| *difference <= most)
}

/// Returns the smallest number of insertions, deletions, replacements and swaps of neighbors that turn one name into the other.
fn edit_distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    let mut previous = None;
    for (row, c) in one.chars().enumerate() {
        let mut costs = vec![row + 1];
        for (column, d) in other.iter().enumerate() {
            let cost = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX / 2);
            let replaced = cost(&last, column) + usize::from(c != *d);
            let longer = cost(&costs, column).min(cost(&last, column + 1)) + 1;
            let swaps = column > 0 && previous == Some(*d) && other.get(column - 1) == Some(&c);
            let swapped = if swaps { cost(&before_last, column - 1) + 1 } else { usize::MAX / 2 };
            costs.push(replaced.min(longer).min(swapped));
        }
        (before_last, last, previous) = (last, costs, Some(c));
    }
    last.last().copied().unwrap_or_default()
}

/// Finds the first character that no longer fits.
fn find_overflow(mut chars: impl Iterator<Item = (usize, char)>, room: usize) -> Option<(usize, char)> {
    let mut used = 0;
    chars.find(|(_, c)| {
        used += if is_hidden(*c) { c.escape_default().count() } else { 1 };
        used > room
    })
}

fn escape_hidden(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for c in words.chars() {
        if is_hidden(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_one_bounded_line_without_tricks() {
        assert_eq!(to_line("a\x1b[31mb\nc\u{202e}d", 100), "a [31mb c d");
        assert_eq!(to_line("ääää", 5), "ää…");
    }

    #[test]
    fn invisible_characters_are_escaped() {
        for c in "\0\t\n\r\u{1b}\u{7f}\u{80}\u{85}\u{9b}\u{a0}\u{ad}\u{34f}\u{378}\u{61c}\u{115f}\u{1160}\u{17b4}\u{180b}\u{180e}\
                  \u{200b}\u{200d}\u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\u{2060}\u{2066}\u{2069}\u{206f}\u{2800}\u{3000}\
                  \u{3164}\u{e000}\u{fe0f}\u{feff}\u{ffa0}\u{fff9}\u{ffff}\u{1d173}\u{e0001}\u{e0041}\u{e007f}\u{e0100}"
            .chars()
        {
            assert!(is_hidden(c), "{c:?}");
        }
        for c in " ~aäéß€ςдعא中日本🚀…‹›“”–—\u{301}\u{93f}".chars() {
            assert!(!is_hidden(c), "{c:?}");
        }
    }

    #[test]
    fn similar_names_are_proposed() {
        let known = ["prod", "staging", "edge-1", "edge-2"];
        for (typed, proposed) in [
            ("prdo", " (did you mean prod?)"),
            ("stagign", " (did you mean staging?)"),
            ("edge1", " (did you mean edge-1?)"),
            ("edge-10", " (did you mean edge-1?)"),
            ("edge-1", ""),
            ("boot", ""),
            ("x", ""),
            ("", ""),
        ] {
            assert_eq!(did_you_mean(typed, &known), proposed, "{typed}");
        }
        assert_eq!(
            (edit_distance("ca", "abc"), edit_distance("", "abc"), edit_distance("abc", "abc")),
            (3, 3, 0)
        );
    }

    #[test]
    fn similar_objects_are_proposed_with_their_namespaces() {
        let key = |namespace, name| Key::new(crate::GroupKind::new("g", "K"), namespace, name);
        let known = [key(Some("metal3"), "edge"), key(Some("shop"), "edge"), key(None, "global")];
        for (typed, proposed) in [
            ("egde", " (did you mean metal3/edge?)"),
            ("shp/edge", " (did you mean shop/edge?)"),
            ("other/egde", " (did you mean metal3/edge?)"),
            ("gloabl", " (did you mean global?)"),
            ("shop/edge", ""),
            ("shop/core", ""),
        ] {
            assert_eq!(did_you_mean_object(typed, &known), proposed, "{typed}");
        }
    }

    #[test]
    fn words_show_what_they_are() {
        for (words, seen) in [
            ("plain words, ‹größer› 中", "plain words, ‹größer› 中"),
            ("a\nerror: b\r\n\t", "a\\nerror: b\\r\\n\\t"),
            ("\u{1b}[2J\u{9b}1m", "\\u{1b}[2J\\u{9b}1m"),
            ("a\u{202e}b\u{3164}\u{e0041}", "a\\u{202e}b\\u{3164}\\u{e0041}"),
            ("a\\n", "a\\n"),
        ] {
            assert_eq!(escape_line(words, 100), seen);
        }
    }

    #[test]
    fn long_texts_lose_their_middle() {
        let long = format!("begin{}end", "x".repeat(3_000_000));
        assert_eq!(escape_line(&long, 12), "beginxxx … 2999996 characters left out … xend");
        let escapes = escape_line(&"\u{e0041}".repeat(1_000), 90);
        let piece = |count: usize| "\\u{e0041}".repeat(count);
        assert_eq!(escapes, format!("{} … 991 characters left out … {}", piece(6), piece(3)));
        assert_eq!(escape_line("äöüß", 4), "äöüß");
    }
}
