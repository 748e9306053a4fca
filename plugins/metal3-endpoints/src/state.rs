//! Whether a program of a side runs.

use pivot_sdk::prelude::*;
use serde_json::Value;

/// The state of an Ironic or of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Up,
    Starting,
    Off,
}

impl State {
    pub(crate) fn from_deployment(deployment: &Object) -> Self {
        let count = |field: &str| deployment.get(field).and_then(Value::as_i64);
        match () {
            // Terminating Pods still hold the address.
            () if count("/status/availableReplicas").unwrap_or_default() > 0 => Self::Up,
            () if count("/spec/replicas") == Some(0) => Self::Off,
            () => Self::Starting,
        }
    }
}
