//! The namespace in which a side keeps the leases and records of moves. The first write that finds it missing creates it.

use std::sync::Arc;

use pivot_core::record::{record_name, record_namespace_manifest};
use pivot_core::refusal::Refusal;
use pivot_core::remedy::Remedy;
use pivot_core::shell::Kubectl;
use pivot_core::{GroupKind, Key, Kind, Object};
use pivot_places::{Change, PlaceError};
use serde_json::{Value, json};

use crate::outcome::failure::Failure;
use crate::requests::side::Handle;
use crate::state::cluster_copies::KindsOfSide;

/// The record namespace of a side.
#[derive(Clone)]
pub(crate) struct RecordNamespace {
    handle: Handle,
    /// The kind Namespace, if the side serves it.
    kind: Option<Arc<Kind>>,
    name: String,
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
    /// If the namespace is missing and can't be created.
    pub(crate) async fn create_in(
        &self,
        kind: &Arc<Kind>,
        body: &Value,
    ) -> Result<Result<Object, PlaceError>, Failure> {
        let missing = match self.handle.create(kind, body, Change::Real).await {
            Err(PlaceError::NotFound(why)) => why,
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

    /// Returns the manifest of the namespace, if it is missing. A user without permission to read it is taken for one of a namespace
    /// that exists.
    pub(crate) async fn missing_manifest(&self) -> Result<Option<Value>, Failure> {
        let Some(kind) = &self.kind else { return Ok(None) };
        let key = Key::new(kind.group_kind.clone(), None, &self.name);
        match self.handle.get(kind, &key).await {
            Ok(Some(_)) | Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => Ok(None),
            Ok(None) => Ok(Some(record_namespace_manifest(&self.name))),
            Err(failure) => Err(failure),
        }
    }

    /// Returns the refusal for a user without permission to create namespaces, if this one is missing. Asks by a dry run: such a user may
    /// not be able to read namespaces, either.
    pub(crate) async fn refuse_missing(
        &self,
        kind: &Arc<Kind>,
        move_id: &str,
    ) -> Result<Option<Refusal>, Failure> {
        let name = record_name(self.handle.side, move_id);
        let metadata = json!({"name": name, "namespace": self.name});
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        match self.handle.create(kind, &body, Change::DryRun).await {
            Err(PlaceError::NotFound(_)) => {
                Ok(Some(self.refusal("the user doesn't have permission to create namespaces")))
            }
            Err(error @ (PlaceError::Unavailable(_) | PlaceError::TooManyRequests { .. })) => {
                Err(self.handle.failed("asking about the record namespace", None, error))
            }
            // Whatever else the server says of the record itself, the other checks and the write itself report.
            Ok(_) | Err(_) => Ok(None),
        }
    }

    fn not_created(&self, error: PlaceError) -> Failure {
        match self.handle.failed("creating the record namespace", None, error) {
            Failure::Place { error: error @ (PlaceError::Forbidden(_) | PlaceError::Invalid(_)), .. } => {
                Failure::refused(self.refusal(&error.to_string()))
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
