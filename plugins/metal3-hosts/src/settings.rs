//! The plugin's configuration.

use pivot_sdk::Severity;
use serde::Deserialize;

/// The plugin, with its configuration.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Metal3Hosts {
    /// This plugin holds hosts of machines too, instead of waiting for the Metal3 provider to pause them: for sources where that
    /// provider no longer runs.
    pub(crate) hold_consumed: bool,
    /// The severity of a firmware change that waits for the next provisioning or reboot, or that the operator has never looked at.
    pub(crate) pending_firmware: Weight,
}

/// The severity of a finding.
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
