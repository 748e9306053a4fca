//! Places that hold objects, behind one trait with few verbs.
//!
//! The engine is written once against [`Place`]: API server to API server, to a directory, from a directory. A place carries out
//! requests and no more; it neither retries nor decides. [`PlaceError`] tells which failures are worth retrying, and the engine
//! decides how often.

mod body;
mod budget;
mod builtin;
mod directory;
mod expansion;
mod kube;
mod mapped;
#[cfg(test)]
#[path = "../../../tests/worlds/src/mutants.rs"]
#[expect(unreachable_pub, reason = "it is public where it is at home")]
mod mutants;
mod pace;
mod place;
mod regular;
mod snapshot;
#[cfg(test)]
mod testing;

pub use crate::budget::{Budget, Share};
pub use crate::builtin::builtin_kinds;
pub use crate::directory::{
    ClusterInFile, DirectoryError, DirectoryPlace, Encryption, Examined, Identities, Manifest, Recipients,
    additions_of_files, cluster_of_file, documents_of_content, objects_of_file,
};
pub use crate::kube::{
    ConnectError, ConnectOptions, KubePlace, catches_panics, choose_proxy, current_context,
};
pub use crate::mapped::MappedPlace;
pub use crate::regular::{STDIN, open_regular_file, read_file_or_stdin, read_regular_file};
pub use pace::Pace;
pub use place::{
    Access, AgentDescription, Begun, Capabilities, Change, ChangedObjects, Closing, Event, Identity,
    KubeContext, Listing, MetaListing, Opening, Patch, Place, PlaceError, Preconditions, Result,
    STAND_IN_NAMESPACE, ServicePath, Subresource, Throttled,
};
pub use snapshot::SnapshotPlace;
