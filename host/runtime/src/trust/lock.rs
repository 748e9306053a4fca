//! `plugins.lock`: the digests plugins were admitted with. Checked at every load, not only when one is added.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::error::{LoadError, Refused, Who};
use crate::trial::terms;
use crate::trust::{LOCK_FILE, few, not_toml};

const HEAD: &str =
    "# The plugins that were admitted here. Written by `pivot-host plugin lock`, checked at every start.\n";
const FORMAT: u32 = 1;

/// One admitted plugin.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of its file, in hex.
    pub sha256: String,
    /// Bytes of its file.
    pub size: u64,
    /// The program and the limits under which compiling it was tried, and went well; none: it wasn't.
    #[serde(default)]
    pub passed: Option<String>,
}

impl Entry {
    /// Whether it passed under this program and these limits.
    pub(crate) fn passed(&self) -> bool {
        self.passed.as_deref() == Some(&*terms())
    }
}

/// The admitted plugins, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    entries: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    format: u32,
    #[serde(default, rename = "plugin")]
    plugins: Vec<Entry>,
}

impl Lock {
    /// Reads the file's text.
    pub fn read(text: &str) -> Result<Self, LoadError> {
        let who = Who { file: LOCK_FILE.into(), ..Who::default() };
        let text: Text = toml::from_str(text).map_err(|error| not_toml(text, &error).of(who.clone()))?;
        if text.format != FORMAT {
            let why = format!("it has format {}, this program reads {FORMAT}", text.format);
            return Err(Refused::Operator(why).of(who));
        }
        few(text.plugins.len()).map_err(|why| Refused::Operator(why).of(who.clone()))?;
        let mut lock = Self::default();
        for entry in text.plugins {
            if lock.named(&entry.name).is_some() {
                return Err(Refused::Operator(format!("it has {} twice", entry.name)).of(who));
            }
            lock.entries.push(entry);
        }
        lock.entries.sort();
        Ok(lock)
    }

    /// The entry of that name.
    pub fn named(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// The entry of that digest.
    pub fn of_digest(&self, sha256: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.sha256 == sha256)
    }

    /// All entries, by name.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Admits a plugin, in place of the one that had its name, and of what else was written of its file.
    pub fn admit(&mut self, entry: Entry) {
        self.entries.retain(|there| there.name != entry.name && there.sha256 != entry.sha256);
        self.entries.push(entry);
        self.entries.sort();
    }

    /// The file's text. Written by hand rather than by a serialiser, so that it can't fail.
    pub fn text(&self) -> String {
        let mut text = format!("{HEAD}format = {FORMAT}\n");
        for entry in &self.entries {
            let Entry { name, version, sha256, size, passed: _ } = entry;
            // The four are words and numbers: checked when a plugin is described.
            let _ = write!(
                text,
                "\n[[plugin]]\nname = \"{name}\"\nversion = \"{version}\"\nsha256 = \"{sha256}\"\nsize = {size}\n"
            );
            // What others wrote there counts for nothing, and is not repeated.
            if entry.passed() {
                let _ = writeln!(text, "passed = \"{}\"", terms());
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, sha256: &str) -> Entry {
        Entry { name: name.into(), version: "1.0.0".into(), sha256: sha256.into(), size: 7, passed: None }
    }

    #[test]
    fn a_lock_reads_back_what_it_writes_sorted() {
        let mut lock = Lock::default();
        lock.admit(entry("b", "1"));
        lock.admit(entry("a", "2"));
        lock.admit(entry("b", "3"));
        let again = Lock::read(&lock.text()).unwrap();
        assert_eq!(again, lock);
        assert_eq!(again.entries(), [entry("a", "2"), entry("b", "3")]);
        assert_eq!(again.of_digest("1"), None);
    }

    #[test]
    fn a_lock_keeps_that_a_trial_was_passed_under_these_limits_and_no_others() {
        let mut lock = Lock::default();
        lock.admit(Entry { passed: Some(terms()), ..entry("a", "1") });
        lock.admit(Entry { passed: Some("pivot-host 0.0.1, \n".into()), ..entry("b", "2") });
        let again = Lock::read(&lock.text()).unwrap();
        let passed: Vec<_> = again.entries().iter().map(Entry::passed).collect();
        assert_eq!((passed, again.entries()[1].passed.as_deref()), (vec![true, false], None));
        let older = lock.text().replace(&terms(), "pivot-host 0.0.1, 60 s");
        assert!(!Lock::read(&older).unwrap().entries()[0].passed());
    }

    #[test]
    fn a_lock_of_another_format_or_with_a_name_twice_is_refused() {
        assert!(Lock::read("format = 2").unwrap_err().to_string().contains("format 2"));
        let mut text = "format = 1\n".to_owned();
        for sha in ["1", "2"] {
            text += &format!("[[plugin]]\nname = 'a'\nversion = '1.0.0'\nsha256 = '{sha}'\nsize = 1\n");
        }
        assert!(Lock::read(&text).unwrap_err().to_string().contains("it has a twice"));
        assert!(Lock::read("format = 1\nplugins = []").unwrap_err().to_string().contains("unknown field"));
    }
}
