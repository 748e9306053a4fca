//! Starts a server.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use kube::Client;
use tokio::sync::Mutex;

use super::stored::{self, Entry};
use super::{Crds, Server, commands};
use crate::assets::{KUBERNETES, ServerBinaries, assets};
use crate::kubeconfig;
use crate::pki::{Authority, Validity};
use crate::ports::free_ports;
use crate::process::Process;

/// How long a server may take; a busy machine needs a multiple of the usual three seconds.
const START_LIMIT: Duration = Duration::from_mins(5);

/// Ports are chosen before the server binds them: another process can take them in between.
const START_ATTEMPTS: usize = 3;

/// One server at a time is asked what it stores: tests that begin together need the same.
static ASKING: Mutex<()> = Mutex::const_new(());

impl Server {
    /// Starts a server; `name` is its kubeconfig's context.
    pub async fn start(name: &str) -> Result<Self> {
        Self::start_with(name, &Crds::default()).await
    }

    /// The same with CRDs.
    pub async fn start_with(name: &str, crds: &Crds) -> Result<Self> {
        Self::start_of(name, KUBERNETES, crds).await
    }

    /// The same with a Kubernetes release.
    pub async fn start_of(name: &str, version: &str, crds: &Crds) -> Result<Self> {
        let binaries = assets().await?.servers(version).await?;
        let entries = stored_entries(&binaries, version, crds).await?;
        let server = Self::start_without_controllers(name, &binaries, &entries).await?;
        server.wait_for_crds(crds).await?;
        server.start_controllers().await?;
        Ok(server)
    }

    /// Starts a server whose etcd holds these entries, and no controllers.
    async fn start_without_controllers(
        name: &str,
        binaries: &ServerBinaries,
        entries: &[Entry],
    ) -> Result<Self> {
        let mut attempt = 1;
        loop {
            match Self::try_start(name, binaries, entries).await {
                Err(error)
                    if attempt < START_ATTEMPTS
                        && format!("{error:#}").contains("address already in use") =>
                {
                    attempt += 1;
                }
                other => break other.with_context(|| format!("start the {name} server")),
            }
        }
    }

    async fn try_start(name: &str, binaries: &ServerBinaries, entries: &[Entry]) -> Result<Self> {
        let dir = tempfile::Builder::new().prefix(&format!("pivot-lab-{name}-")).tempdir()?;
        let path = dir.path();
        let (etcd_port, port) = free_ports()?;
        let authority = Authority::new(&format!("{name} authority"))?;
        let admin = authority.user("lab-admin", &["system:masters"], Validity::Current)?;
        let url = format!("https://127.0.0.1:{port}");
        let content = kubeconfig::kubeconfig(name, &url, Some((&authority.certificate(), &admin)))?;
        let kubeconfig = kubeconfig::write(path, "admin", &content)?;
        commands::write_files(path, &authority)?;

        let etcd_url = format!("http://127.0.0.1:{etcd_port}");
        let programs = Programs { binaries, dir: path, etcd_url: &etcd_url, port, admission_plugin: None };
        let mut etcd = programs.start_etcd().await?;
        if !entries.is_empty() {
            etcd.until("ready", START_LIMIT, async || stored::is_ready(&etcd_url).await).await?;
            stored::write(&etcd_url, entries).await.context("write CRDs into etcd")?;
        }
        let client = kubeconfig::client(&kubeconfig).await?;
        let apiserver = programs.start_apiserver(&client, &mut etcd).await?;
        Ok(Self {
            name: name.to_owned(),
            url,
            port,
            etcd_url,
            client,
            kubeconfig,
            authority,
            binaries: binaries.clone(),
            admission_plugin: None,
            controllers: Mutex::new(None),
            apiserver,
            etcd,
            dir,
        })
    }

    /// Starts etcd and the API server again, where they were: `prepare` is called with the address of etcd in between.
    pub(super) async fn start_again(&mut self, prepare: impl AsyncFnOnce(&str) -> Result<()>) -> Result<()> {
        let Self { binaries, dir, etcd_url, port, client, admission_plugin, .. } = &*self;
        let (port, admission_plugin) = (*port, *admission_plugin);
        let programs = Programs { binaries, dir: dir.path(), etcd_url, port, admission_plugin };
        let mut etcd = programs.start_etcd().await?;
        etcd.until("ready", START_LIMIT, async || stored::is_ready(etcd_url).await).await?;
        prepare(etcd_url).await?;
        let apiserver = programs.start_apiserver(client, &mut etcd).await?;
        (self.etcd, self.apiserver) = (etcd, apiserver);
        Ok(())
    }
}

/// The programs of a server, by what their command lines need.
struct Programs<'a> {
    binaries: &'a ServerBinaries,
    dir: &'a Path,
    etcd_url: &'a str,
    port: u16,
    admission_plugin: Option<&'a str>,
}

impl Programs<'_> {
    async fn start_etcd(&self) -> Result<Process> {
        let command = commands::etcd(self.binaries, self.dir, self.etcd_url);
        Process::spawn("etcd", &command, self.dir.join("etcd.log")).await
    }

    /// Starts the API server, and waits until it is ready.
    async fn start_apiserver(&self, client: &Client, etcd: &mut Process) -> Result<Process> {
        let command =
            commands::apiserver(self.binaries, self.dir, self.etcd_url, self.port, self.admission_plugin);
        let log = self.dir.join("kube-apiserver.log");
        let mut apiserver = Process::spawn("kube-apiserver", &command, log).await?;
        let waited = apiserver.until("ready", START_LIMIT, async || is_ready(client).await).await;
        // The API server only reports that it cannot reach etcd; the reason is in the other log.
        etcd.still_runs()?;
        waited?;
        Ok(apiserver)
    }
}

/// Returns what a server of a Kubernetes release stores of these CRDs. The first call starts one to find out.
async fn stored_entries(binaries: &ServerBinaries, version: &str, crds: &Crds) -> Result<Vec<Entry>> {
    if crds.objects().is_empty() {
        return Ok(Vec::new());
    }
    let _asking = ASKING.lock().await;
    let recording = stored::recording(version, crds)?;
    if let Some(entries) = recording.read()? {
        return Ok(entries);
    }
    let server = Server::start_without_controllers("recorded", binaries, &[]).await?;
    server.create_crds(crds).await?;
    let entries = stored::read(&server.etcd_url).await.context("read CRDs from etcd")?;
    recording.write(&entries)?;
    Ok(entries)
}

/// Ready, and with the namespaces that the server creates itself.
async fn is_ready(client: &Client) -> bool {
    async fn get(client: &Client, path: &str) -> bool {
        match http::Request::get(path).body(Vec::new()) {
            Ok(request) => client.request_text(request).await.is_ok(),
            Err(_) => false,
        }
    }
    get(client, "/readyz").await
        && get(client, "/api/v1/namespaces/kube-system").await
        && get(client, "/api/v1/namespaces/default").await
}
