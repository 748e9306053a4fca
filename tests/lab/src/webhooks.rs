//! Webhooks of managers that run as plain processes.
//!
//! In an installation, an API server reaches webhooks through a Service. Here it reaches a port of this machine, whose certificate it
//! trusts by a CA bundle. Webhooks fail closed: while their manager is stopped, the server refuses writes to its kinds. A manager that
//! starts again needs the same port and certificate, so both are kept in the server's directory.
//!
//! Not covered: cert-manager, and with it a certificate that changes.

mod scripted;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use crate::kinds::text;
use crate::pki;
use crate::ports::free_port;
use crate::server::{Server, parse};

pub use scripted::{ScriptedWebhook, Verdict};

/// Folder of the certificate, below the folder of temporary files, for managers that have no flag for it.
const CERTIFICATES: &str = "k8s-webhook-server/serving-certs";

/// The label of a ConfigMap that a configuration refuses. Its value is the configuration's name.
const PROBE: &str = "lab.pivot-host.io/webhook";

/// Part of the server's answer if a manager has no webhook at a path. So its port and its certificate are right.
const NOT_SERVED: &str = "could not find the requested resource";

const LIMIT: Duration = Duration::from_mins(1);

/// Port and certificate of one manager's webhooks, for one API server.
#[derive(Debug, Clone)]
pub struct WebhookEndpoint {
    manager: String,
    dir: PathBuf,
    port: u16,
    certificate: String,
}

impl WebhookEndpoint {
    /// Returns the endpoint of a manager. It is the same for each start of the manager.
    pub fn of_manager(server: &Server, manager: &str) -> Result<Self> {
        Self::in_dir(server.dir().join("webhooks").join(manager), manager)
    }

    fn in_dir(dir: PathBuf, manager: &str) -> Result<Self> {
        let certificates = dir.join(CERTIFICATES);
        let (port, certificate) = (dir.join("port"), certificates.join("tls.crt"));
        if !port.exists() {
            let identity = pki::self_signed()?;
            fs::create_dir_all(&certificates)
                .with_context(|| format!("create {}", certificates.display()))?;
            fs::write(&certificate, identity.certificate)?;
            fs::write(certificates.join("tls.key"), identity.key)?;
            fs::write(&port, free_port()?.to_string())?;
        }
        let read = |path: &Path| fs::read_to_string(path).with_context(|| format!("read {}", path.display()));
        Ok(Self {
            manager: manager.to_owned(),
            port: read(&port)?.parse().context("read a port")?,
            certificate: read(&certificate)?,
            dir,
        })
    }

    /// The port on which the manager has to listen.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder with `tls.crt` and `tls.key`.
    #[must_use]
    pub fn certificates(&self) -> PathBuf {
        self.dir.join(CERTIFICATES)
    }

    /// The value of `TMPDIR` for managers that have no flag for the folder of certificates.
    #[must_use]
    pub fn temporary_dir(&self) -> &Path {
        &self.dir
    }

    /// Replaces the Service of each webhook by this port. The manager's name comes before the configurations' own, which are the same
    /// in all projects. The last webhook of each is the lab's: it refuses only the probe.
    fn redirect(&self, mut configurations: Vec<Value>) -> Result<Vec<Value>> {
        for configuration in &mut configurations {
            let name = format!("{}-{}", self.manager, text(configuration, "/metadata/name"));
            let named = configuration.pointer_mut("/metadata/name");
            *named.context("a webhook configuration without a name")? = name.as_str().into();
            let webhooks = configuration.get_mut("webhooks").and_then(Value::as_array_mut);
            let webhooks = webhooks.with_context(|| format!("{name} has no webhooks"))?;
            for webhook in webhooks.iter_mut() {
                let path = text(webhook, "/clientConfig/service/path").to_owned();
                ensure!(!path.is_empty(), "a webhook of {name} has no path");
                webhook["clientConfig"] = self.client_config(&path);
            }
            webhooks.push(self.refuse_probe(&name));
        }
        Ok(configurations)
    }

    fn client_config(&self, path: &str) -> Value {
        json!({
            "url": format!("https://localhost:{}{path}", self.port),
            "caBundle": ByteString(self.certificate.clone().into_bytes()),
        })
    }

    /// A webhook that the manager doesn't serve.
    fn refuse_probe(&self, configuration: &str) -> Value {
        json!({
            "name": "probe.lab.pivot-host.io",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "clientConfig": self.client_config("/not-served"),
            "objectSelector": {"matchLabels": {PROBE: configuration}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
        })
    }
}

impl Server {
    /// Has a manager convert the kinds of these API groups that have several versions. The manager may start later.
    pub async fn register_conversion(&self, endpoint: &WebhookEndpoint, groups: &[&str]) -> Result<()> {
        let api: Api<CustomResourceDefinition> = Api::all(self.client());
        let conversion = json!({
            "strategy": "Webhook",
            "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": endpoint.client_config("/convert")},
        });
        let patch = Patch::Merge(json!({"spec": {"conversion": conversion}}));
        let crds = api.list(&ListParams::default()).await?;
        let is_converted = |crd: &&CustomResourceDefinition| {
            groups.contains(&crd.spec.group.as_str()) && crd.spec.versions.len() > 1
        };
        let register = async |crd: &CustomResourceDefinition| {
            let patched = api.patch(&crd.name_any(), &PatchParams::default(), &patch).await;
            patched.map(drop).with_context(|| format!("register the conversion of {}", crd.name_any()))
        };
        futures::future::try_join_all(crds.iter().filter(is_converted).map(register)).await.map(drop)
    }

    /// Registers the webhooks of a running manager from its manifest, and waits until the server calls them.
    pub async fn register_webhooks(&self, endpoint: &WebhookEndpoint, manifest: &Path) -> Result<()> {
        let text = fs::read_to_string(manifest).with_context(|| format!("read {}", manifest.display()))?;
        self.register(endpoint, parse(&text)?).await
    }

    async fn register(&self, endpoint: &WebhookEndpoint, configurations: Vec<Value>) -> Result<()> {
        let start = Instant::now();
        for configuration in endpoint.redirect(configurations)? {
            let (kind, name) = (text(&configuration, "/kind"), text(&configuration, "/metadata/name"));
            let kind = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
            let api: Api<DynamicObject> = Api::all_with(self.client(), &ApiResource::from_gvk(&kind));
            let params = PatchParams::apply("lab").force();
            api.patch(name, &params, &Patch::Apply(&configuration))
                .await
                .with_context(|| format!("register {name}"))?;
            loop {
                let answer = send_probe(self.client(), name).await?;
                if answer.contains(NOT_SERVED) {
                    break;
                }
                ensure!(start.elapsed() < LIMIT, "{}: {name} is not called: {answer}", self.name());
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        Ok(())
    }
}

/// Returns the server's answer to an object that a configuration refuses. A server calls all webhooks of a configuration, or none.
async fn send_probe(client: Client, configuration: &str) -> Result<String> {
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    let probe = json!({"metadata": {"name": "lab-probe", "labels": {PROBE: configuration}}});
    let params = PostParams { dry_run: true, ..PostParams::default() };
    Ok(match maps.create(&params, &serde_json::from_value(probe)?).await {
        Ok(_) => "the probe is accepted".to_owned(),
        Err(error) => error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: validating-webhook-configuration}
webhooks:
- name: validation.thing.example.com
  clientConfig: {service: {name: webhook-service, namespace: system, path: /validate-thing}}
";

    #[test]
    fn restarted_managers_keep_their_endpoint() {
        let dir = tempfile::tempdir().unwrap();
        let of = |manager: &str| WebhookEndpoint::in_dir(dir.path().join(manager), manager).unwrap();
        let (first, other) = (of("things"), of("others"));
        let again = of("things");
        assert_eq!((again.port, &again.certificate), (first.port, &first.certificate));
        assert_ne!((other.port, &other.certificate), (first.port, &first.certificate));
        assert!(first.certificates().join("tls.key").is_file());
    }

    #[test]
    fn services_are_replaced_by_ports() {
        let dir = tempfile::tempdir().unwrap();
        let endpoint = WebhookEndpoint::in_dir(dir.path().join("things"), "things").unwrap();
        let configurations = endpoint.redirect(parse(MANIFEST).unwrap()).unwrap();
        assert_eq!(text(&configurations[0], "/metadata/name"), "things-validating-webhook-configuration");
        let webhooks = configurations[0]["webhooks"].as_array().unwrap();
        assert_eq!(webhooks[0]["clientConfig"], endpoint.client_config("/validate-thing"));
        assert_eq!(
            text(&webhooks[0], "/clientConfig/url"),
            format!("https://localhost:{}/validate-thing", endpoint.port())
        );
        assert_eq!(webhooks.len(), 2);

        let without = parse(&MANIFEST.replace("path:", "paths:")).unwrap();
        let error = endpoint.redirect(without).unwrap_err().to_string();
        assert!(error.contains("has no path"), "{error}");
    }
}
