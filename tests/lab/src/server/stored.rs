//! What etcd holds of CRDs, recorded once for all servers that have them from their start.
//!
//! An API server that is given twenty CRDs one by one works out its whole description anew after each: two seconds of a processor,
//! as much as all else of its start. One that finds them in its etcd does that once.

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use kube::{Client, Config};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Crds;
use crate::assets::ETCD;
use crate::recording::Recording;

/// Where an API server keeps CRDs, and the end of that range of keys.
const RANGE: (&str, &str) = (
    "/registry/apiextensions.k8s.io/customresourcedefinitions/",
    "/registry/apiextensions.k8s.io/customresourcedefinitions0",
);

/// A key of etcd and its value, as base64.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Entry {
    key: String,
    value: String,
}

/// Returns where it is recorded what a server of a Kubernetes release stores of these CRDs.
pub(super) fn recording(version: &str, crds: &Crds) -> Result<Recording> {
    Recording::find("crds", &(ETCD, version, crds.objects()))
}

/// Reads the CRDs in etcd.
pub(super) async fn read(etcd: &str) -> Result<Vec<Entry>> {
    let (key, end) = (STANDARD.encode(RANGE.0), STANDARD.encode(RANGE.1));
    let answer = ask(&connect(etcd)?, "/v3/kv/range", &json!({ "key": key, "range_end": end })).await?;
    let kvs = answer.get("kvs").cloned().context("etcd holds no CRD")?;
    Ok(serde_json::from_value(kvs)?)
}

/// Writes entries into etcd.
pub(super) async fn write(etcd: &str, entries: &[Entry]) -> Result<()> {
    let client = connect(etcd)?;
    for entry in entries {
        ask(&client, "/v3/kv/put", &serde_json::to_value(entry)?).await?;
    }
    Ok(())
}

/// Returns true if etcd answers.
pub(super) async fn is_ready(etcd: &str) -> bool {
    let get =
        async || anyhow::Ok(connect(etcd)?.request_text(Request::get("/health").body(Vec::new())?).await?);
    get().await.is_ok()
}

/// A client for etcd's JSON gateway.
pub(super) fn connect(etcd: &str) -> Result<Client> {
    Ok(Client::try_from(Config::new(etcd.parse().context("read the address of etcd")?))?)
}

/// Asks etcd's JSON gateway.
pub(super) async fn ask(client: &Client, path: &str, question: &Value) -> Result<Value> {
    let request = Request::post(path).body(serde_json::to_vec(question)?)?;
    Ok(client.request(request).await?)
}
