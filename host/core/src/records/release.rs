//! The release list: which source objects are deleted once the copy has taken over, in which state, in which order.
//!
//! It is written to the target at the point of no return, beside the record that decides from then on. A run on another machine
//! releases from the list, without a plan, and reads the source again only for objects that have changed or were created since.
//! One line per object, compact because thousands of them are stored in ConfigMaps:
//!
//! ```text
//! v <format>                                   the first line
//! k <group>/<version> <plural> <Kind>          a kind, numbered from 0
//! o <kind> <namespace|-> <name> <uid> <resourceVersion> <d|k> <digest|-> <flags|-> <objects that must be gone first|->
//! ```
//!
//! Flags: `s` its status is part of the copy, `p` paused by the move, `h` held by a plugin, `u` the target had it before: it is
//! used there and not changed; `n` it had no finalizers when it was copied; `b` a plugin brought it along from outside the
//! namespaces that move; `e` it doesn't make its namespace move; `l` it is deleted last of all.
//!
//! The digest identifies the object's content when it was copied, so that a later run can tell a change of content from a
//! controller's bookkeeping. Secrets have none: with a digest of secret data, a reader of the record could verify guesses. The
//! run that copied a Secret compares it with what it copied; any other run compares it with its copy.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::objects::kind::GroupKind;
use crate::objects::names;
use crate::objects::object::{Key, Uid};
use crate::request::validate::{
    find_id_error, find_kind_error, find_name_error, find_resource_error, find_version_error,
};

/// Effect on a source object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseFate {
    /// Deleted: its copy took over.
    Delete,
    /// Kept and unpaused: others still need it.
    Keep,
}

/// A move's pause of an object. It is undone on the copy, and on the source object too if that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pausing {
    /// Nothing.
    Untouched,
    /// Paused: undone when the Clusters are unpaused.
    Paused,
    /// Held by a plugin: undone when the plugin unpauses it.
    Held,
}

/// A kind as the list needs it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReleaseKind {
    /// Group and kind.
    pub group_kind: GroupKind,
    /// Version.
    pub version: String,
    /// Resource name.
    pub plural: String,
}

/// One source object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Kind of the object. Entries of one kind share it.
    pub kind: Arc<ReleaseKind>,
    /// Key of the object.
    pub key: Key,
    /// The UID of the source object.
    pub uid: Uid,
    /// The state that was copied.
    pub resource_version: String,
    /// Effect on the source object.
    pub fate: ReleaseFate,
    /// The digest of its content; none for Secrets.
    pub digest: Option<String>,
    /// Whether its status was copied too, because a plugin restored it.
    pub with_status: bool,
    /// Pause that must be undone.
    pub pausing: Pausing,
    /// Whether the target had it before the move, so that it belongs to someone else there.
    pub used: bool,
    /// Whether it is known to have had no finalizers when it was copied.
    pub no_finalizers: bool,
    /// Whether a plugin brought it along from outside the namespaces that move.
    pub brought: bool,
    /// Whether it doesn't make its namespace move ([`crate::plan::Plan::is_elsewhere`]).
    pub elsewhere: bool,
    /// Whether it is deleted last of all, after its owners: until then a run that continues the move finds the target by it.
    pub last: bool,
    /// Entries that must be deleted first: its dependents.
    pub after: Vec<usize>,
}

/// The list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReleaseList {
    /// Dependents before owners.
    pub entries: Vec<Entry>,
}

/// The version of the list's format.
pub const FORMAT: u32 = 3;

/// A set of UIDs, too many to be stored. Equal sets have equal digests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UidSet {
    /// Number of UIDs.
    pub count: usize,
    /// Digest of the sorted UIDs.
    pub digest: String,
}

impl<'a> FromIterator<&'a Uid> for UidSet {
    fn from_iter<T: IntoIterator<Item = &'a Uid>>(uids: T) -> Self {
        let uids: BTreeSet<&str> = uids.into_iter().map(|uid| uid.0.as_str()).collect();
        let lines: String = uids.iter().flat_map(|uid| [*uid, "\n"]).collect();
        Self { count: uids.len(), digest: short_hex(&Sha256::digest(lines)) }
    }
}

/// An error in a release list.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ListError {
    /// A line could not be read.
    #[error("the release list is damaged in line {0}")]
    Damaged(usize),
    /// Another program wrote it.
    #[error("the release list is in format {0}, and this pivot-host knows {FORMAT}")]
    Format(u32),
    /// No cluster has that many objects.
    #[error("the release list has more than {MOST_ENTRIES} lines")]
    TooLong,
}

/// The most lines that are read: far more than a management cluster has objects.
const MOST_ENTRIES: usize = 1_000_000;

impl ReleaseList {
    /// Returns the digest that identifies the list.
    pub fn digest(&self) -> String {
        digest_of_text(self.to_chunks(usize::MAX).iter().map(String::as_str))
    }

    /// Returns the UIDs of the source's objects on the list. By them, a source proves without the list that it is complete.
    pub fn uid_set(&self) -> UidSet {
        self.entries.iter().map(|entry| &entry.uid).collect()
    }

    /// Returns the list as text, in chunks of at most `limit` bytes, split between lines.
    pub fn to_chunks(&self, limit: usize) -> Vec<String> {
        let mut kinds: BTreeMap<&ReleaseKind, usize> = BTreeMap::new();
        let mut chunks = Vec::new();
        let mut chunk = String::new();
        let mut push = |line: String| {
            if !chunk.is_empty() && chunk.len() + line.len() > limit {
                chunks.push(std::mem::take(&mut chunk));
            }
            chunk.push_str(&line);
        };
        push(format!("v {FORMAT}\n"));
        for entry in &self.entries {
            let next = kinds.len();
            let kind = *kinds.entry(&entry.kind).or_insert(next);
            if kind == next {
                let ReleaseKind { group_kind, version, plural } = &*entry.kind;
                push(format!("k {}/{version} {plural} {}\n", group_kind.group, group_kind.kind));
            }
            push(entry.to_line(kind));
        }
        if !chunk.is_empty() {
            chunks.push(chunk);
        }
        chunks
    }

    /// Reads the chunks back, in order.
    pub fn parse<'a>(chunks: impl IntoIterator<Item = &'a str>) -> Result<Self, ListError> {
        Self::parse_up_to(MOST_ENTRIES, chunks)
    }

    fn parse_up_to<'a>(most: usize, chunks: impl IntoIterator<Item = &'a str>) -> Result<Self, ListError> {
        let mut kinds = Vec::new();
        let mut entries = Vec::new();
        // These are parts of the text: an entry takes little more.
        let (mut uids, mut keys) = (BTreeSet::new(), BTreeSet::new());
        for (number, line) in chunks.into_iter().flat_map(str::lines).enumerate() {
            let damaged = || ListError::Damaged(number + 1);
            if number > most {
                return Err(ListError::TooLong);
            }
            match line.split_once(' ').ok_or_else(damaged)? {
                ("v", format) if number == 0 => {
                    let format: u32 = format.parse().map_err(|_| damaged())?;
                    if format != FORMAT {
                        return Err(ListError::Format(format));
                    }
                }
                _ if number == 0 => return Err(damaged()),
                ("k", rest) => kinds.push(parse_kind(rest).ok_or_else(damaged)?),
                ("o", rest) => {
                    let (entry, key, uid) = parse_entry(rest, &kinds, entries.len()).ok_or_else(damaged)?;
                    if !(uids.insert(uid) && keys.insert(key)) {
                        return Err(damaged());
                    }
                    entries.push(entry);
                }
                _ => return Err(damaged()),
            }
        }
        Ok(Self { entries })
    }
}

impl Entry {
    /// Whether a single delete, conditional on the copied state, is enough. Only objects of the core group can be released like
    /// that: webhooks of Cluster API's providers refuse to delete some objects without the annotation that says that they are
    /// being moved, and their controllers add finalizers back. One that is deleted after its owners has to forget them first.
    pub fn can_be_deleted_directly(&self) -> bool {
        self.no_finalizers && self.key.group_kind.group.is_empty() && !self.last
    }

    fn to_line(&self, kind: usize) -> String {
        let Self { kind: _, key, uid, resource_version, fate, digest, after, .. } = self;
        let namespace = key.namespace.as_deref().unwrap_or("-");
        let fate = if *fate == ReleaseFate::Delete { "d" } else { "k" };
        let digest = digest.as_deref().unwrap_or("-");
        let pausing = match self.pausing {
            Pausing::Untouched => "",
            Pausing::Paused => "p",
            Pausing::Held => "h",
        };
        let flag = |is: bool, letter: &'static str| if is { letter } else { "" };
        let flags = [
            flag(self.with_status, "s"),
            pausing,
            flag(self.used, "u"),
            flag(self.no_finalizers, "n"),
            flag(self.brought, "b"),
            flag(self.elsewhere, "e"),
            flag(self.last, "l"),
        ]
        .concat();
        let flags = if flags.is_empty() { "-" } else { &flags };
        let mut line =
            format!("o {kind} {namespace} {} {uid} {resource_version} {fate} {digest} {flags} ", key.name);
        for (position, index) in after.iter().enumerate() {
            let comma = if position == 0 { "" } else { "," };
            // Writing to a String can't fail.
            let _ = write!(line, "{comma}{index}");
        }
        if after.is_empty() {
            line.push('-');
        }
        line.push('\n');
        line
    }
}

/// A kind of a list's text, and its group and name there.
struct ListedKind<'a> {
    kind: Arc<ReleaseKind>,
    group_kind: (&'a str, &'a str),
}

/// Group, kind, namespace and name of an entry in a list's text.
type ListedKey<'a> = ((&'a str, &'a str), Option<&'a str>, &'a str);

fn parse_kind(rest: &str) -> Option<ListedKind<'_>> {
    let [api_version, plural, kind] = split_words(rest)?;
    let (group, version) = api_version.split_once('/')?;
    let listed = (group, kind);
    let group_kind = GroupKind::new(group, kind);
    let odd = find_kind_error(&group_kind)
        .or_else(|| find_version_error(version))
        .or_else(|| find_resource_error(plural));
    let kind = ReleaseKind { group_kind, version: version.to_owned(), plural: plural.to_owned() };
    odd.is_none().then(|| ListedKind { kind: Arc::new(kind), group_kind: listed })
}

/// Parses an entry that follows `earlier` others. Anyone with permission to write ConfigMaps may have written it, so it is
/// accepted only if a move could have written it. A write conditional on an empty UID or version would be unconditional, and
/// entries that wait for themselves would never be released. Returns its key and UID in the text, too.
fn parse_entry<'a>(
    rest: &'a str,
    kinds: &[ListedKind<'a>],
    earlier: usize,
) -> Option<(Entry, ListedKey<'a>, &'a str)> {
    let [kind, namespace, name, uid, version, fate, digest, flags, after] = split_words(rest)?;
    let ListedKind { kind, group_kind } = kinds.get(kind.parse::<usize>().ok()?)?;
    let namespace = Some(namespace).filter(|namespace| *namespace != "-");
    let odd = find_name_error(name).or_else(|| find_id_error(uid)).or_else(|| find_id_error(version));
    let hex = |digest: &str| digest.len() == 32 && digest.chars().all(|c| c.is_ascii_hexdigit());
    let known =
        matches!(fate, "d" | "k") && (flags == "-" || flags.chars().all(|flag| "sphunbel".contains(flag)));
    let kept_and_deleted = fate == "k" && flags.contains('l');
    if odd.or_else(|| namespace.and_then(find_name_error)).is_some()
        || !known
        || kept_and_deleted
        || !(digest == "-" || hex(digest))
    {
        return None;
    }
    let mut after: Vec<usize> = match after {
        "-" => Vec::new(),
        list => list.split(',').map(|n| n.parse().ok()).collect::<Option<_>>()?,
    };
    after.shrink_to_fit();
    let in_order = after.is_sorted_by(|a, b| a < b) && after.last().is_none_or(|last| *last < earlier);
    let entry = || Entry {
        kind: Arc::clone(kind),
        key: Key::new(kind.group_kind.clone(), namespace, name),
        uid: Uid(uid.to_owned()),
        resource_version: version.to_owned(),
        fate: if fate == "d" { ReleaseFate::Delete } else { ReleaseFate::Keep },
        digest: Some(digest).filter(|digest| *digest != "-").map(str::to_owned),
        with_status: flags.contains('s'),
        pausing: match flags {
            f if f.contains('p') => Pausing::Paused,
            f if f.contains('h') => Pausing::Held,
            _ => Pausing::Untouched,
        },
        used: flags.contains('u'),
        no_finalizers: flags.contains('n'),
        brought: flags.contains('b'),
        elsewhere: flags.contains('e'),
        last: flags.contains('l'),
        after,
    };
    in_order.then(|| (entry(), (*group_kind, namespace, name), uid))
}

/// Splits a line into words; none if their number is another, or if one is empty.
fn split_words<const WANTED: usize>(line: &str) -> Option<[&str; WANTED]> {
    let mut words = line.split(' ').filter(|word| !word.is_empty());
    let mut found = [""; WANTED];
    for slot in &mut found {
        *slot = words.next()?;
    }
    (line.matches(' ').count() + 1 == WANTED).then_some(found)
}

/// Returns the part of an object that counts as its content: all fields except server-set metadata, finalizers, the move's own
/// annotations on the source and, unless a plugin restored it, the status.
pub fn comparable_content(value: &Value, with_status: bool) -> Value {
    let mut value = value.clone();
    let Some(map) = value.as_object_mut() else { return value };
    if !with_status {
        map.remove("status");
    }
    if let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) {
        for key in [
            "uid",
            "resourceVersion",
            "generation",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "selfLink",
            "managedFields",
            "finalizers",
        ] {
            metadata.remove(key);
        }
        let emptied = metadata.get_mut("annotations").and_then(Value::as_object_mut).is_some_and(|a| {
            a.remove(names::DELETE_FOR_MOVE);
            // It is missing if someone unpaused the object and paused it again by hand, as the remedies suggest.
            a.remove(names::UNDO);
            a.remove(names::OUT_OF_DATE);
            a.is_empty()
        });
        if emptied {
            metadata.remove("annotations");
        }
    }
    value
}

/// Returns the digest that identifies a list's text, in any chunks.
pub fn digest_of_text<'a>(chunks: impl IntoIterator<Item = &'a str>) -> String {
    let hash = chunks.into_iter().fold(Sha256::new(), |hash, chunk| hash.chain_update(chunk));
    short_hex(&hash.finalize())
}

/// Returns the digest of an object's content; none for Secrets.
pub fn content_digest(group_kind: &GroupKind, value: &Value, with_status: bool) -> Option<String> {
    if group_kind.is_secret() {
        return None;
    }
    // Maps are sorted, so equal contents have equal text.
    Some(short_hex(&Sha256::digest(comparable_content(value, with_status).to_string())))
}

/// Returns the first half of a hash as text.
pub(crate) fn short_hex(hash: &[u8]) -> String {
    hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
