//! Whether two hosts are one machine.
//!
//! Two operators that each claim a machine work against each other. A machine is identified by the MAC address it boots from, and
//! by the address of its management controller (BMC); either may be missing, and the second can be written in many ways.

use std::net::IpAddr;

use pivot_sdk::prelude::*;

/// The identity of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) mac: Option<String>,
    pub(crate) bmc: Option<Bmc>,
}

/// Name or address, and the port if it is not the default.
pub(crate) type Place = (String, Option<u16>);

/// The address of a management controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bmc {
    pub(crate) host: Place,
    /// Name of the machine at this controller; empty if the controller has only one.
    system: String,
}

impl Machine {
    pub(crate) fn from_host(host: &Object) -> Self {
        let text = |pointer: &str| host.text(pointer).filter(|text| !text.is_empty());
        Self {
            mac: text("/spec/bootMACAddress").map(str::to_ascii_lowercase),
            bmc: text("/spec/bmc/address").and_then(Bmc::parse),
        }
    }
}

impl Bmc {
    /// Parses `spec.bmc.address`: `redfish-virtualmedia+http://10.0.0.1:8000/redfish/v1/Systems/1`, or only an address, which the
    /// operator treats as IPMI. The scheme selects a driver, and different drivers can talk to the same controller.
    pub(crate) fn parse(address: &str) -> Option<Self> {
        let (scheme, rest) = address.trim().split_once("://").unwrap_or(("ipmi", address.trim()));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (name, port) = split_authority(authority);
        let name = name.to_ascii_lowercase();
        let name = name.parse().map_or(name, |address: IpAddr| address.to_string());
        let scheme = scheme.to_ascii_lowercase();
        let usual = match scheme.as_str() {
            "ipmi" | "libvirt" => 623,
            scheme if scheme.ends_with("+http") => 80,
            _ => 443,
        };
        let port = port.filter(|port| *port != usual);
        (!name.is_empty()).then(|| Self { host: (name, port), system: path.trim_matches('/').to_owned() })
    }

    /// Returns true if both addresses lead to one machine. A controller addressed without a system's name must have only one.
    pub(crate) fn is_same_machine(&self, other: &Self) -> bool {
        let any = self.system.is_empty() || other.system.is_empty();
        self.host == other.host && (any || self.system == other.system)
    }
}

/// Splits host and port. An IPv6 address with a port is in brackets.
fn split_authority(authority: &str) -> (&str, Option<u16>) {
    if let Some((name, rest)) = authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (name, rest.strip_prefix(':').and_then(|port| port.parse().ok()));
    }
    match authority.split_once(':') {
        Some((name, port)) if !port.contains(':') => (name, port.parse().ok()),
        _ => (authority, None),
    }
}
