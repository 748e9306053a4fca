//! Parses a plugin's description of itself.

use pivot_core::plugins::hooks::Hook;
use pivot_core::plugins::reach::{EVERYWHERE, Reach};
use pivot_core::{GroupKind, Side};
use pivot_vetting::permissions::valid_names::{check_name, check_version, is_kind, is_label};
use pivot_vetting::permissions::{Change, Declaration, Read, Versions, side_of};

use crate::contract::exports::pivot::provider::describe as wit;
use crate::contract::pivot::provider::types;
use crate::text;

/// Parses a description, given the hooks in the binary. The error describes the fault.
pub(crate) fn parse_description(said: wit::Description, hooks: &[Hook]) -> Result<Declaration, String> {
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
    let (kinds, versions) = parse_kinds(kinds)?;
    let declaration = Declaration {
        name,
        version,
        summary: text::to_line(&summary, 300),
        kinds,
        versions,
        reach: reach.into_iter().map(parse_reach).collect::<Result<_, _>>()?,
        changes: changes.into_iter().map(parse_change).collect::<Result<_, _>>()?,
        reads: reads.into_iter().map(parse_read).collect::<Result<_, _>>()?,
        probes: probes.iter().map(|p| p.parse()).collect::<Result<_, _>>()?,
        secret_data,
        codes,
        extra,
    };
    declaration.check_consistency(hooks)?;
    Ok(declaration)
}

/// The longest list of versions, and the longest version.
const MAX_VERSIONS: usize = 32;

fn parse_kinds(said: Vec<wit::SeenKind>) -> Result<(Vec<GroupKind>, Vec<Versions>), String> {
    let (mut kinds, mut all) = (Vec::new(), Vec::new());
    for wit::SeenKind { kind, versions } in said {
        let kind = parse_kind(kind)?;
        let bad = versions.iter().find(|version| !is_label(version) || version.len() > MAX_VERSIONS);
        if let Some(bad) = bad {
            return Err(format!("`{}` is not the version of a kind, like v1beta2", text::to_line(bad, 64)));
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
    if !is_kind(&named) {
        let GroupKind { group, kind } = named;
        return Err(format!("`{}.{}` isn't a kind", text::to_line(&kind, 64), text::to_line(&group, 64)));
    }
    Ok(named)
}

fn parse_change(said: wit::Change) -> Result<Change, String> {
    let hook = Hook::ALL.into_iter().find(|hook| hook.to_string() == said.hook);
    let hook = hook.ok_or_else(|| format!("there is no hook `{}`", text::to_line(&said.hook, 64)))?;
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
    if namespace == EVERYWHERE || is_label(namespace) {
        return Ok(());
    }
    Err(format!("`{}` is no namespace", text::to_line(namespace, 64)))
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
