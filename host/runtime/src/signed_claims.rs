//! Signed claims about a plugin, judged by the operator's trust file. They are judged before the plugin is compiled, and again
//! by the name that it gives itself.
//!
//! Checked at every load and not only on admission: a key that is revoked tomorrow stops tomorrow's move.

use std::collections::BTreeSet;
use std::sync::Arc;

use pivot_core::hooks::Hook;
use pivot_core::reach::Reach;
use pivot_core::words::shown;
use pivot_signatures::card::Card;
use pivot_signatures::judge::{AcceptedClaim, Purpose, Subject};
use pivot_signatures::policy::Policy;
use pivot_signatures::signature_file::{ENDING, SignatureFile};
use serde_json::{Map, Value, json};

use crate::candidate::run_off_thread;
use crate::contract::{LINE, PACKAGE};
use crate::directory::{Artifact, PluginDir};
use crate::error::{LoadError, Refused};
use crate::parse::Seen;
use crate::trust::{Change, Declaration, Lock, Read, Versions};

/// The most characters of a text on a card that the description doesn't bound.
const TEXT: usize = 1_000;

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
    pub(crate) fn for_locked_file(&self, lock: &Lock, artifact: &Artifact) -> Self {
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
    (declaration, hooks, seen): (&Declaration, &[Hook], &Seen),
    trust: Option<&Trust>,
) -> Result<Vec<AcceptedClaim>, LoadError> {
    let Some(trust) = trust else { return Ok(Vec::new()) };
    let said = trust.judge(dir, artifact, Some(&declaration.name)).await?;
    let of = |refused: Refused| refused.about_plugin(artifact.identity(Some(&declaration.name)));
    let computed = build_card(declaration, hooks, &seen.imports).map_err(of)?;
    check_cards(&said, &computed).map_err(of)?;
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

/// Builds the card of a plugin, which signers of the plugin sign.
pub(crate) fn build_card(
    declaration: &Declaration,
    hooks: &[Hook],
    imports: &[String],
) -> Result<Card, Refused> {
    let Declaration {
        name,
        version,
        summary,
        kinds,
        versions,
        reach,
        changes,
        reads,
        probes,
        secret_data,
        codes,
        extra,
    } = declaration;
    let understood =
        |Versions { kind, versions }: &Versions| json!({"kind": kind.to_string(), "versions": versions});
    let reached = |Reach { kind, namespace, delete }: &Reach| json!({"side": "source", "kind": kind.to_string(), "namespace": namespace, "delete": delete});
    let change = |Change { hook, kind, side }: &Change| json!({"hook": hook.to_string(), "kind": kind.to_string(), "side": side.to_string()});
    let read = |Read { kind, side, namespace }: &Read| json!({"side": side.to_string(), "kind": kind.to_string(), "namespace": namespace});
    let added =
        |(key, value): &(String, String)| json!({"key": shown(key, TEXT), "value": shown(value, TEXT)});
    let text = |items: Vec<String>| Value::from(items);
    let fields = [
        ("name", json!(name)),
        ("version", json!(version)),
        ("summary", json!(summary)),
        ("contract", format!("{PACKAGE}@{}.{}", LINE.0, LINE.1).into()),
        ("hooks", text(hooks.iter().map(ToString::to_string).collect())),
        ("imports", text(imports.to_vec())),
        ("kinds", text(kinds.iter().map(ToString::to_string).collect())),
        ("versions", versions.iter().map(understood).collect()),
        ("reach", reach.iter().map(reached).collect()),
        ("changes", changes.iter().map(change).collect()),
        ("reads", reads.iter().map(read).collect()),
        ("probes", text(probes.iter().map(ToString::to_string).collect())),
        ("secretData", json!(secret_data)),
        ("codes", text(codes.iter().map(|code| shown(code, TEXT).to_string()).collect())),
        ("extra", extra.iter().map(added).collect()),
    ];
    let fields: Map<String, Value> =
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Card::new(fields).map_err(|why| Refused::Description(format!("it has no card: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn card_lists_declared_codes() {
        let declaration = |value: &str| Declaration {
            name: "hosts".to_owned(),
            version: "0.1.0".to_owned(),
            summary: String::new(),
            kinds: vec![],
            versions: vec![],
            reach: vec![],
            changes: vec![],
            reads: vec![],
            probes: vec![],
            secret_data: true,
            codes: vec![value.to_owned()],
            extra: vec![],
        };
        let of = |value| build_card(&declaration(value), &[], &[]).unwrap();
        assert_eq!(of("stale").fields()["codes"], json!(["stale"]));
        assert_eq!(of("stale").differing_fields(&of("other")), ["codes"]);
        // What nobody can see is shown, and no reason to have no card.
        assert_eq!(of("a\n").fields()["codes"][0], "a\\n");
    }
}
