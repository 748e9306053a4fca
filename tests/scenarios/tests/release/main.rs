//! The files of a release, with the tools that users have for them. The stage `release` passes them. Tests start in the order of their
//! modules' names, so the longest is in the first one.

#[cfg(test)]
mod archive_walk;
#[cfg(test)]
mod deployment;
#[cfg(test)]
mod files;
#[cfg(test)]
#[path = "../managers/infra.rs"]
#[expect(dead_code, reason = "the stage `managers` uses the rest")]
mod infra;
#[cfg(test)]
#[path = "../../../../host/cli/tests/typed/mod.rs"]
mod typed;
#[cfg(test)]
#[path = "../managers/world.rs"]
#[expect(dead_code, reason = "the stage `managers` uses the rest")]
mod world;

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

/// Name of this machine's archive.
#[cfg(test)]
fn released_archive() -> String {
    let names = std::fs::read_dir(path_from("PIVOT_HOST_RELEASE_FILES")).unwrap();
    let mut names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let is_archive = |name: &String| name.starts_with("pivot-host-") && name.ends_with(".tar.gz");
    names.find(is_archive).expect("the release has an archive")
}

/// A file of the release.
#[cfg(test)]
fn released(file: &str) -> String {
    path_from("PIVOT_HOST_RELEASE_FILES").join(file).display().to_string()
}
