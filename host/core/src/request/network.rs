//! Networks, and addresses that only the operator may choose to connect to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A set of addresses: `10.0.0.0/8`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// One of its addresses.
    pub address: IpAddr,
    /// Number of leading bits that all addresses have in common.
    pub bits: u32,
}

impl Network {
    /// Returns true if the network contains an address.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(net), IpAddr::V4(a)) => {
                let shift = 32u32.saturating_sub(self.bits);
                net.to_bits().checked_shr(shift).unwrap_or(0) == a.to_bits().checked_shr(shift).unwrap_or(0)
            }
            (IpAddr::V6(net), IpAddr::V6(a)) => {
                let shift = 128u32.saturating_sub(self.bits);
                net.to_bits().checked_shr(shift).unwrap_or(0) == a.to_bits().checked_shr(shift).unwrap_or(0)
            }
            _ => false,
        }
    }

    /// Returns true if the network contains all addresses of another.
    pub fn covers(&self, other: &Self) -> bool {
        self.bits <= other.bits && self.contains(other.address)
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, bits) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
        let address: IpAddr = address.parse().map_err(|_| format!("`{text}` is no network"))?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), str::parse).map_err(|_| format!("`{text}` is no network"))?;
        if bits > most { Err(format!("`{text}` is no network")) } else { Ok(Self { address, bits }) }
    }
}

/// Addresses of the host itself, its link and its cloud's metadata service. They are reached only by naming a network that lies inside
/// one of these.
const SPECIAL: [(IpAddr, u32); 16] = [
    (IpAddr::V4(Ipv4Addr::UNSPECIFIED), 8),
    (IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0)), 8),
    (IpAddr::V4(Ipv4Addr::new(169, 254, 0, 0)), 16),
    (IpAddr::V4(Ipv4Addr::new(224, 0, 0, 0)), 3),
    // Metadata services of clouds that use no link-local address.
    (IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)), 32),
    (IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)), 32),
    (IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)), 32),
    (IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)), 128),
    (IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)), 128),
    (IpAddr::V6(Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42)), 128),
    (IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)), 128),
    // A site's own NAT64: only the site knows where in the address the IPv4 address is.
    (IpAddr::V6(Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0)), 48),
    (IpAddr::V6(Ipv6Addr::UNSPECIFIED), 128),
    (IpAddr::V6(Ipv6Addr::LOCALHOST), 128),
    (IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0)), 10),
    (IpAddr::V6(Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0)), 8),
];

/// Returns true if an address may be connected to, given the networks that the operator named.
pub fn is_reachable(address: IpAddr, named: &[Network]) -> bool {
    let address = find_embedded(address);
    let special = |(net, bits): &(IpAddr, u32)| Network { address: *net, bits: *bits };
    let Some(special) = SPECIAL.iter().map(special).find(|net| net.contains(address)) else { return true };
    named.iter().any(|net| special.covers(net) && net.contains(address))
}

/// Returns the IPv4 address inside an IPv6 one, mapped, compatible, tunnelled (6to4), or translated; otherwise the address.
pub fn find_embedded(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let from = match v6.segments() {
        [0x2002, ..] => 80,
        [0x64, 0xff9b, 0, 0, 0, 0, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => 0,
        [0, 0, 0, 0, 0, 0, ..] if v6.to_bits() > 1 => 0,
        _ => return address.to_canonical(),
    };
    let bits = (v6.to_bits() >> from) & u128::from(u32::MAX);
    IpAddr::V4(Ipv4Addr::from_bits(u32::try_from(bits).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: T7
    #[test]
    fn special_addresses_must_be_named() {
        let named = |texts: &[&str]| texts.iter().map(|t| t.parse().unwrap()).collect::<Vec<Network>>();
        for special in [
            "169.254.169.254",
            "127.0.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "::1",
            "::",
            "fe80::1",
            "fd00:ec2::254",
            "fd00:ec2::23",
            "fd00:42::42",
            "fd20:ce::254",
            "::ffff:169.254.169.254",
            "::169.254.169.254",
            "::ffff:0:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::a9fe:a9fe",
            "64:ff9b:1:a9fe:a9:fe00::",
            "2002:a9fe:a9fe::1",
            "2002:a83f:8110::",
            "ff02::1",
        ] {
            let address = special.parse().unwrap();
            assert!(!is_reachable(address, &[]), "{special}");
            assert!(!is_reachable(address, &named(&["0.0.0.0/0", "::/0"])), "{special}");
        }
        assert!(is_reachable("10.0.0.1".parse().unwrap(), &[]));
        for plain in [
            "2002:a00:1::1",
            "::ffff:0:10.0.0.1",
            "64:ff9b::a00:1",
            "fd20:ce::253",
            "fd00:42::43",
            "168.63.129.17",
        ] {
            assert!(is_reachable(plain.parse().unwrap(), &[]), "{plain}");
        }
        assert!(is_reachable("64:ff9b:1::a00:1".parse().unwrap(), &named(&["64:ff9b:1::/96"])));
        assert!(is_reachable("169.254.1.2".parse().unwrap(), &named(&["169.254.1.0/24"])));
        assert!(is_reachable("127.0.0.1".parse().unwrap(), &named(&["127.0.0.1"])));
        assert!(!is_reachable("127.0.0.2".parse().unwrap(), &named(&["127.0.0.1"])));
    }
}
