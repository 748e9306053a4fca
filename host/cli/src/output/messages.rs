//! Notes, warnings and findings for people: those that say the same about many objects become one line, and a line that was
//! already printed is not repeated.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::messages::grouping::{Group, MAX_LISTED_NAMES, group_items};
use pivot_core::plan::Note;
use pivot_engine::Event;

use super::events::{self, Level};

/// The number of notes with the same code that are shown.
pub(super) const NOTES: usize = 10;

/// Consecutive notes, warnings and findings, and the lines written for earlier ones.
#[derive(Default)]
pub(super) struct Messages {
    open: Vec<Event>,
    written: BTreeSet<String>,
}

impl Messages {
    /// Adds one.
    pub(super) fn push_event(&mut self, event: &Event) {
        self.open.push(event.clone());
    }

    /// Returns true if a line is new.
    pub(super) fn is_new(&mut self, line: &str) -> bool {
        self.written.insert(line.to_owned())
    }

    /// The lines for those collected, only the first few of each code.
    pub(super) fn take(&mut self) -> Vec<(Level, String)> {
        let open = std::mem::take(&mut self.open);
        let mut sorts: BTreeMap<(Level, &str), usize> = BTreeMap::new();
        let mut lines = Vec::new();
        for (event, line) in events::grouped_lines(&open, MAX_LISTED_NAMES) {
            let level = events::event_level(event);
            let seen = sorts.entry((level, events::event_code(event))).or_default();
            *seen += 1;
            if *seen <= NOTES && self.written.insert(line.clone()) {
                lines.push((level, line));
            }
        }
        for ((level, code), seen) in sorts {
            let note = if level == Level::Info { "note: " } else { "" };
            let more = more_notes(code, seen).map(|more| format!("{note}{more}"));
            lines.extend(more.filter(|more| self.written.insert(more.clone())).map(|more| (level, more)));
        }
        lines
    }
}

/// Groups a plan's warnings or notes that say the same about objects of one kind.
pub(super) fn group_notes(notes: &[Note]) -> Vec<Group<'_, Note>> {
    group_items(notes, |note| (note.object.as_ref(), vec![note.code.to_string(), note.message.clone()]))
}

/// Counts the notes with this code that are not shown.
pub(super) fn more_notes(code: &str, seen: usize) -> Option<String> {
    let more = seen.checked_sub(NOTES).filter(|more| *more > 0)?;
    Some(format!("and {more} more like it ({code}); -v shows them"))
}
