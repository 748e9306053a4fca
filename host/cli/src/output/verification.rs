//! The result of verifying a directory, for people.

use pivot_core::messages::refusal::some_of;
use pivot_core::records::backup::BackupFacts;
use pivot_places::{Examined, Manifest};

use super::lines::count_text;
use super::result::rows_of_kinds;
use super::text::Text;
use pivot_core::messages::grouping::format_number;

/// Most file names that are listed.
const NAMES: usize = 8;

/// Returns the result of a verification.
pub(crate) fn verification_text(examined: &Examined, all: bool) -> Text {
    let Examined { path, manifest, encrypted, count: number, objects, unreadable, .. } = examined;
    let whole = examined.is_whole();
    let number = count_text(*number, if *encrypted { "encrypted object" } else { "object" });
    let mut text = Text::default();
    match manifest {
        Some(Manifest { move_id, .. }) if whole => {
            text.strong("Verified:", format!("directory {path}, {number}, as move {move_id} wrote them"));
        }
        Some(Manifest { move_id, .. }) => {
            text.strong("Altered:", format!("directory {path}, {number}, since move {move_id} wrote it"));
        }
        None if !whole => text.strong("Unreadable:", format!("directory {path}")),
        None => text.strong(
            "Readable:",
            format!(
                "directory {path}, {number}; it has no manifest, so it is not known whether all are there"
            ),
        ),
    }
    if let Some(facts) = manifest.as_ref().and_then(|manifest| manifest.backup.as_ref()) {
        append_backup_facts(&mut text, facts);
    }
    if !unreadable.is_empty() {
        return text;
    }
    let Some(objects) = objects else {
        text.add_line("Only checksums were compared: looking into the files needs an identity.");
        return text;
    };
    text.gap();
    let rows = objects.iter().map(|(kind, number)| (*number, vec![format_number(*number), kind.to_string()]));
    text.append(rows_of_kinds(&["OBJECTS", "KIND"], rows.collect(), all));
    text
}

/// Returns the result of a restore into memory, for people: by the numbers of objects, of objects that plugins changed, and of
/// differences from the files.
pub(crate) fn restored_text(objects: usize, changed_by_plugins: usize, differences: usize) -> Text {
    let mut text = Text::default();
    text.gap();
    let objects = count_text(objects, "object");
    match differences {
        0 => text.strong("Restored:", format!("{objects} into memory, and compared with the files")),
        number => {
            let differences = count_text(number, "difference");
            text.strong("Not restored:", format!("{objects} into memory, with {differences} from the files"));
        }
    }
    if changed_by_plugins > 0 {
        text.add_line(format!("Plugins change {}.", count_text(changed_by_plugins, "object")));
    }
    text
}

/// Adds the time of a backup, and work that was under way.
fn append_backup_facts(text: &mut Text, facts: &BackupFacts) {
    let BackupFacts { taken_at, resource_version, unfinished } = facts;
    let read = match resource_version {
        Some(version) => format!("all of it at version {version}"),
        None => "from lists that were compared with later ones".to_owned(),
    };
    text.add_line(format!("A backup of {taken_at}, {read}."));
    if !unfinished.is_empty() {
        let work: Vec<&str> = unfinished.iter().map(|work| work.message.as_str()).collect();
        text.add_line(format!(
            "Work was under way in the cluster; a restore brings back what was being deleted: {}",
            some_of(&work, NAMES)
        ));
    }
}

/// Returns the changes of a directory since it was written, or the reason why they are unknown.
pub(crate) fn altered_files_text(examined: &Examined) -> Text {
    if examined.is_whole() {
        return Text::from("it has no manifest, so it is not known whether all of it is there");
    }
    let wrong = if examined.manifest.is_some() { "is not as it was written" } else { "can't be read" };
    let mut text = Text::from(format!("{} {wrong}", examined.path));
    examined.unreadable.iter().for_each(|why| text.add_line(format!("  unreadable: {why}")));
    let Examined { missing, changed, added, .. } = examined;
    for (what, files) in [("missing", missing), ("changed", changed), ("added", added)] {
        if !files.is_empty() {
            let names: Vec<&String> = files.iter().collect();
            text.add_line(format!("  {what}: {}", some_of(&names, NAMES)));
        }
    }
    text
}

/// Returns the files that other users can read.
pub(crate) fn exposed_files_text(files: &[String]) -> Text {
    let names: Vec<&String> = files.iter().collect();
    Text::from(format!("others can read the data of Secrets: chmod 600 {}", some_of(&names, NAMES)))
}
