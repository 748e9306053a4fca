//! Words that come from elsewhere (a plugin, a server's field names) on their way to a terminal, a log or a document.

/// One line of words: no control characters, at most so many bytes.
pub fn line(words: &str, most: usize) -> String {
    let mut out = String::with_capacity(words.len().min(most));
    for c in words.trim().chars() {
        // Also what turns text around or hides in it.
        let hidden = c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
        let c = if hidden { ' ' } else { c };
        if out.len() + c.len_utf8() > most {
            out.push('…');
            break;
        }
        out.push(c);
    }
    out.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn words_are_one_bounded_line_without_tricks() {
        assert_eq!(line("a\x1b[31mb\nc\u{202e}d", 100), "a [31mb c d");
        assert_eq!(line("ääää", 5), "ää…");
    }
}
