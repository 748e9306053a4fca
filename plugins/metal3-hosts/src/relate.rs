//! How Metal3's objects belong together.
//!
//! A host hangs off nothing by ownership (since provider 1.14), so that neither `--cluster` nor the order of copying
//! would know of it; its consumer is named in its spec. What hangs off a host is owned by it or only has its name.

use pivot_sdk::prelude::*;

use crate::host::Host;
use crate::names::{HOST, PREPROVISIONING, SCHEMA, SUBSCRIPTION};

pub(crate) fn relate(object: &Object) -> Vec<Relation> {
    let kind = object.kind();
    match () {
        () if kind == HOST => host(Host(object)),
        () if kind == SCHEMA || kind == PREPROVISIONING => {
            vec![Relation::leave("rebuilt by the target's baremetal operator")]
        }
        () if kind == SUBSCRIPTION => vec![Relation::leave(
            "its copy would subscribe at the machine's management controller a second time; create it anew in the \
             target once the host is there",
        )],
        () => of_a_host(object),
    }
}

fn host(host: Host<'_>) -> Vec<Relation> {
    // The consumer is what the provider goes by; the label is its note of it.
    let belongs_to = host.machine().or_else(|| host.cluster()).map(Relation::Link);
    // What it names in other namespaces others use as well; the check tells of it.
    let ours = |key: &Key| key.namespace.as_deref() == host.0.namespace();
    let secrets = host.secrets().map(|secret| secret.key).filter(ours);
    belongs_to.into_iter().chain(secrets.map(Relation::Need)).collect()
}

/// Where it is owned the owner reference says the same, and is followed anyway.
fn of_a_host(object: &Object) -> Vec<Relation> {
    if object.owners().any(|owner| owner.kind == HOST) {
        return Vec::new();
    }
    let host = object.namespace().map(|namespace| HOST.named(namespace, object.name()));
    host.map(Relation::Link).into_iter().collect()
}
