//! Changes of objects by the server.

use std::collections::BTreeSet;
use std::sync::Arc;

use pivot_core::{GroupKind, Key, Kind, Object};
use pivot_places::{Change, PlaceError, Preconditions, Result, Subresource};
use serde_json::Value;
use uuid::Uuid;

use super::state::{State, object_in_version};
use crate::body::{
    check_preconditions, drop_empty, key_of, metadata_field, metadata_text, patch_body, set_metadata,
};

/// Fields that only the server writes.
const SERVERS_OWN: [&str; 6] =
    ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink"];

impl State {
    pub(super) fn create(
        &mut self,
        kind: &Arc<Kind>,
        key: &Key,
        body: &Value,
        change: Change,
    ) -> Result<Object> {
        let served = self.served_kind(kind)?;
        let written = body.get("apiVersion").and_then(Value::as_str);
        if written.is_some_and(|written| written != kind.api_version()) {
            return Err(PlaceError::Invalid(format!("{key}: not in {}", kind.api_version())));
        }
        if let Some(namespace) = &key.namespace {
            let home = Key::new(GroupKind::new("", "Namespace"), None, namespace);
            match self.objects.get(&home) {
                None => return Err(PlaceError::NotFound(format!("namespaces {namespace:?} not found"))),
                Some(home) if metadata_field(home, "deletionTimestamp").is_some() => {
                    return Err(PlaceError::Forbidden(format!("namespace {namespace} is being terminated")));
                }
                Some(_) => {}
            }
        }
        if metadata_text(body, "resourceVersion").is_some_and(|version| !version.is_empty()) {
            let text = format!("{key}: resourceVersion should not be set on objects to be created");
            return Err(PlaceError::Invalid(text));
        }
        if self.objects.contains_key(key) {
            return Err(PlaceError::AlreadyExists(key.to_string()));
        }
        self.ask_policy(key)?;
        let mut new = body.clone();
        self.apply_schema(key, &mut new)?;
        for field in SERVERS_OWN {
            set_metadata(&mut new, field, Value::Null);
        }
        if let (true, Some(map)) = (served.status_subresource, new.as_object_mut()) {
            map.remove("status");
        }
        set_metadata(&mut new, "uid", Uuid::new_v4().to_string().into());
        set_metadata(&mut new, "creationTimestamp", self.read_time());
        if counts_generations(kind) {
            set_metadata(&mut new, "generation", 1.into());
        }
        match change {
            Change::DryRun => object_in_version(kind, &new),
            Change::Real => {
                let new = self.store_object(key.clone(), new);
                object_in_version(kind, &new)
            }
        }
    }

    pub(super) fn update_object(
        &mut self,
        kind: &Arc<Kind>,
        key: &Key,
        subresource: Subresource,
        change: Change,
        edit: impl FnOnce(&mut Value),
    ) -> Result<Object> {
        let served = self.served_kind(kind)?;
        let old = self.objects.get(key).cloned().ok_or_else(|| PlaceError::NotFound(key.to_string()))?;
        if subresource == Subresource::Status && !served.status_subresource {
            return Err(PlaceError::NotFound(format!("{key} has no status subresource")));
        }
        let new = patch_body(&served, key, &old, edit, subresource, &SERVERS_OWN)?;
        self.write_object(kind, key, &old, new, change)
    }

    /// Writes a changed object: the last step of every change.
    fn write_object(
        &mut self,
        kind: &Arc<Kind>,
        key: &Key,
        old: &Value,
        mut new: Value,
        change: Change,
    ) -> Result<Object> {
        self.apply_schema(key, &mut new)?;
        drop_empty(&mut new);
        let dying = metadata_field(old, "deletionTimestamp").is_some();
        if dying && finalizer_names(&new).difference(&finalizer_names(old)).next().is_some() {
            let text = format!("{key}: no new finalizers can be added if the object is being deleted");
            return Err(PlaceError::Invalid(text));
        }
        if new == *old {
            return object_in_version(kind, old);
        }
        if counts_generations(kind) && !same_intent(kind, old, &new) {
            let generation = metadata_field(old, "generation").and_then(Value::as_i64).unwrap_or_default();
            set_metadata(&mut new, "generation", (generation + 1).into());
        }
        let new = match change {
            Change::DryRun => new,
            Change::Real if dying && is_list_empty(&new, "finalizers") => self.drop_object(key, new),
            Change::Real => self.store_object(key.clone(), new),
        };
        object_in_version(kind, &new)
    }

    pub(super) fn delete(&mut self, kind: &Arc<Kind>, key: &Key, must: &Preconditions) -> Result<()> {
        self.served_kind(kind)?;
        let old = self.objects.get(key).cloned().ok_or_else(|| PlaceError::NotFound(key.to_string()))?;
        check_preconditions(key, &old, must)?;
        if is_list_empty(&old, "finalizers") {
            self.drop_object(key, old);
        } else if metadata_field(&old, "deletionTimestamp").is_none() {
            let mut new = old;
            set_metadata(&mut new, "deletionTimestamp", self.read_time());
            set_metadata(&mut new, "deletionGracePeriodSeconds", 0.into());
            if let Some(generation) = metadata_field(&new, "generation").and_then(Value::as_i64) {
                set_metadata(&mut new, "generation", (generation + 1).into());
            }
            self.store_object(key.clone(), new);
        }
        Ok(())
    }

    pub(super) fn insert(&mut self, mut body: Value) -> Result<Object> {
        let written = body.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        let (group, version) = written.split_once('/').unwrap_or(("", written));
        let name = body.get("kind").and_then(Value::as_str).unwrap_or_default();
        let group_kind = GroupKind::new(group, name);
        let Some(known) = self.kinds.get(&group_kind) else {
            return Err(PlaceError::NotFound(format!("the server has no {group_kind}")));
        };
        let kind = Arc::new(Kind { version: version.to_owned(), ..Kind::clone(known) });
        let key = key_of(&kind, &body)?;
        if let Some(namespace) = &key.namespace {
            let home = Key::new(GroupKind::new("", "Namespace"), None, namespace);
            if !self.objects.contains_key(&home) {
                let text = serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
                self.insert(text)?;
            }
        }
        if metadata_text(&body, "uid").is_none_or(str::is_empty) {
            set_metadata(&mut body, "uid", Uuid::new_v4().to_string().into());
        }
        if metadata_field(&body, "creationTimestamp").is_none() {
            set_metadata(&mut body, "creationTimestamp", self.read_time());
        }
        if counts_generations(&kind) && metadata_field(&body, "generation").is_none() {
            set_metadata(&mut body, "generation", 1.into());
        }
        let body = self.store_object(key, body);
        object_in_version(&kind, &body)
    }

    pub(super) fn edit(&mut self, key: &Key, edit: impl FnOnce(&mut Value)) -> Result<Object> {
        let old = self.objects.get(key).cloned().ok_or_else(|| PlaceError::NotFound(key.to_string()))?;
        let Some(kind) = self.kinds.get(&key.group_kind).cloned() else {
            return Err(PlaceError::NotFound(format!("the server has no {}", key.group_kind)));
        };
        let mut new = old.clone();
        edit(&mut new);
        self.write_object(&kind, key, &old, new, Change::Real)
    }

    pub(super) fn remove(&mut self, key: &Key) -> Result<()> {
        let body = self.objects.get(key).cloned().ok_or_else(|| PlaceError::NotFound(key.to_string()))?;
        self.drop_object(key, body);
        Ok(())
    }

    pub(super) fn collect_garbage(&mut self) -> Vec<Key> {
        let mut collected = Vec::new();
        loop {
            let there: BTreeSet<&str> =
                self.objects.values().filter_map(|body| metadata_text(body, "uid")).collect();
            let orphan = self.objects.iter().find(|(_, body)| {
                let owners = metadata_field(body, "ownerReferences").and_then(Value::as_array);
                let uids = owners.into_iter().flatten().filter_map(|owner| owner.get("uid")?.as_str());
                metadata_field(body, "deletionTimestamp").is_none()
                    && !is_list_empty(body, "ownerReferences")
                    && !uids.into_iter().any(|uid| there.contains(uid))
            });
            let Some((key, kind)) =
                orphan.and_then(|(key, _)| Some((key.clone(), self.kinds.get(&key.group_kind)?.clone())))
            else {
                self.forget_owners_that_are_gone();
                return collected;
            };
            // The object was just read, so the delete can only fail because of the object itself.
            if self.delete(&kind, &key, &Preconditions::default()).is_err() {
                return collected;
            }
            collected.push(key);
        }
    }

    /// Removes references to owners that are gone from objects that have other owners.
    fn forget_owners_that_are_gone(&mut self) {
        let uids = self.objects.values().filter_map(|body| metadata_text(body, "uid").map(str::to_owned));
        let there: BTreeSet<String> = uids.collect();
        let is_gone =
            |owner: &Value| owner.get("uid").and_then(Value::as_str).is_none_or(|uid| !there.contains(uid));
        let loses = |body: &Value| {
            let owners = metadata_field(body, "ownerReferences").and_then(Value::as_array);
            owners.is_some_and(|owners| owners.iter().any(is_gone) && !owners.iter().all(is_gone))
        };
        let keys: Vec<Key> =
            self.objects.iter().filter(|(_, body)| loses(body)).map(|(key, _)| key.clone()).collect();
        for key in keys {
            // The object was just read.
            let _ = self.edit(&key, |body| {
                let owners = body.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut);
                owners.into_iter().for_each(|owners| owners.retain(|owner| !is_gone(owner)));
            });
        }
    }

    /// Refuses a ConfigMap as the policy of its name does. No expression is evaluated.
    fn ask_policy(&self, key: &Key) -> Result<()> {
        let [policy, binding] = ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]
            .map(|kind| Key::new(GroupKind::new("admissionregistration.k8s.io", kind), None, &key.name));
        match self.objects.get(&policy).filter(|_| self.objects.contains_key(&binding)) {
            Some(policy) if key.group_kind.is("", "ConfigMap") => {
                let message = policy.pointer("/spec/validations/0/message").and_then(Value::as_str);
                Err(PlaceError::Forbidden(message.unwrap_or_default().to_owned()))
            }
            _ => Ok(()),
        }
    }

    fn apply_schema(&self, key: &Key, body: &mut Value) -> Result<()> {
        self.schemas.get(&key.group_kind).map_or(Ok(()), |schema| schema.apply_to(body))
    }
}

/// Returns true for custom resources. Secrets and ConfigMaps have no generations.
fn counts_generations(kind: &Kind) -> bool {
    !kind.group_kind.group.is_empty()
}

/// Returns true if only metadata differs, or the status if that is a subresource.
fn same_intent(kind: &Kind, old: &Value, new: &Value) -> bool {
    let intent = |body: &Value| {
        let mut body = body.clone();
        if let Some(map) = body.as_object_mut() {
            map.remove("metadata");
            if kind.status_subresource {
                map.remove("status");
            }
        }
        body
    };
    intent(old) == intent(new)
}

fn finalizer_names(body: &Value) -> BTreeSet<&str> {
    let items = metadata_field(body, "finalizers").and_then(Value::as_array);
    items.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Returns true if a list in the metadata is empty.
fn is_list_empty(body: &Value, field: &str) -> bool {
    metadata_field(body, field).and_then(Value::as_array).is_none_or(Vec::is_empty)
}
