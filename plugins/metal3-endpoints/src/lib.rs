//! Ensures that the target serves Ironic the way the baremetal operator will query it, and that only one side does.
//!
//! A machine's management controller and its installer are given addresses, which must be the same before and after the move, or
//! the machine can't reach anything. With keepalived the address goes to the node that claims it, so with two Ironics running the
//! target's operator may talk to the source's. None of this shows until hosts are released. So the plugin reads it on both sides
//! and probes beforehand, as the operator itself does.

mod addresses;
mod check;
mod config;
mod endpoint;
mod gather;
mod images;
mod management;
mod operator;
mod serving;
mod setup;
mod state;
#[cfg(test)]
mod tests;

use pivot_sdk::prelude::*;

pub use config::Metal3Endpoints;
use gather::{CONFIG_MAP, DEPLOYMENT, HOST, IRONIC};

impl Plugin for Metal3Endpoints {
    fn about() -> About {
        let mut about = pivot_sdk::about!().sees(HOST);
        // The operator's and Ironic's namespaces differ from site to site; the configuration says where to look.
        for side in Side::BOTH {
            for kind in [CONFIG_MAP, DEPLOYMENT, IRONIC] {
                about = about.reads_in(side, kind, "*");
            }
        }
        about.probes("*:*").probes("*/*:*")
    }

    fn configure() -> Result<Self> {
        config::read_config()
    }

    fn check(&self, point: Point, moving: &Move) -> Result<Vec<Finding>> {
        check::check_point(self, point, moving)
    }
}

pivot_sdk::export!(Metal3Endpoints, hooks = [check], schema = include_bytes!("options.json"));
