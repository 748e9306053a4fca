//! After the pause: is every host out of its operator's reach?
//!
//! The provider writes its pause and the status annotation in one patch, so the pause alone shows that it has acknowledged the
//! Cluster's. Any pause is enough, whoever set it: from here on the host is copied and then deleted.

use pivot_sdk::prelude::*;

use crate::Metal3Hosts;
use crate::host::{Host, Pause};
use crate::names::BLOCK_MOVE;

/// Returns reasons not to copy a host of a paused source yet.
pub(crate) fn check_pause(config: &Metal3Hosts, host: Host<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    if host.0.annotation(BLOCK_MOVE).is_some() {
        found.push(
            host.wait_for_provider("block-move", "the Metal3 provider keeps it from moving (block-move)"),
        );
    }
    if host.pause() == Pause::None {
        found.push(match host.consuming_machine() {
            Some(_) if !config.hold_consumed => {
                host.wait_for_provider("not-paused", "the Metal3 provider has not paused it")
            }
            _ => host
                .stop("not-held", "it is not paused: its pause was removed since")
                .with_remedy("find out who removes baremetalhost.metal3.io/paused, and move again"),
        });
    }
    found
}

impl Host<'_> {
    fn wait_for_provider(self, code: &'static str, what: &str) -> Finding {
        Finding::wait(code, format!("{}: {what}", self.display_name())).on_object(self.0).with_remedy(
            "it does so once it sees the Cluster paused: does capm3-controller-manager run, and is the Cluster's \
             InfrastructureReady true (the provider looks at no other)? Where it is switched off: hold-consumed = true \
             in this plugin's configuration",
        )
    }
}
