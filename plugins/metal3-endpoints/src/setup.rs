//! The setup of a side's Ironic, as its objects state it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use pivot_sdk::Key;

use crate::operator::Operator;
use crate::state::State;

/// The relevant settings, as ConfigMaps and containers call them.
pub(crate) const KEYS: [&str; 10] = [
    "DEPLOY_ISO_URL",
    "DEPLOY_KERNEL_URL",
    "DEPLOY_RAMDISK_URL",
    "IRONIC_ENDPOINT",
    "IRONIC_NAME",
    "KEEPALIVED_VIRTUAL_IPS",
    "KEEPALIVED_VRID",
    "PROVISIONING_INTERFACE",
    "PROVISIONING_IP",
    "PROVISIONING_NETWORK_DISABLED",
];

/// keepalived's default router id.
const DEFAULT_ROUTER: u8 = 1;

/// An Ironic of a side, and its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ironic {
    /// The object that runs it.
    pub(crate) key: Key,
    /// State of the Ironic.
    pub(crate) state: State,
}

/// The setup of one side.
#[derive(Debug, Default)]
pub(crate) struct Setup {
    values: BTreeMap<&'static str, (String, Key)>,
    /// Settings that two objects disagree about.
    pub(crate) conflicts: Vec<(&'static str, Key, Key)>,
    /// The objects that run Ironic there.
    pub(crate) ironics: Vec<Ironic>,
    /// The baremetal operators there.
    pub(crate) operators: Vec<Operator>,
    /// The namespaces that an operator watches, as ConfigMaps have them.
    pub(crate) limits: BTreeMap<Key, String>,
    /// Whether it has keepalived.
    pub(crate) keepalived: bool,
}

impl Setup {
    /// Records a setting. The first value counts.
    pub(crate) fn add_setting(&mut self, key: &'static str, value: &str, from: &Key) {
        let value = value.trim();
        if value.is_empty() {
            return;
        }
        self.keepalived |= key.starts_with("KEEPALIVED_");
        match self.values.get(key) {
            None => drop(self.values.insert(key, (value.to_owned(), from.clone()))),
            Some((there, _)) if there == value => {}
            Some((_, other)) => self.conflicts.push((key, other.clone(), from.clone())),
        }
    }

    /// Returns the value of a setting.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(|(value, _)| value.as_str())
    }

    /// Returns the object that a setting was read from.
    pub(crate) fn source_of(&self, key: &str) -> Option<&Key> {
        self.values.get(key).map(|(_, from)| from)
    }

    /// Returns true if nothing is known about the side.
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty() && self.ironics.is_empty()
    }

    /// Returns true if machines can't boot over the network: the operator then refuses to register hosts whose driver does that.
    pub(crate) fn has_no_network(&self) -> bool {
        self.get("PROVISIONING_NETWORK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// Returns an object that runs Ironic and is up.
    pub(crate) fn running_ironic(&self) -> Option<&Ironic> {
        self.ironics.iter().find(|ironic| ironic.state == State::Up)
    }

    /// Parses the addresses that keepalived assigns to an interface, or else the address that Ironic listens on.
    pub(crate) fn parse_addresses(&self) -> Result<Vec<Address>, String> {
        if let Some(list) = self.get("KEEPALIVED_VIRTUAL_IPS") {
            return list.split_whitespace().map(Address::parse).collect();
        }
        let Some(ip) = self.get("PROVISIONING_IP") else { return Ok(Vec::new()) };
        let ip = ip.parse().map_err(|_| format!("PROVISIONING_IP `{ip}` is no address"))?;
        let interface = self.get("PROVISIONING_INTERFACE").unwrap_or_default().to_owned();
        Ok(vec![Address { ip, interface }])
    }

    /// Returns the id by which keepalived's routers know each other; none without keepalived.
    pub(crate) fn router_id(&self) -> Result<Option<u8>, String> {
        let Some(text) = self.get("KEEPALIVED_VRID") else {
            return Ok(self.keepalived.then_some(DEFAULT_ROUTER));
        };
        let id = text.parse().ok().filter(|id| *id > 0);
        id.map(Some).ok_or_else(|| format!("KEEPALIVED_VRID `{text}` is no number from 1 to 255"))
    }
}

/// An address, and the interface that gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) ip: IpAddr,
    pub(crate) interface: String,
}

impl Address {
    /// Parses `ip,interface[,prefix]`.
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("KEEPALIVED_VIRTUAL_IPS has `{text}`, which is not `address,interface`");
        let mut parts = text.split(',');
        let ip = parts.next().and_then(|ip| ip.parse().ok()).ok_or_else(wrong)?;
        let interface = parts.next().filter(|interface| !interface.is_empty()).ok_or_else(wrong)?;
        Ok(Self { ip, interface: interface.to_owned() })
    }
}
