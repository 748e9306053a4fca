//! A server that goes back in time: etcd's data directory, copied and put back.
//!
//! Management clusters are restored from such copies. Afterwards everything is as it was then, UIDs included, and what happened since
//! has never happened. Only the revision may differ: a directory that is put back goes on with the revision of then, while etcd's own
//! recovery can leave the lost revisions out.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Server, stored};
use crate::process;

/// No API server reads this key.
const UNRELATED: &str = "lab/unrelated";

/// Writes in flight while revisions are left out.
const CONCURRENCY: usize = 16;

/// A copy of etcd's data directory.
pub struct Backup {
    dir: TempDir,
}

/// The revision with which a restored etcd goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revision {
    /// The backup's: revisions that clients have seen are given again, to other states.
    Behind,
    /// One that no client has seen, as after `etcdutl snapshot restore --bump-revision`.
    Ahead,
}

impl Server {
    /// Copies etcd's data directory. Meanwhile etcd stands still: the copy is what a crash at that moment would leave.
    pub async fn back_up(&self) -> Result<Backup> {
        let dir = tempfile::Builder::new().prefix(&format!("pivot-lab-{}-backup-", self.name)).tempdir()?;
        process::freeze_wholly(self.etcd.id()).await?;
        let copied = copy(&self.data_dir(), dir.path());
        process::thaw(self.etcd.id())?;
        copied.with_context(|| format!("back up the {} server", self.name))?;
        Ok(Backup { dir })
    }

    /// Puts a backup back, and starts the API server again, and the garbage collector and the namespace controller if they ran. Address
    /// and certificates stay the same.
    ///
    /// Managers have to be stopped before, and started again afterwards: like the garbage collector, they remember what never happened.
    pub async fn restore(&mut self, backup: &Backup, revision: Revision) -> Result<()> {
        let lost = read_revision(&self.etcd_url).await?;
        let has_controllers = self.has_controllers().await;
        self.stop_controllers().await;
        self.apiserver.stop().await?;
        self.etcd.stop().await?;
        let data = self.data_dir();
        fs::remove_dir_all(&data).context("remove etcd's data directory")?;
        copy(backup.dir.path(), &data).with_context(|| format!("restore the {} server", self.name))?;
        let leave_out = async |etcd: &str| match revision {
            Revision::Behind => Ok(()),
            Revision::Ahead => write_until_past(etcd, lost).await.context("leave revisions out"),
        };
        self.start_again(leave_out).await.with_context(|| format!("start the {} server again", self.name))?;
        let crds: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        self.wait_for_kinds(&crds.list(&ListParams::default()).await?.items).await?;
        if has_controllers { self.start_controllers().await } else { Ok(()) }
    }

    /// Starts the server again, with what it holds and an admission plugin that is off by default.
    pub async fn enable_admission_plugin(&mut self, name: &'static str) -> Result<()> {
        let backup = self.back_up().await?;
        self.admission_plugin = Some(name);
        self.restore(&backup, Revision::Behind).await
    }
}

/// Copies a directory, except files that etcd prepares for later.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("read {}", from.display()))? {
        let entry = entry?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&path, &to)?;
        } else if path.extension().is_none_or(|end| end != "tmp") {
            fs::copy(&path, to).with_context(|| format!("copy {}", path.display()))?;
        }
    }
    Ok(())
}

async fn read_revision(etcd: &str) -> Result<u64> {
    let question = json!({ "key": STANDARD.encode(UNRELATED) });
    revision_of(&stored::ask(&stored::connect(etcd)?, "/v3/kv/range", &question).await?)
}

fn revision_of(answer: &Value) -> Result<u64> {
    let revision = answer.pointer("/header/revision").and_then(Value::as_str);
    revision.context("etcd names no revision")?.parse().context("read etcd's revision")
}

/// Each write is one revision.
async fn write_until_past(etcd: &str, lost: u64) -> Result<()> {
    let client = stored::connect(etcd)?;
    let question = json!({ "key": STANDARD.encode(UNRELATED) });
    let write = async |_| stored::ask(&client, "/v3/kv/put", &question).await.map(drop);
    let missing = (lost + 1).saturating_sub(read_revision(etcd).await?);
    stream::iter(0..missing).map(write).buffer_unordered(CONCURRENCY).try_collect().await
}
