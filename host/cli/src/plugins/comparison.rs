//! `plugin diff`: how one version of a plugin differs from another, for the operator who decides about the newer one.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};

use pivot_engine::Exit;
use pivot_runtime::{Admitted, Inspection, Locked, Runtime};
use semver::Version;
use serde_json::{Value, json};

use super::inspection::{asked_for, short_digest};
use super::refused;
use crate::exit::{self, Result};
use crate::output::{Document, Output, Text};

const GONE: &str = "its file is not there any more";

/// One of the two that are compared.
#[derive(Clone)]
struct Subject {
    name: String,
    version: String,
    sha256: String,
    size: u64,
    /// Or why only the lock knows of it.
    inspection: Result<Inspection, String>,
}

/// The items that only one of two versions has.
#[derive(Default)]
struct Change {
    aspect: &'static str,
    added: Vec<String>,
    removed: Vec<String>,
}

impl Subject {
    fn from_inspection(inspection: Inspection) -> Self {
        Self {
            name: inspection.declaration.name.clone(),
            version: inspection.declaration.version.clone(),
            sha256: inspection.digest.clone(),
            size: inspection.size,
            inspection: Ok(inspection),
        }
    }

    fn name_and_version(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    fn content(&self) -> Value {
        let Self { name, version, sha256, size, .. } = self;
        json!({"name": name, "version": version, "sha256": sha256, "size": size})
    }
}

/// One version beside another.
pub(super) struct Comparison {
    older: Subject,
    newer: Subject,
    changes: Vec<Change>,
    worst: Change,
    /// The directory in which the older one is admitted.
    beside: Option<(PathBuf, Admitted)>,
}

/// Compares a component with another one, or with the plugin of its name in a directory. Exit 10 if they differ.
pub(super) async fn run(old: &Path, new: &Path, runtime: &Runtime, output: &Output) -> Result<u8> {
    let no = |error: pivot_runtime::LoadError| (Exit::Plugin, Text::from(error.to_string()));
    let comparison = if old.is_dir() {
        let (newer, admitted) = runtime.inspect_for(new, old, None).await.map_err(no)?;
        let name = newer.declaration.name.clone();
        Comparison::with_admitted(newer, admitted, old, runtime).await?.ok_or_else(|| {
            let directory = old.display();
            let why = format!(
                "plugins.lock in {directory} has no plugin {name}, so there is nothing to compare with"
            );
            (Exit::Plugin, Text::from(why))
        })?
    } else {
        let (older, newer) =
            (runtime.inspect(old).await.map_err(no)?, runtime.inspect(new).await.map_err(no)?);
        Comparison::new(Subject::from_inspection(older), Subject::from_inspection(newer), None)
    };
    output.result(&Document::new("PluginDiff", comparison.content()), || comparison.to_text());
    if comparison.is_same() { Ok(exit::DONE) } else { Ok(exit::exit_code(Exit::Differs)) }
}

impl Comparison {
    fn new(older: Subject, newer: Subject, beside: Option<(PathBuf, Admitted)>) -> Self {
        let (changes, worst) = find_differences(&older, &newer);
        Self { older, newer, changes, worst, beside }
    }

    /// Compares with the plugin of its name that a directory has admitted. Returns `None` if there is none.
    pub(super) async fn with_admitted(
        newer: Inspection,
        admitted: Admitted,
        directory: &Path,
        runtime: &Runtime,
    ) -> Result<Option<Self>> {
        let newer = Subject::from_inspection(newer);
        let Some(Locked { version, sha256, size }) = admitted.locked.clone() else { return Ok(None) };
        let inspection = match &admitted.file {
            Some(file) => runtime.inspect(&directory.join(file)).await.map_err(|error| error.to_string()),
            None => Err(GONE.to_owned()),
        };
        // Another file may have taken its name since.
        let inspection =
            inspection.and_then(|found| (found.digest == sha256).then_some(found).ok_or(GONE.to_owned()));
        let older = Subject { name: newer.name.clone(), version, sha256, size, inspection };
        Ok(Some(Self::new(older, newer, Some((directory.to_owned(), admitted)))))
    }

    /// Returns true if both are the same file.
    pub(super) fn is_same(&self) -> bool {
        self.older.sha256 == self.newer.sha256
    }

    /// Returns true if the newer one is an earlier version.
    pub(super) fn goes_back(&self) -> bool {
        compare_versions(&self.older, &self.newer) == Some(Ordering::Less)
    }

    /// The version that is replaced.
    pub(super) fn older_version(&self) -> &str {
        &self.older.version
    }

    /// For people.
    pub(super) fn to_text(&self) -> Text {
        let Self { older, newer, changes, worst, beside } = self;
        let mut text = change_text(older, newer, changes, worst);
        if let Some((directory, admitted)) = beside {
            text.append(by_grants(directory, newer, admitted));
        }
        text
    }

    /// For programs.
    pub(super) fn content(&self) -> Value {
        let Self { older, newer, changes, worst, beside } = self;
        let grants = beside.as_ref().map(|(_, Admitted { has_section, missing, surplus, .. })| {
            json!({"section": has_section, "missing": missing, "surplus": surplus})
        });
        json!({
            "old": older.content(),
            "new": newer.content(),
            "compared": older.inspection.is_ok(),
            "changes": changes.iter().map(|Change { aspect, added, removed }| {
                json!({"aspect": aspect, "added": added, "removed": removed})
            }).collect::<Vec<_>>(),
            "atWorst": {"added": worst.added, "removed": worst.removed},
            "grants": grants,
        })
    }
}

/// Compares two versions, if both can be parsed.
fn compare_versions(older: &Subject, newer: &Subject) -> Option<Ordering> {
    match (Version::parse(&older.version), Version::parse(&newer.version)) {
        (Ok(old), Ok(new)) => Some(new.cmp(&old)),
        _ => None,
    }
}

/// Returns the differences between the requests of two versions, by aspect, and between their risks if all requests are
/// granted.
fn find_differences(older: &Subject, newer: &Subject) -> (Vec<Change>, Change) {
    let (Ok(old), Ok(new)) = (&older.inspection, &newer.inspection) else { return Default::default() };
    let between = |aspect, old: &[String], new: &[String]| {
        let only = |one: &[String], other: &[String]| -> Vec<String> {
            one.iter().filter(|item| !other.contains(item)).cloned().collect()
        };
        Change { aspect, added: only(new, old), removed: only(old, new) }
    };
    let changes = asked_for(old).into_iter().zip(asked_for(new));
    let changes = changes.map(|((aspect, old), (_, new))| between(aspect, &old, &new));
    let changes = changes.filter(|change| !change.added.is_empty() || !change.removed.is_empty());
    (changes.collect(), between("at worst", &old.worst_of_all_asked(), &new.worst_of_all_asked()))
}

fn change_text(older: &Subject, newer: &Subject, changes: &[Change], worst: &Change) -> Text {
    if older.sha256 == newer.sha256 {
        return Text::from(format!(
            "{}: the same file, sha256 {}",
            newer.name_and_version(),
            short_digest(&newer.sha256)
        ));
    }
    let mut text = Text::from(format!("{} -> {}", older.name_and_version(), newer.name_and_version()));
    if older.name != newer.name {
        text.add_line("they are not two versions of one plugin: it has another name, and so other grants");
    }
    match compare_versions(older, newer) {
        Some(Ordering::Less) => text.add_line("the version is an older one than before"),
        Some(Ordering::Equal) => text.add_line("the version is the same, and the file is not"),
        _ => {}
    }
    text.add_line(format!("  sha256   {} -> {}", short_digest(&older.sha256), short_digest(&newer.sha256)));
    text.add_line(format!("  size     {} -> {} bytes", older.size, newer.size));
    if let Err(why) = &older.inspection {
        text.add_line(format!("requests of the admitted component can't be compared: {why}"));
        return text;
    }
    for Change { aspect, added, removed } in changes {
        added.iter().for_each(|item| text.add_line(format!("  {aspect:8} + {item}")));
        removed.iter().for_each(|item| text.add_line(format!("  {aspect:8} - {item}")));
    }
    if changes.is_empty() {
        text.add_line("it asks for the same, and imports the same");
    }
    for (items, head) in [
        (&worst.added, "granted all it asks for, the newer one could at worst, and the older one could not:"),
        (&worst.removed, "the older one could, and the newer one can not:"),
    ] {
        if !items.is_empty() {
            text.add_line(head);
            refused::bullet_lines(items).for_each(|line| text.add_line(line));
        }
    }
    text
}

/// Describes the operator's grants for the newer version.
fn by_grants(directory: &Path, newer: &Subject, admitted: &Admitted) -> Text {
    let Admitted { has_section, missing, surplus, .. } = admitted;
    let place = format!("plugins.toml in {}, below [plugins.{}],", directory.display(), newer.name);
    if !has_section {
        return Text::from(format!("plugins.toml in {} has no section for it", directory.display()));
    }
    if missing.is_empty() && surplus.is_empty() {
        return Text::from(format!("{place} grants what it asks for, and nothing else"));
    }
    let mut text = Text::default();
    if !missing.is_empty() {
        text.add_line(format!("{place} lacks what it asks for; a move refuses it until you grant it:"));
        refused::bullet_lines(missing).for_each(|line| text.add_line(line));
    }
    text.append(unrequested_grants_text(&place, surplus));
    text
}

/// Grants that nothing asks for any more. They have no effect now; a later version would have them at once.
pub(super) fn unrequested_grants_text(place: &str, surplus: &[String]) -> Text {
    let mut text = Text::default();
    if !surplus.is_empty() {
        text.add_line(format!(
            "{place} grants more than it asks for. Remove this, or a later version gets it without review:"
        ));
        refused::bullet_lines(surplus).for_each(|line| text.add_line(line));
    }
    text
}
