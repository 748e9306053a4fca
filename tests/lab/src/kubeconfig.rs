//! Kubeconfigs for tools.
//!
//! Credentials are inside the file, so that tools need just one path, and so that the same bytes work in a `<cluster>-kubeconfig`
//! Secret. JSON, because every YAML parser reads it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use k8s_openapi::ByteString;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

use crate::pki::Identity;

/// A kubeconfig for `url`, its one context called `name`.
///
/// Without an authority and an identity it is for a plain-HTTP listener that needs neither.
pub fn kubeconfig(name: &str, url: &str, access: Option<(&str, &Identity)>) -> Result<Vec<u8>> {
    let (mut cluster, mut user) = (json!({ "server": url }), json!({}));
    if let Some((authority, identity)) = access {
        cluster = json!({ "server": url, "certificate-authority-data": base64(authority)? });
        user = json!({
            "client-certificate-data": base64(&identity.certificate)?,
            "client-key-data": base64(&identity.key)?,
        });
    }
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [{ "name": name, "context": { "cluster": name, "user": name, "namespace": "default" } }],
        "clusters": [{ "name": name, "cluster": cluster }],
        "users": [{ "name": name, "user": user }],
    });
    Ok(serde_json::to_vec_pretty(&config)?)
}

/// A client for the file.
///
/// Without the client library's retries: in a test an error is a finding.
pub async fn client(path: &Path) -> Result<Client> {
    Ok(Client::try_from(config(path).await?)?)
}

/// The parsed file.
pub async fn config(path: &Path) -> Result<Config> {
    let file = Kubeconfig::read_from(path).with_context(|| format!("read {}", path.display()))?;
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
    config.default_retry = false;
    Ok(config)
}

/// Writes a kubeconfig, readable only by its owner, as tools require.
pub(crate) fn write(dir: &Path, name: &str, content: &[u8]) -> Result<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let path = dir.join(format!("{name}.kubeconfig"));
    std::fs::write(&path, content).with_context(|| format!("write {}", path.display()))?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    Ok(path)
}

/// The encoding that Kubernetes uses for bytes in JSON.
fn base64(text: &str) -> Result<Value> {
    Ok(serde_json::to_value(ByteString(text.as_bytes().to_vec()))?)
}
