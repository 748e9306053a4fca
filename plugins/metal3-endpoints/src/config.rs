//! The plugin's configuration.

use pivot_sdk::prelude::*;
use serde::Deserialize;

/// The plugin, with its configuration.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Metal3Endpoints {
    /// Namespaces of the operator and of Ironic, on either side.
    pub(crate) namespaces: Vec<String>,
    /// The ConfigMaps to read; if empty, all that have a key of Ironic's.
    pub(crate) config_maps: Vec<String>,
    /// The target's endpoint, if no ConfigMap names it.
    pub(crate) endpoint: Option<String>,
    /// Place from which endpoints are queried.
    pub(crate) vantage: Vantage,
    /// The Service of the target through which the endpoint is queried: `namespace/name`.
    pub(crate) service: Option<String>,
    /// The point from which on the target's Ironic must be up.
    pub(crate) up: Up,
    /// Whether both sides have the same virtual address.
    pub(crate) same_address: bool,
    /// The oldest Ironic that the target's operator works with: the minor number of its API version.
    pub(crate) min_microversion: u32,
}

/// Place from which endpoints are queried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Vantage {
    /// From where pivot-host runs: the provisioning network must be reachable from there.
    Here,
    /// Through the target's API server and a Service.
    Target,
    /// Endpoints are not queried.
    Nowhere,
}

/// A point of the move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Up {
    BeforePause,
    AfterPause,
    BeforeCommit,
    AfterResume,
}

impl Default for Metal3Endpoints {
    fn default() -> Self {
        Self {
            namespaces: vec!["baremetal-operator-system".to_owned(), "capm3-system".to_owned()],
            config_maps: Vec::new(),
            endpoint: None,
            vantage: Vantage::Here,
            service: None,
            up: Up::BeforePause,
            same_address: true,
            // The operator's minimum when this was measured; newer ones want 1.89.
            min_microversion: 81,
        }
    }
}

impl Metal3Endpoints {
    /// Returns true if the target's Ironic must be up at a point.
    pub(crate) fn must_be_up(&self, point: Point) -> bool {
        let from = match self.up {
            Up::BeforePause => Point::BeforePause,
            Up::AfterPause => Point::AfterPause,
            Up::BeforeCommit => Point::BeforeCommit,
            Up::AfterResume => Point::AfterResume,
        };
        point >= from
    }
}

/// Reads and validates the configuration.
pub(crate) fn read_config() -> Result<Metal3Endpoints> {
    let config: Metal3Endpoints = config::get()?;
    let named = config.service.as_deref().is_some_and(|service| {
        service.split_once('/').is_some_and(|(namespace, name)| !namespace.is_empty() && !name.is_empty())
    });
    match config.vantage {
        Vantage::Target if !named => {
            Err(Error::invalid("configuration: vantage = \"target\" needs service = \"namespace/name\""))
        }
        _ if config.namespaces.is_empty() => Err(Error::invalid("configuration: namespaces is empty")),
        _ => Ok(config),
    }
}
