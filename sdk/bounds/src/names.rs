//! Labels and annotations that a plugin must not change.

/// Annotation: Cluster API's controllers leave the object alone.
pub const PAUSED: &str = "cluster.x-k8s.io/paused";
/// Annotation that holds a copy of the whole object, secret data included.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Prefix of every annotation and label of pivot-host.
pub const OURS: &str = "pivot-host.io/";

/// The prefix of the annotations in which a plugin may store something, up to the slash.
pub fn memory_prefix(plugin: &str) -> String {
    format!("{plugin}.{}", OURS.trim_end_matches('/'))
}

/// The name, under a plugin's prefix, of the annotation that says which objects form a group when they are settled: the first
/// wave has one of each group.
pub const SETTLE_GROUP: &str = "settle-group";
