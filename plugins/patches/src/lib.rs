//! Changes that an operator wants on objects as they arrive: labels, annotations, fields.
//!
//! Distributions change their objects after a move (TKG relabels its management Cluster, a site points its clusters to another
//! registry). If that is done afterwards, by hand or by a script, the target's controllers act for a while on objects that are
//! not right yet. Done here, an object is right from its first moment, the server's dry run has seen it before anything was
//! paused, and the move can be repeated.
//!
//! The plugin contains nothing but configuration. Forbidden patches are refused when the configuration is read, with the entry's
//! name, and not only when the object is about to be created.

mod bounds;
mod entry;
#[cfg(test)]
mod tests;

use pivot_sdk::prelude::*;

pub use bounds::KINDS;
pub use entry::Entry;

/// The plugin, with its configuration.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Patches {
    /// Applied in this order.
    pub patch: Vec<Entry>,
}

impl Plugin for Patches {
    fn about() -> About {
        KINDS.into_iter().fold(pivot_sdk::about!(), About::adapts)
    }

    fn configure() -> Result<Self> {
        let this: Self = config::get()?;
        for (index, entry) in this.patch.iter().enumerate() {
            entry.validate().map_err(|why| {
                Error::invalid(format!("configuration: {}: {why}", entry.display_name(index)))
            })?;
        }
        Ok(this)
    }

    fn adapt(&self, object: &Object) -> Result<Patch> {
        let patch = self.combine_changes(object);
        if patch.is_empty() {
            return Ok(patch);
        }
        // The host calls the hook again with the patched object, and then expects no further changes.
        let after = patch.patched_object();
        if self.combine_changes(&after).is_empty() {
            return Ok(patch);
        }
        let again: Vec<String> =
            self.matching_entries(&after).map(|(index, entry)| entry.display_name(index)).collect();
        Err(Error::new(
            "unsteady",
            format!(
                "patched once it would be patched again: what one entry changes, another selects by, or a list loses one \
                 item after another; let the entries select by what none of them changes: {}",
                again.join(", ")
            ),
        ))
    }

    /// An invalid configuration is reported here at the latest, and so is an entry that applies to no object, which usually has a
    /// typo.
    fn check(&self, point: Point, moving: &Move) -> Result<Vec<Finding>> {
        if point != Point::BeforePause {
            return Ok(Vec::new());
        }
        let idle = self.patch.iter().enumerate().filter(|(_, entry)| {
            let mut keys = moving.of_kind(&entry.kind);
            !keys.any(|key| entry.chosen.matches_name(key.namespace.as_deref(), &key.name))
        });
        let findings = idle.map(|(index, entry)| {
            let kind = &entry.kind;
            Finding::warn(
                "no-object",
                format!("{}: no {kind} with such a name moves", entry.display_name(index)),
            )
            .with_remedy("look for a typing error in its kind, name and namespace, or take the entry out")
        });
        Ok(findings.collect())
    }
}

impl Patches {
    /// Returns the entries that apply to an object.
    fn matching_entries(&self, object: &Object) -> impl Iterator<Item = (usize, &Entry)> {
        self.patch.iter().enumerate().filter(|(_, entry)| entry.matches(object))
    }

    /// Combines the changes of all entries that apply to the object, in order.
    fn combine_changes(&self, object: &Object) -> Patch {
        self.matching_entries(object).fold(object.patch(), |patch, (_, entry)| entry.add_changes(patch))
    }
}

pivot_sdk::export!(Patches, hooks = [adapt, check], schema = include_bytes!("options.json"));
