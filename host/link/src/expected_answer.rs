//! Checks that an agent's answer about an object can be an answer to the request.
//!
//! A compromised agent can give any answer. It is believed about its own objects. But its answers are copied into the parent
//! cluster. There, an object of another namespace, or with a name that is a path, would belong to another user.

use pivot_core::request::validate::{find_id_error, find_name_error};
use pivot_core::{Key, Kind, Meta};
use pivot_places::{PlaceError, Result};
use serde_json::Value;

/// The objects that an answer may be about.
#[derive(Clone, Debug)]
pub(crate) struct ExpectedAnswer {
    namespaced: bool,
    /// All of them, if none is named.
    namespace: Option<String>,
    name: Option<String>,
}

impl ExpectedAnswer {
    /// About the objects of a namespace.
    pub(crate) fn objects_in(kind: &Kind, namespace: Option<&str>) -> Self {
        Self { namespaced: kind.namespaced, namespace: namespace.map(str::to_owned), name: None }
    }

    /// About an object that is created; the server may choose its name.
    pub(crate) fn created_object(kind: &Kind, body: &Value) -> Self {
        let metadata =
            |name| body.get("metadata").and_then(|metadata| metadata.get(name)).and_then(Value::as_str);
        Self { name: metadata("name").map(str::to_owned), ..Self::objects_in(kind, metadata("namespace")) }
    }

    /// About one object.
    pub(crate) fn single_object(kind: &Kind, key: &Key) -> Self {
        Self { name: Some(key.name.clone()), ..Self::objects_in(kind, key.namespace.as_deref()) }
    }

    /// Refuses an answer about another object.
    pub(crate) fn check(&self, meta: &Meta) -> Result<()> {
        let namespace = match (self.namespaced, &meta.namespace) {
            (true, Some(there)) => self.namespace.as_ref().is_none_or(|asked| asked == there),
            (true, None) => false,
            (false, there) => there.is_none(),
        };
        let name = self.name.as_ref().is_none_or(|asked| *asked == meta.name);
        let ids = [&meta.uid.0, &meta.resource_version];
        let odd = find_name_error(&meta.name)
            .or_else(|| meta.namespace.as_deref().and_then(find_name_error))
            .or_else(|| ids.into_iter().filter(|id| !id.is_empty()).find_map(|id| find_id_error(id)));
        let why = match odd {
            Some(odd) => odd,
            None if namespace && name => return Ok(()),
            None => "it is about another object than was asked for".to_owned(),
        };
        Err(unbelievable_error(&why))
    }
}

/// Returns the error for an impossible answer.
pub(crate) fn unbelievable_error(why: &str) -> PlaceError {
    PlaceError::Unreadable(format!("an answer of the agent that can't be believed: {why}"))
}

#[cfg(test)]
mod tests {
    use pivot_core::GroupKind;
    use pivot_places::builtin_kinds;

    use super::*;

    fn kind(name: &str) -> Kind {
        let kinds = builtin_kinds();
        let kind = kinds.iter().find(|kind| kind.group_kind.kind == name).unwrap();
        Kind::clone(kind)
    }

    fn meta(namespace: Option<&str>, name: &str) -> Meta {
        let mut meta = Meta::default();
        (meta.name, meta.namespace) = (name.to_owned(), namespace.map(str::to_owned));
        meta
    }

    // proves: T67
    #[test]
    fn answers_about_other_objects_are_refused() {
        let (secret, namespace) = (kind("Secret"), kind("Namespace"));
        let key = Key::new(GroupKind::new("", "Secret"), Some("shop"), "s");
        let answers = [
            (ExpectedAnswer::objects_in(&secret, Some("shop")), Some("shop"), "s", true),
            (ExpectedAnswer::objects_in(&secret, Some("shop")), Some("bank"), "s", false),
            (ExpectedAnswer::objects_in(&secret, Some("shop")), None, "s", false),
            (ExpectedAnswer::objects_in(&secret, None), Some("bank"), "s", true),
            (ExpectedAnswer::objects_in(&secret, None), None, "s", false),
            (ExpectedAnswer::objects_in(&secret, None), Some(".."), "s", false),
            (ExpectedAnswer::objects_in(&secret, None), Some("bank"), "../s", false),
            (ExpectedAnswer::single_object(&secret, &key), Some("shop"), "s", true),
            (ExpectedAnswer::single_object(&secret, &key), Some("shop"), "t", false),
            (ExpectedAnswer::objects_in(&namespace, None), None, "shop", true),
            // Whoever makes of it an object with a namespace would make it there.
            (ExpectedAnswer::objects_in(&namespace, None), Some("bank"), "shop", false),
        ];
        for (asked, namespace, name, fits) in answers {
            assert_eq!(asked.check(&meta(namespace, name)).is_ok(), fits, "{asked:?}: {namespace:?}/{name}");
        }
    }
}
