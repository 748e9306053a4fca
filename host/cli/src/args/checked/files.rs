//! Files that a run writes in addition to its result.

use std::path::PathBuf;

use pivot_engine::DryRun;

use crate::args::flags::{Kept, RecordArgs};
use crate::args::usage::{Result, usage};
use crate::private_file::has_form;

/// The file of a report, whose name says in which form.
pub(super) fn report_file(Kept { report }: Kept) -> Result<Option<PathBuf>> {
    match report {
        Some(path) if !has_form(&path) => {
            usage(format!("--report {:?}: the name has to end in .html or .json", path.display().to_string()))
        }
        report => Ok(report),
    }
}

/// Returns the file of a recording. Only a run that changes something is recorded.
pub(super) fn recording_file(
    RecordArgs { record }: RecordArgs,
    dry_run: DryRun,
    report: Option<&PathBuf>,
) -> Result<Option<PathBuf>> {
    match record {
        Some(_) if dry_run != DryRun::Off => usage("--record records a move, so it excludes --dry-run"),
        Some(path) if report == Some(&path) => usage("--record and --report need different files"),
        record => Ok(record),
    }
}
