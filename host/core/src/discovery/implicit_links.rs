//! Links that no owner reference expresses.
//!
//! Cluster API expresses some relations by name only: a Cluster's user-supplied certificates are Secrets named after it, a
//! Cluster names its class, a binding of a ClusterResourceSet names its Cluster, a class names its templates. An object that is
//! linked that way moves with the other and is created after it, but gets no owner reference.
//!
//! Bodies are parsed into structs with only the fields needed, here and nowhere else in planning. A body that can't be parsed is
//! a refusal, never a panic (W24).

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::discovery::inventory::Inventory;
use crate::messages::refusal::Refusal;
pub use crate::objects::kind::{is_cluster, is_cluster_class};
use crate::objects::names::{GROUP_ADDONS, GROUP_CLUSTER};
use crate::{GroupKind, Key, Object, ObjectError, OwnerReference};

/// The purposes of a Cluster's Secrets: `<cluster>-<purpose>`. The longest comes first, because it contains dashes (W8: the peer
/// cuts at the last dash and never finds `<cluster>-apiserver-etcd-client`).
const SECRET_PURPOSES: [&str; 6] = ["apiserver-etcd-client", "kubeconfig", "proxy", "etcd", "ca", "sa"];

/// The suffix of template kinds.
pub const TEMPLATE: &str = "Template";

/// A template that a ClusterClass names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TemplateReference {
    /// Group and version, as written.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Namespace; the class's own if the reference names none.
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
}

impl TemplateReference {
    /// The template's key.
    pub fn key(&self) -> Key {
        let group = self.api_version.split_once('/').map_or("", |(group, _)| group);
        Key::new(GroupKind::new(group, &self.kind), self.namespace.as_deref(), &self.name)
    }
}

/// The Secret in which Cluster API keeps the kubeconfig of a Cluster.
pub fn kubeconfig_of(cluster: &Key) -> Key {
    let name = format!("{}-kubeconfig", cluster.name);
    Key::new(GroupKind::new("", "Secret"), cluster.namespace.as_deref(), name)
}

/// The classes that Clusters use and that are not among these objects: they live in another namespace, or don't exist. A Cluster
/// that can't be parsed is left to the plan, which refuses it.
pub fn missing_classes(objects: &[Object]) -> BTreeSet<Key> {
    let of = |is: fn(&GroupKind) -> bool| objects.iter().filter(move |object| is(&object.kind.group_kind));
    let mut used: BTreeSet<Key> = of(is_cluster).filter_map(|cluster| class_of(cluster).ok()?).collect();
    for class in of(is_cluster_class) {
        used.remove(&class.key());
    }
    used
}

/// The class a Cluster uses: `classRef` in v1beta2, `class` and `classNamespace` in v1beta1.
pub(crate) fn class_of(cluster: &Object) -> Result<Option<Key>, ObjectError> {
    #[derive(Deserialize)]
    struct View {
        spec: Option<Spec>,
    }
    #[derive(Deserialize)]
    struct Spec {
        topology: Option<Topology>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Topology {
        class_ref: Option<ClassRef>,
        class: Option<String>,
        class_namespace: Option<String>,
    }
    #[derive(Deserialize)]
    struct ClassRef {
        name: Option<String>,
        namespace: Option<String>,
    }

    let view: View = cluster.view()?;
    let Some(topology) = view.spec.and_then(|spec| spec.topology) else { return Ok(None) };
    let (name, namespace) = match topology.class_ref {
        Some(reference) => (reference.name, reference.namespace),
        None => (topology.class, topology.class_namespace),
    };
    let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(None) };
    let namespace = namespace.filter(|namespace| !namespace.is_empty()).or(cluster.meta.namespace.clone());
    Ok(Some(Key::new(GroupKind::new(GROUP_CLUSTER, "ClusterClass"), namespace.as_deref(), name)))
}

/// The Cluster that an object of Cluster API's own kinds says it belongs to.
pub(crate) fn cluster_name_of(object: &Object) -> Option<String> {
    cluster_of_spec(object).ok().flatten()
}

/// References of a ClusterClass, each once.
#[derive(Default)]
struct NamedTemplates {
    /// Templates.
    templates: BTreeSet<TemplateReference>,
    /// References that can't be templates: another kind, or another namespace.
    others: BTreeSet<TemplateReference>,
}

/// Returns the templates that a ClusterClass names, each once, remediation templates included (W25).
pub fn template_references(class: &Object) -> Result<Vec<TemplateReference>, ObjectError> {
    Ok(named_templates(class)?.templates.into_iter().collect())
}

/// Returns the templates that a ClusterClass names, and references in a template's position that aren't templates. Cluster API's
/// webhook requires a kind that ends in `Template` and the class's own namespace, where the peer looks for all templates. Otherwise
/// users with permission to write classes could move any object: a Secret, or objects in other namespaces.
fn named_templates(class: &Object) -> Result<NamedTemplates, ObjectError> {
    let view: class::View = class.view()?;
    let mut found = NamedTemplates::default();
    for reference in view.references() {
        let (Some(api_version), Some(kind), Some(name)) =
            (reference.api_version, reference.kind, reference.name)
        else {
            continue;
        };
        let namespace = reference.namespace.filter(|n| !n.is_empty()).or(class.meta.namespace.clone());
        let sort = kind.strip_suffix(TEMPLATE).filter(|sort| !sort.is_empty());
        let fits = sort.is_some() && namespace == class.meta.namespace;
        let into = if fits { &mut found.templates } else { &mut found.others };
        into.insert(TemplateReference { api_version, kind, namespace, name });
    }
    Ok(found)
}

/// The soft links in all bodies together.
#[derive(Debug, Default)]
pub(crate) struct SoftLinks {
    /// Dependent and the object it is linked to, by index.
    pub(crate) links: Vec<(usize, usize)>,
    /// Cluster, by index, and the class it names.
    pub(crate) classes: Vec<(usize, Key)>,
    /// ClusterClass, by index, and a template it names.
    pub(crate) templates: Vec<(usize, Key)>,
    /// ClusterClass, by index, and a reference in a template's position that is not to a template of its own namespace.
    pub(crate) not_templates: Vec<(usize, Key)>,
    /// Bodies that can't be read, each with its object, by index.
    pub(crate) unreadable: Vec<(usize, Refusal)>,
}

/// Finds all soft links of an inventory.
pub(crate) fn soft_links(inventory: &Inventory) -> SoftLinks {
    let mut soft = SoftLinks::default();
    for (index, object) in inventory.objects().iter().enumerate() {
        let kind = &object.kind.group_kind;
        let read = if kind.is_secret() {
            soft.links.extend(cluster_of_secret(inventory, object).map(|cluster| (index, cluster)));
            Ok(())
        } else if is_cluster(kind) {
            class_of(object).map(|class| soft.add_class(inventory, index, class))
        } else if is_cluster_class(kind) {
            named_templates(object).map(|found| soft.add_templates(inventory, index, object, found))
        } else if kind.is(GROUP_ADDONS, "ClusterResourceSetBinding") {
            cluster_of_binding(object).map(|cluster| {
                soft.links
                    .extend(cluster.and_then(|key| inventory.index_of_key(&key)).map(|owner| (index, owner)));
            })
        } else {
            Ok(())
        };
        if let Err(error) = read {
            soft.unreadable.push((index, Refusal::unreadable(object.key(), &error)));
        }
    }
    soft
}

impl SoftLinks {
    fn add_class(&mut self, inventory: &Inventory, cluster: usize, class: Option<Key>) {
        let Some(class) = class else { return };
        self.links.extend(inventory.index_of_key(&class).map(|owner| (cluster, owner)));
        self.classes.push((cluster, class));
    }

    /// Templates that the class owns need no link; remediation templates, which have no owner, do.
    fn add_templates(&mut self, inventory: &Inventory, index: usize, class: &Object, found: NamedTemplates) {
        self.not_templates.extend(found.others.into_iter().map(|other| (index, other.key())));
        let owned = |owners: &[OwnerReference]| owners.iter().any(|owner| owner.uid == class.meta.uid);
        for template in found.templates {
            let key = template.key();
            if let Some(at) = inventory.index_of_key(&key)
                && inventory.get(at).is_some_and(|object| !owned(&object.meta.owner_references))
            {
                self.links.push((at, index));
            }
            self.templates.push((index, key));
        }
    }
}

/// The Cluster a Secret is named after. The name counts only for Secrets without owners.
fn cluster_of_secret(inventory: &Inventory, secret: &Object) -> Option<usize> {
    if !secret.meta.owner_references.is_empty() {
        return None;
    }
    SECRET_PURPOSES.iter().find_map(|purpose| {
        let cluster = secret.meta.name.strip_suffix(purpose)?.strip_suffix('-')?;
        let kind = GroupKind::new(GROUP_CLUSTER, "Cluster");
        inventory.index_of_key(&Key::new(kind, secret.meta.namespace.as_deref(), cluster))
    })
}

/// The Cluster a ClusterResourceSetBinding is for.
fn cluster_of_binding(binding: &Object) -> Result<Option<Key>, ObjectError> {
    let kind = GroupKind::new(GROUP_CLUSTER, "Cluster");
    Ok(cluster_of_spec(binding)?.map(|name| Key::new(kind, binding.meta.namespace.as_deref(), name)))
}

fn cluster_of_spec(object: &Object) -> Result<Option<String>, ObjectError> {
    #[derive(Deserialize)]
    struct View {
        spec: Option<Spec>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Spec {
        cluster_name: Option<String>,
    }
    let view: View = object.view()?;
    Ok(view.spec.and_then(|spec| spec.cluster_name).filter(|name| !name.is_empty()))
}

/// The parts of a ClusterClass that name templates, in the shapes of v1beta1 and v1beta2 together.
mod class {
    use serde::Deserialize;

    #[derive(Deserialize)]
    pub(super) struct View {
        spec: Option<Spec>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Spec {
        infrastructure: Option<Slot>,
        control_plane: Option<ControlPlane>,
        workers: Option<Workers>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ControlPlane {
        #[serde(flatten)]
        slot: Slot,
        machine_infrastructure: Option<Slot>,
        #[serde(flatten)]
        health: Health,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Workers {
        machine_deployments: Option<Vec<Worker>>,
        machine_pools: Option<Vec<Worker>>,
    }

    /// v1beta1 keeps a worker's templates one level deeper, below `template`.
    #[derive(Deserialize)]
    struct Worker {
        template: Option<WorkerTemplates>,
        #[serde(flatten)]
        templates: WorkerTemplates,
        #[serde(flatten)]
        health: Health,
    }

    #[derive(Deserialize)]
    struct WorkerTemplates {
        bootstrap: Option<Slot>,
        infrastructure: Option<Slot>,
    }

    /// `ref` in v1beta1, `templateRef` in v1beta2.
    #[derive(Deserialize)]
    struct Slot {
        #[serde(rename = "ref")]
        old: Option<Reference>,
        #[serde(rename = "templateRef")]
        new: Option<Reference>,
    }

    /// `machineHealthCheck` in v1beta1, `healthCheck` in v1beta2.
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Health {
        machine_health_check: Option<MachineHealthCheck>,
        health_check: Option<HealthCheck>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct MachineHealthCheck {
        remediation_template: Option<Reference>,
    }

    #[derive(Deserialize)]
    struct HealthCheck {
        remediation: Option<Slot>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct Reference {
        pub(super) api_version: Option<String>,
        pub(super) kind: Option<String>,
        pub(super) namespace: Option<String>,
        pub(super) name: Option<String>,
    }

    impl View {
        pub(super) fn references(self) -> Vec<Reference> {
            let mut out = Vec::new();
            let Some(spec) = self.spec else { return out };
            out.extend(spec.infrastructure.into_iter().flat_map(Slot::references));
            if let Some(control_plane) = spec.control_plane {
                out.extend(control_plane.slot.references());
                out.extend(control_plane.machine_infrastructure.into_iter().flat_map(Slot::references));
                out.extend(control_plane.health.references());
            }
            let workers = spec.workers.map(|workers| (workers.machine_deployments, workers.machine_pools));
            let (deployments, pools) = workers.unwrap_or_default();
            for worker in deployments.into_iter().chain(pools).flatten() {
                for templates in worker.template.into_iter().chain([worker.templates]) {
                    out.extend(templates.bootstrap.into_iter().flat_map(Slot::references));
                    out.extend(templates.infrastructure.into_iter().flat_map(Slot::references));
                }
                out.extend(worker.health.references());
            }
            out
        }
    }

    impl Slot {
        fn references(self) -> impl Iterator<Item = Reference> {
            self.old.into_iter().chain(self.new)
        }
    }

    impl Health {
        fn references(self) -> impl Iterator<Item = Reference> {
            let old = self.machine_health_check.and_then(|check| check.remediation_template);
            let new = self.health_check.and_then(|check| check.remediation);
            old.into_iter().chain(new.into_iter().flat_map(Slot::references))
        }
    }
}

#[cfg(test)]
mod tests;
