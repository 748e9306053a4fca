//! A plugin's description of itself, validated.

use pivot_core::hooks::Hook;
use pivot_core::reach::{EVERYWHERE, Reach};
use pivot_core::{GroupKind, Side};

use crate::contract::exports::pivot::provider::describe as wit;
use crate::contract::pivot::provider::types;
use crate::text;
use crate::trust::Pattern;

/// The objects that a hook changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// `hold`, `adapt`, `restore` or `settle`.
    pub hook: Hook,
    /// Their kind; `*`: every kind of the group.
    pub kind: GroupKind,
    /// The side.
    pub side: Side,
}

/// A kind that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The kind; `*`: every kind of the group.
    pub kind: GroupKind,
    /// The side.
    pub side: Side,
    /// None: in the namespaces that move. Some: in this one, `*` for all.
    pub namespace: Option<String>,
}

/// A plugin's description of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// A one-sentence summary.
    pub summary: String,
    /// The kinds its hooks want to see.
    pub kinds: Vec<GroupKind>,
    /// Where its relations reach beyond the namespaces that move.
    pub reach: Vec<Reach>,
    /// What it changes.
    pub changes: Vec<Change>,
    /// What it reads.
    pub reads: Vec<Read>,
    /// Which endpoints it probes.
    pub probes: Vec<Pattern>,
    /// Whether it wants the data of Secrets.
    pub secret_data: bool,
    /// Additions of a newer contract.
    pub extra: Vec<(String, String)>,
}

/// The side that a hook changes; none for hooks that change nothing.
pub(crate) fn side_of(hook: Hook) -> Option<Side> {
    match hook {
        Hook::Hold => Some(Side::Source),
        Hook::Adapt | Hook::Restore | Hook::Settle => Some(Side::Target),
        Hook::Relate | Hook::Check => None,
    }
}

impl Declaration {
    /// Reads a description, given the hooks in the binary. The error describes what is wrong with it.
    pub(crate) fn read(said: wit::Description, hooks: &[Hook]) -> Result<Self, String> {
        let wit::Description {
            name,
            version,
            summary,
            kinds,
            reach,
            changes,
            reads,
            probes,
            secret_data,
            extra,
        } = said;
        is_name(&name)?;
        is_version(&version)?;
        let this = Self {
            name,
            version,
            summary: text::line(&summary, 300),
            kinds: kinds.into_iter().map(kind).collect::<Result<_, _>>()?,
            reach: reach.into_iter().map(self::reach).collect::<Result<_, _>>()?,
            changes: changes.into_iter().map(change).collect::<Result<_, _>>()?,
            reads: reads.into_iter().map(read).collect::<Result<_, _>>()?,
            probes: probes.iter().map(|p| p.parse()).collect::<Result<_, _>>()?,
            secret_data,
            extra,
        };
        this.make_sense(hooks)?;
        Ok(this)
    }

    fn make_sense(&self, hooks: &[Hook]) -> Result<(), String> {
        for change in &self.changes {
            let Change { hook, kind, side } = change;
            if !hooks.contains(hook) {
                return Err(format!("it says that {hook} changes {kind}, but has no hook {hook}"));
            }
            if side_of(*hook) != Some(*side) {
                return Err(format!(
                    "it says that {hook} changes {kind} in the {side}, where {hook} changes nothing"
                ));
            }
            if !self.kinds.iter().any(|listed| listed.covers(kind)) {
                return Err(format!("it says that {hook} changes {kind}, but does not list that kind"));
            }
        }
        let silent =
            |hook: &&Hook| side_of(**hook).is_some() && !self.changes.iter().any(|c| c.hook == **hook);
        if let Some(hook) = hooks.iter().find(silent) {
            return Err(format!("it has a hook {hook} and does not say what that changes"));
        }
        if let Some(reach) = self.reach.first().filter(|_| !hooks.contains(&Hook::Relate)) {
            return Err(format!("its relations reach {}, but it has no hook relate", reach.kind));
        }
        // A request to an endpoint can carry arbitrary text out.
        if self.secret_data && !self.probes.is_empty() {
            return Err(
                "it wants both the data of Secrets and to probe endpoints; no plugin gets both".into()
            );
        }
        Ok(())
    }

    /// The vendor's summary, marked as the vendor's words: nobody has checked them.
    pub fn vendor_says(&self) -> String {
        match self.summary.trim() {
            "" => "The vendor says nothing about it.".to_owned(),
            // Keeps the closing quote ours.
            summary => format!("The vendor says: \"{}\"", summary.replace('"', "'")),
        }
    }

    /// Whether a hook is declared to change a kind.
    pub fn changes(&self, hook: Hook, kind: &GroupKind) -> bool {
        self.changes.iter().any(|change| change.hook == hook && change.kind.covers(kind))
    }
}

/// Fails if a plugin can't have this name.
pub(crate) fn is_name(name: &str) -> Result<(), String> {
    let word =
        |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    if name.len() <= 63 && name.starts_with(|c: char| c.is_ascii_lowercase()) && name.split('-').all(word) {
        return Ok(());
    }
    let name = text::line(name, 64);
    Err(format!("its name `{name}` is not lower-case words joined by dashes, 63 characters at most"))
}

/// Fails if a plugin can't have this version.
pub(crate) fn is_version(version: &str) -> Result<(), String> {
    if semver::Version::parse(version).is_ok() && version.len() <= 64 {
        return Ok(());
    }
    Err(format!("`{}` is no semantic version", text::line(version, 64)))
}

fn kind(said: types::GroupKind) -> Result<GroupKind, String> {
    let types::GroupKind { group, kind } = said;
    let named = GroupKind { group, kind };
    if !text::is_kind(&named) {
        let GroupKind { group, kind } = named;
        return Err(format!("`{}.{}` isn't a kind", text::line(&kind, 64), text::line(&group, 64)));
    }
    Ok(named)
}

fn change(said: wit::Change) -> Result<Change, String> {
    let hook = Hook::ALL.into_iter().find(|hook| hook.to_string() == said.hook);
    let hook = hook.ok_or_else(|| format!("there is no hook `{}`", text::line(&said.hook, 64)))?;
    Ok(Change { hook, kind: kind(said.kind)?, side: side(&said.side)? })
}

fn reach(said: wit::Reach) -> Result<Reach, String> {
    is_place(&said.namespace)?;
    Ok(Reach { kind: kind(said.kind)?, namespace: said.namespace, delete: said.delete })
}

fn is_place(namespace: &str) -> Result<(), String> {
    if namespace == EVERYWHERE || text::is_label(namespace) {
        return Ok(());
    }
    Err(format!("`{}` is no namespace", text::line(namespace, 64)))
}

fn read(said: wit::Read) -> Result<Read, String> {
    said.namespace.as_deref().map_or(Ok(()), is_place)?;
    Ok(Read { kind: kind(said.kind)?, side: side(&said.side)?, namespace: said.namespace })
}

/// The contract's word for a side.
pub(crate) fn side(word: &str) -> Result<Side, String> {
    match word {
        "source" => Ok(Side::Source),
        "target" => Ok(Side::Target),
        other => Err(format!("there is no side `{}`, only `source` and `target`", text::line(other, 64))),
    }
}
