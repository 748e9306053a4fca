//! `plugin sign`: writes down who vouches for a component, beside it. Nothing there is trusted by being there: the trust file of
//! whoever loads it says whose word counts.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use pivot_engine::Exit;
use pivot_places::read_regular_file;
use pivot_runtime::Runtime;
use pivot_signatures::card::Card;
use pivot_signatures::digest::sha256;
use pivot_signatures::envelope::Envelope;
use pivot_signatures::key::PrivateKey;
use pivot_signatures::lines::{ENDING, SignatureFile};
use pivot_signatures::statement::{About, Claim, Predicate, Statement};
use serde_json::json;

use crate::args::{PluginClaim, Signing};
use crate::exit::Result;
use crate::output::{Document, Output, Text};

/// What is vouched for.
pub(crate) struct Subject {
    /// What it is called, for people.
    pub(crate) called: String,
    pub(crate) sha256: String,
    pub(crate) claim: Claim,
    /// Of a plugin.
    pub(crate) card: Option<Card>,
    /// The report of checks that the claim is based on.
    pub(crate) checked: Option<PathBuf>,
}

/// Signs a component, prints what somebody else is to sign, or adds what somebody else signed.
pub(super) async fn run(
    claim: PluginClaim,
    checked: Option<&Path>,
    signing: &Signing,
    runtime: &Runtime,
    output: &Output,
) -> Result<()> {
    let inspected = runtime
        .inspect(&signing.file)
        .await
        .map_err(|error| (Exit::Plugin, Text::from(error.to_string())))?;
    let card = inspected.card().map_err(|why| (Exit::Plugin, Text::from(why.to_string())))?;
    let called = format!("{} {}", inspected.declaration.name, inspected.declaration.version);
    let claim = match claim {
        PluginClaim::Released => Claim::Released,
        PluginClaim::Vetted => Claim::Vetted,
    };
    let checked = checked.map(Path::to_owned);
    sign(signing, Subject { called, sha256: inspected.digest, claim, card: Some(card), checked }, output)
}

/// The same for any file, once it is known what it is.
pub(crate) fn sign(signing: &Signing, subject: Subject, output: &Output) -> Result<()> {
    let Signing { file, key, statement_only: _, attach, reviewer, note } = signing;
    let Subject { called, sha256: digest, claim, card, checked } = subject;
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let envelope = match attach {
        Some(signed) => attached(signed, &digest).map_err(|why| refused(signed, &why))?,
        None => {
            let checked =
                checked.as_deref().map(|report| digest_of(report).map_err(|why| refused(report, &why)));
            let predicate = Predicate {
                claim,
                card,
                reviewer: reviewer.clone(),
                date: Timestamp::now(),
                note: note.clone(),
                checked: checked.transpose()?,
            };
            let about = About { name: name.clone(), sha256: digest.clone() };
            let statement = Statement::new(vec![about], predicate)
                .map_err(|why| (Exit::Usage, Text::from(why.to_string())))?;
            let Some(key) = key else {
                // For a tool that holds the key: nothing but what is to be signed.
                output.own(&statement.text());
                return Ok(());
            };
            let made = private_key(key)
                .and_then(|key| Envelope::sign(&statement.text(), &key).map_err(|why| why.to_string()));
            made.map_err(|why| refused(key, &why))?
        }
    };
    let beside = PathBuf::from(format!("{}{ENDING}", file.display()));
    let statements = added(&beside, envelope).map_err(|why| refused(&beside, &why))?;
    let content = json!({"file": file, "sha256": digest, "statements": statements, "writtenTo": beside});
    let text = || Text::from(format!("{called}: {} has {}", beside.display(), count(statements)));
    output.result(text, &Document::new("Signature", content));
    Ok(())
}

fn count(statements: usize) -> String {
    if statements == 1 { "1 statement".to_owned() } else { format!("{statements} statements") }
}

fn refused(file: &Path, why: &str) -> (Exit, Text) {
    (Exit::Usage, format!("{}: {why}; nothing was written", file.display()).into())
}

fn private_key(file: &Path) -> Result<PrivateKey, String> {
    let bytes = read_regular_file(file).map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "it is no PEM".to_owned())?;
    PrivateKey::from_pem(&text).map_err(|why| why.to_string())
}

fn digest_of(file: &Path) -> Result<String, String> {
    read_regular_file(file).map(|bytes| sha256(&bytes)).map_err(|error| error.to_string())
}

/// What somebody else signed, if it is about this file. Whose signature it is only a trust file can say.
fn attached(file: &Path, digest: &str) -> Result<Envelope, String> {
    let bytes = read_regular_file(file).map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not text".to_owned())?;
    let envelope = Envelope::read(&text).map_err(|why| why.to_string())?;
    let (_, payload) = envelope.unverified_payload();
    let statement = Statement::read(payload).map_err(|why| why.to_string())?;
    if !statement.is_about(digest) {
        return Err("it is about another file".to_owned());
    }
    Ok(envelope)
}

/// Adds a line to the statements beside a file, and returns how many there are.
fn added(beside: &Path, envelope: Envelope) -> Result<usize, String> {
    let there = match read_regular_file(beside) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error.to_string()),
    };
    let mut signed = SignatureFile::read(&there).map_err(|why| why.to_string())?;
    signed.add(envelope).map_err(|why| why.to_string())?;
    let new = PathBuf::from(format!("{}.new", beside.display()));
    // Whoever may write there could have put a link to another file in its place.
    let begun = OpenOptions::new().write(true).create_new(true).open(&new);
    let mut file = begun.map_err(|error| format!("{}: {error}", new.display()))?;
    let written = file.write_all(signed.text().as_bytes()).and_then(|()| fs::rename(&new, beside));
    if let Err(error) = written {
        let _ = fs::remove_file(&new);
        return Err(error.to_string());
    }
    Ok(signed.envelopes().count())
}
