//! Who vouches for a plugin, by the operator's trust file: the statements beside its file, judged before it is compiled, and once
//! more by the name that it gives itself.
//!
//! Checked at every load and not only on admission: a key that is revoked tomorrow stops tomorrow's move.

use std::sync::Arc;

use pivot_core::hooks::Hook;
use pivot_core::reach::Reach;
use pivot_signatures::card::Card;
use pivot_signatures::judge::{Purpose, Said, Subject};
use pivot_signatures::lines::{ENDING, SignatureFile};
use pivot_signatures::policy::Policy;
use serde_json::{Map, Value, json};

use crate::contract::{LINE, PACKAGE};
use crate::describe::{Change, Declaration, Read};
use crate::directory::{Artifact, PluginDir};
use crate::error::{LoadError, Refused};
use crate::parse::Seen;

/// A trust file, and what it is asked for.
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
    /// The claims that count about a plugin's file. Without a name, only rules for all plugins and for those that are named in
    /// signed cards can be held against it.
    pub(crate) fn judge(
        &self,
        dir: &PluginDir,
        artifact: &Artifact,
        name: Option<&str>,
    ) -> Result<Vec<Said>, LoadError> {
        let file = format!("{}{ENDING}", artifact.file);
        let text = dir.text(&file)?.unwrap_or_default();
        let of = |refused: Refused| refused.of(artifact.who(name));
        let signed =
            SignatureFile::read(text.as_bytes()).map_err(|error| of(Refused::Statements(file, error)))?;
        let subject = Subject::Plugin { name, sha256: &artifact.digest };
        let trusted = self.policy.judge(&subject, &signed, self.purpose);
        trusted.map(|trusted| trusted.said).map_err(|why| of(Refused::Untrusted(why)))
    }
}

/// Who vouches for a plugin that has described itself, and as what it is.
pub(crate) fn by(
    dir: &PluginDir,
    artifact: &Artifact,
    (declaration, hooks, seen): (&Declaration, &[Hook], &Seen),
    trust: Option<&Trust>,
) -> Result<Vec<Said>, LoadError> {
    let Some(trust) = trust else { return Ok(Vec::new()) };
    let said = trust.judge(dir, artifact, Some(&declaration.name))?;
    let of = |refused: Refused| refused.of(artifact.who(Some(&declaration.name)));
    let computed = card(declaration, hooks, &seen.imports).map_err(of)?;
    misdescribed(&said, &computed).map_or(Ok(said), |refused| Err(of(refused)))
}

/// The fields in which a signed card is not what the plugin is. Whoever vouched saw something else.
fn misdescribed(said: &[Said], computed: &Card) -> Option<Refused> {
    said.iter().find_map(|Said { signer, card, .. }| {
        let differs = card.as_ref().map(|card| card.differs(computed)).unwrap_or_default();
        (!differs.is_empty()).then(|| Refused::Misdescribed { signer: signer.clone(), fields: differs })
    })
}

/// What a plugin is and asks for, for people who vouch for it.
pub(crate) fn card(declaration: &Declaration, hooks: &[Hook], imports: &[String]) -> Result<Card, Refused> {
    let Declaration { name, version, summary, kinds, reach, changes, reads, probes, secret_data, extra: _ } =
        declaration;
    let reached = |Reach { kind, namespace, delete }: &Reach| json!({"side": "source", "kind": kind.to_string(), "namespace": namespace, "delete": delete});
    let change = |Change { hook, kind, side }: &Change| json!({"hook": hook.to_string(), "kind": kind.to_string(), "side": side.to_string()});
    let read = |Read { kind, side, namespace }: &Read| json!({"side": side.to_string(), "kind": kind.to_string(), "namespace": namespace});
    let text = |items: Vec<String>| Value::from(items);
    let fields = [
        ("name", json!(name)),
        ("version", json!(version)),
        ("summary", json!(summary)),
        ("contract", format!("{PACKAGE}@{}.{}", LINE.0, LINE.1).into()),
        ("hooks", text(hooks.iter().map(ToString::to_string).collect())),
        ("imports", text(imports.to_vec())),
        ("kinds", text(kinds.iter().map(ToString::to_string).collect())),
        ("reach", reach.iter().map(reached).collect()),
        ("changes", changes.iter().map(change).collect()),
        ("reads", reads.iter().map(read).collect()),
        ("probes", text(probes.iter().map(ToString::to_string).collect())),
        ("secretData", json!(secret_data)),
    ];
    let fields: Map<String, Value> =
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Card::new(fields).map_err(|why| Refused::Description(format!("it has no card: {why}")))
}
