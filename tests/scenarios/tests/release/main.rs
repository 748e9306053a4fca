//! The files of a release, with the tools that users have for them. The stage `release` passes them.

#[cfg(test)]
mod deployment;
#[cfg(test)]
mod files;

/// Returns the path in a variable of the stage.
#[cfg(test)]
fn path_from(variable: &str) -> std::path::PathBuf {
    std::env::var_os(variable)
        .unwrap_or_else(|| panic!("{variable} is not set: run `cargo xtask test release`"))
        .into()
}

/// A path below the unpacked archive.
#[cfg(test)]
fn installed(below: &str) -> std::path::PathBuf {
    path_from("PIVOT_HOST_RELEASE").join(below)
}

/// A file of the release.
#[cfg(test)]
fn released(file: &str) -> String {
    path_from("PIVOT_HOST_RELEASE_FILES").join(file).display().to_string()
}
