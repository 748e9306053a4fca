//! The command lines of the servers, and their files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::assets::ServerBinaries;
use crate::pki::{Authority, TokenKeys};

const AUDIT_POLICY: &str = r#"
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
# Whether a patch pauses only its body says. These hold no secrets.
- level: Request
  verbs: [patch]
  resources:
  - {group: cluster.x-k8s.io, resources: [clusters, clusterclasses]}
  - {group: metal3.io, resources: [baremetalhosts]}
- level: Metadata
"#;

/// How much a Go program's heap grows before it collects garbage, in percent. Servers of the lab live for seconds, and a quarter of
/// their processor time went into collecting what their start leaves behind; memory is what a machine has more of.
const GARBAGE: (&str, &str) = ("GOGC", "400");
/// Memory from which on a Go program collects garbage as often as necessary. With 100,000 objects, two API servers would otherwise need
/// more memory than the machine has.
const MEMORY: (&str, &str) = ("GOMEMLIMIT", "5GiB");

fn program(path: &Path) -> Command {
    let mut command = Command::new(path);
    command.envs([GARBAGE, MEMORY]);
    command
}

/// Where etcd keeps its data.
pub(super) fn data_dir(dir: &Path) -> PathBuf {
    dir.join("etcd")
}

pub(super) fn etcd(binaries: &ServerBinaries, dir: &Path, url: &str) -> Command {
    let mut command = program(&binaries.etcd);
    command.arg(format!("--data-dir={}", data_dir(dir).display())).args([
        format!("--listen-client-urls={url}"),
        format!("--advertise-client-urls={url}"),
        // Never used: there is one member. Port 0 cannot collide.
        "--listen-peer-urls=http://127.0.0.1:0".to_owned(),
        "--unsafe-no-fsync".to_owned(),
        "--log-level=warn".to_owned(),
    ]);
    command
}

pub(super) fn apiserver(
    binaries: &ServerBinaries,
    dir: &Path,
    etcd: &str,
    port: u16,
    admission_plugin: Option<&str>,
) -> Command {
    let file = |name: &str| dir.join(name).display().to_string();
    let mut command = program(&binaries.apiserver);
    command.args([
        format!("--etcd-servers={etcd}"),
        "--bind-address=127.0.0.1".to_owned(),
        "--advertise-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        format!("--cert-dir={}", file("certs")),
        format!("--tls-cert-file={}", file("server.crt")),
        format!("--tls-private-key-file={}", file("server.key")),
        format!("--client-ca-file={}", file("ca.crt")),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-key-file={}", file("tokens.pub")),
        format!("--service-account-signing-key-file={}", file("tokens.key")),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        "--authorization-mode=RBAC".to_owned(),
        // Nothing runs pods, and nothing creates the accounts that it would require.
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        "--endpoint-reconciler-type=none".to_owned(),
        format!("--audit-policy-file={}", file("audit-policy.yaml")),
        format!("--audit-log-path={}", file("audit.log")),
        // A rotated log would lose the requests of long runs.
        "--audit-log-maxsize=4096".to_owned(),
    ]);
    command.args(admission_plugin.map(|name| format!("--enable-admission-plugins={name}")));
    command
}

pub(super) fn write_files(dir: &Path, authority: &Authority) -> Result<()> {
    let (server, tokens) = (authority.server()?, TokenKeys::new()?);
    let files = [
        ("ca.crt", authority.certificate()),
        ("server.crt", server.certificate),
        ("server.key", server.key),
        ("tokens.key", tokens.private),
        ("tokens.pub", tokens.public),
        ("audit-policy.yaml", AUDIT_POLICY.to_owned()),
    ];
    for (name, content) in files {
        fs::write(dir.join(name), content).with_context(|| format!("write {name}"))?;
    }
    Ok(())
}

/// The garbage collector and the namespace controller, and nothing else.
pub(super) fn controllers(binaries: &ServerBinaries, kubeconfig: &Path) -> Command {
    let mut command = program(&binaries.controller_manager);
    command.arg(format!("--kubeconfig={}", kubeconfig.display())).args([
        "--controllers=garbage-collector-controller,namespace-controller",
        "--leader-elect=false",
        "--secure-port=0",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        // In order, see `garbage`.
        "--concurrent-gc-syncs=1",
    ]);
    command
}
