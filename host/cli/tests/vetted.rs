//! Plugins and plans that somebody decides about: a new version, what others may write, who vouches.

#[cfg(test)]
mod schemas;

#[cfg(test)]
#[path = "vetted/site.rs"]
mod site;

#[cfg(test)]
#[path = "vetted/bundles.rs"]
mod bundles;

#[cfg(test)]
#[path = "vetted/releases.rs"]
mod releases;

#[cfg(test)]
#[path = "vetted/versions.rs"]
mod versions;

#[cfg(test)]
#[path = "vetted/strictness.rs"]
mod strictness;

#[cfg(test)]
#[path = "vetted/signatures.rs"]
mod signatures;

#[cfg(test)]
#[path = "vetted/approvals.rs"]
mod approvals;

#[cfg(test)]
#[path = "vetted/directories.rs"]
mod directories;
