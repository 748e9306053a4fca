//! `plugin sign`: writes down who vouches for a component, beside it. Nothing there is trusted by being there: the trust file of
//! whoever loads it says whose word counts.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use pivot_core::messages::safe_text::escape_line;
use pivot_engine::Exit;
use pivot_places::read_regular_file;
use pivot_runtime::Runtime;
use pivot_vetting::digest::sha256;
use pivot_vetting::signatures::card::Card;
use pivot_vetting::signatures::envelope::{Envelope, IN_TOTO};
use pivot_vetting::signatures::key::PrivateKey;
use pivot_vetting::signatures::signature_file::{ENDING, SignatureFile};
use pivot_vetting::signatures::statement::{Claim, Predicate, Statement, SubjectFile};
use serde_json::json;

use crate::args::{PluginClaim, Signing};
use crate::exit::Result;
use crate::output::{Document, Output, Text};

/// The subject of a signature.
pub(crate) struct SignatureSubject {
    /// Name of the subject, for people.
    pub(crate) called: String,
    pub(crate) sha256: String,
    /// For a plan: the checksum that `plan show` prints.
    pub(crate) checksum: Option<String>,
    pub(crate) claim: Claim,
    /// For a plugin: its card.
    pub(crate) card: Option<Card>,
    /// The report of checks that the claim is based on.
    pub(crate) checked: Option<PathBuf>,
}

/// Signs a component, prints a statement for another signer, or adds another signer's signature.
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
    let (sha256, card, checked) = (inspected.digest, Some(card), checked.map(Path::to_owned));
    sign_subject(signing, SignatureSubject { called, sha256, checksum: None, claim, card, checked }, output)
}

/// Signs any file whose kind is known.
pub(crate) fn sign_subject(signing: &Signing, subject: SignatureSubject, output: &Output) -> Result<()> {
    let Signing { file, key, statement_only: _, attach, reviewer, note } = signing;
    let SignatureSubject { called, sha256: digest, checksum, claim, card, checked } = subject;
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let (envelope, fingerprint) = match attach {
        Some(signed) => {
            let attached = read_attached(signed, &digest, claim, card.as_ref());
            (attached.map_err(|why| refusal(signed, &why))?, None)
        }
        None => {
            let checked =
                checked.as_deref().map(|report| digest_of(report).map_err(|why| refusal(report, &why)));
            let predicate = Predicate {
                claim,
                card,
                reviewer: reviewer.clone(),
                date: Timestamp::now(),
                note: note.clone(),
                checked: checked.transpose()?,
            };
            let about = SubjectFile { name: name.clone(), sha256: digest.clone() };
            let statement = Statement::new(vec![about], predicate)
                .map_err(|why| (Exit::Usage, Text::from(why.to_string())))?;
            let Some(key) = key else {
                // For a tool that holds the key: nothing but what is to be signed.
                output.own(&statement.to_payload());
                return Ok(());
            };
            let made = private_key(key).and_then(|key| {
                let envelope =
                    Envelope::sign(&statement.to_payload(), &key).map_err(|why| why.to_string())?;
                Ok((envelope, Some(key.public_key().fingerprint())))
            });
            made.map_err(|why| refusal(key, &why))?
        }
    };
    let beside = PathBuf::from(format!("{}{ENDING}", file.display()));
    let statements = add_envelope(&beside, envelope).map_err(|why| refusal(&beside, &why))?;
    let content = json!({
        "file": file, "sha256": digest, "checksum": checksum, "statements": statements, "writtenTo": beside,
        "key": fingerprint,
    });
    output.result(&Document::new("Signature", content), || {
        let checksum = checksum.as_ref().map(|checksum| format!(", with checksum {checksum}"));
        Text::from_iter(
            [
                format!("{called}: {} has {}", beside.display(), count_statements(statements)),
                format!("signed: `{claim}`, of sha256 {digest}{}", checksum.unwrap_or_default()),
            ]
            .into_iter()
            .chain(fingerprint.as_ref().map(|key| format!("key: {key}"))),
        )
    });
    Ok(())
}

fn count_statements(statements: usize) -> String {
    if statements == 1 { "1 statement".to_owned() } else { format!("{statements} statements") }
}

fn refusal(file: &Path, why: &str) -> (Exit, Text) {
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

/// Reads another person's signature, and fails if it makes another claim about this file. Only a trust file decides whose
/// signature it is.
fn read_attached(file: &Path, digest: &str, claim: Claim, card: Option<&Card>) -> Result<Envelope, String> {
    let bytes = read_regular_file(file).map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not text".to_owned())?;
    let envelope = Envelope::parse(&text).map_err(|why| why.to_string())?;
    if envelope.is_keyless() {
        return Err(
            "it is signed with a certificate, which no trust file can name; sign it with a key".to_owned()
        );
    }
    let (kind, payload) = envelope.unverified_payload();
    if kind != IN_TOTO {
        return Err(format!("its payload is of the type `{}`, not `{IN_TOTO}`", escape_line(kind, 80)));
    }
    let statement = Statement::parse(payload).map_err(|why| why.to_string())?;
    if !statement.is_about(digest) {
        return Err("it is about another file".to_owned());
    }
    let Predicate { claim: says, card: described, .. } = statement.predicate();
    if *says != claim {
        return Err(format!("it says `{says}`, not `{claim}`"));
    }
    if let (Some(described), Some(card)) = (described, card) {
        let differs = described.differing_fields(card);
        if !differs.is_empty() {
            let fields = differs.join(", ");
            return Err(format!("its card is not what the component is: it differs in {fields}"));
        }
    }
    Ok(envelope)
}

/// Adds a line to the statements beside a file, and returns how many there are.
fn add_envelope(beside: &Path, envelope: Envelope) -> Result<usize, String> {
    let new = PathBuf::from(format!("{}.new", beside.display()));
    // Whoever may write there could have put a link to another file in its place. And it is begun before anything is read: of two
    // who sign at once, one would write over what the other has added.
    let begun = OpenOptions::new().write(true).create_new(true).open(&new);
    let mut file = begun.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => format!(
            "{} exists: another run is signing, or was interrupted; if none is, remove it and sign again",
            new.display()
        ),
        _ => format!("{}: {error}", new.display()),
    })?;
    let written = append_envelope(beside, envelope).and_then(|signed| {
        let written = file.write_all(signed.to_text().as_bytes()).and_then(|()| fs::rename(&new, beside));
        written.map_err(|error| error.to_string()).map(|()| signed.envelopes().count())
    });
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

/// The statements that are there, and this one.
fn append_envelope(beside: &Path, envelope: Envelope) -> Result<SignatureFile, String> {
    let there = match read_regular_file(beside) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error.to_string()),
    };
    let mut signed = SignatureFile::parse(&there).map_err(|why| why.to_string())?;
    signed.add(envelope).map_err(|why| why.to_string())?;
    Ok(signed)
}
