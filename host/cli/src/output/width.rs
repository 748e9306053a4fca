//! Widths of texts on a terminal: a character of an East Asian script takes two cells, and a combining mark none.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns the number of cells that a text takes.
pub(crate) fn display_width(words: &str) -> usize {
    words.width()
}

/// Returns the number of cells that a character takes.
pub(super) fn char_width(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// Adds blanks until a text is this wide.
pub(crate) fn pad_to_width(words: &str, width: usize) -> String {
    let blanks = width.saturating_sub(display_width(words));
    format!("{words}{}", " ".repeat(blanks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_cells() {
        for (words, width) in [("ab", 2), ("機械", 4), ("e\u{301}", 1), ("ｋ8s", 4), ("", 0)] {
            assert_eq!(display_width(words), width, "{words}");
            assert_eq!(words.chars().map(char_width).sum::<usize>(), width, "{words}");
        }
        assert_eq!(pad_to_width("機", 4), "機  ");
        assert_eq!(pad_to_width("abc", 2), "abc");
    }
}
