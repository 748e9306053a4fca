//! The trust file, read strictly: a rule with a misspelled name would require nothing, so what isn't understood is refused.
//!
//! TOML is turned into JSON values first, and these are read as all others here. A date is one only where a day is expected.

use std::collections::BTreeSet;

use pivot_core::messages::safe_text::escape_line;
use serde_json::Value;

use crate::digest::strip_sha256_prefix;
use crate::fields::Fields;
use crate::json::JsonError;
use crate::signatures::key::{KeyError, PublicKey};
use crate::signatures::plain_text::{check_sentence, check_word, parse_day};
use crate::signatures::policy::{Policy, Rule, Signer};
use crate::signatures::statement::{Claim, Topic};

/// The most bytes of a file.
pub const SIZE: usize = 1 << 20;
/// The most signers, keys, rules, revocations, and names in one list.
pub const MANY: usize = 1_000;
/// The only field that is a date.
const DAY: &str = "admits-until";
/// The most characters of a reason, and of the path of a key.
const REASON: usize = 1_000;

/// Reasons to refuse a trust file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// Too large.
    #[error("it has {0} bytes; {SIZE} at most are read")]
    Size(usize),
    /// Not TOML.
    #[error("line {line}, column {column}: {why}")]
    Syntax {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// The reason, without a part of the text.
        why: String,
    },
    /// A field with a wrong name, type or value.
    #[error(transparent)]
    Field(#[from] JsonError),
    /// A key that can't be opened.
    #[error("{field}: {path} can't be read: {why}")]
    Unreadable {
        /// The field.
        field: String,
        /// The path in it.
        path: String,
        /// The reason.
        why: String,
    },
    /// A key that can't be used.
    #[error("{field}: {path}: {why}")]
    Key {
        /// The field.
        field: String,
        /// The path in it.
        path: String,
        /// The reason.
        why: KeyError,
    },
    /// A key that was there before.
    #[error("{field}: {fingerprint} is a key of signers.{holder} already; a key belongs to one signer, once")]
    SameKey {
        /// The field.
        field: String,
        /// The key.
        fingerprint: String,
        /// The signer that has the key already.
        holder: String,
    },
}

impl TrustError {
    /// A code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Size(_) => "too-large",
            Self::Syntax { .. } => "not-toml",
            Self::Field(error) => error.code(),
            Self::Unreadable { .. } => "key-unreadable",
            Self::Key { why, .. } => why.code(),
            Self::SameKey { .. } => "same-key",
        }
    }
}

/// Gives the text of a key by its path, as it is in the file: relative to the file, unless it is absolute.
pub type KeyReader<'k> = dyn FnMut(&str) -> Result<String, String> + 'k;

/// Reads a trust file.
pub fn parse(text: &str, keys: &mut KeyReader<'_>) -> Result<Policy, TrustError> {
    if text.len() > SIZE {
        return Err(TrustError::Size(text.len()));
    }
    let table: toml::Table = toml::from_str(text).map_err(|error| syntax_error(text, &error))?;
    let mut fields = Fields::from_value(toml_to_json("", toml::Value::Table(table))?)?;
    let strict = fields.take_flag_if_present("strict")?.unwrap_or_default();
    let mut policy = Policy::default();
    if fields.contains("signers") {
        add_signers(fields.take_object("signers")?, keys, &mut policy)?;
    }
    for rule in take_objects_if_present(&mut fields, "require")? {
        let rule = parse_rule(rule, &policy)?;
        policy.rules.push(rule);
    }
    for revoked in take_objects_if_present(&mut fields, "revoked")? {
        add_revocation(revoked, &mut policy)?;
    }
    fields.refuse_remaining()?;
    if strict {
        policy.strict.push(policy.rules.clone());
    }
    Ok(policy)
}

fn syntax_error(text: &str, error: &toml::de::Error) -> TrustError {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    // The first line: the others would show what is there.
    let why = error.message().lines().next().unwrap_or_default();
    TrustError::Syntax { line, column, why: escape_line(why, 200) }
}

fn toml_to_json(path: &str, value: toml::Value) -> Result<Value, JsonError> {
    Ok(match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Boolean(flag) => flag.into(),
        toml::Value::Datetime(date) if path.rsplit('.').next() == Some(DAY) => date.to_string().into(),
        toml::Value::Datetime(_) => {
            return Err(JsonError::Value(path.into(), "it is a date; write it in quotes".into()));
        }
        toml::Value::Float(_) => return Err(JsonError::Type(path.into(), "a whole number")),
        toml::Value::Array(items) => {
            let items = items.into_iter().enumerate();
            Value::Array(
                items
                    .map(|(n, item)| toml_to_json(&format!("{path}[{n}]"), item))
                    .collect::<Result<_, _>>()?,
            )
        }
        toml::Value::Table(table) => {
            let dot = if path.is_empty() { "" } else { "." };
            let fields = table.into_iter().map(|(name, value)| {
                let value = toml_to_json(&format!("{path}{dot}{}", escape_line(&name, 80)), value)?;
                Ok((name, value))
            });
            Value::Object(fields.collect::<Result<_, JsonError>>()?)
        }
    })
}

fn take_objects_if_present(fields: &mut Fields, name: &str) -> Result<Vec<Fields>, JsonError> {
    if !fields.contains(name) {
        return Ok(Vec::new());
    }
    let list = fields.take_objects(name)?;
    check_count(fields, name, list.len())?;
    Ok(list)
}

fn check_count(fields: &Fields, name: &str, count: usize) -> Result<(), JsonError> {
    if count <= MANY {
        Ok(())
    } else {
        Err(fields.invalid_value(name, format!("it has {count} items; {MANY} at most are read")))
    }
}

fn add_signers(mut fields: Fields, keys: &mut KeyReader<'_>, policy: &mut Policy) -> Result<(), TrustError> {
    let names = fields.remaining_names();
    if names.len() > MANY {
        return Err(JsonError::Value(
            "signers".into(),
            format!("there are {}; {MANY} at most are read", names.len()),
        )
        .into());
    }
    let mut holders: Vec<(PublicKey, String)> = Vec::new();
    for name in names {
        check_word(&name).map_err(|why| fields.invalid_value(&name, why))?;
        let mut signer = fields.take_object(&name)?;
        let paths = signer.take_texts("keys")?;
        if paths.is_empty() {
            return Err(signer.invalid_value("keys", "a signer needs a key").into());
        }
        let mut found = Vec::new();
        for field_path in paths {
            let key = read_key(&signer, &field_path, keys)?;
            let field = signer.field_path("keys");
            if let Some((_, holder)) = holders.iter().find(|(there, _)| *there == key) {
                let (fingerprint, holder) = (key.fingerprint(), holder.clone());
                return Err(TrustError::SameKey { field, fingerprint, holder });
            }
            holders.push((key.clone(), name.clone()));
            if holders.len() > MANY {
                return Err(signer
                    .invalid_value("keys", format!("all signers have more than {MANY} keys"))
                    .into());
            }
            found.push(key);
        }
        let until = signer.take_text_if_present(DAY)?;
        let admits_until =
            until.map(|text| parse_day(&text)).transpose().map_err(|why| signer.invalid_value(DAY, why))?;
        signer.refuse_remaining()?;
        policy.signers.insert(name, Signer { keys: found, admits_until });
    }
    Ok(())
}

fn read_key(signer: &Fields, path: &str, keys: &mut KeyReader<'_>) -> Result<PublicKey, TrustError> {
    check_sentence(path, REASON).map_err(|why| signer.invalid_value("keys", why))?;
    let (field, path) = (signer.field_path("keys"), path.to_owned());
    match keys(&path) {
        Err(why) => Err(TrustError::Unreadable { field, path, why: escape_line(&why, 300) }),
        Ok(text) => PublicKey::from_pem(&text).map_err(|why| TrustError::Key { field, path, why }),
    }
}

/// Takes a list of plain words, none of them twice.
fn take_words(fields: &mut Fields, name: &str) -> Result<BTreeSet<String>, JsonError> {
    let list = fields.take_texts(name)?;
    check_count(fields, name, list.len())?;
    if list.is_empty() {
        return Err(fields.invalid_value(name, "it is empty"));
    }
    let mut words = BTreeSet::new();
    for text in list {
        check_word(&text)
            .map_err(|why| fields.invalid_value(name, format!("`{}`: {why}", escape_line(&text, 64))))?;
        if !words.insert(text.clone()) {
            return Err(fields.invalid_value(name, format!("it has `{text}` twice")));
        }
    }
    Ok(words)
}

fn parse_rule(mut fields: Fields, policy: &Policy) -> Result<Rule, JsonError> {
    let claim = Claim::from_name(&fields.take_text("claim")?).ok_or_else(|| {
        fields.invalid_value("claim", "it is none of `released`, `vetted`, `approved`, `written`")
    })?;
    let from = take_words(&mut fields, "from")?;
    if let Some(stranger) = from.iter().find(|name| !policy.signers.contains_key(*name)) {
        return Err(fields.invalid_value("from", format!("there is no [signers.{stranger}]")));
    }
    let at_least = match fields.contains("at-least").then(|| fields.take_value("at-least")).transpose()? {
        None => 1,
        Some(number) => number
            .as_u64()
            .and_then(|number| usize::try_from(number).ok())
            .filter(|number| (1..=from.len()).contains(number))
            .ok_or_else(|| {
                fields.invalid_value(
                    "at-least",
                    format!("it is not 1 to {}, the number of signers in `from`", from.len()),
                )
            })?,
    };
    let plugins =
        if fields.contains("plugins") { take_words(&mut fields, "plugins")? } else { BTreeSet::new() };
    if claim.topic() != Topic::Plugin && !plugins.is_empty() {
        return Err(fields.invalid_value("plugins", format!("`{claim}` is not about plugins")));
    }
    fields.refuse_remaining()?;
    Ok(Rule { claim, from, at_least, plugins })
}

fn add_revocation(mut fields: Fields, policy: &mut Policy) -> Result<(), JsonError> {
    let why = fields.take_text("why")?;
    check_sentence(&why, REASON).map_err(|error| fields.invalid_value("why", error))?;
    let name = match (fields.contains("key"), fields.contains("component")) {
        (true, false) => "key",
        (false, true) => "component",
        _ => return Err(fields.invalid_value("key", "exactly one of `key` and `component` is needed")),
    };
    let text = fields.take_text(name)?;
    let digest = strip_sha256_prefix(&text)
        .ok_or_else(|| fields.invalid_value(name, "it is not `sha256:` and 64 digits, 0 to 9 and a to f"))?;
    let before = match name {
        "key" => policy.revoked_keys.insert(text.clone(), why),
        _ => policy.revoked_components.insert(digest.to_owned(), why),
    };
    if before.is_some() {
        return Err(fields.invalid_value(name, "it is revoked twice"));
    }
    fields.refuse_remaining()
}
