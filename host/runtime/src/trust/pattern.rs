//! Which endpoints may be probed: `host:port` patterns, and addresses that no name pattern covers.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::text::is_label;

/// A set of addresses: `10.0.0.0/8`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    /// Whether it contains the address.
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

    /// Whether it contains all of the other.
    fn covers(&self, other: &Self) -> bool {
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

/// Addresses of the host itself, its link and its cloud's metadata service. A pattern covers them only by naming a network that
/// lies inside one of these.
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

/// Whether an address may be connected to, given the networks that the operator named.
pub(crate) fn reachable(address: IpAddr, named: &[Network]) -> bool {
    let address = embedded(address);
    let special = |(net, bits): &(IpAddr, u32)| Network { address: *net, bits: *bits };
    let Some(special) = SPECIAL.iter().map(special).find(|net| net.contains(address)) else { return true };
    named.iter().any(|net| special.covers(net) && net.contains(address))
}

/// The IPv4 address inside an IPv6 one: mapped, compatible, tunnelled (6to4), or translated.
fn embedded(address: IpAddr) -> IpAddr {
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

/// `host:port`, where host is a name, `*.example.com`, `*`, an address, a network in CIDR notation, or `namespace/service`, and
/// port a number or `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    host: Host,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    Any,
    /// With all subdomains if it starts with a dot.
    Name(String),
    Network(Network),
    /// Either may be `*`.
    Service(String, String),
}

impl Pattern {
    /// Whether it covers an endpoint.
    pub fn matches(&self, host: &str, port: u16) -> bool {
        if self.port.is_some_and(|p| p != port) {
            return false;
        }
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        match &self.host {
            Host::Any => !host.contains('/'),
            Host::Name(suffix) if suffix.starts_with('.') => {
                host.ends_with(suffix) && host.len() > suffix.len()
            }
            Host::Name(name) => host == *name,
            Host::Network(network) => host.parse().is_ok_and(|ip| network.contains(embedded(ip))),
            Host::Service(namespace, service) => host.split_once('/').is_some_and(|(ns, svc)| {
                (namespace == "*" || namespace == ns) && (service == "*" || service == svc)
            }),
        }
    }

    /// The intersection of both; none: empty.
    pub(crate) fn met(&self, other: &Self) -> Option<Self> {
        let port = match (self.port, other.port) {
            (Some(a), Some(b)) if a != b => return None,
            (a, b) => a.or(b),
        };
        let host = match (&self.host, &other.host) {
            (Host::Service(a, b), Host::Service(c, d)) => {
                let narrower = |a: &String, b: &String| match (a.as_str(), b.as_str()) {
                    ("*", _) => Some(b.clone()),
                    (_, "*") => Some(a.clone()),
                    _ => (a == b).then(|| a.clone()),
                };
                Host::Service(narrower(a, c)?, narrower(b, d)?)
            }
            (Host::Service(..), _) | (_, Host::Service(..)) => return None,
            (Host::Any, host) | (host, Host::Any) => host.clone(),
            (Host::Network(a), Host::Network(b)) if a.covers(b) => Host::Network(*b),
            (Host::Network(a), Host::Network(b)) => Host::Network(b.covers(a).then_some(*a)?),
            (Host::Name(a), Host::Name(b)) => {
                let below =
                    |one: &String, all: &String| one == all || (all.starts_with('.') && one.ends_with(all));
                Host::Name([(a, b), (b, a)].into_iter().find(|(one, all)| below(one, all))?.0.clone())
            }
            (Host::Network(_), Host::Name(_)) | (Host::Name(_), Host::Network(_)) => return None,
        };
        Some(Self { host, port })
    }

    /// Whether it covers any host.
    pub(crate) fn is_any_host(&self) -> bool {
        matches!(&self.host, Host::Any | Host::Network(Network { bits: 0, .. }))
    }

    /// The network it names for a port.
    pub(crate) fn network_at(&self, port: u16) -> Option<Network> {
        match &self.host {
            Host::Network(network) if self.port.is_none_or(|p| p == port) => Some(*network),
            _ => None,
        }
    }
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is no host:port pattern; write `ironic.example.com:6385`, `*:6385`, `*.example.com:443`, `172.22.0.0/24:6385`, `[fd00::/8]:6385` or `namespace/service:port`"
            )
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = match port {
            "*" => None,
            // Other parsers would accept a sign; and nothing listens on port 0.
            port if port.starts_with(|c: char| c.is_ascii_digit()) => {
                Some(port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?)
            }
            _ => return Err(wrong()),
        };
        let host = host.to_ascii_lowercase();
        let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        // A leading dot would mean all subdomains: that must be written with a star.
        let name = |name: &str| name.len() <= 253 && name.split('.').all(part);
        if bare.is_none() && host.contains(':') {
            return Err(wrong());
        }
        let host = if let Ok(network) = bare.unwrap_or(&host).parse() {
            Host::Network(network)
        } else if bare.is_some() {
            return Err(wrong());
        } else if host == "*" {
            Host::Any
        } else if let Some((namespace, service)) = host.split_once('/') {
            let fine = |w: &str| w == "*" || is_label(w);
            if !fine(namespace) || !fine(service) {
                return Err(wrong());
            }
            Host::Service(namespace.to_owned(), service.to_owned())
        } else if name(host.strip_prefix("*.").unwrap_or(&host)) {
            Host::Name(host.strip_prefix('*').unwrap_or(&host).to_owned())
        } else {
            return Err(wrong());
        };
        Ok(Self { host, port })
    }
}

/// Whether it can be a label of a name.
fn part(word: &str) -> bool {
    !word.is_empty()
        && word.len() <= 63
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Any => f.write_str("*")?,
            Host::Name(name) if name.starts_with('.') => write!(f, "*{name}")?,
            Host::Name(name) => f.write_str(name)?,
            Host::Network(Network { address: IpAddr::V4(a), bits: 32 }) => write!(f, "{a}")?,
            Host::Network(Network { address: IpAddr::V6(a), bits: 128 }) => write!(f, "[{a}]")?,
            Host::Network(Network { address: IpAddr::V4(a), bits }) => write!(f, "{a}/{bits}")?,
            Host::Network(Network { address: IpAddr::V6(a), bits }) => write!(f, "[{a}/{bits}]")?,
            Host::Service(namespace, service) => write!(f, "{namespace}/{service}")?,
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => f.write_str(":*"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        text.parse().unwrap()
    }

    #[test]
    fn a_pattern_matches_what_it_says() {
        for (text, host, port, fits) in [
            ("*:6385", "ironic.example.com", 6385, true),
            ("*:6385", "ironic.example.com", 6386, false),
            ("*:*", "10.0.0.1", 1, true),
            ("*:6385", "metal3/ironic", 6385, false),
            ("*.example.com:443", "a.b.Example.com.", 443, true),
            ("*.example.com:443", "example.com", 443, false),
            ("*.example.com:443", "evilexample.com", 443, false),
            ("172.22.0.0/24:6385", "172.22.0.9", 6385, true),
            ("172.22.0.0/24:6385", "172.22.1.9", 6385, false),
            ("172.22.0.0/24:6385", "172.22.0.9.example.com", 6385, false),
            ("[fd00::/8]:80", "fd12::1", 80, true),
            ("0.0.0.0/0:80", "1.2.3.4", 80, true),
            ("metal3/ironic:6385", "metal3/ironic", 6385, true),
            ("*/ironic:6385", "other/ironic", 6385, true),
        ] {
            assert_eq!(pattern(text).matches(host, port), fits, "{text} {host}:{port}");
            assert_eq!(pattern(&pattern(text).to_string()), pattern(text));
        }
        for bad in [
            "",
            "host",
            "host:",
            ":80",
            "../a:80",
            "a/..:80",
            "a_b/c:80",
            "a/-b:80",
            "a/:80",
            "a b:80",
            "*x:80",
            "a/b/c:80",
            "1.2.3.4/33:80",
            "[x]:80",
            "h:70000",
            "h:0",
            "h:+80",
            ".example.com:80",
            "a..b:80",
            "a.:80",
            "*.:80",
            "::1:80",
            "fd00::/8:80",
            &"a.".repeat(200),
            &format!("{}:80", "a".repeat(64)),
        ] {
            assert!(bad.parse::<Pattern>().is_err(), "{bad}");
        }
    }

    // proves: T7
    #[test]
    fn link_local_metadata_and_loopback_must_be_named() {
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
            assert!(!reachable(address, &[]), "{special}");
            assert!(!reachable(address, &named(&["0.0.0.0/0", "::/0"])), "{special}");
        }
        assert!(reachable("10.0.0.1".parse().unwrap(), &[]));
        for plain in [
            "2002:a00:1::1",
            "::ffff:0:10.0.0.1",
            "64:ff9b::a00:1",
            "fd20:ce::253",
            "fd00:42::43",
            "168.63.129.17",
        ] {
            assert!(reachable(plain.parse().unwrap(), &[]), "{plain}");
        }
        assert!(reachable("64:ff9b:1::a00:1".parse().unwrap(), &named(&["64:ff9b:1::/96"])));
        assert!(reachable("169.254.1.2".parse().unwrap(), &named(&["169.254.1.0/24"])));
        assert!(reachable("127.0.0.1".parse().unwrap(), &named(&["127.0.0.1"])));
        assert!(!reachable("127.0.0.2".parse().unwrap(), &named(&["127.0.0.1"])));
    }

    #[test]
    fn patterns_meet_where_something_could_match_both() {
        for (a, b, both) in [
            ("*:6385", "172.22.0.0/24:6385", Some("172.22.0.0/24:6385")),
            ("*:6385", "172.22.0.0/24:80", None),
            ("*:*", "x.example.com:1", Some("x.example.com:1")),
            ("*:1", "x.example.com:*", Some("x.example.com:1")),
            ("*.example.com:1", "a.example.com:1", Some("a.example.com:1")),
            ("*.example.com:1", "a.example.org:1", None),
            ("10.0.0.0/8:1", "10.1.0.0/16:1", Some("10.1.0.0/16:1")),
            ("10.0.0.0/8:1", "11.1.0.0/16:1", None),
            ("10.0.0.0/8:1", "ten.example.com:1", None),
            ("*/ironic:1", "metal3/*:1", Some("metal3/ironic:1")),
            ("*/ironic:1", "metal3/other:1", None),
            ("*:1", "metal3/ironic:1", None),
        ] {
            let both = both.map(pattern);
            assert_eq!(pattern(a).met(&pattern(b)), both, "{a} {b}");
            assert_eq!(pattern(b).met(&pattern(a)), both, "{b} {a}");
        }
        let open = ["*:1", "0.0.0.0/0:1", "*.com:1", "*/*:1"].map(|text| pattern(text).is_any_host());
        assert_eq!(open, [true, true, false, false]);
    }
}
