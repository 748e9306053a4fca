//! The namespace in which a side keeps the leases and records of moves. The first write that finds it missing creates it.

use std::sync::Arc;

use pivot_core::messages::refusal::Refusal;
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::shell::Kubectl;
use pivot_core::records::record::{record_name, record_namespace_manifest};
use pivot_core::{GroupKind, Key, Kind, Object};
use pivot_places::{Change, PlaceError};
use serde_json::{Value, json};

use crate::base::outcome::failure::Failure;
use crate::base::requests::side::Handle;
use crate::base::state::cluster_copies::KindsOfSide;

/// The record namespace of a side.
#[derive(Clone)]
pub(crate) struct RecordNamespace {
    handle: Handle,
    /// The kind Namespace, if the side serves it.
    kind: Option<Arc<Kind>>,
    name: String,
}

/// State of a record namespace, as far as the user can read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoundNamespace {
    There,
    Deleting,
    Absent,
    Unreadable,
}

impl RecordNamespace {
    pub(crate) fn new(handle: &Handle, kinds: &KindsOfSide, name: &str) -> Self {
        let kind = kinds.get(&GroupKind::new("", "Namespace")).cloned();
        Self { handle: handle.clone(), kind, name: name.to_owned() }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Creates an object in the namespace, and the namespace before it if that is missing. Returns the server's answer about the
    /// object: callers distinguish "already exists" from errors.
    ///
    /// # Errors
    ///
    /// If the namespace is missing and can't be created, or if it is being deleted.
    pub(crate) async fn create_in(
        &self,
        kind: &Arc<Kind>,
        body: &Value,
    ) -> Result<Result<Object, PlaceError>, Failure> {
        let missing = match self.handle.create(kind, body, Change::Real).await {
            Err(PlaceError::NotFound(why)) => why,
            Err(error @ PlaceError::Forbidden(_)) => {
                return match self.find().await {
                    Ok(FoundNamespace::Deleting) => Err(Failure::from_refusal(self.refuse_deleting())),
                    _ => Ok(Err(error)),
                };
            }
            answer => return Ok(answer),
        };
        let Some(namespaces) = &self.kind else { return Ok(Err(PlaceError::NotFound(missing))) };
        match self.handle.create(namespaces, &record_namespace_manifest(&self.name), Change::Real).await {
            // Another run may have created it meanwhile.
            Ok(_) | Err(PlaceError::AlreadyExists(_)) => {}
            Err(error) => return Err(self.not_created(error)),
        }
        Ok(self.handle.create(kind, body, Change::Real).await)
    }

    /// Reads the namespace.
    pub(crate) async fn find(&self) -> Result<FoundNamespace, Failure> {
        let Some(kind) = &self.kind else { return Ok(FoundNamespace::There) };
        let key = Key::new(kind.group_kind.clone(), None, &self.name);
        match self.handle.get(kind, &key).await {
            Ok(Some(there)) if there.meta.is_being_deleted() => Ok(FoundNamespace::Deleting),
            Ok(Some(_)) => Ok(FoundNamespace::There),
            Ok(None) => Ok(FoundNamespace::Absent),
            Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => Ok(FoundNamespace::Unreadable),
            Err(failure) => Err(failure),
        }
    }

    /// Returns the manifest of the namespace, if it is missing. A user without permission to read it is taken for one of a namespace
    /// that exists.
    pub(crate) async fn missing_manifest(&self) -> Result<Option<Value>, Failure> {
        let is_absent = self.find().await? == FoundNamespace::Absent;
        Ok(is_absent.then(|| record_namespace_manifest(&self.name)))
    }

    /// Returns the refusal of a namespace in which the move can't write its record later. A user without permission to read the
    /// namespace or to create it asks by a dry run.
    pub(crate) async fn refuse_unwritable(
        &self,
        kind: &Arc<Kind>,
        move_id: &str,
        found: FoundNamespace,
        may_create: bool,
    ) -> Result<Option<Refusal>, Failure> {
        let not_allowed = "the user doesn't have permission to create namespaces";
        match found {
            FoundNamespace::Deleting => return Ok(Some(self.refuse_deleting())),
            FoundNamespace::Absent if !may_create => return Ok(Some(self.refusal(not_allowed))),
            FoundNamespace::Unreadable if !may_create => {}
            FoundNamespace::There | FoundNamespace::Absent | FoundNamespace::Unreadable => return Ok(None),
        }
        let name = record_name(self.handle.side, move_id);
        let metadata = json!({"name": name, "namespace": self.name});
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        match self.handle.create(kind, &body, Change::DryRun).await {
            Err(PlaceError::NotFound(_)) => Ok(Some(self.refusal(not_allowed))),
            Err(error @ (PlaceError::Unavailable(_) | PlaceError::TooManyRequests { .. })) => {
                Err(self.handle.request_failure("asking about the record namespace", None, error))
            }
            // Whatever else the server says of the record itself, the other checks and the write itself report.
            Ok(_) | Err(_) => Ok(None),
        }
    }

    fn refuse_deleting(&self) -> Refusal {
        let (side, name) = (self.handle.side, &self.name);
        let look = Kubectl::new(side, ["get", "namespace", name, "-o", "yaml"]);
        Refusal {
            code: "record-namespace-deleting",
            side,
            object: None,
            others: Vec::new(),
            message: format!(
                "namespace {name}, in which a move keeps its lease and its record, is being deleted: nothing can be created in it until \
                 it is gone"
            ),
            remedies: vec![Remedy::kubectl(
                "wait until it is gone (",
                look,
                " shows what it waits for), and run this again",
            )],
        }
    }

    fn not_created(&self, error: PlaceError) -> Failure {
        match self.handle.request_failure("creating the record namespace", None, error) {
            Failure::Place { error: error @ (PlaceError::Forbidden(_) | PlaceError::Invalid(_)), .. } => {
                Failure::from_refusal(self.refusal(&error.to_string()))
            }
            failure => failure,
        }
    }

    fn refusal(&self, why: &str) -> Refusal {
        let (side, name) = (self.handle.side, &self.name);
        let create = Kubectl::new(side, ["create", "namespace", name]);
        Refusal {
            code: "record-namespace-missing",
            side,
            object: None,
            others: Vec::new(),
            message: format!(
                "namespace {name}, in which a move keeps its lease and its record, doesn't exist, and can't be created: {why}"
            ),
            remedies: vec![
                Remedy::kubectl("ask a user with permission to create namespaces to run ", create, ""),
                Remedy::NameRecordNamespace,
            ],
        }
    }
}
