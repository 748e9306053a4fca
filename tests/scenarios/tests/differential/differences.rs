//! The differences between what clusterctl and pivot-host leave behind, each with a name and a reason.
//!
//! docs/differences-from-clusterctl.md lists them too.

use std::collections::BTreeSet;
use std::fmt;

use pivot_lab::{Dump, ObjectKey, normalise};
use pivot_scenarios::state::SUMMARIES;
use serde_json::{Value, json};

use super::kinds::is_global;

const MARKS: [&str; 2] = ["pivot-host.io/move", "pivot-host.io/copy-of"];
const PAUSED: &str = "/metadata/annotations/cluster.x-k8s.io~1paused";

const MANAGERS: &str = "/metadata/managers";

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Side {
    Source,
    Target,
}

/// What differs between the two programs' servers.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    pub(crate) side: Side,
    pub(crate) key: &'a ObjectKey,
    /// A JSON pointer; empty if one of them lacks the object.
    pub(crate) path: String,
    pub(crate) theirs: Option<&'a Value>,
    pub(crate) ours: Option<&'a Value>,
}

/// A difference that is meant to be.
#[derive(Debug)]
pub(crate) struct Difference {
    pub(crate) name: &'static str,
    /// The weakness of clusterctl that it comes from, if it is one.
    pub(crate) weakness: Option<u8>,
    /// Why pivot-host does it differently.
    pub(crate) why: &'static str,
    pub(crate) explains: Explains,
}

/// What a difference explains.
#[derive(Debug)]
pub(crate) enum Explains {
    /// Only pivot-host refuses, with this code.
    Refusal(&'static str),
    /// Something is different in an object, or in one place only.
    Object(fn(&Found<'_>) -> bool),
}

impl Explains {
    pub(crate) fn refusal(&self) -> Option<&'static str> {
        match self {
            Self::Refusal(code) => Some(code),
            Self::Object(_) => None,
        }
    }

    pub(crate) fn object(&self, found: &Found<'_>) -> bool {
        matches!(self, Self::Object(explains) if explains(found))
    }
}

pub(crate) const DIFFERENCES: [Difference; 10] = [
    Difference {
        name: "dropped-with-its-owner",
        weakness: Some(3),
        why: "an object with an owner that stays is left behind without a message; here it moves without that owner, if told to",
        explains: Explains::Object(|found| {
            found.is_of("unlabelled-pool") && found.is_moved_by_us_alone() && found.is("IPAddress.ipam")
        }),
    },
    Difference {
        name: "kept-class-stays-paused",
        weakness: Some(5),
        why: "a class that others use is resumed in the source, too",
        explains: Explains::Object(|found| {
            // It also stays the manager of the annotation.
            let pause = found.path == PAUSED && found.ours.is_none();
            found.side == Side::Source && found.is("ClusterClass.") && (pause || found.path == MANAGERS)
        }),
    },
    Difference {
        name: "name-taken",
        weakness: Some(6),
        why: "an object of somebody else is not overwritten",
        explains: Explains::Refusal("exists"),
    },
    Difference {
        name: "owner-in-no-namespace",
        weakness: Some(7),
        why: "a copy is owned by the target's object, not by the one of the same name in the source",
        explains: Explains::Object(|found| {
            let others = |owners: Option<&Value>| -> Vec<Value> {
                let owners = owners.and_then(Value::as_array).into_iter().flatten();
                owners.filter(|owner| !is_global(owner["kind"].as_str().unwrap())).cloned().collect()
            };
            found.side == Side::Target
                && found.path == "/metadata/ownerReferences"
                && others(found.theirs) == others(found.ours)
                && !found.ours.unwrap().to_string().contains("unknown")
        }),
    },
    Difference {
        name: "secret-of-external-etcd",
        weakness: Some(8),
        why: "all purposes of a Cluster's Secrets are known by name",
        explains: Explains::Object(|found| {
            found.is("Secret")
                && found.key.name.ends_with("-apiserver-etcd-client")
                && found.is_moved_by_us_alone()
        }),
    },
    Difference {
        name: "object-being-deleted",
        weakness: Some(18),
        why: "its copy would be alive again",
        explains: Explains::Refusal("being-deleted"),
    },
    Difference {
        name: "nothing-to-move",
        weakness: Some(22),
        why: "a namespace with nothing to move may be a wrong name",
        explains: Explains::Refusal("nothing-to-move"),
    },
    Difference {
        name: "template-that-only-its-class-names",
        weakness: Some(25),
        why: "a class without its templates is broken",
        explains: Explains::Object(|found| {
            found.is_of("class-without-owners") && found.is_moved_by_us_alone()
        }),
    },
    Difference {
        name: "field-managers-of-updates",
        weakness: None,
        why: "only server-side appliers lose by it, so a request is saved for every other object",
        explains: Explains::Object(|found| found.side == Side::Target && found.path == MANAGERS),
    },
    Difference {
        name: "unpaused-explicitly",
        weakness: None,
        why: "a pause is undone by restoring what was there",
        explains: Explains::Object(|found| {
            found.is("Cluster.")
                && found.path == "/spec/paused"
                && found.theirs.is_none()
                && found.ours == Some(&json!(false))
        }),
    },
];

impl Found<'_> {
    fn is(&self, kind: &str) -> bool {
        self.key.kind.starts_with(kind)
    }

    fn is_of(&self, namespace: &str) -> bool {
        self.key.namespace == namespace
    }

    fn is_moved_by_us_alone(&self) -> bool {
        let without = match self.side {
            Side::Source => self.ours,
            Side::Target => self.theirs,
        };
        self.path.is_empty() && without.is_none()
    }
}

impl fmt::Display for Found<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { side, key, path, theirs, ours } = self;
        if path.is_empty() {
            let whose = if theirs.is_some() { "clusterctl's" } else { "pivot-host's" };
            return write!(formatter, "{key}: only in {whose} {side:?}");
        }
        write!(formatter, "{key}, {side:?}, {path}: clusterctl {theirs:?}, pivot-host {ours:?}")
    }
}

/// A server's state without what two servers never have in common, and what clusterctl does at random: the order of owners.
pub(crate) fn comparable(mut dump: Dump) -> Dump {
    dump.retain(|key, object| {
        !key.namespace.starts_with("kube-")
            && SUMMARIES.iter().all(|label| object["metadata"]["labels"].get(label).is_none())
    });
    let managers: Vec<(ObjectKey, Value, Value)> =
        dump.iter().map(|(key, object)| (key.clone(), applied(object), managers(object))).collect();
    let mut dump = normalise(dump);
    for (key, applied, managers) in managers {
        let metadata = dump.get_mut(&key).and_then(|object| object["metadata"].as_object_mut()).unwrap();
        metadata.insert("applied".to_owned(), applied);
        metadata.insert("managers".to_owned(), managers);
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.retain(|name, _| !MARKS.contains(&name.as_str()));
        }
        if let Some(owners) = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut) {
            owners.sort_by_key(ToString::to_string);
        }
        // A server shows no empty map; one that held only marks disappears.
        metadata.retain(|_, value| value.as_object().is_none_or(|map| !map.is_empty()));
    }
    dump
}

/// What server-side appliers own.
fn applied(object: &Value) -> Value {
    let fields = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    fields
        .filter(|entry| entry["operation"] == "Apply")
        .map(|entry| json!({ "manager": entry["manager"], "fields": entry["fieldsV1"] }))
        .collect()
}

/// Who else wrote to an object.
fn managers(object: &Value) -> Value {
    let fields = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let updates = fields.filter(|entry| entry["operation"] == "Update" && entry.get("subresource").is_none());
    updates.map(|entry| entry["manager"].to_string()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// All differences between two states.
pub(crate) fn found<'a>(side: Side, theirs: &'a Dump, ours: &'a Dump) -> Vec<Found<'a>> {
    let keys: BTreeSet<&ObjectKey> = theirs.keys().chain(ours.keys()).collect();
    let mut all = Vec::new();
    for key in keys {
        walk(theirs.get(key), ours.get(key), String::new(), &mut |path, theirs, ours| {
            all.push(Found { side, key, path, theirs, ours });
        });
    }
    all
}

fn walk<'a>(
    theirs: Option<&'a Value>,
    ours: Option<&'a Value>,
    path: String,
    each: &mut dyn FnMut(String, Option<&'a Value>, Option<&'a Value>),
) {
    match (theirs, ours) {
        (Some(Value::Object(theirs)), Some(Value::Object(ours))) => {
            let keys: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
            for key in keys {
                let below = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                walk(theirs.get(key), ours.get(key), below, each);
            }
        }
        (theirs, ours) if theirs != ours => each(path, theirs, ours),
        _ => {}
    }
}
