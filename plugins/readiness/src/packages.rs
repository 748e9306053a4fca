//! PackageInstalls of a management cluster that has them (Carvel; TKG): whether they are reconciled.
//!
//! There, providers and add-ons are installed as packages. An installation in progress changes controllers during the move.

use pivot_sdk::{Finding, Glob, Kind, Object, Result, Side, objects};

use crate::report::Report;
use crate::settings::Area;
use crate::{providers, status};

/// An installed package.
pub(crate) const PACKAGE: Kind = Kind::new("packaging.carvel.dev", "PackageInstall");

/// Checks all packages of a side.
pub(crate) fn check_packages(side: Side, namespaces: &[Glob], report: &mut Report<'_>) -> Result<()> {
    let answer = objects::list_in(side, &PACKAGE, "*");
    let mut packages = providers::report_if_unreadable(answer, Area::Packages, side, &PACKAGE, report)?;
    packages.sort_by_key(Object::key);
    let chosen = packages.iter().filter(|package| {
        let namespace = package.namespace().unwrap_or_default();
        let chosen = namespaces.is_empty() || namespaces.iter().any(|glob| glob.matches(namespace));
        // The user who paused it does not want it reconciled.
        chosen && !package.is_true("/spec/paused") && !package.is_true("/spec/canceled")
    });
    for package in chosen {
        if let Some(finding) = check_package(package) {
            let finding = finding.on_object(package).with_remedy(status::SEE_CONDITIONS);
            report.add_finding(Area::Packages, status::with_describe_command(finding, side, package));
        }
    }
    Ok(())
}

fn check_package(package: &Object) -> Option<Finding> {
    if package.is_being_deleted() {
        return Some(Finding::wait("package-not-reconciled", "the package is being removed"));
    }
    // The package manager retries, so time may fix the failure.
    if status::condition_status(package, "ReconcileFailed") == "True" {
        let why = package.text("/status/usefulErrorMessage").unwrap_or("it does not say why");
        return Some(Finding::wait("package-failed", format!("the package could not be reconciled: {why}")));
    }
    let done =
        status::condition_status(package, "ReconcileSucceeded") == "True" && !status::is_unobserved(package);
    (!done).then(|| Finding::wait("package-not-reconciled", "the package is not reconciled yet"))
}
