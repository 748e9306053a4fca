//! Backups.

use std::path::PathBuf;

use pivot_core::messages::risk::AcceptedBy;
use pivot_core::objects::names::RECORD_NAMESPACE;
use pivot_engine::DryRun;

use super::files::report_file;
use super::moves::build_move_choices;
use crate::args::choices::{BACKUP, Choices, refuse_without_kind};
use crate::args::flags::{
    BackupArgs, BackupContent, BackupJobArgs, ConnectionArgs, SelectionArgs, ToDirectory,
};
use crate::args::task::{BackupJob, Task};
use crate::args::usage::{Result, usage};

/// A copy of a cluster that stays in service.
pub(super) fn backup(typed: BackupArgs) -> Result<Task> {
    let BackupArgs { directory, content, kept } = typed;
    let report = report_file(kept)?;
    let choices = backup_choices(directory, content, DryRun::Off)?;
    Ok(Task::Move(Choices { command: BACKUP, report, ..choices }))
}

/// Backups that a cluster makes of itself. Their directories are in a volume of that cluster.
pub(super) fn backup_job(typed: BackupJobArgs) -> Result<Task> {
    let BackupJobArgs { content, image, job_namespace, schedule, storage } = typed;
    let BackupContent { from, encrypt_to, cluster, exclude, also_copy, accept, with, .. } = &content;
    if from.record_namespace != RECORD_NAMESPACE {
        return usage("--record-namespace: backups have no record");
    }
    if with.trust.is_some() || with.strict {
        return usage("--trust, --strict: the Job loads the plugins of its image");
    }
    let lists =
        [("--cluster", cluster), ("--exclude", exclude), ("--also-copy", also_copy), ("--accept", accept)];
    let selection = lists
        .into_iter()
        .flat_map(|(flag, values)| values.iter().flat_map(move |value| [flag.to_owned(), value.clone()]))
        .collect();
    let job = BackupJob {
        image,
        namespace: job_namespace,
        schedule,
        storage,
        encrypt_to: encrypt_to.clone(),
        has_plugins: with.plugins.is_some(),
        selection,
    };
    let choices = backup_choices(PathBuf::from("backup"), content, DryRun::Plan)?;
    refuse_without_kind(&choices)?;
    Ok(Task::BackupJob(choices, job))
}

fn backup_choices(directory: PathBuf, content: BackupContent, dry_run: DryRun) -> Result<Choices> {
    let BackupContent {
        from,
        encrypt_to,
        namespace,
        all_namespaces,
        cluster,
        exclude,
        also_copy,
        accept,
        with,
    } = content;
    let to_files = ToDirectory { to_directory: Some(directory), encrypt_to };
    let connection = ConnectionArgs { from, to_files, ..ConnectionArgs::default() };
    let selection = SelectionArgs {
        namespace,
        all_namespaces,
        cluster,
        map_namespace: Vec::new(),
        exclude,
        also_copy,
        with_manifest: Vec::new(),
        accept,
        with,
    };
    build_move_choices(connection, selection, false, dry_run, AcceptedBy::Move)
}
