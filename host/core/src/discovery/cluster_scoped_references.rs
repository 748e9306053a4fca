//! Cluster-scoped objects for a tenant: those that the objects of one namespace refer to.
//!
//! Identities and pools of the whole cluster move with every namespace, because an operator who moves one for the cluster's owner
//! can't know which of them it uses. A tenant's move would get all of them, with the credentials below them.

use std::collections::BTreeSet;

use crate::discovery::body_references::Mentions;
use crate::discovery::inventory::Inventory;
use crate::request::scope::Scope;

/// Discounts cluster-scoped objects, unless an object of the namespaces that move refers to them, directly or not: as owners or in
/// its body.
pub fn discount_unreferred(mut inventory: Inventory, scope: &Scope) -> Inventory {
    let all = || inventory.objects().iter().enumerate().filter(|(index, _)| inventory.is_trusted(*index));
    let global: BTreeSet<usize> =
        all().filter(|(_, object)| !object.kind.namespaced).map(|(index, _)| index).collect();
    let mentions = Mentions::from_inventory(&inventory, global.iter().copied());
    let inside = |object: &crate::Object| {
        object.kind.namespaced && scope.includes_namespace(object.meta.namespace.as_deref())
    };
    let mut queue: Vec<usize> = all().filter(|(_, object)| inside(object)).map(|(index, _)| index).collect();
    let mut referred = BTreeSet::new();
    while let Some(index) = queue.pop() {
        let owners = inventory.get(index).into_iter().flat_map(|object| &object.meta.owner_references);
        let owners = owners.filter_map(|owner| inventory.index_of_uid(&owner.uid));
        for other in mentions.objects_named_by(index).chain(owners).filter(|other| global.contains(other)) {
            if referred.insert(other) {
                queue.push(other);
            }
        }
    }
    let unreferred: Vec<usize> = global.difference(&referred).copied().collect();
    inventory.mark_only_reached(unreferred);
    inventory
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Object;
    use crate::request::scope::Namespaces;
    use crate::testing::{kind, objects};

    #[test]
    fn referenced_cluster_scoped_objects_count() {
        let mut all = objects("Identity named\nIdentity chained\nIdentity others\nIdentity unnamed");
        let refers = |kind_name: &str, namespace: Option<&str>, name: &str, to: &str| {
            let mut body = json!({"metadata": {"name": name, "uid": name},
                "spec": {"identityRef": {"kind": "Identity", "name": to}}});
            if let Some(namespace) = namespace {
                body["metadata"]["namespace"] = json!(namespace);
            }
            Object::from_value(kind(kind_name), &body).unwrap()
        };
        all.push(refers("InfraCluster", Some("ns"), "ours", "named"));
        all.push(refers("InfraCluster", Some("other"), "theirs", "others"));
        let named = all.iter().position(|object| object.meta.name == "named").unwrap();
        all[named] = refers("Identity", None, "named", "chained");
        let inventory = discount_unreferred(Inventory::new(all), &Scope::new(Namespaces::One("ns".into())));
        let counts = |name: &str| {
            let index = inventory.keys().iter().position(|key| key.name == name).unwrap();
            inventory.is_trusted(index)
        };
        assert_eq!(["named", "chained", "others", "unnamed"].map(counts), [true, true, false, false]);
    }
}
