//! The name of an interface, as written in a binary.

use semver::Version;

use crate::contract;
use crate::error::Refused;

/// `package/name@version`.
pub(crate) struct InterfaceName<'a> {
    /// With its namespace: `wasi:cli`.
    pub(crate) package: &'a str,
    pub(crate) name: &'a str,
    pub(crate) version: Option<Version>,
}

impl<'a> InterfaceName<'a> {
    pub(crate) fn parse(full: &'a str) -> Option<Self> {
        let (path, version) = match full.split_once('@') {
            Some((path, version)) => (path, Some(Version::parse(version).ok()?)),
            None => (full, None),
        };
        let (package, name) = path.split_once('/')?;
        Some(Self { package, name, version })
    }

    /// Fails unless it belongs to the line of versions that this host supports.
    pub(crate) fn check_line(&self) -> Result<(), Refused> {
        match &self.version {
            Some(v) if (v.major, v.minor) == contract::LINE && v.pre.is_empty() => Ok(()),
            Some(v) => Err(Refused::Mismatch(format!(
                "it was built for version {v}; build it with the SDK of this pivot-host"
            ))),
            None => Err(Refused::Mismatch(format!("its interface `{}` has no version", self.name))),
        }
    }
}
