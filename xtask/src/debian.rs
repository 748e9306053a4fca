//! Tools that Debian has as packages.

use crate::shell::{say, works};

/// Installs a package of Debian's if its program is missing and that is possible.
pub(crate) fn of_debian(program: &str, version: &str, package: &str, why: &str) -> Option<String> {
    let there = || works(program, &[version]);
    if !there() {
        say(&format!("Installing {package} with apt-get: {program} is not there yet"));
        let install =
            || works("apt-get", &["install", "--yes", "--quiet", "--no-install-recommends", package]);
        // On a new machine the lists of packages may be missing, or old.
        if !install() && works("apt-get", &["update", "--quiet"]) {
            install();
        }
    }
    (!there()).then(|| format!("{program}: {why}; `apt-get install {package}`"))
}
