//! Sees to it that Ironic is served in the target as the baremetal operator will ask for it, and by one side only.
//!
//! A machine's management controller and its installer are told addresses; those are the same before and after the move, or
//! the machine talks to nobody. With keepalived the address goes to whoever claims it, so that two Ironics at a time mean
//! that the target's operator talks to the source's. None of it shows until hosts are released. So it is read on both sides
//! and asked for beforehand, as the operator itself does.

mod addresses;
mod check;
mod config;
mod endpoint;
mod gather;
mod images;
mod serving;
mod setup;
#[cfg(test)]
mod tests;

use pivot_sdk::prelude::*;

pub use config::Metal3Endpoints;
use gather::{CONFIG_MAP, DEPLOYMENT, HOST, IRONIC};

impl Plugin for Metal3Endpoints {
    fn about() -> About {
        let mut about = pivot_sdk::about!().sees(HOST);
        // Where the operator and Ironic are installed differs from site to site; the configuration says where to look.
        for side in Side::BOTH {
            for kind in [CONFIG_MAP, DEPLOYMENT, IRONIC] {
                about = about.reads_in(side, kind, "*");
            }
        }
        about.probes("*:*").probes("*/*:*")
    }

    fn configure() -> Result<Self> {
        config::read()
    }

    fn check(&self, point: Point, moving: &Move) -> Result<Vec<Finding>> {
        check::check(self, point, moving)
    }
}

pivot_sdk::export!(Metal3Endpoints, hooks = [check]);
