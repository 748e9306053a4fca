//! Kinds and parts of what moves, as people type them: `KIND.group`, `KIND.group/NAMESPACE/NAME`, and `KIND.group/NAME` if it is
//! cluster-scoped. What is wrong is for the caller to put behind the name of its flag or option.

use crate::GroupKind;
use crate::part::{ObjectName, Part};
use crate::usable::{odd_kind, odd_name};

/// A kind as manifests spell it: a lower-case first letter means a resource name, or a typo.
pub fn kind(typed: &str) -> Result<GroupKind, String> {
    kind_like(typed, "Machine.cluster.x-k8s.io")
}

fn kind_like(typed: &str, example: &str) -> Result<GroupKind, String> {
    let Ok(kind) = typed.parse::<GroupKind>();
    match kind.kind.starts_with(|first: char| first.is_ascii_uppercase()) {
        true => Ok(kind),
        false => Err(format!("not a kind; write it as in manifests, like {example}")),
    }
}

/// All objects of a kind, or one.
pub fn part(typed: &str) -> Result<Part, String> {
    const FORM: &str = "write KIND.group or KIND.group/NAMESPACE/NAME";
    let (kind, object) = match typed.split('/').collect::<Vec<_>>().as_slice() {
        [kind] => (*kind, None),
        [kind, name] => (*kind, Some((None, *name))),
        [kind, namespace, name] => (*kind, Some((Some(*namespace), *name))),
        _ => return Err(FORM.to_owned()),
    };
    let names = object.iter().flat_map(|(namespace, name)| namespace.iter().chain([name]));
    let Ok(named) = kind.parse::<GroupKind>();
    if let Some(odd) = odd_kind(&named).or_else(|| names.copied().find_map(odd_name)) {
        return Err(format!("{odd}; {FORM}"));
    }
    let kind = kind_like(kind, "Machine.cluster.x-k8s.io/NAMESPACE/NAME")?;
    let object = object.map(|(namespace, name)| ObjectName {
        namespace: namespace.map(str::to_owned),
        name: name.to_owned(),
    });
    Ok(Part { kind, object })
}
