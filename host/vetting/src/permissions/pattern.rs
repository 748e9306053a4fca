//! Patterns of endpoints that may be probed: `host:port`.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use pivot_core::request::network::{Network, find_embedded};

use crate::permissions::valid_names::is_label;

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
    /// Returns true if the pattern covers an endpoint.
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
            Host::Network(network) => host.parse().is_ok_and(|ip| network.contains(find_embedded(ip))),
            Host::Service(namespace, service) => host.split_once('/').is_some_and(|(ns, svc)| {
                (namespace == "*" || namespace == ns) && (service == "*" || service == svc)
            }),
        }
    }

    /// The intersection of both; none: empty.
    pub(super) fn intersect(&self, other: &Self) -> Option<Self> {
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

    /// Returns true if the pattern covers any host.
    pub(super) fn is_any_host(&self) -> bool {
        matches!(&self.host, Host::Any | Host::Network(Network { bits: 0, .. }))
    }

    /// The network it names for a port.
    pub fn network_at(&self, port: u16) -> Option<Network> {
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
        let name = |name: &str| name.len() <= 253 && name.split('.').all(is_name_part);
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

/// Returns true if a word can be a label of a name.
fn is_name_part(word: &str) -> bool {
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
            assert_eq!(pattern(a).intersect(&pattern(b)), both, "{a} {b}");
            assert_eq!(pattern(b).intersect(&pattern(a)), both, "{b} {a}");
        }
        let open = ["*:1", "0.0.0.0/0:1", "*.com:1", "*/*:1"].map(|text| pattern(text).is_any_host());
        assert_eq!(open, [true, true, false, false]);
    }
}
