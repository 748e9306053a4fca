//! Labels, annotations and API groups that mean something to a move, each spelled only here. The exceptions are those that
//! plugins' patches may not touch, because the SDK has to know them, too.

pub use pivot_bounds::names::{LAST_APPLIED, OURS, PAUSED, SETTLE_GROUP, memory_prefix};

/// Label on a CRD: its kind takes part in discovery (set by `clusterctl init`).
pub const LABEL_DISCOVER: &str = "clusterctl.cluster.x-k8s.io";
/// Label on a CRD or an object: move it even if nothing that moves owns it.
pub const LABEL_MOVE: &str = "clusterctl.cluster.x-k8s.io/move";
/// Label on a CRD or an object: move it and everything below it.
pub const LABEL_MOVE_HIERARCHY: &str = "clusterctl.cluster.x-k8s.io/move-hierarchy";
/// Annotation: a provider is not ready yet; the object must not be copied while it carries this.
pub const BLOCK_MOVE: &str = "clusterctl.cluster.x-k8s.io/block-move";
/// Tells Azure Service Operator what to do with a resource.
pub(crate) const ASO_POLICY: &str = "serviceoperator.azure.com/reconcile-policy";
/// The value of [`ASO_POLICY`] before the Azure provider paused a resource.
pub(crate) const ASO_POLICY_BEFORE_PAUSE: &str =
    "sigs.k8s.io/cluster-api-provider-azure-pre-pause-reconcile-policy";
/// Annotation on a source object that is about to be deleted because its copy took over.
pub const DELETE_FOR_MOVE: &str = "clusterctl.cluster.x-k8s.io/delete-for-move";
/// Annotation: a system outside of Cluster API manages the object, and the object's provider ignores it.
pub(crate) const MANAGED_BY: &str = "cluster.x-k8s.io/managed-by";
/// Label on Deployments and definitions of a provider: the provider's name, such as `infrastructure-metal3`.
pub const LABEL_PROVIDER: &str = "cluster.x-k8s.io/provider";
/// Label on an object: only controllers with this filter reconcile it, and controllers without a filter.
pub(crate) const LABEL_WATCH_FILTER: &str = "cluster.x-k8s.io/watch-filter";
/// Label on every object of a Cluster: the Cluster's name.
pub const LABEL_CLUSTER: &str = "cluster.x-k8s.io/cluster-name";

/// Annotation on each object this tool created in a target: the move's id. It is identical on all objects of a move, because
/// controllers propagate annotations from owners to dependents.
pub const MARK: &str = "pivot-host.io/move";
/// Annotation next to the mark: the UID of the source's object, and the proof that this move made the copy.
pub const COPY_OF: &str = "pivot-host.io/copy-of";
/// Annotation on an object that was created from a manifest. The source has no such object.
pub const ADDED: &str = "pivot-host.io/added";
/// Annotation that holds the inverse of what this tool changed on an object to pause or hold it.
pub const UNDO: &str = "pivot-host.io/undo";
/// Label of a guard's policies: the cluster's side in the move.
pub(crate) const GUARD: &str = "pivot-host.io/guard";
/// Annotation on a Cluster of a source that went back, which a run paused because its copy runs: the move's id.
pub const OUT_OF_DATE: &str = "pivot-host.io/out-of-date";
/// Annotation on a Cluster in an agent's cluster: a user wants the Cluster to move back to the controller's cluster.
pub const RETURN: &str = "pivot-host.io/return";
/// Label of the record of a move that is under way; its value is the role of the side that keeps it.
pub const RECORD: &str = "pivot-host.io/record";
/// Label of the summary that an ended move leaves instead.
pub const FINISHED: &str = "pivot-host.io/finished";
/// Label of the summary that a move leaves if it was rolled back. A move that ended has another label.
pub const ROLLED_BACK: &str = "pivot-host.io/rolled-back";
/// Label of the Leases that serialise moves.
pub const LOCK: &str = "pivot-host.io/lock";
/// Types of Secrets that are credentials of one cluster, or say what is installed in it.
pub const SECRETS_OF_ONE_CLUSTER: [&str; 3] =
    ["kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token", "helm.sh/release.v1"];
/// Prefix of the names of records, release lists and leases.
pub const STATE: &str = "pivot-host";
/// Namespace of leases and records on both sides, unless the user names another.
pub const RECORD_NAMESPACE: &str = "pivot-host-records";
/// Prefix of the source id of a move that reads files; a move from a cluster has the cluster's UID instead.
pub const FILES: &str = "directory-";
/// The field manager that the server records for fields set by this tool.
pub const FIELD_MANAGER: &str = "pivot-host";

/// Group of Cluster, ClusterClass and Machine.
pub const GROUP_CLUSTER: &str = "cluster.x-k8s.io";
/// Group of ClusterResourceSet and ClusterResourceSetBinding.
pub(crate) const GROUP_ADDONS: &str = "addons.cluster.x-k8s.io";
/// Group of the Provider inventory.
pub const GROUP_CLUSTERCTL: &str = "clusterctl.cluster.x-k8s.io";

/// Metadata that the API server sets. Copies never send it.
pub(crate) const SERVER_GIVEN: [&str; 9] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
    "managedFields",
    "ownerReferences",
];
