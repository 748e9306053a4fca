//! Signed claims about a plugin, judged by the operator's trust file. They are judged before the plugin is compiled, and again
//! by the name that it gives itself.
//!
//! Checked at every load and not only on admission: a key that is revoked tomorrow stops tomorrow's move.

use std::collections::BTreeSet;
use std::sync::Arc;

use pivot_core::plugins::hooks::Hook;
use pivot_vetting::permissions::{Declaration, LockFile, build_card};
use pivot_vetting::signatures::card::Card;
use pivot_vetting::signatures::judge::{AcceptedClaim, Purpose, Subject};
use pivot_vetting::signatures::policy::Policy;
use pivot_vetting::signatures::signature_file::{ENDING, SignatureFile};

use crate::candidate::run_off_thread;
use crate::contract;
use crate::directory::{Artifact, PluginDir};
use crate::error::{LoadError, Refused};
use crate::parse::BinaryDeclarations;

/// A trust file and the purpose of its judgements.
#[derive(Clone, Debug)]
pub struct Trust {
    /// The operator's signers and rules.
    pub policy: Arc<Policy>,
    /// Loading or admitting.
    pub purpose: Purpose,
    /// The files that say so, and that others may write.
    pub open_to_others: Vec<String>,
}

impl Trust {
    /// Returns the trust for a file that may be admitted already. An admitted file is only loaded.
    pub(crate) fn for_locked_file(&self, lock: &LockFile, artifact: &Artifact) -> Self {
        let purpose =
            if lock.find_by_digest(&artifact.digest).is_some() { Purpose::Load } else { self.purpose };
        Self { purpose, ..self.clone() }
    }

    /// The claims that count about a plugin's file. Without a name, only rules for all plugins and for those that are named in
    /// signed cards can be held against it.
    pub(crate) async fn judge(
        &self,
        dir: &PluginDir,
        artifact: &Artifact,
        name: Option<&str>,
    ) -> Result<Vec<AcceptedClaim>, LoadError> {
        let who = artifact.identity(name);
        let (trust, dir, artifact) = (self.clone(), dir.clone(), artifact.clone());
        let name = name.map(str::to_owned);
        // Whoever may write there decides how many signatures there are to verify.
        let judged = run_off_thread(move || trust.judge_blocking(&dir, &artifact, name.as_deref())).await;
        judged.unwrap_or_else(|why| Err(why.about_plugin(who)))
    }

    fn judge_blocking(
        &self,
        dir: &PluginDir,
        artifact: &Artifact,
        name: Option<&str>,
    ) -> Result<Vec<AcceptedClaim>, LoadError> {
        let file = format!("{}{ENDING}", artifact.file);
        let text = dir.read_text(&file)?.unwrap_or_default();
        let of = |refused: Refused| refused.about_plugin(artifact.identity(name));
        let signed =
            SignatureFile::parse(text.as_bytes()).map_err(|error| of(Refused::Statements(file, error)))?;
        let subject = Subject::Plugin { name, sha256: &artifact.digest };
        let trusted = self.policy.judge(&subject, &signed, self.purpose);
        trusted.map(|trusted| trusted.claims).map_err(|why| of(Refused::Untrusted(why)))
    }
}

/// Returns the accepted claims about a plugin that has described itself, after comparing their cards with the computed card.
pub(crate) async fn check_claims(
    dir: &PluginDir,
    artifact: &Artifact,
    (declaration, hooks, seen): (&Declaration, &[Hook], &BinaryDeclarations),
    trust: Option<&Trust>,
) -> Result<Vec<AcceptedClaim>, LoadError> {
    let Some(trust) = trust else { return Ok(Vec::new()) };
    let said = trust.judge(dir, artifact, Some(&declaration.name)).await?;
    let computed = card_of_declaration(declaration, hooks, &seen.imports);
    let checked = computed.and_then(|computed| check_cards(&said, &computed));
    checked.map_err(|refused| refused.about_plugin(artifact.identity(Some(&declaration.name))))?;
    Ok(said)
}

/// Returns the claims and their signers, each once: `vetted by alice`.
pub(crate) fn describe_claims(said: &[AcceptedClaim]) -> Vec<String> {
    let names = said.iter().map(|said| format!("{} by {}", said.claim, said.signer));
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Refuses if a signed card differs from the plugin. Its signer saw something else.
fn check_cards(said: &[AcceptedClaim], computed: &Card) -> Result<(), Refused> {
    for AcceptedClaim { signer, card, .. } in said {
        let fields = card.as_ref().map(|card| card.differing_fields(computed)).unwrap_or_default();
        if !fields.is_empty() {
            return Err(Refused::Misdescribed { signer: signer.clone(), fields });
        }
    }
    Ok(())
}

/// Returns the card that signers of a plugin sign.
pub(crate) fn card_of_declaration(
    declaration: &Declaration,
    hooks: &[Hook],
    imports: &[String],
) -> Result<Card, Refused> {
    let (major, minor) = contract::LINE;
    let contract = format!("{}@{major}.{minor}", contract::PACKAGE);
    let card = build_card(declaration, hooks, imports, &contract);
    card.map_err(|why| Refused::Description(format!("it has no card: {why}")))
}
