//! A plugin's description of itself, validated.

use pivot_core::hooks::Hook;
use pivot_core::reach::{EVERYWHERE, Reach};
use pivot_core::{GroupKind, Kind, Side};

use crate::contract::exports::pivot::provider::describe as wit;
use crate::contract::pivot::provider::types;
use crate::text;
use crate::trust::Pattern;

/// The objects that a hook changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// `hold`, `adapt`, `restore` or `settle`.
    pub hook: Hook,
    /// Kind of the objects; `*` is every kind of the group.
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

/// The versions of a kind that a plugin understands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions {
    /// The kind; `*`: every kind of the group.
    pub kind: GroupKind,
    /// Without the group; never empty.
    pub versions: Vec<String>,
}

/// A plugin's description of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// Name of the plugin.
    pub name: String,
    /// Version of the plugin.
    pub version: String,
    /// A one-sentence summary.
    pub summary: String,
    /// The kinds its hooks want to see.
    pub kinds: Vec<GroupKind>,
    /// The versions of those that it understands. A kind that isn't listed here may have any version.
    pub versions: Vec<Versions>,
    /// Reach of the plugin's relations beyond the namespaces that move.
    pub reach: Vec<Reach>,
    /// Changes that the plugin makes.
    pub changes: Vec<Change>,
    /// Reads that the plugin makes.
    pub reads: Vec<Read>,
    /// Endpoints that the plugin probes.
    pub probes: Vec<Pattern>,
    /// True if the plugin asks for the data of Secrets.
    pub secret_data: bool,
    /// The codes of its problems, declared before it sees any data.
    pub codes: Vec<String>,
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
    /// Parses a description, given the hooks in the binary. The error describes the fault.
    pub(crate) fn parse(said: wit::Description, hooks: &[Hook]) -> Result<Self, String> {
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
            codes,
            extra,
        } = said;
        check_name(&name)?;
        check_version(&version)?;
        let (kinds, versions) = self::parse_kinds(kinds)?;
        let this = Self {
            name,
            version,
            summary: text::line(&summary, 300),
            kinds,
            versions,
            reach: reach.into_iter().map(self::parse_reach).collect::<Result<_, _>>()?,
            changes: changes.into_iter().map(parse_change).collect::<Result<_, _>>()?,
            reads: reads.into_iter().map(parse_read).collect::<Result<_, _>>()?,
            probes: probes.iter().map(|p| p.parse()).collect::<Result<_, _>>()?,
            secret_data,
            codes,
            extra,
        };
        this.check_consistency(hooks)?;
        Ok(this)
    }

    fn check_consistency(&self, hooks: &[Hook]) -> Result<(), String> {
        for change in &self.changes {
            let Change { hook, kind, side: _ } = change;
            if !hooks.contains(hook) {
                return Err(format!("it says that {hook} changes {kind}, but has no hook {hook}"));
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

    /// Returns the vendor's summary, marked as the vendor's unchecked words.
    pub fn vendor_summary(&self) -> String {
        match self.summary.trim() {
            "" => "The vendor says nothing about it.".to_owned(),
            // Keeps the closing quote ours.
            summary => format!("The vendor says: \"{}\"", summary.replace('"', "'")),
        }
    }

    /// Fails if the plugin doesn't understand the version in which an object was read.
    pub fn check_version(&self, kind: &Kind) -> Result<(), String> {
        let understood = self.versions.iter().filter(|one| one.kind.covers(&kind.group_kind));
        let understood: Vec<&str> =
            understood.flat_map(|one| one.versions.iter().map(String::as_str)).collect();
        if understood.is_empty() || understood.contains(&kind.version.as_str()) {
            return Ok(());
        }
        Err(format!(
            "it understands {} in version {}, and both sides serve {}",
            kind.group_kind,
            understood.join(" or "),
            kind.version
        ))
    }

    /// Returns true if a hook is declared to change a kind.
    pub fn declares_change(&self, hook: Hook, kind: &GroupKind) -> bool {
        self.changes.iter().any(|change| change.hook == hook && change.kind.covers(kind))
    }
}

/// Fails if a plugin can't have this name.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let word =
        |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    if name.len() <= 63 && name.starts_with(|c: char| c.is_ascii_lowercase()) && name.split('-').all(word) {
        return Ok(());
    }
    let name = text::line(name, 64);
    Err(format!("its name `{name}` is not lower-case words joined by dashes, 63 characters at most"))
}

/// Fails if a plugin can't have this version.
pub(crate) fn check_version(version: &str) -> Result<(), String> {
    if semver::Version::parse(version).is_ok() && version.len() <= 64 {
        return Ok(());
    }
    Err(format!("`{}` is no semantic version", text::line(version, 64)))
}

/// The longest list of versions, and the longest version.
const MAX_VERSIONS: usize = 32;

fn parse_kinds(said: Vec<wit::SeenKind>) -> Result<(Vec<GroupKind>, Vec<Versions>), String> {
    let (mut kinds, mut all) = (Vec::new(), Vec::new());
    for wit::SeenKind { kind, versions } in said {
        let kind = self::parse_kind(kind)?;
        let bad = versions.iter().find(|version| !text::is_label(version) || version.len() > MAX_VERSIONS);
        if let Some(bad) = bad {
            return Err(format!("`{}` is not the version of a kind, like v1beta2", text::line(bad, 64)));
        }
        if versions.len() > MAX_VERSIONS {
            return Err(format!("it lists more than {MAX_VERSIONS} versions of {kind}"));
        }
        if !versions.is_empty() {
            all.push(Versions { kind: kind.clone(), versions });
        }
        kinds.push(kind);
    }
    Ok((kinds, all))
}

fn parse_kind(said: types::Kind) -> Result<GroupKind, String> {
    let types::Kind { group, name } = said;
    let named = GroupKind { group, kind: name };
    if !text::is_kind(&named) {
        let GroupKind { group, kind } = named;
        return Err(format!("`{}.{}` isn't a kind", text::line(&kind, 64), text::line(&group, 64)));
    }
    Ok(named)
}

fn parse_change(said: wit::Change) -> Result<Change, String> {
    let hook = Hook::ALL.into_iter().find(|hook| hook.to_string() == said.hook);
    let hook = hook.ok_or_else(|| format!("there is no hook `{}`", text::line(&said.hook, 64)))?;
    let kind = parse_kind(said.kind)?;
    let side =
        side_of(hook).ok_or_else(|| format!("it says that {hook} changes {kind}, which {hook} can't"))?;
    Ok(Change { hook, kind, side })
}

fn parse_reach(said: wit::Reach) -> Result<Reach, String> {
    let namespace = said.namespace.unwrap_or_else(|| EVERYWHERE.to_owned());
    check_namespace(&namespace)?;
    Ok(Reach { kind: parse_kind(said.kind)?, namespace, delete: said.deletes })
}

fn check_namespace(namespace: &str) -> Result<(), String> {
    if namespace == EVERYWHERE || text::is_label(namespace) {
        return Ok(());
    }
    Err(format!("`{}` is no namespace", text::line(namespace, 64)))
}

fn parse_read(said: wit::Read) -> Result<Read, String> {
    let namespace = namespace_of_scope(said.scope);
    namespace.as_deref().map_or(Ok(()), check_namespace)?;
    Ok(Read { kind: parse_kind(said.kind)?, side: side_from(said.side), namespace })
}

/// The namespace of a scope; none: the namespaces that move.
pub(crate) fn namespace_of_scope(scope: types::Scope) -> Option<String> {
    match scope {
        types::Scope::Moving => None,
        types::Scope::One(name) => Some(name),
        types::Scope::All => Some(EVERYWHERE.to_owned()),
    }
}

pub(crate) fn side_from(said: types::Side) -> Side {
    match said {
        types::Side::Source => Side::Source,
        types::Side::Target => Side::Target,
    }
}

/// A side as the operator's file names it.
pub(crate) fn parse_side(word: &str) -> Result<Side, String> {
    match word {
        "source" => Ok(Side::Source),
        "target" => Ok(Side::Target),
        other => Err(format!("there is no side `{}`, only `source` and `target`", text::line(other, 64))),
    }
}
