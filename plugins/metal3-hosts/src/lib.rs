//! Moves Metal3 hosts.
//!
//! A BareMetalHost is a machine. Its copy starts without status, and an operator that finds a host without status registers,
//! inspects and provisions it: it rewrites the disk. The source's operator, for its part, powers off or wipes hosts that are
//! deleted while they are not paused. So hosts move only while no operation is running on them, paused all the way, with the
//! status that they had; and they are released slowly, one of each driver first, each watched until the target's operator has
//! taken it over unchanged.

mod acknowledged;
mod check;
mod companions;
mod copies;
mod firmware;
mod hold;
mod host;
mod machine;
mod memory;
mod names;
mod relate;
mod restore;
mod settings;
mod settle;
mod side_objects;
mod steady;
#[cfg(test)]
mod tests;

use pivot_sdk::prelude::*;

pub use settings::Metal3Hosts;

use names::{
    CLUSTER, COMPONENTS, DATA_IMAGE, HARDWARE, HOST, POLICY, PREPROVISIONING, SCHEMA, SECRET, SETTINGS,
    SUBSCRIPTION,
};

impl Plugin for Metal3Hosts {
    fn about() -> About {
        let mut about = pivot_sdk::about!().holds(HOST).adapts(HOST).settles(HOST);
        for kind in [HOST, SETTINGS, COMPONENTS, DATA_IMAGE] {
            about = about.restores(kind);
        }
        for kind in [HARDWARE, POLICY, SCHEMA, PREPROVISIONING, SUBSCRIPTION] {
            about = about.sees(kind);
        }
        for side in Side::BOTH {
            about = about.reads(side, HOST).reads(side, HARDWARE).reads(side, SECRET);
        }
        for kind in [SETTINGS, COMPONENTS, DATA_IMAGE] {
            about = about.reads(Side::Source, kind);
        }
        about.reads(Side::Target, CLUSTER)
    }

    fn configure() -> Result<Self> {
        config::get()
    }

    fn relate(&self, object: &Object) -> Result<Vec<Relation>> {
        Ok(relate::relate_object(object))
    }

    fn check(&self, point: Point, moving: &Move) -> Result<Vec<Finding>> {
        check::check_point(self, point, moving)
    }

    fn hold(&self, object: &Object) -> Result<Patch> {
        Ok(hold::hold_host(self, object))
    }

    fn adapt(&self, object: &Object) -> Result<Patch> {
        hold::adapt_copy(object)
    }

    fn restore(&self, _source: &Object, _created: &Object) -> Result<Restoration> {
        Ok(restore::restore_status())
    }

    fn settle(&self, object: &Object) -> Result<Settlement> {
        settle::settle_host(object)
    }
}

pivot_sdk::export!(
    Metal3Hosts,
    hooks = [relate, check, hold, adapt, restore, settle],
    schema = include_bytes!("options.json")
);
