//! The content of an object in comparisons of a plan with the objects that a move finds.

use serde_json::Value;

use crate::GroupKind;
use crate::objects::names::BLOCK_MOVE;
use crate::objects::object::{Object, ObjectError};
use crate::objects::pause;
use crate::plan::Content;
use crate::records::release;

/// Annotations that users write, although they are in the domain of those who define the kind.
const OF_USERS: [&str; 1] = ["baremetalhost.metal3.io/detached"];
/// In this domain nearly all are: a pause, the bounds of an autoscaler, machines that are not to be replaced.
const DOMAIN_OF_USERS: &str = "cluster.x-k8s.io/";

/// The content of a source object, whether this move has paused it or not. Status, finalizers and server-set metadata don't count,
/// and neither do annotations by which its provider's controllers take notes: they react to the pause with some of them, as those
/// of Metal3 do with a host's status.
///
/// For a Secret, the content is the resourceVersion that its server assigned: with a digest, anyone who reads a plan could verify
/// guesses of the data. In files, the resourceVersion is the written one. So edits of Secrets in files after their plan go
/// unnoticed, as the pages say.
pub fn content_of(object: &Object, move_id: &str) -> Result<Content, ObjectError> {
    let kind = &object.kind.group_kind;
    if kind.is_secret() {
        return Ok(Content::Version(object.meta.resource_version.clone()));
    }
    let mut value = object.value()?;
    pause::undo_in(&object.meta, move_id, &mut value);
    forget_notes(&mut value, kind);
    Ok(Content::Digest(release::content_digest(kind, &value, false).unwrap_or_default()))
}

fn forget_notes(value: &mut Value, kind: &GroupKind) {
    let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let emptied = metadata.get_mut("annotations").and_then(Value::as_object_mut).is_some_and(|annotations| {
        annotations
            .retain(|name, _| name != BLOCK_MOVE && (is_of_users(name) || !is_of_provider(name, kind)));
        annotations.is_empty()
    });
    if emptied {
        metadata.remove("annotations");
    }
}

fn is_of_users(annotation: &str) -> bool {
    annotation.starts_with(DOMAIN_OF_USERS) || OF_USERS.contains(&annotation)
}

/// Returns true if an annotation is in the domain that defines the kind: `baremetalhost.metal3.io/…` on kinds of `metal3.io`,
/// `serviceoperator.azure.com/…` on kinds of `network.azure.com`.
fn is_of_provider(annotation: &str, kind: &GroupKind) -> bool {
    let Some((domain, _)) = annotation.split_once('/') else { return false };
    let (theirs, ours) = (registered_domain(domain), registered_domain(&kind.group));
    theirs.is_some() && theirs == ours
}

/// Returns the last two labels of a domain.
fn registered_domain(domain: &str) -> Option<&str> {
    let mut dots = domain.rmatch_indices('.').map(|(at, _)| at);
    dots.next()?;
    Some(dots.next().and_then(|at| domain.get(at + 1..)).unwrap_or(domain))
}
