//! One entry of the configuration.

use pivot_sdk::{Kind, Object, Patch, Selector};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::bounds::{self, KINDS};

/// A change, and the objects it applies to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Name in messages.
    #[serde(default)]
    pub name: String,
    /// The kind of the objects.
    pub kind: Kind,
    /// Selector of the objects; all if not set.
    #[serde(default, rename = "match")]
    pub chosen: Selector,
    /// Merge patch for the objects.
    #[serde(default)]
    pub merge: Map<String, Value>,
    /// JSON pointers of what to remove: TOML has no null to express it.
    #[serde(default)]
    pub remove: Vec<String>,
}

impl Entry {
    /// Returns the name in messages: the configured one, or the entry's position.
    pub(crate) fn display_name(&self, index: usize) -> String {
        if self.name.is_empty() {
            format!("patch[{index}]")
        } else {
            format!("patch[{index}] ({})", self.name)
        }
    }

    /// Checks the entry.
    pub(crate) fn validate(&self) -> Result<(), String> {
        if !KINDS.iter().any(|known| known.matches(&self.kind)) {
            let known: Vec<String> = KINDS.iter().map(Kind::to_string).collect();
            return Err(format!(
                "{} is none of the kinds that can be patched: {}",
                self.kind,
                known.join(", ")
            ));
        }
        if self.merge.is_empty() && self.remove.is_empty() {
            return Err("it changes nothing; give it a `merge` or a `remove`".into());
        }
        if let Some(bad) = self.remove.iter().find(|pointer| !is_pointer(pointer)) {
            return Err(format!(
                "`{bad}` is no JSON pointer; write /metadata/labels/example.com~1name, with ~1 for a slash in a name"
            ));
        }
        let merge = (!self.merge.is_empty()).then(|| Value::Object(self.merge.clone()));
        let mut patches =
            merge.into_iter().chain(self.remove.iter().map(|pointer| bounds::removal_patch(pointer)));
        match patches.find_map(|patch| bounds::refusal_reason(&self.kind, &patch)) {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }

    /// Returns true if the entry applies to an object.
    pub(crate) fn matches(&self, object: &Object) -> bool {
        self.kind.matches(&object.kind()) && self.chosen.matches(object)
    }

    /// Adds the entry's changes to a patch.
    pub(crate) fn add_changes(&self, patch: Patch) -> Patch {
        // Merging nothing would still turn a list, or a missing value, into a map.
        let patch = if self.merge.is_empty() {
            patch
        } else {
            patch.merge_at("", &Value::Object(self.merge.clone()))
        };
        self.remove.iter().fold(patch, |patch, pointer| patch.remove(pointer))
    }
}

/// Returns true for a JSON pointer (RFC 6901): a tilde is always part of ~0 or ~1.
fn is_pointer(text: &str) -> bool {
    let escapes = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    text.starts_with('/') && text.len() > 1 && escapes
}
