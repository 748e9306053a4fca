//! Parts of what moves, as they are typed: `KIND.group`, `KIND.group/NAMESPACE/NAME`, and `KIND.group/NAME` if it is cluster-scoped.

use std::collections::BTreeSet;

use pivot_core::GroupKind;
use pivot_core::part::{ObjectName, Part};
use pivot_core::usable::{odd_kind, odd_name};

use super::usage::{Result, usage};

/// The parts that a flag names.
pub(super) fn parts(flag: &str, typed: &[String]) -> Result<BTreeSet<Part>> {
    typed.iter().map(|typed| part(flag, typed)).collect()
}

fn part(flag: &str, typed: &str) -> Result<Part> {
    let (kind, object) = match typed.split('/').collect::<Vec<_>>().as_slice() {
        [kind] => (*kind, None),
        [kind, name] => (*kind, Some((None, *name))),
        [kind, namespace, name] => (*kind, Some((Some(*namespace), *name))),
        _ => return usage(format!("{flag} {typed:?}: write KIND.group or KIND.group/NAMESPACE/NAME")),
    };
    let Ok(kind) = kind.parse::<GroupKind>();
    let names = object.iter().flat_map(|(namespace, name)| namespace.iter().chain([name]));
    let odd = odd_kind(&kind).or_else(|| names.copied().find_map(odd_name));
    if let Some(odd) = odd {
        return usage(format!("{flag} {typed:?}: {odd}; write KIND.group or KIND.group/NAMESPACE/NAME"));
    }
    // A lower-case first letter means a resource name, or a typo.
    if !kind.kind.starts_with(|first: char| first.is_ascii_uppercase()) {
        return usage(format!(
            "{flag} {typed:?} is not a kind; write it as in manifests, like Machine.cluster.x-k8s.io/NAMESPACE/NAME"
        ));
    }
    let object = object.map(|(namespace, name)| ObjectName {
        namespace: namespace.map(str::to_owned),
        name: name.to_owned(),
    });
    Ok(Part { kind, object })
}
