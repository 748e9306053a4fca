//! Objects that a GitOps tool applies. After the move deletes them from the source, the tool would create them again there.
//!
//! Labels and annotations name the owner: the object by which the tool applies others. Objects with a controller don't count, because
//! Cluster API copies labels and annotations from templates to the objects that it creates. The objects above them count.
//!
//! Annotations that exclude one object don't count, either (`kustomize.toolkit.fluxcd.io/reconcile` and `ssa`): the tool reads them
//! from the object that the move deletes. The label `app.kubernetes.io/instance` counts only if an Application of that name lists the
//! object, because Helm charts set it, too.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::messages::grouping::MAX_LISTED_NAMES;
use crate::messages::refusal::{Refusal, some_of};
use crate::messages::remedy::Remedy;
use crate::messages::shell::Kubectl;
use crate::request::validate::find_name_error;
use crate::{GroupKind, Key, Object, ObjectError, Side};

const KUSTOMIZE: &str = "kustomize.toolkit.fluxcd.io";
const ARGO: &str = "argoproj.io";
const HELM: &str = "helm.toolkit.fluxcd.io";

/// Namespace of Argo CD's own Applications, unless it was installed elsewhere.
const ARGO_NAMESPACE: &str = "argocd";

/// Label of the objects that Cluster API creates for a Cluster with a class.
const TOPOLOGY_OWNED: &str = "topology.cluster.x-k8s.io/owned";

/// Kind, namespace and name of an owner.
type Name<'a> = (&'a str, Option<&'a str>, &'a str);

/// A tool that applies objects.
struct Tool {
    /// Group of the owners.
    group: &'static str,
    find_owner: for<'a> fn(&'a Object) -> Option<Name<'a>>,
    /// Returns true if an owner with this body applies objects by itself, now or after the next commit to its Git repository.
    is_active: fn(&Value) -> bool,
    /// Merge patch that suspends an owner.
    suspend: &'static str,
    /// Field manager of the patch. Flux undoes patches by kubectl of owners that it applies itself:
    /// fluxcd/kustomize-controller, internal/controller/kustomization_controller.go, apply.
    manager: Option<&'static str>,
}

/// List in which owners of Argo CD name the objects that they apply.
const OF_ARGO: &str = "/status/resources";
/// Lists in which owners of Flux and of Argo CD name the objects that they apply.
const LISTS: [&str; 2] = ["/status/inventory/entries", OF_ARGO];
/// Destinations of an Application that applies objects to its own cluster.
const IN_CLUSTER: [(&str, &str); 2] = [
    ("/spec/destination/server", "https://kubernetes.default.svc"),
    ("/spec/destination/name", "in-cluster"),
];

const TOOLS: [Tool; 4] = [
    // fluxcd/pkg, ssa/manager.go, SetOwnerLabels
    // fluxcd/kustomize-controller, internal/controller/kustomization_controller.go, Reconcile
    Tool {
        group: KUSTOMIZE,
        find_owner: |object| find_flux_owner(object, KUSTOMIZE, "Kustomization"),
        is_active: is_flux_active,
        suspend: r#"{"spec":{"suspend":true}}"#,
        manager: Some("flux-client-side-apply"),
    },
    // fluxcd/helm-controller, internal/postrender/common_renderer.go, originLabels
    // fluxcd/helm-controller, internal/controller/helmrelease_controller.go, Reconcile
    Tool {
        group: HELM,
        find_owner: |object| find_flux_owner(object, HELM, "HelmRelease"),
        is_active: is_flux_active,
        suspend: r#"{"spec":{"suspend":true}}"#,
        manager: Some("flux-client-side-apply"),
    },
    // argoproj/argo-cd, util/argo/resource_tracking.go, BuildAppInstanceValue
    // argoproj/argo-cd, controller/appcontroller.go, autoSync and canProcessApp
    Tool {
        group: ARGO,
        find_owner: find_application,
        is_active: is_application_active,
        suspend: r#"{"metadata":{"annotations":{"argocd.argoproj.io/skip-reconcile":"true"}}}"#,
        manager: None,
    },
    // projectsveltos/libsveltos, lib/deployer/applier.go, GetResource
    // projectsveltos/addon-controller, controllers/profile_utils.go, updateClusterSummary: of a profile that is paused, or changed to
    // OneTime, the ClusterSummaries stay as they are
    Tool {
        group: "config.projectsveltos.io",
        find_owner: find_profile,
        is_active: |owner| owner.pointer("/spec/syncMode").is_none_or(|mode| mode != "DryRun"),
        suspend: r#"{"spec":{"syncMode":"DryRun"}}"#,
        manager: None,
    },
];

fn find_flux_owner<'a>(object: &'a Object, group: &str, kind: &'static str) -> Option<Name<'a>> {
    let label = |end| object.meta.labels.get(&format!("{group}/{end}")).map(String::as_str);
    Some((kind, Some(label("namespace")?), label("name")?))
}

fn is_flux_active(owner: &Value) -> bool {
    owner.pointer("/spec/suspend") != Some(&Value::Bool(true))
}

/// The annotation contains the name of the object, so that a copy of the annotation on another object proves nothing.
fn find_application(object: &Object) -> Option<Name<'_>> {
    let Key { group_kind: GroupKind { group, kind }, namespace, name } = object.key();
    let suffix = format!(":{group}/{kind}:{}/{name}", namespace.unwrap_or_default());
    let application = object.meta.annotations.get("argocd.argoproj.io/tracking-id")?.strip_suffix(&suffix)?;
    Some(split_application(application))
}

fn split_application(application: &str) -> Name<'_> {
    let (namespace, name) = application.split_once('_').unwrap_or((ARGO_NAMESPACE, application));
    ("Application", Some(namespace), name)
}

/// Without `selfHeal`, the next commit in the Application's repository creates deleted objects again.
fn is_application_active(owner: &Value) -> bool {
    let automated = owner.pointer("/spec/syncPolicy/automated").filter(|policy| policy.is_object());
    let skip = owner.pointer("/metadata/annotations/argocd.argoproj.io~1skip-reconcile");
    let is_skipped = skip
        .and_then(Value::as_str)
        .is_some_and(|skip| ["1", "t", "T", "true", "True", "TRUE"].contains(&skip));
    !is_skipped && automated.is_some_and(|policy| policy.get("enabled") != Some(&Value::Bool(false)))
}

/// A Profile applies only objects of the same namespace: projectsveltos/addon-controller, controllers/handlers_utils.go,
/// isResourceNamespaceValid.
fn find_profile(object: &Object) -> Option<Name<'_>> {
    let annotation = |key| object.meta.annotations.get(key).map(String::as_str);
    let kind = annotation("projectsveltos.io/owner-kind")?;
    let namespace = match kind {
        "ClusterProfile" => None,
        "Profile" => Some(object.meta.namespace.as_deref()?),
        _ => return None,
    };
    Some((kind, namespace, annotation("projectsveltos.io/owner-name")?))
}

/// Returns the key of the owner that a GitOps tool named on the object.
pub fn find_owner(object: &Object) -> Option<Key> {
    TOOLS
        .iter()
        .find_map(|tool| key_of_owner(tool.group, (tool.find_owner)(object)?))
        .filter(|_| !has_copied_metadata(object))
}

/// Returns the owner if Argo CD tracks the object by a label, as Argo CD 2 does by default: argoproj/argo-cd,
/// util/argo/resource_tracking.go, GetAppName.
fn find_labelled_owner(object: &Object) -> Option<Key> {
    let application = object.meta.labels.get("app.kubernetes.io/instance")?;
    key_of_owner(ARGO, split_application(application)).filter(|_| !has_copied_metadata(object))
}

fn has_copied_metadata(object: &Object) -> bool {
    let has_controller = object.meta.owner_references.iter().any(|owner| owner.controller == Some(true));
    // cluster-api, internal/controllers/topology/cluster/desired_state.go, templateToTemplate copies both from the class's templates.
    has_controller || object.meta.has_label(TOPOLOGY_OWNED)
}

/// Returns none for a name that no object has: its author chose the text, which becomes a part of a path.
fn key_of_owner(group: &str, (kind, namespace, name): Name<'_>) -> Option<Key> {
    let is_usable = namespace.iter().chain([&name]).all(|text| find_name_error(text).is_none());
    is_usable.then(|| Key::new(GroupKind::new(group, kind), namespace, name))
}

/// Objects that may have one owner.
#[derive(Debug, Default)]
pub struct OwnedObjects {
    /// Objects with metadata that only the owner's tool writes.
    pub marked: Vec<Key>,
    /// Objects with a label that others write, too. They have the owner only if it lists them.
    pub labelled: Vec<Key>,
}

/// Returns the owners of objects that move, each with these objects.
pub fn find_owners<'a>(moved: impl IntoIterator<Item = &'a Object>) -> BTreeMap<Key, OwnedObjects> {
    let mut owners: BTreeMap<Key, OwnedObjects> = BTreeMap::new();
    for object in moved {
        if let Some(owner) = find_owner(object) {
            owners.entry(owner).or_default().marked.push(object.key());
        } else if let Some(owner) = find_labelled_owner(object) {
            owners.entry(owner).or_default().labelled.push(object.key());
        }
    }
    owners
}

/// Refuses to delete objects that an owner in the source would create again.
///
/// # Errors
///
/// The owner's body can't be parsed.
pub fn refuse_active_owner(owner: &Object, owned: &OwnedObjects) -> Result<Option<Refusal>, ObjectError> {
    let (key, body) = (owner.key(), owner.value()?);
    let is_listed = |object: &&Key| {
        IN_CLUSTER.iter().any(|(field, text)| body.pointer(field).is_some_and(|there| there == text))
            && body.pointer(OF_ARGO).is_some()
            && is_applied(&body, object)
    };
    let marked = owned.marked.iter().filter(|object| is_applied(&body, object));
    let applied: Vec<&Key> = marked.chain(owned.labelled.iter().filter(is_listed)).collect();
    let tool = TOOLS.iter().find(|tool| tool.group == key.group_kind.group && (tool.is_active)(&body));
    let Some(tool) = tool.filter(|_| !applied.is_empty()) else { return Ok(None) };
    // Anyone who can write an object can label it.
    let applies = match LISTS.iter().any(|list| body.pointer(list).is_some()) {
        true => "applies",
        false => "applies, as their labels or annotations say,",
    };
    let message = format!(
        "{key} isn't suspended, and {applies} {}, which move: it would create them again in the source",
        some_of(&applied, MAX_LISTED_NAMES)
    );
    let suspend = match tool.manager {
        Some(manager) => Kubectl::patch_as(manager, Side::Source, &key, tool.suspend),
        None => Kubectl::patch(Side::Source, &key, tool.suspend),
    };
    // argoproj/argo-cd, applicationset/controllers/applicationset_controller.go, createOrUpdateInCluster
    let undone = match owner.meta.owner_references.iter().any(|owner| owner.kind == "ApplicationSet") {
        true => {
            "; its ApplicationSet undoes the suspension unless spec.preservedFields.annotations has the annotation"
        }
        false => "",
    };
    let after =
        format!(", and unsuspend {key} only after its Git repository no longer has these objects{undone}");
    let accept = Remedy::AcceptGitops { kind: key.group_kind.clone() };
    let suspend = Remedy::kubectl("suspend it: ", suspend, &after);
    Ok(Some(Refusal::source("gitops-active", key, message, suspend).with_remedy(accept)))
}

/// Returns false if the owner lists the objects that it applies, and another list has this one. A copy of an earlier move has labels
/// of the other cluster, where an owner often has the same name.
fn is_applied(owner: &Value, object: &Key) -> bool {
    let Key { group_kind: GroupKind { group, kind }, namespace, name } = object;
    let namespace = namespace.as_deref().unwrap_or_default();
    let id = format!("{namespace}_{name}_{group}_{kind}");
    let of_flux = |entry: &Value| entry.get("id").is_some_and(|entry| *entry == id);
    let fields = [("group", group.as_str()), ("kind", kind), ("namespace", namespace), ("name", name)];
    let of_argo = |entry: &Value| {
        let text = |field| entry.get(field).and_then(Value::as_str).unwrap_or_default();
        fields.iter().all(|(field, expected)| text(field) == *expected)
    };
    let list = |path| owner.pointer(path).and_then(Value::as_array);
    let [flux, argo] = LISTS;
    list(flux).is_none_or(|all| all.iter().any(of_flux))
        && list(argo).is_none_or(|all| all.iter().any(of_argo))
}

#[cfg(test)]
mod tests;
