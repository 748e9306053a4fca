//! Directories that others wrote: `sign DIR`, and the site's rule that none is moved from without a signature.

use std::fs;
use std::path::{Path, PathBuf};

use pivot_core::messages::shell::quote;
use pivot_core::plan::Note;
use pivot_engine::Exit;
use pivot_places::Examined;
use pivot_vetting::signatures::judge::Subject;
use pivot_vetting::signatures::statement::{Claim, Topic};

use crate::args::Signing;
use crate::exit::{self, Result};
use crate::output::{self, ErrorDocument, Output, Text};
use crate::plugins::sign::{self, SignatureSubject};
use crate::plugins::trust::{TrustFile, accepted_signers};

/// Signs a directory, and returns the exit code.
pub(crate) fn run(signing: &Signing, output: &Output) -> u8 {
    let Err((code, why)) = sign_manifest(signing, output) else { return exit::DONE };
    if output.settings().format.is_document() {
        let document =
            ErrorDocument::outside_engine(code, &why, "nothing in the directory is changed", Vec::new());
        output.result(&document, Text::default);
    }
    output.fail(why);
    exit::exit_code(code)
}

/// Signs the manifest, which has digests of all files.
fn sign_manifest(signing: &Signing, output: &Output) -> Result<()> {
    let examined =
        Examined::examine(&signing.file, None).map_err(|error| (Exit::Refused, error.to_string().into()))?;
    let Some(digest) = examined.digest().map(str::to_owned) else {
        return Err((Exit::Refused, output::altered_files_text(&examined)));
    };
    let called = format!("directory {}", examined.path);
    // The canonical path: what was typed may end in a slash.
    let signing = Signing { file: PathBuf::from(&examined.path), ..signing.clone() };
    let signed = SignatureSubject {
        called,
        sha256: digest,
        checksum: None,
        claim: Claim::Written,
        card: None,
        checked: None,
    };
    sign::sign_subject(&signing, signed, output)
}

/// The rule for the directory that a command reads.
#[derive(Clone, Debug)]
pub(crate) struct Authors {
    /// The trust file that was named.
    pub(crate) trust: Option<PathBuf>,
    /// True if a move begins; false if one continues.
    pub(crate) begins: bool,
}

impl Authors {
    /// Returns a note that says who signed a directory, if the trust file requires that somebody did. `digest` is the digest of its
    /// manifest, if it is as it was written.
    pub(crate) fn check(&self, path: &Path, digest: Option<&str>) -> std::result::Result<Option<Note>, Text> {
        let Some(trust) = TrustFile::with_rules(self.trust.as_deref(), Topic::Directory)? else {
            return Ok(None);
        };
        let typed = quote(&path.display().to_string());
        let Some(sha256) = digest else {
            return Err(format!(
                "the trust file requires a signed directory, and {} is not as a move wrote it; `pivot-host verify {typed}` lists \
                 what differs",
                path.display()
            )
            .into());
        };
        let open = trust.open()?;
        // A move that has begun continues: its Clusters wait for that.
        let trust = if self.begins { trust.for_admitting() } else { trust.for_loading() };
        // The signatures are beside the directory, whatever was typed for it.
        let directory = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let signers = accepted_signers(&directory, &Subject::Directory { sha256 }, &trust).map_err(|why| {
            let begun = if self.begins { "" } else { "; the move can be rolled back" };
            Text::from(format!(
                "directory {} is not signed as the trust file requires: {why}; a signer runs `pivot-host sign {typed} --key PEM`{begun}",
                path.display()
            ))
        })?;
        let open = open.map(|open| format!("; {open}")).unwrap_or_default();
        let message = format!("directory {} was signed by {}{open}", path.display(), signers.join(", "));
        Ok(Some(Note { code: "directory-signed".into(), object: None, message }))
    }
}
