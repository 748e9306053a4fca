//! Signed statements: an in-toto statement (v1) with a claim about a plugin, a saved plan or a directory.

use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;
use pivot_core::messages::safe_text::escape_line;
use serde_json::{Value, json};

use crate::digest::is_sha256;
use crate::fields::Fields;
use crate::json::{JsonError, parse, sort_keys};
use crate::signatures::card::Card;
use crate::signatures::plain_text::{check_sentence, parse_instant};

/// The type of all statements.
pub const TYPE: &str = "https://in-toto.io/Statement/v1";
/// The type of claims about plugins.
pub const PLUGIN: &str = "https://pivot-host.io/plugin/v1";
/// The type of claims about saved plans.
pub const PLAN: &str = "https://pivot-host.io/plan/v1";
/// The type of claims about directories.
pub const DIRECTORY: &str = "https://pivot-host.io/directory/v1";
/// The most bytes of a statement. All of it is hashed once for each signature and key.
pub const SIZE: usize = 1 << 16;
/// The most subjects of a statement.
pub const SUBJECTS: usize = 256;
/// The most characters of a subject's name, a reviewer, a note.
const NAME: usize = 255;
const REVIEWER: usize = 200;
const NOTE: usize = 1_000;

/// Reasons to refuse a payload as a statement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatementError {
    /// A statement of another kind. It counts for nothing, and nothing is wrong with it.
    #[error("it says something else (`{0}`)")]
    Foreign(String),
    /// Too large.
    #[error("it has {0} bytes; statements have {SIZE} at most")]
    Size(usize),
    /// Not text.
    #[error("it is not UTF-8")]
    NotText,
    /// Not the JSON that it should be.
    #[error(transparent)]
    Json(#[from] JsonError),
}

impl StatementError {
    /// A code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Foreign(_) => "other-statement",
            Self::Size(_) => "too-large",
            Self::NotText => "not-text",
            Self::Json(error) => error.code(),
        }
    }
}

/// A kind of thing that claims are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// The component of a plugin.
    Plugin,
    /// A saved plan.
    Plan,
    /// A directory that a move wrote, by its manifest.
    Directory,
}

impl Topic {
    const ALL: [Self; 3] = [Self::Plugin, Self::Plan, Self::Directory];

    /// The type of claims about it.
    pub fn predicate_type(self) -> &'static str {
        match self {
            Self::Plugin => PLUGIN,
            Self::Plan => PLAN,
            Self::Directory => DIRECTORY,
        }
    }

    /// Says that a claim is not about it.
    fn wrong_claim_message(self) -> &'static str {
        match self {
            Self::Plugin => "it is neither `released` nor `vetted`",
            Self::Plan => "it is not `approved`",
            Self::Directory => "it is not `written`",
        }
    }
}

/// A claim about a plugin, a plan or a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// The author released the plugin.
    Released,
    /// Someone reviewed it.
    Vetted,
    /// Someone approved this plan.
    Approved,
    /// Someone wrote this directory.
    Written,
}

impl Claim {
    /// All claims.
    pub const ALL: [Self; 4] = [Self::Released, Self::Vetted, Self::Approved, Self::Written];

    /// The claim of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|claim| claim.name() == name)
    }

    /// Returns the claim's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Released => "released",
            Self::Vetted => "vetted",
            Self::Approved => "approved",
            Self::Written => "written",
        }
    }

    /// The kind of thing that it is about.
    pub fn topic(self) -> Topic {
        match self {
            Self::Released | Self::Vetted => Topic::Plugin,
            Self::Approved => Topic::Plan,
            Self::Written => Topic::Directory,
        }
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A file that a statement is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SubjectFile {
    /// Name of the file, for people. Files are recognised by their digest.
    pub name: String,
    /// The SHA-256 of its bytes, as 64 digits.
    pub sha256: String,
}

/// A claim and its details.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predicate {
    /// The claim.
    pub claim: Claim,
    /// Card of the plugin, in a claim about a plugin.
    pub card: Option<Card>,
    /// Name of the person who reviewed, approved or wrote the subject, in their own words.
    pub reviewer: Option<String>,
    /// When, by the signer's clock.
    pub date: Timestamp,
    /// A remark.
    pub note: Option<String>,
    /// For a claim about a plugin: SHA-256 of a report of checks.
    pub checked: Option<String>,
}

/// A claim about files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    subjects: Vec<SubjectFile>,
    predicate: Predicate,
}

impl Statement {
    /// A statement, if it is one that [`Statement::parse`] would read.
    pub fn new(subjects: Vec<SubjectFile>, predicate: Predicate) -> Result<Self, StatementError> {
        Self::parse(Self { subjects, predicate }.to_payload().as_bytes())
    }

    /// Reads a payload.
    pub fn parse(bytes: &[u8]) -> Result<Self, StatementError> {
        if bytes.len() > SIZE {
            return Err(StatementError::Size(bytes.len()));
        }
        let text = str::from_utf8(bytes).map_err(|_| StatementError::NotText)?;
        let mut fields = Fields::from_value(parse(text)?)?;
        let of = fields.take_text("_type")?;
        if of != TYPE {
            return Err(StatementError::Foreign(escape_line(&of, 80)));
        }
        let kind = fields.take_text("predicateType")?;
        let Some(topic) = Topic::ALL.into_iter().find(|topic| topic.predicate_type() == kind) else {
            return Err(StatementError::Foreign(escape_line(&kind, 80)));
        };
        let subjects = take_subjects(&mut fields)?;
        let predicate = parse_predicate(fields.take_object("predicate")?, topic)?;
        fields.refuse_remaining()?;
        Ok(Self { subjects, predicate })
    }

    /// The payload. The same statement has always the same.
    pub fn to_payload(&self) -> String {
        let Self { subjects, predicate } = self;
        let Predicate { claim, card, reviewer, date, note, checked } = predicate;
        let mut said = json!({"claim": claim.name(), "date": date.to_string()});
        let more = [("reviewer", reviewer), ("note", note), ("checked", checked)];
        for (name, text) in more.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?))) {
            insert_field(&mut said, name, text.as_str().into());
        }
        if let Some(card) = card {
            insert_field(&mut said, "card", card.to_value());
        }
        let about =
            |SubjectFile { name, sha256 }: &SubjectFile| json!({"name": name, "digest": {"sha256": sha256}});
        let subjects: Vec<Value> = subjects.iter().map(about).collect();
        let kind = claim.topic().predicate_type();
        sort_keys(&json!({"_type": TYPE, "subject": subjects, "predicateType": kind, "predicate": said}))
            .to_string()
    }

    /// The files it is about.
    pub fn subjects(&self) -> &[SubjectFile] {
        &self.subjects
    }

    /// Returns the claim about these files.
    pub fn predicate(&self) -> &Predicate {
        &self.predicate
    }

    /// Returns true if the statement is about the file with this digest.
    pub fn is_about(&self, sha256: &str) -> bool {
        self.subjects.iter().any(|subject| subject.sha256 == sha256)
    }
}

fn insert_field(object: &mut Value, name: &str, value: Value) {
    if let Value::Object(map) = object {
        map.insert(name.into(), value);
    }
}

fn take_subjects(fields: &mut Fields) -> Result<Vec<SubjectFile>, JsonError> {
    let list = fields.take_objects("subject")?;
    if list.is_empty() || list.len() > SUBJECTS {
        return Err(
            fields.invalid_value("subject", format!("it has {} items, not 1 to {SUBJECTS}", list.len()))
        );
    }
    let (mut subjects, mut names) = (Vec::new(), BTreeSet::new());
    for mut subject in list {
        let name = take_sentence(&mut subject, "name", NAME)?;
        let mut digest = subject.take_object("digest")?;
        let sha256 = take_sha256(&mut digest, "sha256")?;
        digest.refuse_remaining()?;
        if !names.insert(name.clone()) {
            return Err(subject.invalid_value("name", "another subject has it too"));
        }
        subject.refuse_remaining()?;
        subjects.push(SubjectFile { name, sha256 });
    }
    Ok(subjects)
}

fn parse_predicate(mut fields: Fields, topic: Topic) -> Result<Predicate, JsonError> {
    let claim = Claim::from_name(&fields.take_text("claim")?).filter(|claim| claim.topic() == topic);
    let claim = claim.ok_or_else(|| fields.invalid_value("claim", topic.wrong_claim_message()))?;
    let is_plugin = topic == Topic::Plugin;
    let card = if is_plugin {
        match fields.take_value("card")? {
            Value::Object(map) => Some(Card::new(map).map_err(|why| fields.invalid_value("card", why))?),
            _ => return Err(JsonError::Type(fields.field_path("card"), "an object")),
        }
    } else {
        None
    };
    let date = fields.take_text("date")?;
    let date = parse_instant(&date).map_err(|why| fields.invalid_value("date", why))?;
    let mut optional = |name: &str, most| {
        if fields.contains(name) { take_sentence(&mut fields, name, most).map(Some) } else { Ok(None) }
    };
    let (reviewer, note) = (optional("reviewer", REVIEWER)?, optional("note", NOTE)?);
    let checked = if is_plugin && fields.contains("checked") {
        Some(take_sha256(&mut fields, "checked")?)
    } else {
        None
    };
    fields.refuse_remaining()?;
    Ok(Predicate { claim, card, reviewer, date, note, checked })
}

fn take_sentence(fields: &mut Fields, name: &str, most: usize) -> Result<String, JsonError> {
    let text = fields.take_text(name)?;
    check_sentence(&text, most).map_err(|why| fields.invalid_value(name, why))?;
    Ok(text)
}

fn take_sha256(fields: &mut Fields, name: &str) -> Result<String, JsonError> {
    let text = fields.take_text(name)?;
    if is_sha256(&text) {
        return Ok(text);
    }
    Err(fields.invalid_value(name, "it is no SHA-256: 64 digits, 0 to 9 and a to f"))
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::signatures::card::sample_card;

    fn predicate() -> Predicate {
        Predicate {
            claim: Claim::Vetted,
            card: Some(sample_card("hosts")),
            reviewer: Some("Alice Ärger".into()),
            date: "2026-11-23T13:00:00Z".parse().unwrap(),
            note: Some("read in full".into()),
            checked: Some("c".repeat(64)),
        }
    }

    fn about() -> Vec<SubjectFile> {
        vec![SubjectFile { name: "hosts.wasm".into(), sha256: "a".repeat(64) }]
    }

    #[test]
    fn a_statement_reads_back_what_it_writes() {
        let statement = Statement::new(about(), predicate()).unwrap();
        assert_eq!(Statement::parse(statement.to_payload().as_bytes()), Ok(statement.clone()));
        assert_eq!(
            Statement::parse(statement.to_payload().as_bytes()).unwrap().to_payload(),
            statement.to_payload()
        );
        assert!(statement.is_about(&"a".repeat(64)) && !statement.is_about(&"b".repeat(64)));
        let less = Predicate { reviewer: None, note: None, checked: None, ..predicate() };
        assert!(Statement::new(about(), less).is_ok());
    }

    #[test]
    fn approvals_are_of_plans_without_cards() {
        let approval = Predicate { claim: Claim::Approved, card: None, checked: None, ..predicate() };
        let statement = Statement::new(about(), approval.clone()).unwrap();
        assert!(statement.to_payload().contains(PLAN));
        assert!(
            Statement::new(about(), Predicate { card: Some(sample_card("a")), ..approval.clone() }).is_err()
        );
        assert!(Statement::new(about(), Predicate { checked: Some("c".repeat(64)), ..approval }).is_err());
        assert!(Statement::new(about(), Predicate { card: None, ..predicate() }).is_err());
    }

    #[test]
    fn invalid_statements_are_not_created() {
        for name in ["", "a\nb", "a\u{202e}", &"a".repeat(256)] {
            let about = vec![SubjectFile { name: name.into(), sha256: "a".repeat(64) }];
            let why = Statement::new(about, predicate()).unwrap_err().to_string();
            assert!(why.contains("name"), "{name:?}: {why}");
        }
        let many = |count| {
            (0..count).map(|n| SubjectFile { name: format!("f{n}"), sha256: "a".repeat(64) }).collect()
        };
        assert!(Statement::new(many(SUBJECTS), predicate()).is_ok());
        for count in [0, SUBJECTS + 1] {
            let why = Statement::new(many(count), predicate()).unwrap_err().to_string();
            assert!(why.contains("subject"), "{count}: {why}");
        }
    }
}
