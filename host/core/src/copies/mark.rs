//! The annotations by which a move recognises the copies that it made in a target.
//!
//! [`MARK`] alone proves nothing: anyone with permission to annotate an object could make a rollback delete it. Each copy also
//! names the object that it was made from, with a proof that only the key in the move's records can produce. The proof covers
//! kind and name, so that it is void on any other object.
//!
//! Once copies run, controllers may propagate both annotations from owners to dependents. From then on, the proof of a dependent
//! means nothing.

use sha2::{Digest, Sha256};

use crate::objects::names::{COPY_OF, MARK};
use crate::objects::object::{Key, Meta, Uid};
use crate::records::record::Record;
use crate::records::release::short_hex;

/// The mark that one move puts on its copies.
#[derive(Clone, Debug)]
pub struct CopyMark {
    move_id: String,
    /// Absent in moves that an older release began, and in moves without a record.
    key: Option<String>,
    /// Keys of earlier attempts.
    earlier: Vec<String>,
}

impl CopyMark {
    /// Returns the mark of the move that a record describes.
    pub fn from_record(record: &Record) -> Self {
        Self {
            move_id: record.move_id.clone(),
            key: record.copy_key.clone(),
            earlier: record.earlier_copy_keys.clone(),
        }
    }

    /// Returns the annotations for the copy of an object. `key` is the object's name in the source.
    pub fn annotations(&self, key: &Key, original: &Uid) -> Vec<(&'static str, String)> {
        let proof =
            self.key.as_ref().map(|secret| format!("{original} {}", compute_proof(secret, key, original)));
        let mark = (MARK, self.move_id.clone());
        std::iter::once(mark).chain(proof.map(|proof| (COPY_OF, proof))).collect()
    }

    /// Returns true if the last attempt of the move made an object of the target. `key` is the name of the original in the
    /// source.
    pub fn is_on(&self, key: &Key, meta: &Meta) -> bool {
        meta.has_mark(&self.move_id) && self.key.as_ref().is_none_or(|secret| has_proof(secret, key, meta))
    }

    /// Returns true if any attempt of the move made an object of the target.
    pub fn is_of_any_attempt(&self, key: &Key, meta: &Meta) -> bool {
        self.is_on(key, meta)
            || (meta.has_mark(&self.move_id)
                && self.earlier.iter().any(|secret| has_proof(secret, key, meta)))
    }
}

/// Returns the UID of the object that an object claims to be a copy of. Only a proof shows that the claim is true.
pub fn claimed_original(meta: &Meta) -> Option<Uid> {
    let (uid, _) = meta.annotations.get(COPY_OF)?.split_once(' ')?;
    Some(Uid(uid.to_owned()))
}

/// Returns true if an object has a proof that was made with a key.
fn has_proof(secret: &str, key: &Key, meta: &Meta) -> bool {
    let named = meta.annotations.get(COPY_OF).and_then(|value| value.split_once(' '));
    named.is_some_and(|(uid, proof)| compute_proof(secret, key, &Uid(uid.to_owned())) == proof)
}

/// Returns half of a hash that begins with the key: half of a hash's state can't be extended to another text.
fn compute_proof(secret: &str, key: &Key, original: &Uid) -> String {
    let Key { group_kind, namespace, name } = key;
    let namespace = namespace.as_deref().unwrap_or_default();
    let text =
        format!("{secret}\n{original}\n{}\n{}\n{namespace}\n{name}", group_kind.group, group_kind.kind);
    short_hex(&Sha256::digest(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::kind::GroupKind;

    fn secret(name: &str) -> Key {
        Key::new(GroupKind::new("", "Secret"), Some("ns"), name)
    }

    fn mark(move_id: &str, key: Option<&str>, earlier: &[&str]) -> CopyMark {
        let earlier = earlier.iter().map(|key| (*key).to_owned()).collect();
        CopyMark { move_id: move_id.into(), key: key.map(str::to_owned), earlier }
    }

    fn annotated(annotations: Vec<(&'static str, String)>) -> Meta {
        let annotations = annotations.into_iter().map(|(name, value)| (name.to_owned(), value));
        Meta { annotations: annotations.collect(), ..Meta::default() }
    }

    // proves: I7
    #[test]
    fn mark_counts_only_with_its_proof() {
        let mark = mark("m", Some("k"), &[]);
        let copy = annotated(mark.annotations(&secret("a"), &Uid("u".into())));
        assert!(mark.is_on(&secret("a"), &copy));
        assert!(!mark.is_on(&secret("b"), &copy), "the annotations were put on another object");
        assert!(!mark.is_on(&secret("a"), &annotated(vec![(MARK, "m".into())])));
        for forged in ["", "u", "u ", "v v"] {
            let forged = annotated(vec![(MARK, "m".into()), (COPY_OF, forged.into())]);
            assert!(!mark.is_on(&secret("a"), &forged), "{forged:?}");
        }
        for other in [("other", "k"), ("m", "other")] {
            let other = super::tests::mark(other.0, Some(other.1), &[]);
            assert!(!other.is_on(&secret("a"), &copy), "{other:?}");
        }
    }

    // proves: I14
    #[test]
    fn copies_of_earlier_attempts_are_told_apart() {
        let first = annotated(mark("m", Some("k"), &[]).annotations(&secret("a"), &Uid("u".into())));
        let second = mark("m", Some("l"), &["k"]);
        assert!(!second.is_on(&secret("a"), &first));
        assert!(second.is_of_any_attempt(&secret("a"), &first));
        assert!(
            !second.is_of_any_attempt(&secret("b"), &first),
            "the annotations were put on another object"
        );
        let forged = annotated(vec![(MARK, "m".into()), (COPY_OF, "u v".into())]);
        assert!(!second.is_of_any_attempt(&secret("a"), &forged));
    }

    #[test]
    fn moves_without_a_key_count_by_mark() {
        let mark = mark("m", None, &[]);
        let annotations = mark.annotations(&secret("a"), &Uid("u".into()));
        assert_eq!(annotations, [(MARK, "m".to_owned())]);
        assert!(mark.is_on(&secret("a"), &annotated(annotations)));
    }
}
