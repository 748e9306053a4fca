//! An OCI registry on loopback, behind TLS and a password, as sites have them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tempfile::TempDir;

use crate::assets::assets;
use crate::pki::Authority;
use crate::ports::free_port;
use crate::process::Process;

/// The user that it knows.
pub const USER: &str = "operator";
/// That user's password.
pub const PASSWORD: &str = "correct-horse-battery";
/// The same as the registry wants it: bcrypt, as `htpasswd -B` makes it.
const HASHED: &str = "$2a$05$idaNI1uGsVBVLSKwvGcglOy/zummFFeaMZOCyO84BQEYqQFn0pXGC";
/// How long it may take to start.
const START: Duration = Duration::from_secs(30);

/// A running registry.
#[derive(Debug)]
pub struct Registry {
    _process: Process,
    dir: TempDir,
    port: u16,
}

impl Registry {
    /// Starts one.
    pub async fn start() -> Result<Self> {
        let (registry, port) = (assets().await?.registry().await?, free_port()?);
        let dir = tempfile::tempdir()?;
        let authority = Authority::new("registry")?;
        let server = authority.server()?;
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("data"))?;
        fs::write(at("ca.pem"), authority.certificate())?;
        fs::write(at("server.pem"), server.certificate)?;
        fs::write(at("server.key"), server.key)?;
        fs::write(at("htpasswd"), format!("{USER}:{HASHED}\n"))?;
        fs::write(at("config.yml"), config(dir.path(), port))?;
        let mut command = Command::new(registry);
        command.arg("serve").arg(at("config.yml"));
        let mut process = Process::spawn("registry", &command, at("log")).await?;
        let listens = async || tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok();
        process.until("ready", START, listens).await?;
        Ok(Self { _process: process, dir, port })
    }

    /// `host:port`
    #[must_use]
    pub fn host(&self) -> String {
        format!("localhost:{}", self.port)
    }

    /// The certificate of its authority, as a file.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        self.dir.path().join("ca.pem")
    }

    /// Writes a directory for `DOCKER_CONFIG` in which somebody has logged in.
    pub fn logged_in(&self, password: &str) -> Result<PathBuf> {
        let dir = self.dir.path().join(format!("login-{}", password.len()));
        fs::create_dir_all(&dir)?;
        let auth = STANDARD.encode(format!("{USER}:{password}"));
        let text = format!("{{\"auths\":{{\"{}\":{{\"auth\":\"{auth}\"}}}}}}", self.host());
        fs::write(dir.join("config.json"), text)?;
        Ok(dir)
    }
}

fn config(dir: &Path, port: u16) -> String {
    let dir = dir.display();
    format!(
        "version: 0.1
log: {{level: info}}
storage: {{filesystem: {{rootdirectory: {dir}/data}}}}
http:
  addr: 127.0.0.1:{port}
  tls: {{certificate: {dir}/server.pem, key: {dir}/server.key}}
auth: {{htpasswd: {{realm: lab, path: {dir}/htpasswd}}}}
"
    )
}
