//! The effects on one copy that a plan foresees: the object that the target has already, and changes by plugins.

use pivot_core::messages::refusal::some_of;
use pivot_core::plan::{InTarget, PluginChange};

/// Most fields that are named beside an object.
const FIELDS: usize = 4;

/// Returns the state of an object in the target, and the changes by plugins.
pub(super) fn foreseen_changes(
    in_target: Option<&InTarget>,
    changes: &[PluginChange],
) -> impl Iterator<Item = String> {
    let there = in_target.map(|in_target| match in_target {
        InTarget::Same => "the target has it".to_owned(),
        InTarget::Differs { fields } if fields.is_empty() => {
            "the target has it, with other content".to_owned()
        }
        InTarget::Differs { fields } => {
            format!("the target has it, with another {}", some_of(fields, FIELDS))
        }
    });
    let changes: Vec<String> = changes
        .iter()
        .map(|change| {
            if change.fields.is_empty() {
                format!("{} changes it", change.by)
            } else {
                let fields: Vec<String> = change.fields.iter().map(|field| describe_field(field)).collect();
                format!("{} changes {}", change.by, some_of(&fields, FIELDS))
            }
        })
        .collect();
    there.into_iter().chain(changes)
}

/// Names an annotation or a label by its key, and another field by its path.
fn describe_field(path: &str) -> String {
    let named = [("/metadata/annotations/", "the annotation"), ("/metadata/labels/", "the label")];
    let found = named.into_iter().find_map(|(parent, what)| Some((what, path.strip_prefix(parent)?)));
    match found {
        Some((what, key)) => format!("{what} {}", key.replace("~1", "/").replace("~0", "~")),
        None => path.to_owned(),
    }
}
