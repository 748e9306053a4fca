//! What an operator may set.

use pivot_sdk::Severity;
use serde::Deserialize;

/// The plugin, and what an operator may configure.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Metal3Hosts {
    /// Hosts of machines are held by this plugin, too, instead of waiting until the Metal3 provider pauses them: where
    /// that provider does not run any more.
    pub(crate) hold_consumed: bool,
    /// How much a firmware change weighs that waits for the next provisioning or reboot.
    pub(crate) pending_firmware: Weight,
}

/// How much something weighs.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Weight {
    #[default]
    Stop,
    Warn,
}

impl From<Weight> for Severity {
    fn from(weight: Weight) -> Self {
        match weight {
            Weight::Stop => Self::Stop,
            Weight::Warn => Self::Warn,
        }
    }
}
