//! Limits how much YAML may grow while it is parsed.
//!
//! An alias expands to everything its anchor names, other aliases included: 15 KB can expand to gigabytes. The parser limits that
//! per document, but a directory can hold any number of documents. This limit covers everything that a run reads from one side,
//! by counting: nothing is expanded to find out how large it would be.

use std::collections::BTreeMap;

use granit_parser::{Event, Options, Parser};

/// Most bytes that anchors and aliases may add in total, over everything that is read from one side.
const MAX_EXPANSION_BYTES: u64 = 64 << 20;
/// Bytes that the parser needs for one event, in addition to its text.
const EVENT_BYTES: u64 = 128;

/// The remaining budget.
pub(crate) struct Expansion {
    left: u64,
}

/// The reason why a text is not expanded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ExpansionError {
    TooMuch,
    /// The text is not YAML, from this line and column on.
    Malformed(usize, usize),
}

impl Default for Expansion {
    fn default() -> Self {
        Self { left: MAX_EXPANSION_BYTES }
    }
}

impl Expansion {
    /// Subtracts a text's growth from the budget.
    pub(crate) fn charge(&mut self, text: &str) -> Result<(), ExpansionError> {
        self.left = self.left.checked_sub(expansion_size(text)?).ok_or(ExpansionError::TooMuch)?;
        Ok(())
    }

    /// Returns the error message for a text that would exceed the budget.
    pub(crate) fn exceeded_message() -> String {
        format!(
            "its YAML aliases, together with those in the files before it, expand to more than {} MiB",
            MAX_EXPANSION_BYTES >> 20
        )
    }
}

/// Returns the bytes that the parser stores for the anchors of a text, and replays for its aliases. Both count with everything in
/// them: an anchor within an anchor is stored twice.
fn expansion_size(text: &str) -> Result<u64, ExpansionError> {
    // Most texts have neither, and are not scanned.
    if !text.contains('&') {
        return Ok(0);
    }
    let mut options = Options::default();
    options.set_emit_comments(false);
    let mut anchors: BTreeMap<usize, u64> = BTreeMap::new();
    // The sizes of the nodes that are open, each with its anchor; 0 is none.
    let mut open: Vec<(usize, u64)> = Vec::new();
    let mut growth = 0_u64;
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, _) = event.map_err(|error| {
            let marker = error.marker();
            ExpansionError::Malformed(marker.line(), marker.col() + 1)
        })?;
        let (anchor, size) = match event {
            Event::SequenceStart(_, anchor, _) | Event::MappingStart(_, anchor, _) => {
                open.push((anchor, 2 * EVENT_BYTES));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => open.pop().unwrap_or_default(),
            Event::Scalar(text, _, anchor, _) => (anchor, EVENT_BYTES.saturating_add(text.len() as u64)),
            Event::Alias(anchor) => {
                // The parser refuses an alias inside its own anchor.
                let size = anchors.get(&anchor).copied().unwrap_or_default();
                growth = growth.saturating_add(size);
                (0, size)
            }
            _ => continue,
        };
        if anchor != 0 {
            anchors.insert(anchor, size);
            growth = growth.saturating_add(size);
        }
        if let Some((_, around)) = open.last_mut() {
            *around = around.saturating_add(size);
        }
    }
    Ok(growth)
}

/// Each anchor expands to ten of the one before it.
#[cfg(test)]
pub(crate) fn bomb(anchors: usize) -> String {
    use std::fmt::Write as _;
    let mut text = "a0: &a0 lol\n".to_owned();
    for n in 1..=anchors {
        let alias = format!("*a{}", n - 1);
        writeln!(text, "a{n}: &a{n} [{}]", [alias.as_str(); 10].join(", ")).unwrap();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_and_aliases_are_counted_without_expansion() {
        let scalar = EVENT_BYTES + 3;
        assert_eq!(expansion_size("a: lol\nb: '*lol & more'\n"), Ok(0));
        assert_eq!(expansion_size("a: &a lol\n"), Ok(scalar), "kept");
        assert_eq!(
            expansion_size("a: &a lol\nb: *a\nc: [*a, *a]\n"),
            Ok(4 * scalar),
            "and read again three times"
        );
        assert_eq!(expansion_size("a: &a [lol]\nb: *a\n"), Ok(2 * (2 * EVENT_BYTES + scalar)));
        assert_eq!(
            expansion_size("&a [&b [lol]]\n"),
            Ok(4 * EVENT_BYTES + scalar + 2 * EVENT_BYTES + scalar),
            "lol is kept twice"
        );
        assert_eq!(expansion_size("a: &a {x: 1}\nb: {<<: *a}\n"), Ok(2 * (4 * EVENT_BYTES + 2)));
        assert_eq!(
            expansion_size("---\na: &a lol\n---\nb: &a [lol]\nc: *a\n"),
            Ok(scalar + 2 * (2 * EVENT_BYTES + scalar))
        );
        assert_eq!(expansion_size("a: &a [*a]\n"), Ok(2 * EVENT_BYTES), "the reader refuses it");
        assert_eq!(expansion_size(&bomb(3)), Ok(scalar + 2 * 10 * scalar + 2 * EVENT_BYTES + deeper(scalar)));
        assert_eq!(expansion_size(&bomb(100)), Ok(u64::MAX), "as much as can be counted");
        assert_eq!(expansion_size("a: &a [\n"), Err(ExpansionError::Malformed(1, 7)));
    }

    /// The second and third anchor of a bomb.
    fn deeper(scalar: u64) -> u64 {
        let first = 10 * scalar + 2 * EVENT_BYTES;
        let second = 10 * first + 2 * EVENT_BYTES;
        let third = 10 * second + 2 * EVENT_BYTES;
        10 * first + second + 10 * second + third
    }

    #[test]
    fn many_texts_have_one_budget() {
        let (small, mut expansion) = (bomb(4), Expansion::default());
        let size = expansion_size(&small).unwrap();
        assert!(size < MAX_EXPANSION_BYTES / 10, "one of them is allowed");
        for _ in 0..MAX_EXPANSION_BYTES / size {
            assert_eq!(expansion.charge(&small), Ok(()));
        }
        assert_eq!(expansion.charge(&small), Err(ExpansionError::TooMuch));
        assert_eq!(expansion.charge("a: lol\n"), Ok(()), "what has no aliases needs none");
    }
}
