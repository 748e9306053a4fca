//! How to build each asset, with just the Go tool, or cargo.
//!
//! Kubernetes cannot be built with `go install`: its go.mod replaces its staging modules with paths that are not in the module.
//! The same code is published as separate modules (v0.X.Y for Kubernetes v1.X.Y), so a generated module of a few lines that
//! imports the command's `app` package and replaces paths with versions builds the real binary. etcd needs such a module too;
//! Cluster API's module builds as it is.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::provider_module::{self, ProviderModule};

/// The Kubernetes release whose servers the lab runs by default.
pub const KUBERNETES: &str = "1.36.3";
/// The etcd release below them.
pub const ETCD: &str = "3.6.8";
/// The Cluster API release whose clusterctl, managers and CRDs the lab uses by default.
pub const CLUSTER_API: &str = "1.13.5";
/// The last Cluster API release line whose controllers don't report that they are paused.
pub const CLUSTER_API_SILENT: &str = "1.8.4";
/// A Cluster API release without v1beta2, as upgrades begin from it.
pub const CLUSTER_API_OLDER: &str = "1.10.10";
/// The newest Cluster API release line.
pub const CLUSTER_API_NEWEST: &str = "1.14.2";

/// The release of the tool that encrypts files.
const AGE: &str = "1.3.2";

/// The release of the OCI registry.
const DISTRIBUTION: &str = "3.1.2";
const DISTRIBUTION_MODULE: &str = "github.com/distribution/distribution/v3";
/// The release of another client of registries.
const REGCLIENT: &str = "0.11.7";
/// The release of the one that makes directories of what it pulls.
const ORAS: &str = "1.3.6";
/// The release of the one that knows components.
const WKG: &str = "0.16.1";
/// The release of the tool that signs what others verify.
const COSIGN: &str = "3.1.3";

/// The release of the tool that renders charts.
const HELM: &str = "3.22.0";
/// The release of the tool that installs plugins of kubectl.
const KREW: &str = "0.4.3";
/// The release of the tool that patches manifests.
const KUSTOMIZE: &str = "5.7.1";

/// What to build.
#[derive(Debug, Clone)]
pub(super) struct Recipe {
    name: &'static str,
    version: String,
    how: How,
}

#[derive(Debug, Clone)]
enum How {
    /// A command of the Kubernetes repository.
    Kubernetes,
    /// Kubernetes' client.
    Kubectl,
    /// etcd's server.
    Etcd,
    /// A package of the Cluster API module.
    ClusterApi { package: &'static str },
    /// Directories of CRDs from the Cluster API module.
    ClusterApiCrds,
    /// Webhook configurations from the Cluster API module.
    ClusterApiWebhooks,
    /// A command of a module that builds as it is.
    Command { module: &'static str, package: &'static str },
    /// A program of a crate.
    Crate,
    /// The OCI registry, with storage in files and passwords: its own command brings three clouds along.
    Registry,
    /// CRDs and templates from a provider's module.
    Provider(ProviderModule),
}

pub(super) fn kubernetes(name: &'static str, version: &str) -> Recipe {
    Recipe { name, version: version.to_owned(), how: How::Kubernetes }
}

pub(super) fn kubectl() -> Recipe {
    Recipe { name: "kubectl", version: KUBERNETES.to_owned(), how: How::Kubectl }
}

pub(super) fn etcd() -> Recipe {
    Recipe { name: "etcd", version: ETCD.to_owned(), how: How::Etcd }
}

pub(super) fn cluster_api(name: &'static str, version: &str, package: &'static str) -> Recipe {
    Recipe { name, version: version.to_owned(), how: How::ClusterApi { package } }
}

/// The core manager is in the module's root or, since 1.14, in `core`.
pub(super) fn cluster_api_core(version: &str) -> Recipe {
    cluster_api("capi-core", version, if version == CLUSTER_API_NEWEST { "./core" } else { "." })
}

pub(super) fn cluster_api_crds(version: &str) -> Recipe {
    Recipe { name: "capi-crds", version: version.to_owned(), how: How::ClusterApiCrds }
}

pub(super) fn cluster_api_webhooks(version: &str) -> Recipe {
    Recipe { name: "capi-webhooks", version: version.to_owned(), how: How::ClusterApiWebhooks }
}

pub(super) fn age(name: &'static str, package: &'static str) -> Recipe {
    Recipe { name, version: AGE.to_owned(), how: How::Command { module: "filippo.io/age", package } }
}

pub(super) fn registry() -> Recipe {
    Recipe { name: "registry", version: DISTRIBUTION.to_owned(), how: How::Registry }
}

pub(super) fn regctl() -> Recipe {
    let how = How::Command { module: "github.com/regclient/regclient", package: "./cmd/regctl" };
    Recipe { name: "regctl", version: REGCLIENT.to_owned(), how }
}

pub(super) fn oras() -> Recipe {
    let how = How::Command { module: "oras.land/oras", package: "./cmd/oras" };
    Recipe { name: "oras", version: ORAS.to_owned(), how }
}

pub(super) fn wkg() -> Recipe {
    Recipe { name: "wkg", version: WKG.to_owned(), how: How::Crate }
}

pub(super) fn cosign() -> Recipe {
    let how = How::Command { module: "github.com/sigstore/cosign/v3", package: "./cmd/cosign" };
    Recipe { name: "cosign", version: COSIGN.to_owned(), how }
}

pub(super) fn helm() -> Recipe {
    let how = How::Command { module: "helm.sh/helm/v3", package: "./cmd/helm" };
    Recipe { name: "helm", version: HELM.to_owned(), how }
}

pub(super) fn krew() -> Recipe {
    let how = How::Command { module: "sigs.k8s.io/krew", package: "./cmd/krew" };
    Recipe { name: "krew", version: KREW.to_owned(), how }
}

pub(super) fn kustomize() -> Recipe {
    let how = How::Command { module: "sigs.k8s.io/kustomize/kustomize/v5", package: "." };
    Recipe { name: "kustomize", version: KUSTOMIZE.to_owned(), how }
}

pub(super) fn provider(of: ProviderModule) -> Recipe {
    Recipe { name: "provider", version: format!("{}-{}", of.provider, of.version), how: How::Provider(of) }
}

impl Recipe {
    /// The name of the result in the cache.
    pub(super) fn entry(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }

    /// Builds it at `output`; `work` is an empty directory for intermediate files.
    pub(super) fn make(&self, work: &Path, output: &Path) -> Result<()> {
        let version = self.version.as_str();
        match &self.how {
            How::Kubernetes => {
                kubernetes_module(work, self.name, version)?;
                // Without a version the server reports v0.0.0, which clusterctl refuses as too old.
                let flags = stamp("k8s.io/component-base/version", version)
                    + &stamp("k8s.io/client-go/pkg/version", version);
                build(work, ".", &["-mod=mod"], &flags, output)
            }
            How::Kubectl => {
                let staging = staging_version(version)?;
                let go_mod = format!("module lab\n\ngo 1.26.0\n\nrequire k8s.io/kubectl v{staging}\n");
                fs::write(work.join("go.mod"), go_mod)?;
                fs::write(work.join("main.go"), KUBECTL_MAIN)?;
                let flags = stamp("k8s.io/component-base/version", version);
                build(work, ".", &["-mod=mod"], &flags, output)
            }
            How::Etcd => {
                let go_mod =
                    format!("module lab\n\ngo 1.24\n\nrequire go.etcd.io/etcd/server/v3 v{version}\n");
                fs::write(work.join("go.mod"), go_mod)?;
                fs::write(work.join("main.go"), ETCD_MAIN)?;
                build(work, ".", &["-mod=mod"], "", output)
            }
            How::ClusterApi { package } => {
                let module = download("sigs.k8s.io/cluster-api", version)?;
                let flags = stamp("sigs.k8s.io/cluster-api/version", version);
                if version != CLUSTER_API_NEWEST {
                    return build(&module.dir, package, &["-mod=readonly"], &flags, output);
                }
                // Its API is a separate module, which go.mod replaces with a path that is not in the module.
                let go_mod = work.join("go.mod");
                fs::write(&go_mod, fs::read(&module.go_mod)?)?;
                fs::write(work.join("go.sum"), fs::read(module.dir.join("go.sum"))?)?;
                let replaced = format!("-replace={API}={API}@v{version}");
                run(go(["mod", "edit", replaced.as_str()]).arg(&go_mod))?;
                let file = format!("-modfile={}", go_mod.display());
                build(&module.dir, package, &["-mod=mod", &file], &flags, output)
            }
            How::ClusterApiCrds => copy_cluster_api(version, &CRD_DIRS, output),
            How::ClusterApiWebhooks => copy_cluster_api(version, &WEBHOOK_DIRS, output),
            How::Command { module, package } => {
                let module = download(module, version)?;
                build(&module.dir, package, &["-mod=readonly"], "", output)
            }
            How::Crate => {
                let mut command = Command::new("cargo");
                command.args(["install", self.name, "--version", version, "--locked", "--quiet", "--root"]);
                // Not where the tests are built, nor as they are.
                command.arg(work).arg("--target-dir").arg(work.join("target")).env_remove("RUSTFLAGS");
                run(&mut command)?;
                fs::copy(work.join("bin").join(self.name), output).context("keep the program")?;
                Ok(())
            }
            How::Registry => {
                let go_mod = format!("module lab\n\ngo 1.25\n\nrequire {DISTRIBUTION_MODULE} v{version}\n");
                fs::write(work.join("go.mod"), go_mod)?;
                fs::write(work.join("main.go"), REGISTRY_MAIN.replace("MODULE", DISTRIBUTION_MODULE))?;
                build(work, ".", &["-mod=mod"], "", output)
            }
            How::Provider(of) => {
                let provider = download(of.path, of.version)?.dir.join(of.folder);
                let templates = output.join(provider_module::TEMPLATES);
                fs::create_dir_all(&templates)?;
                // Some providers only extend the clusters of others.
                if provider.join("templates").is_dir() {
                    copy_yaml(&provider.join("templates"), &templates)?;
                }
                let crds = provider_module::render_crds(&provider.join("config/crd"))?;
                let lines: String = crds.iter().map(|crd| format!("{crd}\n")).collect();
                Ok(fs::write(output.join(provider_module::CRDS), lines)?)
            }
        }
    }
}

const API: &str = "sigs.k8s.io/cluster-api/api";

const CRD_DIRS: [(&str, &str); 4] = [
    ("config/crd/bases", "core"),
    ("bootstrap/kubeadm/config/crd/bases", "bootstrap"),
    ("controlplane/kubeadm/config/crd/bases", "control-plane"),
    ("cmd/clusterctl/config/crd/bases", "inventory"),
];

const WEBHOOK_DIRS: [(&str, &str); 3] = [
    ("config/webhook", "core"),
    ("bootstrap/kubeadm/config/webhook", "bootstrap"),
    ("controlplane/kubeadm/config/webhook", "control-plane"),
];

const KUBECTL_MAIN: &str = "package main

import (
	\"os\"

	\"k8s.io/component-base/cli\"
	\"k8s.io/kubectl/pkg/cmd\"
)

func main() {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		os.Exit(1)
	}
}
";

const ETCD_MAIN: &str = "package main

import (
	\"os\"

	\"go.etcd.io/etcd/server/v3/etcdmain\"
)

func main() { etcdmain.Main(os.Args) }
";

const REGISTRY_MAIN: &str = "package main

import (
	\"os\"

	\"MODULE/registry\"
	_ \"MODULE/registry/auth/htpasswd\"
	_ \"MODULE/registry/storage/driver/filesystem\"
)

func main() {
	if err := registry.RootCmd.Execute(); err != nil {
		os.Exit(1)
	}
}
";

fn kubernetes_main(command: &str) -> Result<String> {
    let constructor = match command {
        "kube-apiserver" => "NewAPIServerCommand",
        "kube-controller-manager" => "NewControllerManagerCommand",
        other => bail!("no recipe for {other}"),
    };
    Ok(format!(
        "package main

import (
	\"os\"

	\"k8s.io/component-base/cli\"
	\"k8s.io/kubernetes/cmd/{command}/app\"
)

func main() {{ os.Exit(cli.Run(app.{constructor}())) }}
"
    ))
}

/// Returns the version of the modules that a Kubernetes release publishes.
fn staging_version(kubernetes: &str) -> Result<String> {
    let minor = kubernetes.strip_prefix("1.");
    minor
        .map(|minor| format!("0.{minor}"))
        .with_context(|| format!("kubernetes {kubernetes} is not a 1.x release"))
}

/// Writes the generated module: Kubernetes, with each staging module taken from its published version.
fn kubernetes_module(work: &Path, command: &str, version: &str) -> Result<()> {
    let module = download("k8s.io/kubernetes", version)?;
    let go_mod: GoMod = json(go(["mod", "edit", "-json"]).arg(&module.go_mod))?;
    let staging = staging_version(version)?;
    let mut text =
        format!("module lab\n\ngo {}\n\nrequire k8s.io/kubernetes v{version}\n\nreplace (\n", go_mod.go);
    for replace in go_mod.replace.iter().filter(|replace| replace.new.path.starts_with("./")) {
        text += &format!("\t{0} => {0} v{staging}\n", replace.old.path);
    }
    text += ")\n";
    fs::write(work.join("go.mod"), text)?;
    fs::write(work.join("main.go"), kubernetes_main(command)?)?;
    Ok(())
}

/// Linker flags that give a `version` package its version.
fn stamp(package: &str, version: &str) -> String {
    let mut parts = version.split('.');
    let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    format!(
        " -X {package}.gitVersion=v{version} -X {package}.gitMajor={major} -X {package}.gitMinor={minor} \
         -X {package}.gitTreeState=clean"
    )
}

/// `modules` sets how go.mod is used.
fn build(dir: &Path, package: &str, modules: &[&str], flags: &str, output: &Path) -> Result<()> {
    let mut command = go(["build", "-trimpath", "-buildvcs=false"]);
    // The linker strips debug information, so the compiler makes none.
    command.args(modules).arg("-gcflags=all=-dwarf=false").arg(format!("-ldflags=-s -w{flags}"));
    command.arg("-o").arg(output).arg(package).current_dir(dir);
    run(&mut command).map(drop)
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Module {
    dir: PathBuf,
    go_mod: PathBuf,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GoMod {
    go: String,
    #[serde(default)]
    replace: Vec<Replace>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Replace {
    old: ModulePath,
    new: ModulePath,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ModulePath {
    path: String,
}

fn download(module: &str, version: &str) -> Result<Module> {
    json(go(["mod", "download", "-json"]).arg(format!("{module}@v{version}")))
}

/// The Go tool, without the environment variables of the user that could affect a build.
fn go<const N: usize>(args: [&str; N]) -> Command {
    let mut command = Command::new("go");
    command.args(args).envs([("CGO_ENABLED", "0"), ("GOFLAGS", ""), ("GOWORK", "off")]);
    command
}

fn json<T: for<'de> Deserialize<'de>>(command: &mut Command) -> Result<T> {
    let output = run(command)?;
    serde_json::from_slice(&output).with_context(|| format!("read the answer of {}", display(command)))
}

fn run(command: &mut Command) -> Result<Vec<u8>> {
    let output = match command.stdin(Stdio::null()).output() {
        Err(error) if error.kind() == ErrorKind::NotFound && command.get_program() == "go" => bail!(
            "the lab builds Kubernetes and Cluster API from source and finds no `go`: install Go 1.26 or newer \
             (https://go.dev/dl) and have it in PATH"
        ),
        output => output.with_context(|| format!("run {}", display(command)))?,
    };
    if !output.status.success() {
        // `go mod download -json` reports errors on stdout.
        let said = [output.stderr, output.stdout].concat();
        bail!(
            "{} failed ({}):\n{}",
            display(command),
            output.status,
            String::from_utf8_lossy(&said).trim_end()
        );
    }
    Ok(output.stdout)
}

fn display(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// Copies folders of Cluster API's module. Folders of the core manager are in the module's root or, since 1.14, in `core`.
fn copy_cluster_api(version: &str, folders: &[(&str, &str)], output: &Path) -> Result<()> {
    let module = download("sigs.k8s.io/cluster-api", version)?;
    for (from, to) in folders {
        let moved = module.dir.join("core").join(from);
        let from = if moved.is_dir() { moved } else { module.dir.join(from) };
        copy_yaml(&from, &output.join(to))?;
    }
    Ok(())
}

fn copy_yaml(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("read {}", from.display()))? {
        let path = entry?.path();
        // Files of the module cache are read-only; a copy made by reading and writing is not.
        if let (Some("yaml"), Some(name)) = (path.extension().and_then(OsStr::to_str), path.file_name()) {
            fs::write(to.join(name), fs::read(&path)?)?;
        }
    }
    Ok(())
}
