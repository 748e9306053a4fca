//! Parses kinds and parts as users type them: `KIND.group`, `KIND.group/NAMESPACE/NAME`, and `KIND.group/NAME` for cluster-scoped
//! objects. `KIND.group/NAMESPACE/*` selects all objects of a namespace. `:LABEL=VALUE` or `:LABEL`, after that or after a kind,
//! selects the objects with that label. Callers put the error after the name of their flag or option.

use crate::GroupKind;
use crate::objects::selector::{Label, ObjectName, Part};
use crate::request::validate::{find_kind_error, find_label_error, find_name_error};

/// Parses a kind as manifests spell it. A lower-case first letter means a resource name, or a typo.
pub fn parse_kind(typed: &str) -> Result<GroupKind, String> {
    const EXAMPLE: &str = "Machine.cluster.x-k8s.io";
    let kind = kind_like(typed, EXAMPLE)?;
    find_kind_error(&kind).map_or(Ok(kind), |odd| Err(format!("{odd}; write one kind, like {EXAMPLE}")))
}

fn kind_like(typed: &str, example: &str) -> Result<GroupKind, String> {
    let Ok(kind) = typed.parse::<GroupKind>();
    match kind.kind.starts_with(|first: char| first.is_ascii_uppercase()) {
        true => Ok(kind),
        false => Err(format!("not a kind; write it as in manifests, like {example}")),
    }
}

/// Parses a part: all objects of a kind, those of a namespace or with a label, or one.
pub fn parse_part(typed: &str) -> Result<Part, String> {
    const FORM: &str =
        "write KIND.group, KIND.group/NAMESPACE/NAME, KIND.group/NAMESPACE/* or KIND.group:LABEL=VALUE";
    let with_form = |odd: String| format!("{odd}; {FORM}");
    // Names may have colons, kinds don't. That all of a namespace has a sign of its own keeps an empty name from meaning it.
    let is_label = |place: &str| !place.contains('/') || place.ends_with("/*");
    let (place, label) = match typed.split_once(':').filter(|(place, _)| is_label(place)) {
        Some((place, text)) => (place, Some(parse_label(text).map_err(with_form)?)),
        None => (typed, None),
    };
    let of_namespace = |namespace: &str| Some(namespace.to_owned());
    let (kind, within, object) = match place.split('/').collect::<Vec<_>>().as_slice() {
        [kind] => (*kind, None, None),
        [_, "*"] => return Err(FORM.to_owned()),
        [kind, name] => (*kind, None, Some((None, *name))),
        [kind, namespace, "*"] => (*kind, of_namespace(namespace), None),
        [kind, namespace, name] => (*kind, None, Some((of_namespace(namespace), *name))),
        _ => return Err(FORM.to_owned()),
    };
    let Ok(named) = kind.parse::<GroupKind>();
    let object = object.map(|(namespace, name)| ObjectName { namespace, name: name.to_owned() });
    let names = object.iter().flat_map(|object| object.namespace.iter().chain([&object.name])).chain(&within);
    if let Some(odd) =
        find_kind_error(&named).or_else(|| names.into_iter().find_map(|name| find_name_error(name)))
    {
        return Err(with_form(odd));
    }
    let kind = kind_like(kind, "Machine.cluster.x-k8s.io/NAMESPACE/NAME")?;
    Ok(Part { kind, object, within, label })
}

/// Parses a label with or without a value.
fn parse_label(typed: &str) -> Result<Label, String> {
    let (key, value) = match typed.split_once('=') {
        Some((key, value)) => (key, Some(value.to_owned())),
        None => (typed, None),
    };
    let label = Label { key: key.to_owned(), value };
    find_label_error(&label).map_or(Ok(label), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_plain_words() {
        assert_eq!(parse_kind("Secret"), Ok(GroupKind::new("", "Secret")));
        assert_eq!(parse_kind("Host.metal3.io"), Ok(GroupKind::new("metal3.io", "Host")));
        for typed in
            ["", "*", "Secret,ConfigMap", "Host.metal3.io Cluster", "Host.metal3.io,Secret", "Host\u{202e}"]
        {
            assert!(parse_kind(typed).unwrap_err().contains("like Machine.cluster.x-k8s.io"), "{typed:?}");
        }
    }
}
