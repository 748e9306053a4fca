//! `plugins.lock`: the digests with which plugins were admitted. Checked at every load, not only on admission.
//!
//! Anyone with write access may have changed the file, so what is read and written again must be what a plugin could have.

use std::fmt::Write as _;

use pivot_core::messages::safe_text::to_line;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::digest::is_sha256;
use crate::permissions::strict::{self, Table};
use crate::permissions::valid_names::{check_name, check_version};
use crate::permissions::{InvalidFile, LOCK_FILE, check_count};

const HEAD: &str =
    "# The plugins that were admitted here. Written by `pivot-host plugin add`, checked at every start.\n";
const FORMAT: u32 = 1;
/// The longest remark, in characters.
const REMARK: usize = 200;

/// One admitted plugin.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockEntry {
    /// Name of the plugin.
    #[serde(deserialize_with = "deserialize_name")]
    pub name: String,
    /// Version of the plugin.
    #[serde(deserialize_with = "deserialize_version")]
    pub version: String,
    /// SHA-256 of its file, in hex.
    #[serde(deserialize_with = "deserialize_digest")]
    pub sha256: String,
    /// Bytes of its file.
    pub size: u64,
    /// The program and the limits of its successful compilation trial; none: it had none.
    #[serde(default)]
    pub passed: Option<String>,
    /// User who admitted the plugin, for people.
    #[serde(default, deserialize_with = "deserialize_remark", rename = "admitted-by")]
    pub by: Option<String>,
    /// When.
    #[serde(default, deserialize_with = "deserialize_remark", rename = "admitted-at")]
    pub at: Option<String>,
    /// From which bundle, by its digest.
    #[serde(default, deserialize_with = "deserialize_remark", rename = "from-bundle")]
    pub bundle: Option<String>,
}

impl LockEntry {
    /// Returns true if the plugin passed a trial with this program and these limits.
    pub fn has_passed_trial(&self, trial_terms: &str) -> bool {
        self.passed.as_deref() == Some(trial_terms)
    }
}

/// The admitted plugins, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockFile {
    entries: Vec<LockEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    format: u32,
    #[serde(default, rename = "plugin")]
    plugins: Vec<Table<LockEntry>>,
}

fn deserialize_name<'de, D: Deserializer<'de>>(text: D) -> Result<String, D::Error> {
    deserialize_checked(text, check_name)
}

fn deserialize_version<'de, D: Deserializer<'de>>(text: D) -> Result<String, D::Error> {
    deserialize_checked(text, check_version)
}

fn deserialize_digest<'de, D: Deserializer<'de>>(text: D) -> Result<String, D::Error> {
    deserialize_checked(text, |text| {
        if is_sha256(text) {
            return Ok(());
        }
        Err(format!("`{}` is no SHA-256: 64 digits, 0 to 9 and a to f", to_line(text, 64)))
    })
}

/// Parses a remark for people, which is written again when another plugin is admitted.
fn deserialize_remark<'de, D: Deserializer<'de>>(text: D) -> Result<Option<String>, D::Error> {
    deserialize_checked(text, |text| {
        if to_line(text, REMARK) == text {
            Ok(())
        } else {
            Err(format!("`{}` is not one line of at most {REMARK} characters", to_line(text, 64)))
        }
    })
    .map(Some)
}

/// Rejects values that no plugin can have.
fn deserialize_checked<'de, D: Deserializer<'de>>(
    text: D,
    check: impl Fn(&str) -> Result<(), String>,
) -> Result<String, D::Error> {
    let text = String::deserialize(text)?;
    check(&text).map_err(D::Error::custom)?;
    Ok(text)
}

impl LockFile {
    /// Parses the file.
    pub fn parse(text: &str) -> Result<Self, InvalidFile> {
        let refused = |why: String| InvalidFile { file: LOCK_FILE, why };
        let text: Text = strict::parse_strictly(text).map_err(refused)?;
        if text.format != FORMAT {
            return Err(refused(format!("it has format {}, this program reads {FORMAT}", text.format)));
        }
        check_count(text.plugins.len()).map_err(refused)?;
        let mut lock = Self::default();
        for Table(entry) in text.plugins {
            if lock.find_by_name(&entry.name).is_some() {
                return Err(refused(format!("it has {} twice", entry.name)));
            }
            lock.entries.push(entry);
        }
        lock.entries.sort();
        Ok(lock)
    }

    /// The entry with that name.
    pub fn find_by_name(&self, name: &str) -> Option<&LockEntry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// The entry with that digest.
    pub fn find_by_digest(&self, sha256: &str) -> Option<&LockEntry> {
        self.entries.iter().find(|entry| entry.sha256 == sha256)
    }

    /// All entries, by name.
    pub fn entries(&self) -> &[LockEntry] {
        &self.entries
    }

    /// Admits a plugin, replacing entries with its name or for its file.
    pub fn admit(&mut self, entry: LockEntry) {
        self.entries.retain(|there| there.name != entry.name && there.sha256 != entry.sha256);
        self.entries.push(entry);
        self.entries.sort();
    }

    /// Returns the file's text, given the program and the limits of trials. Written by hand rather than by a serialiser, so that
    /// it can't fail.
    pub fn to_text(&self, trial_terms: &str) -> String {
        let mut text = format!("{HEAD}format = {FORMAT}\n");
        for entry in &self.entries {
            let LockEntry { name, version, sha256, size, passed: _, by, at, bundle } = entry;
            text.push_str("\n[[plugin]]\n");
            for (key, value) in [("name", name), ("version", version), ("sha256", sha256)] {
                write_value(&mut text, key, value);
            }
            let _ = writeln!(text, "size = {size}");
            // Any other value that was in the file has no effect, and is not written again.
            if entry.has_passed_trial(trial_terms) {
                write_value(&mut text, "passed", trial_terms);
            }
            for (key, remark) in [("admitted-by", by), ("admitted-at", at), ("from-bundle", bundle)] {
                if let Some(remark) = remark {
                    write_value(&mut text, key, &to_line(remark, REMARK));
                }
            }
        }
        text
    }
}

/// Writes a line with the value escaped, so that any text gives valid TOML.
fn write_value(text: &mut String, key: &str, value: &str) {
    let _ = writeln!(text, "{key} = {}", toml::Value::from(value));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants;

    const TERMS: &str = "pivot-host 0.0.2, 5 s";

    fn entry(name: &str, sha256: &str) -> LockEntry {
        LockEntry {
            name: name.into(),
            version: "1.0.0".into(),
            sha256: sha256.repeat(64),
            size: 7,
            passed: None,
            by: None,
            at: None,
            bundle: None,
        }
    }

    #[test]
    fn any_text_is_a_lock_or_refused() {
        let mut lock = LockFile::default();
        lock.admit(entry("a", "1"));
        lock.admit(entry("b", "2"));
        let text = lock.to_text(TERMS);
        let (mut good, mut refused) = (0, 0);
        mutants::each(&[text.as_bytes()], 1_500, |bytes| {
            match LockFile::parse(&String::from_utf8_lossy(bytes)) {
                Ok(lock) => {
                    good += 1;
                    let again = LockFile::parse(&lock.to_text(TERMS)).unwrap();
                    assert_eq!(again.to_text(TERMS), lock.to_text(TERMS));
                }
                Err(error) => {
                    refused += 1;
                    assert!(error.to_string().len() < 4_000, "{error}");
                }
            }
        });
        assert!(good > 50 && refused > 500, "{good} good, {refused} refused");
    }

    #[test]
    fn lock_reads_back_its_sorted_text() {
        let mut lock = LockFile::default();
        lock.admit(entry("b", "1"));
        lock.admit(entry("a", "2"));
        lock.admit(entry("b", "3"));
        let again = LockFile::parse(&lock.to_text(TERMS)).unwrap();
        assert_eq!(again, lock);
        assert_eq!(again.entries(), [entry("a", "2"), entry("b", "3")]);
        assert_eq!(again.find_by_digest(&"1".repeat(64)), None);
    }

    #[test]
    fn lock_records_user_time_and_bundle() {
        let mut lock = LockFile::default();
        let remarks = |by: &str| LockEntry {
            by: Some(by.into()),
            at: Some("2026-11-23T10:00:00Z".into()),
            bundle: Some("sha256:12".into()),
            ..entry("a", "1")
        };
        lock.admit(remarks("o'brien \"\\@host"));
        assert!(lock.to_text(TERMS).contains("from-bundle = \"sha256:12\"\n"), "{}", lock.to_text(TERMS));
        assert_eq!(LockFile::parse(&lock.to_text(TERMS)).unwrap(), lock);
        lock.admit(remarks("two\nlines"));
        assert_eq!(
            LockFile::parse(&lock.to_text(TERMS)).unwrap().entries()[0].by.as_deref(),
            Some("two lines")
        );
        let forged = lock.to_text(TERMS).replace("\"two lines\"", "\"two\\nlines\"");
        assert!(LockFile::parse(&forged).unwrap_err().to_string().contains("is not one line"));
    }

    #[test]
    fn lock_records_the_trials_limits() {
        let mut lock = LockFile::default();
        lock.admit(LockEntry { passed: Some(TERMS.into()), ..entry("a", "1") });
        lock.admit(LockEntry { passed: Some("pivot-host 0.0.1, \n".into()), ..entry("b", "2") });
        let again = LockFile::parse(&lock.to_text(TERMS)).unwrap();
        let passed: Vec<_> = again.entries().iter().map(|entry| entry.has_passed_trial(TERMS)).collect();
        assert_eq!((passed, again.entries()[1].passed.as_deref()), (vec![true, false], None));
        let older = lock.to_text(TERMS).replace(TERMS, "pivot-host 0.0.1, 60 s");
        assert!(!LockFile::parse(&older).unwrap().entries()[0].has_passed_trial(TERMS));
    }

    #[test]
    fn any_text_in_a_lock_is_escaped() {
        let text = "a \"quoted\" \\ program ='''\u{7f}\n\r[[plugin]]";
        let mut lock = LockFile::default();
        lock.admit(LockEntry { passed: Some(text.into()), ..entry("a", "1") });
        assert_eq!(LockFile::parse(&lock.to_text(text)).unwrap(), lock);
        let mut lock = LockFile::default();
        lock.admit(LockEntry {
            name: text.into(),
            version: text.into(),
            sha256: text.into(),
            ..entry("", "")
        });
        let written: toml::Table = lock.to_text(TERMS).parse().unwrap();
        for key in ["name", "version", "sha256"] {
            assert_eq!(written["plugin"][0][key].as_str(), Some(text), "{key}");
        }
    }

    #[test]
    fn unknown_format_or_repeated_name_is_refused() {
        assert!(LockFile::parse("format = 2").unwrap_err().to_string().contains("format 2"));
        let mut text = "format = 1\n".to_owned();
        for sha in ["1", "2"] {
            let sha = sha.repeat(64);
            text += &format!("[[plugin]]\nname = 'a'\nversion = '1.0.0'\nsha256 = '{sha}'\nsize = 1\n");
        }
        assert!(LockFile::parse(&text).unwrap_err().to_string().contains("it has a twice"));
        assert!(
            LockFile::parse("format = 1\nplugins = []").unwrap_err().to_string().contains("unknown field")
        );
    }

    /// Every entry that is read is written again when another plugin is admitted.
    #[test]
    fn impossible_lock_entry_is_refused_with_position() {
        let mut lock = LockFile::default();
        lock.admit(entry("a", "1"));
        lock.admit(LockEntry { version: "2.0.0".into(), ..entry("b", "2") });
        let (digest, long) = ("2".repeat(64), "A".repeat(64));
        for (key, from, to, said) in [
            (
                "name",
                "b",
                "b\"\nsize = 2 #",
                "line 11, column 8: plugin[1].name: its name `b\" size = 2 #` is not",
            ),
            ("name", "b", "../b", "plugin[1].name: its name `../b` is not lower-case words"),
            ("name", "b", "", "plugin[1].name: its name `` is not"),
            ("version", "2.0.0", "2", "plugin[1].version: `2` is no semantic version"),
            ("version", "2.0.0", "2.0.0\"", "plugin[1].version: `2.0.0\"` is no semantic version"),
            ("sha256", &digest, "2", "plugin[1].sha256: `2` is no SHA-256"),
            ("sha256", &digest, &long, "plugin[1].sha256: `AAAA"),
            ("sha256", &digest, &"\u{ff12}".repeat(64), "plugin[1].sha256: `\u{ff12}"),
        ] {
            let value = toml::Value::from(to);
            let (from, to) = (format!("{key} = \"{from}\""), format!("{key} = {value}"));
            let text = lock.to_text(TERMS);
            assert!(text.contains(&from), "{text}");
            let error = LockFile::parse(&text.replacen(&from, &to, 1)).unwrap_err().to_string();
            assert!(error.starts_with("plugins.lock: can't be understood: line 1"), "{error}");
            assert!(error.contains(said), "{error}");
        }
    }
}
