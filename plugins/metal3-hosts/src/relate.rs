//! Relations between Metal3's objects.
//!
//! No owner reference points from a host to what it belongs to (since provider 1.14), so neither `--cluster` nor the order of
//! copying would include it; its spec names its consumer. A host's dependents are owned by it or only share its name.

use pivot_sdk::prelude::*;

use crate::host::Host;
use crate::names::{HOST, PREPROVISIONING, SCHEMA, SUBSCRIPTION};

pub(crate) fn relate_object(object: &Object) -> Vec<Relation> {
    let kind = object.kind();
    match () {
        () if kind == HOST => relate_host(Host(object)),
        () if kind == SCHEMA || kind == PREPROVISIONING => {
            vec![Relation::leave("rebuilt by the target's baremetal operator")]
        }
        () if kind == SUBSCRIPTION => vec![Relation::leave(
            "its copy would subscribe at the machine's management controller a second time; create it again in the target once the host is there",
        )],
        () => relate_dependent(object),
    }
}

fn relate_host(host: Host<'_>) -> Vec<Relation> {
    // The provider relies on the consumer; it only sets the label to match.
    let belongs_to = host.consuming_machine().or_else(|| host.labelled_cluster()).map(Relation::Link);
    // Secrets that it names in other namespaces are used by others as well; the check reports them.
    let secrets = host.referenced_secrets().map(|secret| secret.key);
    let secrets = secrets.filter(|key| key.namespace.as_deref() == host.0.namespace());
    belongs_to.into_iter().chain(secrets.map(Relation::Need)).collect()
}

/// Links an object to the host of the same name. If the host owns the object, the owner reference suffices.
fn relate_dependent(object: &Object) -> Vec<Relation> {
    if object.owners().any(|owner| owner.kind == HOST) {
        return Vec::new();
    }
    let host = object.namespace().map(|namespace| HOST.key_in(namespace, object.name()));
    host.map(Relation::Link).into_iter().collect()
}
