//! The annotations by which a move knows the copies that it made in a target.
//!
//! [`MARK`] alone proves nothing: with permission to annotate an object, anyone could have a rollback delete it. Each copy also
//! names the object that it was made from, with a proof that takes the key in the move's records to compute. The proof covers kind and
//! name, so that it is void on any other object.
//!
//! Once copies run, controllers may propagate both annotations from owners to dependents. From then on, the proof of a dependent says
//! nothing.

use sha2::{Digest, Sha256};

use crate::names::{COPY_OF, MARK};
use crate::object::{Key, Meta, Uid};
use crate::record::Record;
use crate::release::hex;

/// How one move marks its copies.
#[derive(Clone, Debug)]
pub struct CopyMark {
    move_id: String,
    /// None for moves that an older release began, or that keep no record.
    key: Option<String>,
}

impl CopyMark {
    /// The mark of the move that a record is of.
    pub fn from_record(record: &Record) -> Self {
        Self { move_id: record.move_id.clone(), key: record.copy_key.clone() }
    }

    /// The annotations of the copy of an object. `key` is the object's name in the source.
    pub fn annotations(&self, key: &Key, original: &Uid) -> Vec<(&'static str, String)> {
        let proof = self.key.as_ref().map(|secret| format!("{original} {}", prove(secret, key, original)));
        let mark = (MARK, self.move_id.clone());
        std::iter::once(mark).chain(proof.map(|proof| (COPY_OF, proof))).collect()
    }

    /// Whether the move made an object of the target. `key` is the name that its original has in the source.
    pub fn is_on(&self, key: &Key, meta: &Meta) -> bool {
        let proves = |secret: &String| {
            let named = meta.annotations.get(COPY_OF).and_then(|value| value.split_once(' '));
            named.is_some_and(|(uid, proof)| prove(secret, key, &Uid(uid.to_owned())) == proof)
        };
        meta.marked(&self.move_id) && self.key.as_ref().is_none_or(proves)
    }
}

/// Half a hash, of which the key is the beginning: from half of its state, no hash can be continued.
fn prove(secret: &str, key: &Key, original: &Uid) -> String {
    let Key { group_kind, namespace, name } = key;
    let namespace = namespace.as_deref().unwrap_or_default();
    let text =
        format!("{secret}\n{original}\n{}\n{}\n{namespace}\n{name}", group_kind.group, group_kind.kind);
    hex(&Sha256::digest(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::GroupKind;

    fn secret(name: &str) -> Key {
        Key::new(GroupKind::new("", "Secret"), Some("ns"), name)
    }

    fn annotated(annotations: Vec<(&'static str, String)>) -> Meta {
        let annotations = annotations.into_iter().map(|(name, value)| (name.to_owned(), value));
        Meta { annotations: annotations.collect(), ..Meta::default() }
    }

    // proves: I7
    #[test]
    fn mark_counts_only_with_its_proof() {
        let mark = CopyMark { move_id: "m".into(), key: Some("k".into()) };
        let copy = annotated(mark.annotations(&secret("a"), &Uid("u".into())));
        assert!(mark.is_on(&secret("a"), &copy));
        assert!(!mark.is_on(&secret("b"), &copy), "the annotations were put on another object");
        assert!(!mark.is_on(&secret("a"), &annotated(vec![(MARK, "m".into())])));
        for forged in ["", "u", "u ", "v v"] {
            let forged = annotated(vec![(MARK, "m".into()), (COPY_OF, forged.into())]);
            assert!(!mark.is_on(&secret("a"), &forged), "{forged:?}");
        }
        for other in [("other", "k"), ("m", "other")] {
            let other = CopyMark { move_id: other.0.into(), key: Some(other.1.into()) };
            assert!(!other.is_on(&secret("a"), &copy), "{other:?}");
        }
    }

    #[test]
    fn moves_without_a_key_count_by_mark() {
        let mark = CopyMark { move_id: "m".into(), key: None };
        let annotations = mark.annotations(&secret("a"), &Uid("u".into()));
        assert_eq!(annotations, [(MARK, "m".to_owned())]);
        assert!(mark.is_on(&secret("a"), &annotated(annotations)));
    }
}
